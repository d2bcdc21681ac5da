import type { Catalog } from '../../catalog/catalog.ts';
import { CATALOG_CHANGED } from '../../catalog/catalog-entries.ts';
import type { Channel } from '../../lib/channel.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { Access } from '../door/access.ts';
import type { Match } from '../door/router.ts';
import { countReads, TileCounts } from '../metrics/tile-counts.ts';
import { createHttpAppOver, type HttpServerOptions, listen } from '../server.ts';
import { sourcelessRoutes } from '../services/tile-service-routes.ts';
import { createForwarder } from './forward.ts';
import {
  AUTHENTICATE,
  COUNTED,
  FORGET,
  GO_ON,
  HOLD,
  READ_TILE,
  SETTLE,
  STARTED,
  STOP_SERVING,
} from './process-messages.ts';
import { createTileFront } from './tile-front.ts';

export interface HttpProcessOptions extends Surroundings {
  /** Its sources are never asked. */
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  /** Afterwards the catalog knows every change that the primary has made. `file` as in `CATALOG_CHANGED`. */
  readonly refreshCatalog: (file: unknown) => Promise<void>;
  readonly memoryTierBytes: number;
  readonly server: HttpServerOptions;
  /** Where the primary listens for its processes. */
  readonly socketPath: string;
  /** Leads to the primary. */
  readonly channel: Channel;
}

/** Milliseconds between two reports of what was counted. */
const REPORT_INTERVAL = 1000;

/** One of several processes that answer on one port: what needs no source by itself, everything else through the primary. */
export async function openHttpProcess(
  options: HttpProcessOptions,
): Promise<{ readonly stopped: Promise<void> }> {
  const { catalog, channel, clock, log, memoryTierBytes } = options;
  const forwarder = createForwarder(options.socketPath);
  const counts = new TileCounts();
  const front = createTileFront({
    memoryTierBytes,
    clock,
    ask: (asked, signal) => channel.ask(READ_TILE, asked, signal),
  });
  const pipeline = countReads(front, clock, counts);
  const app = createHttpAppOver(
    sourcelessRoutes({ catalog, pipeline, clock, log }),
    {
      access: accessThrough(channel),
      audit: NO_AUDIT,
      log,
      elsewhere: { takes: isForPrimary, ...forwarder },
    },
    options.server,
  );

  function report(): void {
    pipeline.flush();
    const counted = { tiles: counts.take(), pages: front.takePages() };
    if (counted.tiles.length + counted.pages.length > 0) channel.tell(COUNTED, counted);
  }

  channel.handle(FORGET, (forgotten) => front.forget(forgotten));
  let refreshing = Promise.resolve();
  channel.handle(CATALOG_CHANGED, (file) => {
    refreshing = options.refreshCatalog(file);
    // Whoever settles learns of it.
    refreshing.catch(() => {});
  });
  channel.handle(SETTLE, async () => {
    await refreshing;
    report();
  });
  channel.handle(HOLD, () => forwarder.hold());
  channel.handle(GO_ON, () => forwarder.goOn());
  const reporting = setInterval(report, REPORT_INTERVAL);
  await options.refreshCatalog(null);
  const server = await listen(app, options.server).catch((error: unknown) => {
    channel.tell(STARTED, { problem: error instanceof Error ? error.message : String(error) });
    throw error;
  });

  const stopped = new Promise<void>((resolve, reject) => {
    channel.handle(STOP_SERVING, () => {
      server.close().then(() => {
        clearInterval(reporting);
        report();
        forwarder.close();
        resolve();
      }, reject);
    });
  });
  channel.tell(STARTED, { problem: null });
  return { stopped };
}

/** What is recorded is recorded by the primary, which does it. */
const NO_AUDIT = { record: async () => {}, note: () => {} };

/** Of WMTS in key-value pairs: the others ask the source, or are none. */
const WITHOUT_SOURCE = /^$|(?:^|&)request=(?:gettile|getcapabilities)(?:&|$)/i;

function isForPrimary({ kind, role, route, query }: Match, method: string): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  if (kind !== 'found' || role !== 'public' || !isRead) return true;
  return /^\/service\/wmts\/?$/.test(route?.path ?? '') && !WITHOUT_SOURCE.test(query);
}

function accessThrough(channel: Channel): Access {
  return {
    loopbackOnly: false,
    authenticate: (credentials) => channel.ask(AUTHENTICATE, credentials),
    // Answers without an end come from the primary.
    stillHolds: async () => false,
  };
}
