import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { expectCleanLog, startServer, writeConfig } from './server.ts';
import {
  LAYER,
  openWms,
  roadsConfig,
  type ShownTask,
  shareTaskServer,
  speakTo,
  type TaskServer,
  type TileAt,
  tilesOf,
} from './task-server.ts';

const HALF_WORLD = 20037508.34;
const FORM = 'application/x-www-form-urlencoded';

/** One server and its worker process for all tests. How many requests it sends must not depend on those before. */
const shared = shareTaskServer({
  upstream: 'concurrency: 16, adaptive: false',
  expectedLog: /upstream|source|map server/,
  more: ({ url }) => `  - name: rivers\n    source: { type: wms, url: '${url}', layers: roads }\n`,
});

const PENDING = 0;
const RUNNING = 1;

const isNorthWest = ({ z, x, y }: TileAt) => x < 2 ** (z - 1) && y < 2 ** (z - 1);

function* tilesOf4326(zoomStop: number): Generator<TileAt> {
  for (let z = 0; z <= zoomStop; z++) {
    for (let y = 0; y < 2 ** z; y++) {
      for (let x = 0; x < 2 ** (z + 1); x++) yield { z, x, y };
    }
  }
}

/** `/api/v1/events`, from now on. */
async function listen(server: TaskServer) {
  const response = await server.request('GET', '/api/v1/events');
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = '';
  const reading = (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  })();
  return {
    received: () =>
      [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data]) => JSON.parse(data ?? '') as ShownTask),
    async close() {
      await reader.cancel();
      await reading;
    },
  };
}

describe('seeding over the REST interface', () => {
  it('a seed request in XML fills zoom 0 to 3 with correct tiles, and stays in the history', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const body = `<?xml version="1.0" encoding="UTF-8"?>
<seedRequest><name>${LAYER}</name><srs><number>900913</number></srs><zoomStart>0</zoomStart><zoomStop>3</zoomStop>
<format>image/png</format><type>seed</type><threadCount>4</threadCount></seedRequest>`;
    const response = await server.request('POST', `/rest/seed/${LAYER}.xml`, body, 'text/xml');
    expect([response.status, await response.text()]).toEqual([200, '']);
    const id = Number(response.headers.get('x-task-id'));
    expect(response.headers.get('location')).toBe(`${server.url}/api/v1/tasks/${id}`);

    const [row, ...others] = await server.list();
    expect(others).toEqual([]);
    expect(row?.slice(0, 4)).toEqual([0, 85, -1, id]);
    expect([PENDING, RUNNING]).toContain(row?.[4]);
    expect((await server.list(LAYER)).map((one) => one[3])).toEqual([id]);
    await eventually(
      'it runs',
      () => server.list(),
      ([first]) => first?.[4] === RUNNING,
    );

    wms.answer = 'good';
    wms.release();
    const task = await server.over(id);
    expect(task).toMatchObject({ state: 'done', reason: null, type: 'seed', createdBy: 'token:tests' });
    expect(task).toMatchObject({ tilesProcessed: 85, tilesTotal: 85 });
    expect(task.counters).toMatchObject({ made: 85, present: 0, removed: 0, failed: 0 });
    expect(task.counters.upstreamRequests).toBe(wms.requests.length);
    expect(await server.list()).toEqual([]);

    const asked = wms.requests.length;
    expect(await server.expectTiles(tilesOf(0, 3), { cache: 'HIT' })).toBe(85);
    expect(wms.requests.length).toBe(asked);
  });

  it('a seed request in JSON fills another grid set, and a second one finds all tiles present', async () => {
    const { wms, server } = shared;
    const anonymous = await fetch(`${server.url}/rest/seed/${LAYER}.json`, { method: 'POST', body: '{}' });
    expect([anonymous.status, await server.list()]).toEqual([401, []]);
    const request = { gridSetId: 'EPSG:4326', zoomStart: '0', zoomStop: 3, type: 'seed', threadCount: 2 };
    const events = await listen(server);
    const first = await server.over(await server.start(request));
    await eventually('the event stream tells of the end', () =>
      events.received().some(({ id, state }) => id === first.id && state === 'done'),
    );
    await events.close();
    expect(first).toMatchObject({ state: 'done', tilesProcessed: 170, tilesTotal: 170 });
    const asked = wms.requests.length;
    const second = await server.over(await server.start(request));
    expect(second).toMatchObject({ state: 'done', tilesProcessed: 170, tilesTotal: 170 });
    expect(second.counters).toMatchObject({ made: 0, present: 170, upstreamRequests: 0 });
    expect(second.id).toBeGreaterThan(first.id);
    await server.expectTiles(tilesOf4326(3), { cache: 'HIT', gridSet: 'EPSG:4326' });
    expect(wms.requests.length).toBe(asked);
  });

  it('a seed request works under the path prefixes of GeoWebCache’s clients', async () => {
    const { server } = shared;
    let column = 0;
    for (const prefix of ['/geowebcache', '/geoserver/gwc']) {
      const west = -20037508.34 + column++ * 10018754.17;
      const bounds = { coords: { double: [west + 1, 1, west + 10018753, 10018754].map(String) } };
      const body = JSON.stringify({ seedRequest: { name: LAYER, bounds, zoomStart: 2, zoomStop: 2 } });
      const path = `${prefix}/rest/seed/${LAYER}.json`;
      const response = await server.request('POST', path, body, 'application/json');
      expect(response.status).toBe(200);
      const location = response.headers.get('location') ?? '';
      expect(location.startsWith(`${server.url}${prefix}/api/v1/tasks/`)).toBe(true);
      const task = await server.over(Number(response.headers.get('x-task-id')));
      expect(task).toMatchObject({ state: 'done', tilesTotal: 1, tilesProcessed: 1 });
      const shown = await server.request('GET', new URL(location).pathname);
      expect(await shown.json()).toMatchObject({ id: task.id, state: 'done' });
    }
    const listed = await server.request('GET', `/geoserver/gwc/rest/seed/${LAYER}.xml`);
    expect(await listed.json()).toEqual({ 'long-array-array': [] });
    await server.expectTiles(
      [0, 1].map((x) => ({ z: 2, x, y: 1 })),
      { cache: 'HIT' },
    );
  });
});

describe('truncating', () => {
  it('a truncate task removes the tiles of a range and leaves the others', async () => {
    const { wms, server } = shared;
    await server.over(await server.start({ zoomStop: 4, threadCount: 4 }));
    const inRange = [...tilesOf(2, 4)].filter(isNorthWest);
    // In memory by now: the server must not answer from there either.
    await server.expectTiles(inRange, { cache: 'HIT' });
    const coords = { double: [-HALF_WORLD, 0, 0, HALF_WORLD].map(String) };
    const request = { type: 'truncate', zoomStart: 2, zoomStop: 4, bounds: { coords }, threadCount: 8 };
    const task = await server.over(await server.start(request));
    expect(task).toMatchObject({ state: 'done', type: 'truncate', tilesTotal: 84, tilesProcessed: 84 });
    expect(task.counters).toMatchObject({ removed: 84, made: 0, failed: 0, upstreamRequests: 0 });

    const asked = wms.requests.length;
    const outside = [...tilesOf(0, 4)].filter((tile) => tile.z < 2 || !isNorthWest(tile));
    expect(outside).toHaveLength(257);
    await server.expectTiles(
      outside.filter((_, at) => at % 3 === 0),
      { cache: 'HIT' },
    );
    expect(wms.requests.length).toBe(asked);
    // One tile of each metatile: it brings its neighbours back.
    const oneOfEach = inRange.filter(({ x, y }) => x % 4 === 0 && y % 4 === 0);
    expect(await server.expectTiles(oneOfEach, { cache: 'MISS' })).toBe(6);
    expect(wms.requests.length).toBe(asked + 6);
  });
});

describe('reseeding', () => {
  it('a reseed replaces tiles, and no client gets an older one when it is done', async () => {
    const { wms, server } = shared;
    await server.over(await server.start({ zoomStop: 3, threadCount: 4 }));
    // Twice, so that they are in memory.
    for (const _ of [1, 2]) await server.expectTiles(tilesOf(0, 3), { cache: 'HIT', version: 1 });
    wms.version = 2;
    const task = await server.over(await server.start({ type: 'reseed', zoomStop: 3, threadCount: 4 }));
    expect(task).toMatchObject({ state: 'done', tilesTotal: 85, tilesProcessed: 85 });
    expect(task.counters).toMatchObject({ made: 85, present: 0 });
    await server.expectTiles(tilesOf(0, 3), { cache: 'HIT', version: 2 });
  });
});

describe('stopping', () => {
  it('a stop of tasks returns immediately if the upstream hangs, and no tile is written later', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const id = await server.start({ zoomStart: 3, zoomStop: 8, threadCount: 4 });
    await eventually(
      'four requests hang',
      () => wms.active,
      (active) => active === 4,
    );

    const response = await server.request('POST', `/rest/seed/${LAYER}`, 'kill_all=running', FORM);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(await response.text()).toContain(`[${id}: ${LAYER}, seed, running]`);
    expect(await server.list()).toEqual([]);
    expect(await server.task(id)).toMatchObject({ state: 'aborted', reason: 'stopped by token:tests' });

    await eventually(
      'the upstream is left alone',
      () => wms.active,
      (active) => active === 0,
    );
    expect(wms.aborted).toBe(4);
    const asked = wms.requests.length;
    wms.answer = 'good';
    wms.release();
    // A second task, done by the same workers: the first one does not come back behind it.
    await server.over(await server.start({ zoomStop: 0 }));
    expect(wms.requests.length).toBe(asked + 1);
    const places = [3, 4, 5].map((z) => ({ z, x: 0, y: 0 }));
    expect(await server.expectTiles(places, { cache: 'MISS' })).toBe(3);
  });

  it('tasks can be stopped by state, by layer and by number', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const first = await server.start({ zoomStart: 8, zoomStop: 9, threadCount: 64 });
    const second = await server.start({ zoomStart: 8, zoomStop: 9, threadCount: 64 });
    const ids = async () => (await server.list()).map((row) => row[3]);
    expect(await ids()).toEqual([first, second]);

    const kill = async (path: string, form: string) =>
      (await server.request('POST', `/rest/seed${path}`, form, FORM)).status;
    expect(await kill('/rivers', 'kill_all=all')).toBe(200);
    expect(await ids()).toEqual([first, second]);
    expect(await kill('/unknown', 'kill_all=all')).toBe(404);
    expect(await kill('', 'kill_all=everything')).toBe(400);
    // Its requests hang and hold every thread, so that the others wait.
    await eventually(
      'the first one runs',
      () => server.task(first),
      ({ state }) => state === 'running',
    );
    expect((await server.task(second)).state).toBe('pending');
    expect(await kill(`/${LAYER}`, 'kill_all=pending')).toBe(200);
    expect(await ids()).toEqual([first]);
    const [third, fourth] = [await server.start({ zoomStart: 8 }), await server.start({ zoomStart: 8 })];
    expect(await kill(`/${LAYER}`, `kill_thread=1&thread_id=${third}`)).toBe(200);
    expect(await ids()).toEqual([first, fourth]);
    expect(await kill('', 'kill_all=all')).toBe(200);
    expect(await ids()).toEqual([]);
  });
});

describe('fair turns', () => {
  it('a one-tile task created during a big seed is done first', async () => {
    const { wms, server } = shared;
    wms.answer = { delayMs: 20 };
    const big = await server.start({ zoomStart: 5, threadCount: 64 });
    await eventually(
      'the big one is under way',
      () => wms.requests.length,
      (asked) => asked > 40,
    );
    const small = await server.start({ zoomStop: 0 });
    expect(await server.over(small)).toMatchObject({ state: 'done', tilesProcessed: 1 });
    expect(await server.task(big)).toMatchObject({ state: 'running' });
  });
});

describe('an upstream that fails in places', () => {
  beforeAll(() => expectCleanLog(shared.server.stderr()));

  it('tiles for which the upstream fails are reported, counted, and can be retried alone', async () => {
    const { wms, server } = shared;
    const isBroken = (z: number, minX: number) => z === 4 && minX < 0;
    const request = {
      zoomStop: 4,
      threadCount: 4,
      tileFailureRetryCount: 2,
      tileFailureRetryWaitTime: 50,
    };
    // A request of the big task before, stopped a moment ago, may still come; it is of a deeper zoom.
    const attempts = { all: 0, broken: 0 };
    wms.answer = ({ place }) => {
      const z = Math.round(
        Math.log2(156543.03390625 / ((place.bounds.maxX - place.bounds.minX) / place.width)),
      );
      if (z <= request.zoomStop) attempts.all++;
      if (!isBroken(z, place.bounds.minX)) return 'good';
      attempts.broken++;
      return 'xml';
    };
    const task = await server.over(await server.start(request));
    // 16 × 16 tiles in 4 × 4 metatiles, of which the western half fails three times each.
    expect(task).toMatchObject({ state: 'aborted', tilesTotal: 341, tilesProcessed: 341 });
    expect(task.counters).toMatchObject({ made: 213, failed: 128 });
    expect(task.counters.upstreamRequests).toBe(attempts.all);
    expect(task.reason).toContain('128 of 341 tiles failed');
    expect(attempts.broken).toBe(24);
    expect(task.errors.length).toBeGreaterThan(0);
    expect(task.errors.every(({ z }) => z === 4)).toBe(true);
    // The map server's own message, for callers with access to tasks.
    expect(JSON.stringify(task.errors)).toContain('Could not open table secret_roads');

    wms.answer = 'good';
    const retried = await server.request('POST', `/api/v1/tasks/${task.id}/retry`);
    expect(retried.status).toBe(201);
    const again = await server.over(((await retried.json()) as { id: number }).id);
    expect(again).toMatchObject({ state: 'done', reason: null, tilesTotal: 128, tilesProcessed: 128 });
    await server.expectTiles(
      [...tilesOf(0, 4)].filter((_, at) => at % 4 === 0),
      { cache: 'HIT' },
    );
  });

  it('a task whose upstream always fails is aborted with the reason', async () => {
    const { wms, server } = shared;
    wms.answer = 'xml';
    const id = await server.start({ tileFailureRetryCount: 0, totalFailuresBeforeAborting: 5 });
    const task = await server.over(id);
    expect(task.state).toBe('aborted');
    expect(task.reason).toContain('as many as totalFailuresBeforeAborting allows');
    expect(await server.list()).toEqual([]);
  });
});

describe('a configuration file that is edited while the server runs', () => {
  it('an edited configuration file does not affect workers before the server reloads it', async () => {
    const wms = await openWms();
    const config = writeConfig(roadsConfig(wms));
    const server = speakTo(await startServer({ args: ['--config', config] }));
    writeFileSync(config, 'layers: [');

    const id = await server.start({ type: 'seed', gridSetId: 'EPSG:900913', zoomStop: 1, threadCount: 1 });

    expect(await server.over(id)).toMatchObject({ state: 'done', tilesProcessed: 5 });
    await server.stop();
  });
});
