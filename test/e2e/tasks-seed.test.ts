import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { startServer, writeConfig } from './server.ts';
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

const shared = shareTaskServer();

const PENDING = 0;
const RUNNING = 1;

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
