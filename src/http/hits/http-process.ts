import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { KeyMeter } from '../../access/key-meter.ts';
import { KeyRing } from '../../access/key-ring.ts';
import type { KeyAuth } from '../../access/open-reader-keys.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { CATALOG_CHANGED } from '../../catalog/catalog-entries.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { subsetContains } from '../../domain/grid-subset.ts';
import { PAGE_SIZE, type TileIndex } from '../../domain/tile-key.ts';
import type { Channel } from '../../lib/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { isFresh } from '../../pipeline/freshness.ts';
import { MemoryTier } from '../../pipeline/memory-tier.ts';
import type { CachedTile, ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { PageUses } from '../../quota/page-uses.ts';
import type { AccessLog } from '../access-log.ts';
import type { Access, ProxyHeaderNames } from '../auth/access.ts';
import { PEER_HEADER, peerOf } from '../auth/peer.ts';
import { countReads, TileCounts } from '../metrics/tile-counts.ts';
import { createHttpAppOver, type HttpServerOptions, listen } from '../server.ts';
import { REFRESH_QUERY } from '../services/refresh-tile.ts';
import { sourcelessRoutes } from '../services/tile-service-routes.ts';
import {
  AUTHENTICATE,
  COUNTED,
  DRAW_REQUESTS,
  FLUSH,
  FORGET,
  type Forgotten,
  GO_ON,
  HOLD,
  type PageServed,
  PUT_BACK_REQUESTS,
  READ_TILE,
  READER_KEYS,
  READER_KEYS_CHANGED,
  STARTED,
  STOP_SERVING,
  type TileAsked,
  WRONG_KEY,
} from './process-messages.ts';
import type { Match } from './router.ts';

interface HttpProcessOptions extends Env {
  /** Its sources are never asked. */
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  /** Afterwards the catalog has every change that the primary has made. `file` as in `CATALOG_CHANGED`. */
  readonly refreshCatalog: (file: unknown) => Promise<void>;
  readonly memoryTierBytes: number;
  readonly server: HttpServerOptions;
  /** Where the primary listens for its processes. */
  readonly socketPath: string;
  readonly proxyHeaders: ProxyHeaderNames | null;
  readonly accessLog: AccessLog | null;
  /** Leads to the primary. */
  readonly channel: Channel;
}

/** Milliseconds between two reports of counts. */
const REPORT_INTERVAL = 1000;

/** One of several processes on one port: answers requests that need no source, and forwards the others to the primary. */
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
  const keys = await keysThrough(channel, clock);
  const app = createHttpAppOver(
    sourcelessRoutes({ catalog, pipeline, clock, log, surrogateKeys: options.server.surrogateKeys ?? null }),
    {
      access: accessThrough(channel, options.proxyHeaders),
      accessOf: (layer) => catalog.layer(layer)?.layer.access ?? null,
      audit: NO_AUDIT,
      keys,
      ...(options.accessLog && { accessLog: options.accessLog }),
      log,
      elsewhere: { takes: isForPrimary, ...forwarder },
    },
    options.server,
  );

  function report(): void {
    pipeline.flush();
    keys.meter.putBack();
    const counted = { tiles: counts.take(), pages: front.takePages(), keys: keys.meter.takeUses() };
    const { tiles, pages } = counted;
    if (tiles.length + pages.length + counted.keys.length > 0) channel.tell(COUNTED, counted);
  }

  channel.handle(FORGET, (forgotten) => front.forget(forgotten));
  let refreshing = Promise.resolve();
  channel.handle(CATALOG_CHANGED, (file) => {
    refreshing = options.refreshCatalog(file);
    // The next flush reports it.
    refreshing.catch(() => {});
  });
  channel.handle(FLUSH, async () => {
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
        keys.meter.putBack(true);
        report();
        forwarder.close();
        resolve();
      }, reject);
    });
  });
  channel.tell(STARTED, { problem: null });
  return { stopped };
}

/** Audited requests are performed, and logged, by the primary. */
const NO_AUDIT = { record: async () => {}, note: () => {} };

/** WMTS operations that need no source; others are forwarded. */
const WITHOUT_SOURCE = /^$|(?:^|&)request=(?:gettile|getcapabilities)(?:&|$)/i;

function isForPrimary({ kind, role, route, query }: Match, method: string): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  if (kind !== 'found' || role !== 'public' || !isRead || REFRESH_QUERY.test(query)) return true;
  return /^\/service\/wmts\/?$/.test(route?.path ?? '') && !WITHOUT_SOURCE.test(query);
}

function accessThrough(channel: Channel, proxyHeaders: ProxyHeaderNames | null): Access {
  return {
    loopbackOnly: false,
    ...(proxyHeaders && { proxyHeaders }),
    authenticate: (credentials) => channel.ask(AUTHENTICATE, credentials),
    // Answers without an end come from the primary.
    stillHolds: async () => false,
  };
}

/** The keys in the memory of this process; the primary tells of changes, and supplies what limits leave. */
async function keysThrough(channel: Channel, clock: Clock): Promise<KeyAuth & { readonly meter: KeyMeter }> {
  const ring = new KeyRing(clock);
  channel.handle(READER_KEYS_CHANGED, (change) => ring.change(change));
  ring.change({ added: await channel.ask(READER_KEYS, null), removed: [] });
  const meter = new KeyMeter(clock, {
    draw: (draw) => channel.ask(DRAW_REQUESTS, draw),
    putBack: (unused) => channel.tell(PUT_BACK_REQUESTS, unused),
  });
  return {
    ring,
    meter,
    async wrongKey(address) {
      await channel.ask(WRONG_KEY, address);
    },
  };
}

/** RFC 9110, 7.6.1: these are between two neighbours. `Expect` was answered here. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  PEER_HEADER,
]);
/** Milliseconds that an idle connection to the primary is kept: less than the primary keeps it. */
const IDLE_FOR = 30_000;

/** `socketPath`: where the primary listens for its processes. */
function createForwarder(socketPath: string) {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_FOR });
  let held: Promise<void> | null = null;
  let release = () => {};

  return {
    /** Lets the primary answer. Rejects while nothing is answered yet. */
    async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
      while (held) await held;
      if (request.socket.destroyed) return;
      const { method, url: path } = request;
      const asking = httpRequest({ socketPath, agent, method, path, headers: headersToPrimary(request) });
      response.once('close', () => asking.destroy());
      request.pipe(asking);
      const [answer] = (await once(asking, 'response').catch((cause: unknown) => {
        throw new TilewardenError('stopping', 'The server cannot answer now.', { cause });
      })) as [IncomingMessage];
      // The primary may cut what it has refused to read; its client has the answer.
      asking.on('error', () => {});
      asking.once('close', () => request.unpipe(asking).resume());
      relay(answer, response);
    },
    /** Requests from now on wait. */
    hold(): void {
      held ??= new Promise((resolve) => {
        release = resolve;
      });
    },
    goOn(): void {
      held = null;
      release();
    },
    close: (): void => agent.destroy(),
  };
}

function relay(answer: IncomingMessage, response: ServerResponse): void {
  const headers = withoutNeighbours(answer.rawHeaders, ['transfer-encoding']);
  response.writeHead(answer.statusCode ?? 502, headers);
  answer.once('error', () => response.destroy());
  answer.pipe(response);
}

function headersToPrimary(request: IncomingMessage): readonly string[] {
  const peer = peerOf(request);
  const host = request.headers.host === undefined ? ['Host', `${peer.localAddress}:${peer.localPort}`] : [];
  const own = [PEER_HEADER, JSON.stringify(peer), ...host, 'Connection', 'keep-alive'];
  // First: `node:http` passes on a limited number of headers.
  return [...own, ...withoutNeighbours(request.rawHeaders, [])];
}

function withoutNeighbours(raw: readonly string[], also: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    const plain = name.toLowerCase();
    if (!OF_ONE_CONNECTION.has(plain) && !also.includes(plain)) kept.push(name, value);
  }
  return kept;
}

interface TileFrontOptions {
  readonly memoryTierBytes: number;
  /** Queries the primary, which makes missing tiles. */
  readonly ask: (asked: TileAsked, signal: AbortSignal | undefined) => Promise<CachedTile>;
  readonly clock: Clock;
}

interface TileFront extends Pick<TilePipeline, 'read'> {
  forget(forgotten: Forgotten): void;
  /** The pages of which tiles were answered here, since the last call. */
  takePages(): readonly PageServed[];
}

/** A pipeline that answers fresh tiles from memory or the store, and forwards the others to the primary. */
export function createTileFront({ memoryTierBytes, ask, clock }: TileFrontOptions): TileFront {
  const tier = new MemoryTier(memoryTierBytes);
  const uses = new PageUses();

  function load(tiles: ResolvedTileSet, tile: TileIndex, now: number): CachedTile | null {
    const { store } = tiles.bound;
    if (!store.getNow || !subsetContains(tiles.subset, tile.z, tile.x, tile.y)) return null;
    const found = store.getNow(tiles.set, tile);
    return found && isFresh(tiles, tile.z, found, now) ? tier.put(tiles.set, tile, found) : null;
  }

  /** A tile that the primary had is kept, unless it was replaced or removed on its way: not every store answers synchronously. */
  async function fetch(
    tiles: ResolvedTileSet,
    tile: TileIndex,
    signal: AbortSignal | undefined,
  ): Promise<CachedTile> {
    const { set, selection, bypass = false, authorization = null } = tiles;
    const load = tier.beginLoad(set, tile);
    let found: Parameters<MemoryTier['endLoad']>[1] = null;
    try {
      const answer = await ask({ set, parameters: selection.values, tile, bypass, authorization }, signal);
      // A copy: the bytes are part of the whole message.
      if (answer.outcome === 'HIT') found = { ...answer, bytes: Buffer.from(answer.bytes), madeBy: null };
      return answer;
    } finally {
      tier.endLoad(load, found);
    }
  }

  return {
    read(tiles, tile, signal) {
      if (tiles.bound.layer.passCredentials) return fetch(tiles, tile, signal);
      const now = clock.now();
      const kept = tier.get(tiles.set, tile);
      const answer = kept && isFresh(tiles, tile.z, kept, now) ? kept : load(tiles, tile, now);
      if (!answer) return fetch(tiles, tile, signal);
      uses.count(tiles.set, tile, now);
      return answer;
    },
    forget(forgotten) {
      if ('set' in forgotten) return tier.drop(forgotten.set, forgotten.z, forgotten.rect);
      const { layer, places } = forgotten;
      if (!places) return tier.dropLayer(layer);
      for (const place of places) tier.dropPlace(layer, place);
    },
    takePages() {
      return uses.take().flatMap(({ set, z, pages }) =>
        pages.map(({ pageX, pageY, hits, usedAt }): PageServed => {
          const tile = { z, x: pageX * PAGE_SIZE, y: pageY * PAGE_SIZE };
          return { set, tile, times: hits, at: usedAt };
        }),
      );
    },
  };
}
