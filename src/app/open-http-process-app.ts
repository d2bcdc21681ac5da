import { openCatalog } from '../catalog/catalog.ts';
import { CATALOG_NEWS } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { documentReaderOf } from '../config/load-document-reader.ts';
import type { Settings } from '../config/settings.ts';
import { type SettingsHandover, settingsFrom } from '../config/settings-handover.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { openAccessLog } from '../http/access-log.ts';
import { proxyHeadersOf } from '../http/auth/access.ts';
import { openHttpProcess } from '../http/hits/http-process.ts';
import { createChannel, type ProcessPort } from '../lib/channel.ts';
import type { Env } from '../lib/env.ts';
import { openStores } from './open-stores.ts';
import { opened } from './opened.ts';
import { findProcessSocket } from './process-socket.ts';

/** One of several processes that answer HTTP; `port` leads to the primary. It has neither database nor sources. */
export function openHttpProcessApp(settings: Settings, { log, clock }: Env, port: ProcessPort) {
  return opened(async (open) => {
    const stores = await openStores(settings, { log, clock, database: null, readOnly: true }, open);
    const { layers, gridSets, memoryTierBytes, server } = settings;
    const openSource = (): never => {
      throw new Error('Tiles are made by the primary process.');
    };
    const catalog = open.use(openCatalog({ layers, gridSets, stores, openSource, clock, log }));
    const channel = createChannel(port, errorCopier);
    const entries = {
      after: (version: number, limit: number) => channel.ask(CATALOG_NEWS, { version, limit }),
    };
    const reader = documentReaderOf(settings);
    const { file, format } = server.accessLog;
    const accessLog = file === null ? null : open.use(openAccessLog({ file, format }, { clock, log }));
    const declared = new DeclaredEntries({ entries, catalog, reader, log });
    const { stopped } = await openHttpProcess({
      catalog,
      memoryTierBytes,
      server,
      accessLog,
      proxyHeaders: proxyHeadersOf(settings.access.proxyLogin, log),
      socketPath: await findProcessSocket(settings.data),
      async refreshCatalog(file) {
        // The number of its tiles comes before the declaration.
        await declared.refresh();
        const next = file === null ? null : settingsFrom(file as SettingsHandover);
        if (next) declared.applyConfigFile(next.layers, next.gridSets.gridSets);
      },
      channel,
      clock,
      log,
    });
    // It resolves when the primary wants it to end and everything is answered.
    return { stopped };
  });
}
