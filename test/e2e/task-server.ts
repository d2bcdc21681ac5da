/**
 * A server process with one layer `roads` on a mock WMS, and the requests of a user to it over HTTP.
 *
 *   const shared = shareTaskServer();
 *   it('a seed fills the cache', async () => {
 *     const { wms, server } = shared;
 *     await server.over(await server.start({ zoomStop: 4 }));
 *     await server.expectTiles(tilesOf(0, 4), { cache: 'HIT' });
 *   });
 */
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { expectedImage } from '../fixtures/mock-wms-pixels.ts';
import { childrenOf } from '../fixtures/processes.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { type RunningServer, startServer } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

export const LAYER = 'roads';
const AT_ONCE = 8;
/** Bytes of tiles whose pixels were compared before, by place and version: the same bytes show the same picture. */
const knownTiles = new Map<string, Buffer>();

export interface TileAt {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

export interface TileExpectation {
  readonly cache?: 'HIT' | 'MISS';
  readonly gridSet?: 'EPSG:900913' | 'EPSG:4326';
  /** The version of the mock's map. */
  readonly version?: number;
}

/** A task as `/api/v1/tasks` shows it, as far as tests read it. */
export interface ShownTask {
  readonly id: number;
  readonly layer: string;
  readonly type: string;
  readonly state: string;
  readonly reason: string | null;
  readonly waitingFor: { readonly reason: string; readonly until: string } | null;
  readonly tilesProcessed: number;
  readonly tilesTotal: number;
  readonly counters: Readonly<
    Record<'made' | 'present' | 'removed' | 'blank' | 'failed' | 'bytes' | 'upstreamRequests', number>
  >;
  readonly errors: readonly { readonly z: number; readonly message: string }[];
  readonly createdBy: string;
  readonly endedAt: string | null;
}

export type TaskServer = RunningServer & TaskCalls;
export type OpenTaskServer = OpenServer & TaskCalls;

/** A process, or a server in the process of the test. */
type Callee = Pick<RunningServer, 'url' | 'authorization'> & Partial<Pick<RunningServer, 'pid'>>;

export interface TaskCalls {
  request(method: string, path: string, body?: string, contentType?: string): Promise<Response>;
  /** Rows of `/rest/seed.json`, or of one layer. */
  list(layer?: string): Promise<readonly (readonly number[])[]>;
  /** Through `/rest/seed/roads.json`; the id of the task. */
  start(request: object): Promise<number>;
  task(id: number): Promise<ShownTask>;
  /** Waits until the task has ended. */
  over(id: number): Promise<ShownTask>;
  tile(at: TileAt, gridSet?: string): Promise<{ readonly cache: string | null; readonly bytes: Buffer }>;
  /** Reads the tiles over HTTP and compares every pixel with the picture of the mock. */
  expectTiles(tiles: Iterable<TileAt>, expected: TileExpectation): Promise<number>;
  /** Tiles are stored after their responses: waits until all are. */
  untilStored(): Promise<void>;
  /** Process ids of the workers; a server in the process of the test has none. */
  workers(): readonly number[];
}

export interface TaskServerOptions {
  readonly data?: string;
  readonly expectedLog?: RegExp;
  readonly layers?: string;
  readonly upstream?: string;
  readonly args?: readonly string[];
  readonly outlivesTest?: true;
}

type SharedOptions = TaskServerOptions & { readonly more?: (wms: MockWms) => string };

/**
 * One server and one mock for the tests of a file. Before each test nothing runs, the cache is empty and the mock
 * draws maps; task ids keep rising.
 */
export function shareTaskServer(options: SharedOptions = {}) {
  return share(options, startTaskServer);
}

/** The same in the process of the test. */
export function shareOpenTaskServer(options: Omit<SharedOptions, 'args'> = {}) {
  return share(options, openTaskServer);
}

function share<Server extends TaskCalls & { stop(): Promise<unknown> }>(
  options: SharedOptions,
  start: (wms: MockWms, options: TaskServerOptions) => Promise<Server>,
): { readonly wms: MockWms; readonly server: Server } {
  const shared = {} as { wms: MockWms; server: Server };
  beforeAll(async () => {
    shared.wms = await openMockWms();
    const layers = options.more?.(shared.wms);
    shared.server = await start(shared.wms, { ...options, ...(layers && { layers }) });
  });
  beforeEach(async () => {
    const { wms, server } = shared;
    wms.reset();
    await server.request('POST', '/rest/seed', 'kill_all=all', 'application/x-www-form-urlencoded');
    await eventually(
      'the mock is left alone',
      () => wms.active,
      (active) => active === 0,
    );
    const all = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
    expect((await server.request('POST', '/masstruncate', all, 'text/xml')).status).toBe(200);
    wms.reset();
  });
  afterAll(async () => {
    await shared.server?.stop();
    await shared.wms?.close();
  });
  return shared;
}

/** Opened before the server and closed after it. */
export async function openWms(): Promise<MockWms> {
  const wms = await openMockWms();
  whenOver(() => wms.close());
  return wms;
}

export function roadsConfig(wms: { readonly url: string }, options: TaskServerOptions = {}): string {
  const host = new URL(wms.url).host;
  return `
upstreams: { '${host}': { ${options.upstream ?? 'concurrency: 16'}, allowPrivate: true } }
layers:
  - name: ${LAYER}
    source: { type: wms, url: '${wms.url}', layers: roads }
    formats: [image/png]
    gridSets: [EPSG:900913, EPSG:4326]
    metatile: [4, 4]
    gutter: 0
${options.layers ?? ''}`;
}

export async function startTaskServer(wms: MockWms, options: TaskServerOptions = {}): Promise<TaskServer> {
  const { args } = options;
  return speakTo(await startServer({ ...serverOptions(wms, options), ...(args && { args }) }));
}

/** In the process of the test, which performs its tasks too. */
export async function openTaskServer(
  wms: MockWms,
  options: Omit<TaskServerOptions, 'args'> = {},
): Promise<OpenTaskServer> {
  return speakTo(await openServer(serverOptions(wms, options)));
}

function serverOptions(wms: MockWms, options: TaskServerOptions) {
  return {
    // One worker is enough; test/faults has two.
    config: `tasks: { workers: 1 }\n${roadsConfig(wms, options)}`,
    ...(options.data !== undefined && { data: options.data }),
    ...(options.expectedLog && { expectedLog: options.expectedLog }),
    ...(options.outlivesTest && { outlivesTest: true as const }),
  };
}

export function speakTo<Server extends Callee>(server: Server): Server & TaskCalls {
  const request: TaskCalls['request'] = (method, path, body, contentType) =>
    fetch(server.url + path, {
      method,
      headers: { authorization: server.authorization, ...(contentType && { 'content-type': contentType }) },
      ...(body !== undefined && { body }),
    });

  async function tile({ z, x, y }: TileAt, gridSet = 'EPSG:900913') {
    const response = await fetch(`${server.url}/tiles/${LAYER}/${gridSet}/${z}/${x}/${y}.png`);
    expect([z, x, y, response.status]).toEqual([z, x, y, 200]);
    return { cache: response.headers.get('x-cache'), bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async function expectTile(at: TileAt, { cache, gridSet = 'EPSG:900913', version = 1 }: TileExpectation) {
    const answer = await tile(at, gridSet);
    if (cache) expect({ ...at, cache: answer.cache }).toEqual({ ...at, cache });
    const key = JSON.stringify([at, gridSet, version]);
    if (knownTiles.get(key)?.equals(answer.bytes)) return;
    const image = await decodeImage(answer.bytes, { maxPixels: 256 * 256 });
    const shows = image.pixels.equals(pictureOf(at, gridSet, version));
    expect({ ...at, gridSet, version, shows }).toEqual({ ...at, gridSet, version, shows: true });
    knownTiles.set(key, answer.bytes);
  }

  const task: TaskCalls['task'] = async (id) => {
    const response = await request('GET', `/api/v1/tasks/${id}`);
    expect(response.status).toBe(200);
    return (await response.json()) as ShownTask;
  };

  return {
    ...server,
    request,
    tile,
    task,
    async list(layer) {
      const response = await request(
        'GET',
        layer === undefined ? '/rest/seed.json' : `/rest/seed/${layer}.json`,
      );
      expect(response.status).toBe(200);
      return ((await response.json()) as { 'long-array-array': number[][] })['long-array-array'];
    },
    async start(seedRequest) {
      const body = JSON.stringify({ seedRequest: { name: LAYER, ...seedRequest } });
      const response = await request('POST', `/rest/seed/${LAYER}.json`, body, 'application/json');
      expect([response.status, await response.text()]).toEqual([200, '']);
      return Number(response.headers.get('x-task-id'));
    },
    over: (id) =>
      eventually(
        `task ${id} ends`,
        () => task(id),
        ({ endedAt }) => endedAt !== null,
      ),
    async expectTiles(tiles, expected) {
      const waiting = [...tiles];
      const { length } = waiting;
      const readers = Array.from({ length: AT_ONCE }, async () => {
        for (let at = waiting.pop(); at; at = waiting.pop()) await expectTile(at, expected);
      });
      await Promise.all(readers);
      return length;
    },
    untilStored: () => untilStored(server),
    workers: () => (server.pid === undefined ? [] : childrenOf(server.pid)),
  };
}

/** Every tile of these zooms in web mercator. */
export function* tilesOf(zoomStart: number, zoomStop: number): Generator<TileAt> {
  for (let z = zoomStart; z <= zoomStop; z++) {
    for (let y = 0; y < 2 ** z; y++) {
      for (let x = 0; x < 2 ** z; x++) yield { z, x, y };
    }
  }
}

/** The picture of the mock WMS for this tile. */
export function pictureOf({ z, x, y }: TileAt, gridSetName: string, version: number): Buffer {
  const gridSet = builtInGridSets().find(({ name }) => name === gridSetName);
  const level = gridSet?.levels[z];
  if (!gridSet || !level) throw new Error(`no zoom ${z} in ${gridSetName}`);
  const size = gridSet.tileWidth * level.resolution;
  const [minX, maxY] = [gridSet.extent.minX + x * size, level.top - y * size];
  const bounds = { minX, minY: maxY - size, maxX: minX + size, maxY };
  const parameters = new Map([['LAYERS', 'roads']]);
  return expectedImage({ srs: gridSet.srs, bounds, width: 256, height: 256, parameters, version }).pixels;
}
