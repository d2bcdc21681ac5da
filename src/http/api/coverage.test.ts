import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, layerNamed, subset, type TestApp } from '../../../test/fixtures/http-app.ts';
import { openQuotaFixture, type QuotaFixture } from '../../../test/fixtures/quota-fixture.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import { createGridSetRegistry } from '../../domain/grid-set.ts';
import { createTileEvents } from '../../domain/tile-events.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openQuotaService, type QuotaService } from '../../quota/quota-service.ts';
import type { Task } from '../../tasks/task.ts';
import type { HttpServerDeps } from '../http-app.ts';
import { coverageResponse, zoomCoverageResponse } from './coverage.ts';
import { tileResponse } from './inspect.ts';
import { layerListResponse, layerResponse } from './layers.ts';

let fixture: QuotaFixture;
let quota: QuotaService;
let app: TestApp;
/** Ran for a second, three minutes ago. */
const started = Date.now() - 180_000;
const task = {
  id: 7,
  request: { layer: 'world', type: 'seed' },
  startedAt: started,
  endedAt: started + 1000,
} as Task;
const events = createTileEvents();

beforeAll(async () => {
  fixture = await openQuotaFixture();
  quota = await openQuotaService({
    database: fixture.database,
    stores: fixture.stores,
    events,
    clock: systemClock,
    log: silentLogger,
  });
  const layer = layerNamed('world', { gridSubsets: [subset('EPSG:900913', 12)], expireCacheSeconds: 60 });
  const bound: BoundLayer = {
    layer,
    store: fixture.store,
    source: () => ({
      maxMetatile: null,
      fetch: async () => Promise.reject(new Error('nothing is fetched here')),
      addressOf: ({ bounds }) => `http://maps.test/?BBOX=${bounds.minX}`,
      close: async () => {},
    }),
  };
  const catalog = {
    layer: (name: string) => (name === 'world' ? bound : null),
    layers: () => [layer],
    gridSets: createGridSetRegistry([]),
    version: 1,
  };
  const tasks = { get: async (id: number) => (id === 7 ? task : null) } as HttpServerDeps['tasks'];
  app = createTestApp({ deps: { catalog, quota, tasks } });
});

afterAll(async () => {
  await quota.close();
  await fixture.close();
});

async function get(path: string) {
  const { status, text } = await app.request('GET', `/api/v1/layers/world/${path}`);
  return { status, text, body: status === 200 ? JSON.parse(text) : null };
}

describe('what is cached', () => {
  it('coverage lists for each zoom the cached tiles and all tiles', async () => {
    await fixture.put(fixture.set('world'), 3, 1, 1);
    await fixture.put(fixture.set('world'), 3, 3, 0);
    const { body } = await get('coverage/EPSG:900913');
    const { zooms } = zoomCoverageResponse.parse(body);
    expect(zooms).toHaveLength(13);
    expect(zooms[3]).toEqual({ z: 3, tiles: 2, bytes: 20_000, offered: 64 });
    expect(zooms[9]).toMatchObject({ tiles: 0, offered: 512 * 512 });
  });

  it('coverage is shown tile by tile with its age if the tiles are few', async () => {
    const now = Date.now();
    const set = fixture.set('world');
    const write = { x: 3, y: 0, bytes: Buffer.from('old'), createdAt: now - 8 * 86_400_000 };
    await fixture.store.put(set, 2, [write], 0);
    await fixture.put(set, 2, 1, 1);
    const { body } = await get('coverage/EPSG:900913/2');
    const coverage = coverageResponse.parse(body);
    expect(coverage).toMatchObject({ shows: 'age', cell: 1, columns: 4, rows: 4, minX: 0, minY: 0 });
    // Rows have 4 cells: the old tile is the last cell of the first row, the fresh one the second of the second row.
    expect(coverage.runs).toEqual([0, 3, 2, 1, 0, 1, 5, 1, 0, 10]);
    const present = await get('coverage/EPSG:900913/2?shows=share');
    expect(present.body).toMatchObject({ shows: 'share', runs: [0, 3, 100, 1, 0, 1, 100, 1, 0, 10] });
  });

  it('coverage is shown by the share of each block if the tiles are many', async () => {
    const set = fixture.set('world');
    for (let x = 0; x < 16; x++) await fixture.put(set, 10, x, 0, 100);
    const { body } = await get('coverage/EPSG:900913/10');
    const coverage = coverageResponse.parse(body);
    expect(coverage).toMatchObject({ shows: 'share', cell: 16, columns: 64, rows: 64 });
    expect(coverage.runs).toEqual([6, 1, 0, 64 * 64 - 1]);
    const ages = await get('coverage/EPSG:900913/10?shows=age');
    expect(ages.body).toMatchObject({ shows: 'age', runs: [5, 1, 0, 64 * 64 - 1] });
  });

  it('coverage tells stale tiles from fresh and missing ones, tile by tile and in larger cells', async () => {
    const set = fixture.set('world');
    const tile = (x: number, age: number) => ({
      x,
      y: 0,
      bytes: Buffer.from('tile'),
      createdAt: Date.now() - age,
    });
    // Tiles of this layer expire after a minute.
    await fixture.store.put(set, 5, [tile(1, 0), tile(2, 3_600_000)], 0);
    await fixture.store.put(set, 11, [tile(0, 3_600_000), tile(16, 0), tile(32, 0), tile(33, 3_600_000)], 0);
    const near = coverageResponse.parse((await get('coverage/EPSG:900913/5?shows=state')).body);
    expect(near).toMatchObject({ shows: 'state', exact: true, runs: [0, 1, 3, 1, 1, 1, 0, 1021] });
    await fixture.store.edit(
      set,
      5,
      { minX: 1, minY: 0, maxX: 1, maxY: 0 },
      { type: 'outdate', at: Date.now() - 1 },
    );
    expect((await get('coverage/EPSG:900913/5?shows=state')).body).toMatchObject({
      runs: [0, 1, 1, 2, 0, 1021],
    });
    const far = await get('coverage/EPSG:900913/11?shows=state');
    expect(far.body).toMatchObject({ cell: 16, exact: true, runs: [1, 1, 3, 1, 2, 1, 0, 128 * 128 - 3] });
  });

  it('coverage is shown within bounds only, and nowhere outside the layer', async () => {
    await fixture.put(fixture.set('world'), 4, 8, 7);
    const within = await get('coverage/EPSG:900913/4?bounds=1,1,2500000,2500000');
    expect(within.body).toMatchObject({ minX: 8, minY: 7, columns: 1, rows: 1, runs: [5, 1] });
    const outside = await get('coverage/EPSG:900913/4?bounds=1e9,1e9,2e9,2e9');
    expect(outside.body).toMatchObject({ columns: 0, rows: 0, runs: [] });
  });

  it.each([
    ['coverage/EPSG:900913/99', 404, 'has no zoom 99; it has zooms 0 to 12'],
    ['coverage/EPSG:900913/x', 400, 'The zoom must be a whole number such as 0 or 12, not x'],
    ['coverage/EPSG:900913/2?bounds=1,2,3', 400, 'bounds must be four numbers'],
    ['coverage/EPSG:900913/2?bounds=5,5,1,1', 400, 'min not above max'],
    ['coverage/EPSG:900913/2?bounds=a,b,c,d', 400, 'got "a,b,c,d"'],
    ['coverage/EPSG:900913/2?shows=size', 400, 'shows must be one of age, share, state, got "size"'],
    ['coverage/EPSG:1/2', 400, 'it has EPSG:900913'],
    ['coverage/EPSG:900913/2?format=image/gif', 400, 'it has image/png, image/jpeg'],
    ['coverage/EPSG:900913/2?STYLES=pink', 400, 'STYLES'],
    ['tiles/EPSG:900913/2/9/0', 404, 'columns are 0 to 3'],
    ['tiles/EPSG:900913/2/-1/0', 400, 'The column must be a whole number'],
  ])('coverage refuses %s in words', async (path, status, words) => {
    const answer = await get(path);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(words);
  });
});

describe('a tile', () => {
  it('a tile is shown with all its details, and the request makes none', async () => {
    const set = fixture.set('world');
    const createdAt = Date.now() - 120_000;
    await fixture.store.put(set, 6, [{ x: 1, y: 2, bytes: Buffer.from('tile'), createdAt }], 0);
    events.emit({ type: 'served', set, tile: { z: 6, x: 1, y: 2 }, at: Date.now() });
    const { body } = await get('tiles/EPSG:900913/6/1/2?format=png');
    expect(tileResponse.parse(body)).toMatchObject({
      layer: 'world',
      format: 'image/png',
      parameters: { STYLES: 'light' },
      stored: { bytes: 4, expired: true, storedAt: new Date(createdAt).toISOString() },
      page: { x: 0, y: 0, hits: 1 },
      metatile: { minX: 0, minY: 0, maxX: 3, maxY: 3 },
      upstream: expect.stringMatching(/^http:\/\/maps\.test\/\?BBOX=-2003/),
    });
    expect((await get('tiles/EPSG:900913/6/0/0')).body).toMatchObject({ stored: null });
    const content = await app.request('GET', '/api/v1/layers/world/tiles/EPSG:900913/6/1/2/content');
    expect(content).toMatchObject({ status: 200, text: 'tile', headers: { 'content-type': 'image/png' } });
    expect(await get('tiles/EPSG:900913/6/0/0/content')).toMatchObject({ status: 404 });
    expect(await get('tiles/EPSG:900913/6/99/0/content')).toMatchObject({ status: 404 });
  });
});

describe('who made a tile', () => {
  async function makerOf(madeBy: number | null, createdAt: number) {
    await fixture.store.drop(fixture.set('world').layer, fixture.set('world'));
    const write = { x: 1, y: 2, bytes: Buffer.from('tile'), createdAt, madeBy };
    await fixture.store.put(fixture.set('world'), 6, [write], 0);
    return tileResponse.parse((await get('tiles/EPSG:900913/6/1/2')).body).stored?.madeBy;
  }

  it('the maker of a tile is a task, as long as it is in the history', async () => {
    expect(await makerOf(7, started + 500)).toEqual({ kind: 'task', task: 7, inHistory: true });
    expect(await makerOf(6, started + 500)).toEqual({ kind: 'task', task: 6, inHistory: false });
  });

  it('the maker of a tile is never another task with the same number', async () => {
    for (const at of [started - 61_000, started + 62_000])
      expect(await makerOf(7, at)).toMatchObject({ inHistory: false });
  });

  it('the maker of a tile is the request of a client, or unknown', async () => {
    expect(await makerOf(0, started)).toEqual({ kind: 'request', task: null, inHistory: false });
    expect(await makerOf(null, started)).toEqual({ kind: 'unknown', task: null, inHistory: false });
  });
});

it('the list of layers shows when their tiles changed and how often making them failed', async () => {
  const lastFailure = {
    at: started,
    reason: 'source-timeout',
    message: 'No answer in time.',
    upstream: null,
  };
  const { request } = createTestApp({
    deps: { layerState: () => ({ changedAt: started, failures: 3, failuresSince: 0, lastFailure }) },
  });
  const at = new Date(started).toISOString();
  expect(layerListResponse.parse(JSON.parse((await request('GET', '/api/v1/layers')).text))).toMatchObject({
    layers: [
      {
        changedAt: at,
        failures: 3,
        failuresSince: '1970-01-01T00:00:00.000Z',
        lastFailure: { ...lastFailure, at },
      },
    ],
  });
});

it('the answer about a layer has the fields of its document', async () => {
  const { text } = await app.request('GET', '/api/v1/layers/world');
  expect(layerResponse.parse(JSON.parse(text))).toMatchObject({ name: 'world', expireCacheSeconds: 60 });
  const list = await app.request('GET', '/api/v1/layers');
  const world = { name: 'world', gridSets: ['EPSG:900913'], changedAt: null, failures: 0, lastFailure: null };
  expect(layerListResponse.parse(JSON.parse(list.text))).toMatchObject({ layers: [world] });
  const gridSets = await app.request('GET', '/api/v1/gridsets');
  expect(JSON.parse(gridSets.text)).toMatchObject({
    gridSets: [{ name: 'EPSG:900913', srs: 'EPSG:900913' }],
  });
  expect((await app.request('GET', '/api/v1/layers/nothing')).status).toBe(404);
});
