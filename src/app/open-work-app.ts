import { randomUUID } from 'node:crypto';
import { createAppliedChanges } from '../cluster/applied-changes.ts';
import { createNodeChanges } from '../cluster/node-changes.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { MISSED, ProcessFeed } from '../db/process-feed.ts';
import type { ProcessPort } from '../lib/channel.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { createExporter } from '../tasks/exporter.ts';
import { openTaskRunner } from '../tasks/open-task-runner.ts';
import { createLeaseStore } from '../tasks/store/lease-store.ts';
import { openChild } from './child-life.ts';
import { exportNode, isShared, taskSettings } from './node-settings.ts';
import { type NodeServices, openNodeServices } from './open-node-services.ts';
import { withoutCaches } from './open-stores.ts';
import { databaseOf, type NodeEnv } from './open-tile-services.ts';
import { opened } from './opened.ts';
import { openServerFigures, shareCounts } from './server-figures.ts';
import { announceTiles, CATALOG, CONFIG_FILE } from './share-changes.ts';

interface WorkEnv extends NodeEnv {
  /** Reads the configuration file again. */
  readonly reload: () => Promise<Settings>;
}

/** A process that performs tasks and answers no requests; `port` leads to its parent. */
export function openWorkApp(base: Settings, env: WorkEnv, port: ProcessPort) {
  // Tiles are not answered from here.
  const settings = { ...base, memoryTierBytes: 0, stores: withoutCaches(base.stores) };
  return openChild(port, () => opened((open) => openWorker(settings, env, open)));
}

async function openWorker(settings: Settings, env: WorkEnv, open: ClosingStack) {
  const { clock, random, log } = env;
  const instance = randomUUID();
  // It asks no other process.
  const feed = open.use(new ProcessFeed({ data: settings.data, instance, onSilent() {}, clock, log }));
  // A report that a power cut takes back costs work that is done again. The server has looked at the tables.
  const unsynced = { synced: false, migrations: null };
  const database = open.use(
    await openDatabase({ location: databaseOf(settings), feed, clock, log, ...unsynced }),
  );
  const registry = createAppliedChanges(database, instance, clock);
  const peers = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [], staleMs: 0, clock, log })
    : null;
  const membership = { instance, feed, several: false, leads: () => false, peers: null };
  const services = await openNodeServices(settings, database, membership, 'work', env, open);
  follow(feed, services, env.reload);
  shareCounts(openServerFigures(feed, env, open), services);
  open.use(await feed.follow());
  const { workers, maxThreads } = taskSettings(settings);
  const announce = announceTiles(feed);
  open.use(
    openTaskRunner({
      ...services,
      owner: instance,
      threads: Math.max(1, Math.floor(maxThreads / workers)),
      workers,
      leases: createLeaseStore({ database, clock, random }),
      exporter: createExporter({ data: settings.data, node: exportNode(settings), ...services, log }),
      async tilesChanged(change) {
        announce({ kind: 'tiles', ...change });
        await feed.posted();
        await peers?.waitForAllNodes();
      },
      clock,
      log,
    }),
  );
  return {};
}

/** Takes up what is declared, over HTTP and in the configuration file. */
function follow(feed: ProcessFeed, services: NodeServices, reload: WorkEnv['reload']): void {
  const { documents, limiter } = services;
  const refresh = async () => void (await documents.declared.refresh());
  feed.on(CATALOG, refresh);
  feed.on(MISSED, refresh);
  feed.on(CONFIG_FILE, async () => {
    const settings = await reload();
    // The number of its tiles comes before the declaration.
    await refresh();
    limiter.setUpstreams(settings.upstreams);
    services.applySettings(settings);
  });
}
