import { CATALOG_CHANGED } from '../catalog/catalog-entries.ts';
import type { Settings } from '../config/settings.ts';
import { type SettingsHandover, settingsFrom } from '../config/settings-handover.ts';
import { openDatabase } from '../db/open-database.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { createChannel, type ProcessPort } from '../lib/channel.ts';
import { openCounterFeed } from '../pipeline/counter-feed.ts';
import { MetatileCutter } from '../raster/metatile-cutter.ts';
import { openLimiterChannel } from '../sources/upstream/limiter-channel.ts';
import { openTaskWorker } from '../tasks/workers/child.ts';
import { createExporter } from './exporter.ts';
import { withoutCaches } from './open-stores.ts';
import { databaseOf, type NodeEnv, openTileServices } from './open-tile-services.ts';
import { opened } from './opened.ts';

const AT_THE_GATE = { maxWaitMs: 60_000, withReserve: false };

/** A process that does tasks for the node which forked it; `port` leads there. */
export function openTaskProcessApp(settings: Settings, env: NodeEnv, port: ProcessPort) {
  return opened(async (open) => {
    const channel = createChannel(port, errorCopier);
    // Tiles are not answered from here.
    const quiet = { ...settings, memoryTierBytes: 0, stores: withoutCaches(settings.stores) };
    const { clock, log } = env;
    const opening = (async () => {
      // A report that a power cut takes back costs work that is done again. The node has looked at the tables.
      const unsynced = { synced: false, migrations: null };
      const database = open.use(await openDatabase({ location: databaseOf(quiet), clock, log, ...unsynced }));
      const parts = {
        ...env,
        database,
        limiter: openLimiterChannel(channel),
        cutter: new MetatileCutter(),
        atTheGate: AT_THE_GATE,
        sweeps: () => false,
      };
      return openTileServices(quiet, parts, open);
    })();
    channel.handle(CATALOG_CHANGED, async (file) => {
      const { documents, applySettings } = await opening;
      // The number of its tiles comes before the declaration.
      await documents.declared.refresh();
      if (file !== null) applySettings(settingsFrom(file as SettingsHandover));
    });
    const parts = await opening;
    open.use(openCounterFeed(parts.tallies, channel, env));
    const exporter = createExporter({ settings, ...parts, ...env });
    const { stopped } = openTaskWorker({ ...parts, ...env, exporter, channel });
    // It resolves when the node wants the process to end and its work is handed back.
    return { stopped };
  });
}
