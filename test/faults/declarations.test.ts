import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { boundsOfRect } from '../../src/domain/grid-set.ts';
import { rectOfTile } from '../../src/domain/tile-rect.ts';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { freshData, writeConfig } from '../e2e/server.ts';
import { type OpenServer, openServer } from '../e2e/server-in-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { showsPlace } from '../fixtures/mock-wms-pixels.ts';

const [mercator] = builtInGridSets().filter(({ name }) => name === 'EPSG:900913');
const NAME = 'roads';
const AT = `/api/v1/layers/${NAME}`;

let config: string;
let data: string;
let wms: MockWms;
let server: OpenServer;

async function start(layers: readonly object[] = []): Promise<void> {
  const upstreams = { [new URL(wms.url).host]: { allowPrivate: true, concurrency: 2 } };
  await writeFile(config, JSON.stringify({ upstreams, layers }));
  server = await openServer({ data, flags: { 'no-auth': 'true', config } });
}

function declared(defaultStyle: string, layers = 'plain') {
  return {
    name: NAME,
    source: { type: 'wms', url: wms.url, layers },
    gridSets: [{ name: 'EPSG:900913', zoomStop: 5 }],
    metatile: [2, 2],
    parameters: [{ name: 'STYLES', default: defaultStyle, values: ['blue', 'red'] }],
  };
}

async function call(method: string, path: string, body?: object) {
  const answer = await fetch(new URL(path, server.url), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await answer.text();
  return { status: answer.status, json: text.startsWith('{') ? JSON.parse(text) : null, text };
}

async function tile(z: number, x: number, y: number) {
  const answer = await fetch(new URL(`/tiles/${NAME}/${z}/${x}/${y}.png`, server.url));
  return {
    status: answer.status,
    cache: answer.headers.get('x-cache'),
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

/** Which of the styles and layers of the mock the picture shows. */
async function shown(bytes: Buffer, z: number, x: number, y: number): Promise<string> {
  if (!mercator) throw new Error('there is no web mercator');
  const bounds = boundsOfRect(mercator, z, rectOfTile({ x, y }));
  const image = await decodeImage(bytes, { maxPixels: 256 * 256 });
  for (const layers of ['plain', 'other']) {
    for (const style of ['blue', 'red']) {
      const parameters = new Map([
        ['LAYERS', layers],
        ['STYLES', style],
      ]);
      if (showsPlace(image, { srs: 3857, bounds, width: 256, height: 256, parameters }))
        return `${layers} ${style}`;
    }
  }
  return 'something else';
}

async function shownAt(z: number, x: number, y: number): Promise<string> {
  const { bytes, cache } = await tile(z, x, y);
  return `${cache} ${await shown(bytes, z, x, y)}`;
}

beforeEach(async () => {
  data = await freshData({});
  config = writeConfig('');
  wms = await openMockWms();
});
afterEach(async () => {
  wms.release();
  await wms.close();
});

describe('a layer that is changed', () => {
  it.each([
    ['default parameter', ['red', 'plain'], 'plain red'],
    ['source', ['blue', 'other'], 'other blue'],
  ] as const)(
    'a layer changed to another %s under a seed shows no tile of the former declaration',
    async (...row) => {
      const [, [style, layers], picture] = row;
      await start();
      await call('POST', '/api/v1/layers', declared('blue'));
      wms.answer = { delayMs: 5 };
      const seed = await call('POST', '/api/v1/tasks', {
        layer: NAME,
        type: 'seed',
        zoomStop: 3,
        threadCount: 2,
      });
      await eventually(
        'requests of the seed',
        () => wms.requests.length,
        (count) => count > 6,
      );
      expect((await call('PUT', AT, declared(style, layers))).status).toBe(200);
      await eventually(
        'the end of the seed',
        async () => (await call('GET', `/api/v1/tasks/${seed.json.id}`)).json.state,
        (state) => state !== 'running' && state !== 'pending',
      );
      wms.answer = 'good';
      const seen = new Set<string>();
      for (let z = 0; z <= 3; z++) {
        for (let x = 0; x < 2 ** z; x += 2) seen.add(await shownAt(z, x, 2 ** z - 1));
      }
      expect([...seen].filter((what) => !what.endsWith(picture))).toEqual([]);
    },
  );

  it('a tile requested before its layer is changed is not stored', async () => {
    await start();
    await call('POST', '/api/v1/layers', declared('blue'));
    wms.answer = 'hang';
    const waiting = tile(3, 1, 1);
    await eventually(
      'the request',
      () => wms.requests.length,
      (count) => count === 1,
    );
    await call('PUT', AT, declared('red'));
    wms.answer = 'good';
    wms.release();
    await waiting;
    expect(await shownAt(3, 1, 1)).toBe('MISS plain red');
    expect(await shownAt(3, 1, 1)).toBe('HIT plain red');
  });

  it('a layer that is deleted and declared again has no tile of the deleted one', async () => {
    await start();
    await call('POST', '/api/v1/layers', declared('blue'));
    await tile(3, 1, 1);
    wms.answer = 'hang';
    const waiting = tile(3, 4, 4);
    await eventually(
      'the request',
      () => wms.requests.length,
      (count) => count === 2,
    );
    expect((await call('DELETE', AT)).status).toBe(204);
    expect((await tile(3, 1, 1)).status).toBe(404);
    wms.answer = 'good';
    expect((await call('POST', '/api/v1/layers', declared('blue'))).status).toBe(201);
    wms.release();
    await waiting;
    expect((await tile(3, 1, 1)).cache).toBe('MISS');
    expect((await tile(3, 4, 4)).cache).toBe('MISS');
  });

  it('a layer shows only tiles of its current source, and former tiles with a former source', async () => {
    await start();
    await call('POST', '/api/v1/layers', declared('blue'));
    await tile(3, 1, 1);
    const plan = () => call('PUT', `${AT}?dryRun=true`, declared('blue', 'other'));
    await eventually(
      'the tile in the store',
      async () => (await plan()).json.tileSets.stale,
      (stale) => stale === 1,
    );
    await call('PUT', AT, declared('blue', 'other'));
    wms.answer = { status: 500 };
    expect((await tile(3, 1, 1)).status).toBe(502);
    await call('PUT', AT, declared('blue'));
    expect(await shownAt(3, 1, 1)).toBe('HIT plain blue');
  });
});

describe('a layer of the configuration file that is changed there', () => {
  it('a layer changed in the configuration file shows no former tile after a reload or restart', async () => {
    await start([declared('blue')]);
    await tile(3, 1, 1);
    await eventually(
      'the tile',
      () => shownAt(3, 1, 1),
      (what) => what === 'HIT plain blue',
    );
    const upstreams = { [new URL(wms.url).host]: { allowPrivate: true, concurrency: 2 } };
    await writeFile(config, JSON.stringify({ upstreams, layers: [declared('red')] }));
    const body = new URLSearchParams({ reload_configuration: '1' });
    expect((await fetch(new URL('/rest/reload', server.url), { method: 'POST', body })).status).toBe(200);
    expect(await shownAt(3, 1, 1)).toBe('MISS plain red');
    await server.stop();
    await start([declared('blue', 'other')]);
    expect(await shownAt(3, 1, 1)).toBe('MISS other blue');
  });
});
