import { beforeEach, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import type { MockResponse } from '../fixtures/mock-wms.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const gridSets = [{ name: 'EPSG:900913', zoomStop: 6 }];
const CITY = 'tiles/city/3/4/2.png';
const FAILS = /could not be drawn|source failed|upstream/;

let ground: MockWms;
let names: MockWms;
let server: OpenServer;

async function start(parts: readonly object[], expectedLog?: RegExp): Promise<void> {
  const wms = ({ url }: MockWms) => ({ type: 'wms', url, layers: 'a', transparent: true });
  const layers = [
    { name: 'ground', source: wms(ground), gridSets },
    { name: 'names', source: wms(names), gridSets },
    { name: 'city', source: { type: 'layers', of: parts }, gridSets, fullWMS: true },
  ];
  server = await openServer({
    config: JSON.stringify({ layers }),
    flags: { 'no-auth': 'true' },
    ...(expectedLog && { expectedLog }),
  });
}

async function tile(path = CITY) {
  const answer = await fetch(new URL(path, server.url));
  const bytes = Buffer.from(await answer.arrayBuffer());
  await untilStored(server);
  return { status: answer.status, cache: answer.headers.get('x-cache'), bytes };
}

async function post(path: string, body: object): Promise<number> {
  const answer = await fetch(new URL(path, server.url), {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  return answer.status;
}

async function stored(layer: string): Promise<number> {
  const answer = await fetch(new URL('api/v1/usage', server.url));
  const { layers } = (await answer.json()) as { layers: { name: string; bytes: number }[] };
  return layers.find(({ name }) => name === layer)?.bytes ?? 0;
}

const PARTS = [{ layer: 'ground' }, { layer: 'names', opacity: 0.5 }];

describe('a composed layer', () => {
  beforeEach(async () => {
    ground = await openMockWms();
    names = await openMockWms();
    whenOver(() => ground.close());
    whenOver(() => names.close());
  });

  it('a composed tile is made again when one of its parts is truncated', async () => {
    await start(PARTS);
    const first = await tile();
    expect([first.cache, (await tile()).cache]).toEqual(['MISS', 'HIT']);
    names.version = 2;
    expect(await post('api/v1/layers/names/truncate', {})).toBe(200);
    const second = await tile();
    expect(second.cache).toBe('MISS');
    expect(second.bytes.equals(first.bytes)).toBe(false);
    expect((await tile()).cache).toBe('HIT');
  });

  it('a composed tile with a stale part is stale, and is not kept', async () => {
    await start(PARTS, FAILS);
    await tile();
    expect(await post('api/v1/layers/names/invalidate', {})).toBe(200);
    names.answer = 'xml';
    expect((await tile()).cache).toBe('STALE');
    expect((await tile()).cache).toBe('STALE');
    names.answer = 'good';
    await eventually('the tile is fresh again', tile, ({ cache }) => cache === 'HIT');
  });

  it.each(['layer', 'source'])('a tile without a part that fails is shown and not kept: %s', async (kind) => {
    const { url } = names;
    const own = { source: { type: 'wms', url, layers: 'a' } };
    await start([{ layer: 'ground' }, kind === 'layer' ? { layer: 'names' } : own], FAILS);
    names.answer = 'xml';
    const without = await tile();
    expect([without.status, without.cache]).toEqual([200, 'STALE']);
    expect(without.bytes.equals((await tile('tiles/ground/3/4/2.png')).bytes)).toBe(true);
    expect([await stored('city'), (await stored('ground')) > 0]).toEqual([0, true]);
    names.answer = 'good';
    await eventually('the tile is complete', tile, ({ cache }) => cache === 'HIT');
  });

  it.each<[string, MockResponse]>([
    ['a status 403', { status: 403, body: 'Forbidden' }],
    ['a login', { status: 401, headers: { 'www-authenticate': 'Basic realm="maps"' } }],
    ['a page to sign in', 'html'],
    ['another address', 'redirect'],
    ['a service exception', 'xml'],
  ])('a map without a part that is refused may not be kept by clients: %s', async (_, refusal) => {
    const own = { source: { type: 'wms', url: names.url, layers: 'a' } };
    await start([{ layer: 'ground' }, own], FAILS);
    names.answer = refusal;
    const box = 'bbox=-20037508,-20037508,20037508,20037508&srs=EPSG:3857&width=300&height=300';
    const map = `service/wms?service=WMS&version=1.1.1&request=GetMap&layers=city&styles=&format=image/png&${box}`;
    const answers = [];
    for (const path of [CITY, CITY, map, map]) {
      const { status, headers } = await fetch(new URL(path, server.url));
      answers.push([status, headers.get('x-cache'), headers.get('cache-control')]);
    }
    expect(answers).toEqual(Array(4).fill([200, 'STALE', 'max-age=0, must-revalidate']));
    await untilStored(server);
    expect(await stored('city')).toBe(0);
    names.answer = 'good';
    await eventually('the tile is complete', tile, ({ cache }) => cache === 'HIT');
  });

  it('an older tile is shown rather than one without a part that fails', async () => {
    const own = { source: { type: 'wms', url: names.url, layers: 'a' }, opacity: 0.5 };
    await start([{ layer: 'ground' }, own], FAILS);
    const complete = await tile();
    expect(await post('api/v1/layers/city/invalidate', {})).toBe(200);
    names.answer = 'xml';
    const older = await tile();
    expect([older.cache, older.bytes.equals(complete.bytes)]).toEqual(['STALE', true]);
  });
});

describe('a layer within an area', () => {
  it('tiles outside its area are empty without a request, and another shape makes new tiles', async () => {
    const wms = await openMockWms();
    whenOver(() => wms.close());
    const data = temporaryFolder();
    const source = { type: 'wms', url: wms.url, layers: 'a' };
    const open = async (east: number, background: string | null) => {
      const areas = [{ name: 'west', bounds: [-180, -90, east, 90] }];
      const layers = [{ name: 'city', source, gridSets, metatile: [1, 1], within: 'west', background }];
      const config = JSON.stringify({ areas, layers });
      server = await openServer({ config, data, flags: { 'no-auth': 'true' } });
    };
    const colour = async (path: string, at: number) => {
      const { bytes, cache } = await tile(path);
      const { pixels } = await decodeImage(bytes, { maxPixels: 256 * 256 });
      return { cache, rgba: [...pixels.subarray(at, at + 4)] };
    };
    await open(0, null);
    expect((await colour('tiles/city/1/1/0.png', 0)).rgba[3]).toBe(0);
    expect(wms.requests).toHaveLength(0);
    expect((await colour('tiles/city/1/0/0.png', 0)).rgba[3]).toBe(255);
    expect(wms.requests).toHaveLength(1);
    await server.stop();
    await open(0, '#00ff00');
    expect(await colour('tiles/city/1/1/0.png', 0)).toEqual({ cache: 'MISS', rgba: [0, 255, 0, 255] });
    await server.stop();
    await open(0, '#00ff00');
    expect((await colour('tiles/city/1/1/0.png', 0)).cache).toBe('HIT');
    await server.stop();
    await open(90, '#00ff00');
    const left = await colour('tiles/city/1/1/0.png', 0);
    expect([left.cache, left.rgba[3]]).toEqual(['MISS', 255]);
    expect(left.rgba).not.toEqual([0, 255, 0, 255]);
    expect((await colour('tiles/city/1/1/0.png', 4 * 255)).rgba).toEqual([0, 255, 0, 255]);
  });
});

describe('an area by name', () => {
  const SHAPE = 'POLYGON ((500000 5500000, 600000 5500000, 500000 5600000, 500000 5500000))';

  async function call(method: string, path: string, body?: object) {
    const answer = await fetch(new URL(path, server.url), {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    return { status: answer.status, text, json: answer.ok ? JSON.parse(text) : null };
  }

  it('areas are listed and shown, and tasks, schedules and truncations take them by name', async () => {
    const areas = [
      { name: 'corner', srs: 'EPSG:25832', wkt: SHAPE },
      { name: 'west', bounds: [-180, -80, -90, 80] },
    ];
    const layers = [{ name: 'world', source: { type: 'world' }, gridSets: ['EPSG:900913', 'EPSG:4326'] }];
    server = await openServer({ config: JSON.stringify({ areas, layers }), flags: { 'no-auth': 'true' } });
    const { json: list } = await call('GET', 'api/v1/areas');
    expect(list.areas).toMatchObject([
      {
        name: 'corner',
        srs: 'EPSG:25832',
        bounds: [500000, 5500000, 600000, 5600000],
        points: 4,
        error: null,
      },
      { name: 'west', srs: 'EPSG:4326' },
    ]);
    const { json: shape } = await call('GET', 'api/v1/areas/corner');
    const [[ring]] = shape.coordinates;
    expect(ring.every(([x, y]: number[]) => Number(x) > 8.9 && Number(x) < 10.5 && Number(y) > 49)).toBe(
      true,
    );
    expect((await call('GET', 'api/v1/areas/none')).status).toBe(404);
    const order = { layer: 'world', area: 'west', zoomStart: 2, zoomStop: 2 };
    expect((await call('POST', 'api/v1/tasks', { ...order, dryRun: true })).json.tiles).toBe(4);
    const unknown = await call('POST', 'api/v1/tasks', { ...order, area: 'wst' });
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('area names wst')]);
    const daily = { ...order, name: 'daily', cron: '@daily' };
    expect((await call('POST', 'api/v1/schedules', daily)).json.area.type).toBe('MultiPolygon');
    for (const x of [0, 1]) await tile(`tiles/world/1/${x}/0.png`);
    const { json: count } = await call('POST', 'api/v1/layers/world/truncate', {
      area: 'west',
      zoomStop: 1,
      dryRun: true,
    });
    expect(count.tiles).toBe(2);
  });
});
