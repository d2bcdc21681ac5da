import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { encodeImage } from '../../src/raster/encode-image.ts';
import { eventually } from '../fixtures/eventually.ts';
import { format } from '../fixtures/http-app.ts';
import { photoLike } from '../fixtures/pictures.ts';
import { openServer } from './server-in-process.ts';
import { type OpenTaskServer, type ShownTask, speakTo } from './task-server.ts';

const MIB = 2 ** 20;
const TOLERATED = 64 * MIB;
const ZOOM = 9;
/** The first tiles of the first row: of 16 pages, and of four. */
const OLD_TILES = 256;
const NEW_TILES = 64;
const PAGE = 16;
/** How many the upstream holds back until something was evicted. */
const LAST_TILES = 8;

interface Usage {
  readonly bytes: number;
  readonly evicted: { readonly tiles: number };
  readonly layers: readonly { readonly name: string; readonly tiles: number }[];
}

interface TileServer {
  readonly url: string;
  /** Releases all held responses. */
  release(): void;
}

/** The same picture for every tile, immediately; but the last ones of a layer below `/held` wait to be released. */
async function openTileServer(): Promise<TileServer> {
  const bytes = await encodeImage(photoLike(256, 256), format('image/png'));
  const asked = new Map<string, number>();
  let held: (() => void)[] = [];
  const server = createServer((request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
    const layer = /^\/held\/\w+/.exec(request.url ?? '')?.[0];
    const count = (asked.get(layer ?? '') ?? 0) + 1;
    asked.set(layer ?? '', count);
    if (layer === undefined || count < NEW_TILES - LAST_TILES) return answer();
    return held.push(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    release() {
      for (const answer of held) answer();
      held = [];
    },
  };
}

function configOf(url: string): string {
  const layers = ['old', 'held/rivers', 'held/lakes'].map(
    (path) => `
  - name: ${path.replace('held/', '')}
    source: { type: xyz, url: '${url}/${path}/{z}/{x}/{y}.png' }
    formats: [image/png]
    gridSets: [EPSG:900913]`,
  );
  return `upstreams: { '${new URL(url).host}': { concurrency: 32, allowPrivate: true } }\nlayers:${layers.join('')}\n`;
}

/** The id of the task. */
async function seed(server: OpenTaskServer, layer: string, tiles: number): Promise<number> {
  const [west, north, size] = [-20037508.34, 20037508.34, (2 * 20037508.34) / 2 ** ZOOM];
  const bounds = [west + 1, north - size / 2, west + (tiles - 0.5) * size, north - 1];
  const order = { layer, type: 'seed', zoomStart: ZOOM, zoomStop: ZOOM, bounds, threadCount: 16 };
  const body = JSON.stringify(order);
  const response = await server.request('POST', '/api/v1/tasks', body, 'application/json');
  const { id, tilesTotal } = (await response.json()) as ShownTask;
  expect([response.status, tilesTotal]).toEqual([201, tiles]);
  return id;
}

async function usageOf(server: OpenTaskServer): Promise<Usage> {
  return (await (await server.request('GET', '/api/v1/usage')).json()) as Usage;
}

function tilesIn(usage: Usage, layer: string): number {
  return usage.layers.find(({ name }) => name === layer)?.tiles ?? 0;
}

/** One tile in each of these pages of the old layer. */
async function askFor(server: OpenTaskServer, pages: readonly number[]): Promise<(string | null)[]> {
  return Promise.all(
    pages.map(async (page) => {
      const response = await fetch(`${server.url}/tiles/old/${ZOOM}/${page * PAGE + 3}/0.png`);
      await response.arrayBuffer();
      return response.headers.get('x-cache');
    }),
  );
}

/** The maximum usage, polled until it is stopped. */
function watchUsage(server: OpenTaskServer) {
  let [highest, watching] = [0, true];
  const done = (async () => {
    while (watching) {
      highest = Math.max(highest, (await usageOf(server)).bytes);
      await delay(100);
    }
  })();
  return async () => {
    watching = false;
    await done;
    return highest;
  };
}

it('a seed into a full quota evicts unused tiles, keeps new ones, and reports the evictions', async () => {
  const tiles = await openTileServer();
  const config = configOf(tiles.url);
  const server = speakTo(await openServer({ config }));
  expect((await server.over(await seed(server, 'old', OLD_TILES))).state).toBe('done');
  const used = [1, 6, 11];
  expect(await askFor(server, used)).toEqual(['HIT', 'HIT', 'HIT']);
  const { bytes: full } = await usageOf(server);
  let before = 0;

  for (const [layer, policy] of [
    ['rivers', 'LFU'],
    ['lakes', 'LRU'],
  ] as const) {
    const quota = {
      enabled: true,
      cacheCleanUpFrequency: 1,
      globalExpirationPolicyName: policy,
      globalQuota: { value: full, units: 'B' },
    };
    const changed = await server.request('PUT', '/api/v1/quota', JSON.stringify(quota), 'application/json');
    expect(changed.status).toBe(200);
    const stopWatching = watchUsage(server);
    const id = await seed(server, layer, NEW_TILES);
    await eventually(
      'tiles go while it runs',
      () => usageOf(server),
      ({ evicted }) => evicted.tiles > before,
    );
    const letGo = setInterval(() => tiles.release(), 50);
    expect((await server.over(id)).state).toBe('done');
    clearInterval(letGo);
    await eventually(
      'the quota is kept',
      () => usageOf(server),
      ({ bytes }) => bytes <= full,
    );
    expect(await stopWatching()).toBeLessThanOrEqual(full + TOLERATED);

    const usage = await usageOf(server);
    expect(tilesIn(usage, 'rivers')).toBe(NEW_TILES);
    expect(tilesIn(usage, layer)).toBe(NEW_TILES);
    expect(tilesIn(usage, 'old')).toBe(OLD_TILES - usage.evicted.tiles);
    expect(await askFor(server, used)).toEqual(['HIT', 'HIT', 'HIT']);
    const shown = (await server.task(id)) as ShownTask & { evictedTiles: number; evictedBytes: number };
    expect(shown.evictedTiles).toBeGreaterThan(0);
    expect(shown.evictedBytes).toBeGreaterThan(0);
    before = usage.evicted.tiles;
  }
  await server.stop();
});
