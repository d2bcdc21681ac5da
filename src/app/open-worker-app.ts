import { openAuditLog } from '../access/audit-log.ts';
import type { Settings } from '../config/settings.ts';
import { misconfigured } from '../domain/errors.ts';
import { explainingDataFaults } from './data-folder.ts';
import { taskSettings, workerName } from './node-settings.ts';
import { openFeeds } from './open-feeds.ts';
import { openNode } from './open-node.ts';
import { withoutCaches } from './open-stores.ts';
import type { ServerEnv } from './open-workers.ts';
import { opened } from './opened.ts';

export async function openWorkerApp(base: Settings, env: ServerEnv) {
  refuseIdle(base);
  const name = workerName(base);
  // Tiles are not answered from here.
  const settings = { ...base, node: name, memoryTierBytes: 0, stores: withoutCaches(base.stores) };
  return opened(async (open) => {
    const node = await explainingDataFaults(settings.data, () => openNode(settings, env, ['worker'], open));
    const { database } = node.services;
    const audit = open.use(openAuditLog({ database, dataFolder: settings.data, ...env }));
    await openFeeds(node, settings, audit, env, open);
    if (node.feed) open.use(await node.feed.follow());
    return { name };
  });
}

function refuseIdle(settings: Settings): void {
  if (settings.database === null) {
    throw misconfigured(
      'A worker takes its tasks from a PostgreSQL that servers use too; name it with --database. With a database in the data folder the server itself performs tasks.',
    );
  }
  if (taskSettings(settings).workers > 0) return;
  throw misconfigured('tasks.workers is 0: this worker would perform nothing.');
}
