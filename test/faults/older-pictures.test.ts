/** Histories after which no older picture may be shown: a change was acknowledged. */
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { freshData, writeConfig } from '../e2e/server.ts';
import { type OpenServer, openServer } from '../e2e/server-in-process.ts';
import { pictureOf } from '../e2e/task-server.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';

const PLACE = { z: 2, x: 1, y: 1 };
const GRID_SET = 'EPSG:900913';
/** A few zooms: a truncation of all goes through their places, stored or not. */
const GRID_SETS = [{ name: GRID_SET, zoomStop: 5 }];

let config: string;
let wms: MockWms;
let server: OpenServer;

beforeEach(async () => {
  config = writeConfig('');
  wms = await openMockWms();
});
afterEach(() => wms.close());

function lower(source: object = {}) {
  const mock = { type: 'wms', url: wms.url, layers: 'roads', ...source };
  return { name: 'lower', source: mock, gridSets: GRID_SETS, metatile: [1, 1], gutter: 0 };
}

function upper(name = 'upper', below = 'lower') {
  return { name, source: { type: 'layer', layer: below }, gridSets: GRID_SETS, metatile: [1, 1], gutter: 0 };
}

async function write(layers: readonly object[]): Promise<void> {
  const upstreams = { [new URL(wms.url).host]: { allowPrivate: true } };
  await writeFile(config, JSON.stringify({ upstreams, layers }));
}

async function start(layers: readonly object[]): Promise<void> {
  await write(layers);
  const data = await freshData({});
  server = await openServer({ data, flags: { 'no-auth': 'true', config } });
}

async function call(method: string, path: string, body?: object | string) {
  const isForm = typeof body === 'string';
  const answer = await fetch(new URL(path, server.url), {
    method,
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
    headers: { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' },
  });
  const text = await answer.text();
  expect([path, answer.status, answer.ok ? '' : text]).toEqual([path, expect.any(Number), '']);
  return text.startsWith('{') ? JSON.parse(text) : null;
}

/** The cache's word, and the version of the map that is shown. */
async function shown(layer: string): Promise<string> {
  const { z, x, y } = PLACE;
  const answer = await fetch(new URL(`/tiles/${layer}/${GRID_SET}/${z}/${x}/${y}.png`, server.url));
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) return String(answer.status);
  const { pixels } = await decodeImage(bytes, { maxPixels: 256 * 256 });
  const version = [1, 2, 3].find((one) => pixels.equals(pictureOf(PLACE, GRID_SET, one))) ?? 'none';
  return `${answer.headers.get('x-cache')} ${version}`;
}

async function cached(...layers: readonly string[]): Promise<void> {
  for (const layer of layers) expect(await shown(layer)).toBe('MISS 1');
  await untilStored(server);
  for (const layer of layers) expect(await shown(layer)).toBe('HIT 1');
}

async function truncateByTask(layer: string, request: object = {}): Promise<number> {
  const { id } = await call('POST', '/api/v1/tasks', { layer, type: 'truncate', ...request });
  await eventually(
    'the truncation ends',
    async () => (await call('GET', `/api/v1/tasks/${id}`)).state,
    (state) => state === 'done',
  );
  return (await call('GET', `/api/v1/tasks/${id}`)).counters.removed;
}

it('a layer drawn from a stale tile is stale too, and shows the new one when the source is back', async () => {
  await start([lower(), upper(), upper('top', 'upper')]);
  await cached('lower', 'upper', 'top');
  await call('POST', '/api/v1/layers/lower/invalidate', {});
  wms.version = 2;
  wms.answer = { status: 500, body: 'broken' };
  expect(await shown('top')).toBe('STALE 1');
  expect(await shown('upper')).toBe('STALE 1');
  expect(await shown('lower')).toBe('STALE 1');
  await untilStored(server);
  wms.answer = 'good';
  for (const layer of ['lower', 'upper', 'top']) {
    await eventually(
      `${layer} shows the new version`,
      () => shown(layer),
      (seen) => seen.endsWith(' 2'),
    );
  }
});

it.each([{}, { format: 'image/png' }, { zoomStart: 0, zoomStop: 4 }])(
  'a truncate task of %o reaches tiles of the former source',
  async (request) => {
    await start([]);
    await call('POST', '/api/v1/layers', lower());
    await cached('lower');
    await call('PUT', '/api/v1/layers/lower', lower({ styles: 'blue' }));
    expect(await truncateByTask('lower', request)).toBe(1);
    wms.version = 2;
    await call('PUT', '/api/v1/layers/lower', lower());
    expect(await shown('lower')).toBe('MISS 2');
  },
);

it.each(['truncate', 'invalidate'])(
  'a layer that leaves the file during a %s below it, and returns, shows the new picture',
  async (change) => {
    const [bottom, middle, top] = [lower(), upper(), upper('top', 'upper')];
    await start([bottom, middle, top]);
    await cached('lower', 'upper', 'top');
    await write([bottom]);
    await call('POST', '/rest/reload', 'reload_configuration=1');
    if (change === 'truncate') await call('POST', '/masstruncate', { truncateLayer: { layerName: 'lower' } });
    else await call('POST', '/api/v1/layers/lower/invalidate', {});
    wms.version = 2;
    await write([bottom, middle, top]);
    await call('POST', '/rest/reload', 'reload_configuration=1');
    expect(await shown('lower')).toBe('MISS 2');
    expect([await shown('upper'), await shown('top')]).toEqual(['MISS 2', 'MISS 2']);
  },
);

it('a layer that had another source during a truncation below its former one shows the new picture', async () => {
  await start([lower()]);
  await call('POST', '/api/v1/layers', upper());
  await cached('lower', 'upper');
  await call('PUT', '/api/v1/layers/upper', { ...lower({ styles: 'blue' }), name: 'upper' });
  await call('POST', '/masstruncate', { truncateLayer: { layerName: 'lower' } });
  wms.version = 2;
  await call('PUT', '/api/v1/layers/upper', upper());
  expect(await shown('upper')).toBe('MISS 2');
});
