import { openAuditLog } from '../access/audit-log.ts';
import { createAppliedChanges } from '../cluster/applied-changes.ts';
import { openServerFigures } from '../cluster/figures.ts';
import { createNodeChanges } from '../cluster/node-changes.ts';
import { exportNode, isShared, taskSettings, workerName } from '../config/node-settings.ts';
import { settingsFrom } from '../config/settings-handover.ts';
import type { Settings } from '../config/settings-schema.ts';
import { MISSED } from '../db/process-feed.ts';
import { misconfigured } from '../domain/errors.ts';
import type { Channel } from '../lib/channel.ts';
import { type ClosingStack, opened } from '../lib/closing-stack.ts';
import { openRepeater } from '../lib/repeat.ts';
import { warmCutter } from '../raster/warm-cutter.ts';
import { withoutCaches } from '../storage/open-stores.ts';
import { createExporter } from '../tasks/exporter.ts';
import { createLeaseStore } from '../tasks/store/lease-store.ts';
import { TaskRunner } from '../tasks/task-runner.ts';
import { explainingDataFaults } from './data-folder.ts';
import { CATALOG, CONFIG_FILE } from './membership.ts';
import { openFeeds } from './open-feeds.ts';
import { openNode } from './open-node.ts';
import { type NodeEnv, openProcess } from './open-process.ts';
import { openServices, shareCounts } from './open-services.ts';
import { newerSettings, openChild, type ServerEnv } from './parent.ts';
import { createStoredTiles } from './stored-tiles.ts';

/** A worker serves no tiles. */
function withoutMemory(settings: Settings): Settings {
  return { ...settings, memoryTierBytes: 0, stores: withoutCaches(settings.stores) };
}

/** A node that performs tasks of the servers on its database, and answers no requests. */
export async function openWorkerApp(base: Settings, env: ServerEnv) {
  refuseIdle(base);
  const name = workerName(base);
  const settings = { ...withoutMemory(base), node: name };
  return opened(async (open) => {
    const node = await explainingDataFaults(settings.data, () => openNode(settings, env, ['worker'], open));
    await openFeeds(node, open.use(openAuditLog({ ...node, dataFolder: settings.data })));
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

/** A process of a node that performs tasks. */
export function openWorkApp(settings: Settings, env: NodeEnv, parent: Channel) {
  return openChild(parent, () =>
    opened((open) => openWorkProcess(withoutMemory(settings), env, parent, open)),
  );
}

async function openWorkProcess(settings: Settings, env: NodeEnv, parent: Channel, open: ClosingStack) {
  // A worker asks other processes nothing (`onSilent`). Lost reports are repeated. The server has migrated the tables.
  const how = { onSilent() {}, several: false, synced: false, migrations: null };
  const parts = await openProcess(settings, env, how, open);
  const { instance, feed, database, clock, log } = parts;
  const registry = createAppliedChanges(database, instance, clock);
  const peers = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [], staleMs: 0, clock, log })
    : null;
  // Closed after the pipeline, which stores tiles to the end.
  const stored = open.use(createStoredTiles(feed, peers));
  const services = await openServices(parts, { leads: () => false, peers: null }, 'work');
  services.events.subscribe(stored.add);
  const { declared } = services;
  const refresh = async () => void (await declared.refresh());
  for (const channel of [CATALOG, MISSED]) feed?.on(channel, refresh);
  const applyNewer = async () => {
    const newer = await newerSettings(parent);
    if (!newer) return;
    // A declaration needs the records of its tiles, which the server has written before.
    await refresh();
    services.applySettings(settingsFrom(newer.handover));
  };
  feed?.on(CONFIG_FILE, applyNewer);
  shareCounts(openServerFigures(feed, parts, open), services);
  if (feed) open.use(await feed.follow());
  await applyNewer();
  // Tiles may be stored after the last report of their lease.
  open.use(openRepeater(stored.post, { clock, log, pause: 1000, failure: 'stored tiles are not announced' }));
  const { workers, maxThreads } = taskSettings(settings);
  open.use(
    new TaskRunner({
      ...parts,
      ...services,
      owner: instance,
      threads: Math.max(1, Math.floor(maxThreads / workers)),
      workers,
      leases: createLeaseStore(parts),
      warmUp: warmCutter,
      exporter: createExporter({ ...parts, ...services, data: settings.data, node: exportNode(settings) }),
      announceStored: stored.announce,
    }),
  );
  return {};
}
