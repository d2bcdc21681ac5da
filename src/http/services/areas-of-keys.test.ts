import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD } from '../../../test/fixtures/accounts.ts';
import {
  ANNA,
  catalogOf,
  format,
  hit,
  layerNamed,
  openAccountApp,
  type Read,
  slopingTiles,
} from '../../../test/fixtures/http-app.ts';
import { createNamedArea } from '../../domain/named-area.ts';
import { decodeImage } from '../../raster/decode-image.ts';

const LAYERS = [
  layerNamed('world', { fullWms: true, infoFormats: ['text/plain'], wmsCrs: [25832] }),
  layerNamed('ours', { access: 'authenticated', fullWms: true }),
  layerNamed('shapes', { formats: [format('application/vnd.mapbox-vector-tile')] }),
];
/** The western half of the tile 1/2/0 of EPSG:4326, and the tiles 2/4/0 and 2/4/1. */
const WEST = createNamedArea('west', 4326, { bounds: { minX: 0, minY: 0, maxX: 45, maxY: 90 } });
const AREAS = new Map([
  ['west', WEST],
  ['far', createNamedArea('far', 4326, { bounds: { minX: 50, minY: 0, maxX: 70, maxY: 90 } })],
]);

interface Place {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

const EDGE = { z: 1, x: 2, y: 0 };
const INSIDE = { z: 2, x: 4, y: 0 };
const OUTSIDE = { z: 2, x: 5, y: 0 };

const fromBottom = ({ z, y }: Place) => 2 ** z - 1 - y;
const box = ({ z, x, y }: Place) => {
  const side = 180 / 2 ** z;
  return [x * side - 180, 90 - (y + 1) * side, (x + 1) * side - 180, 90 - y * side].join(',');
};

/** The address of a tile of EPSG:4326, in each service. */
const SERVICES: readonly ((layer: string, place: Place) => string)[] = [
  (layer, { z, x, y }) => `/tiles/${layer}/EPSG:4326/${z}/${x}/${y}.png`,
  (layer, { z, x, y }) => `/tiles/${layer}/EPSG:4326/${z}/${x}/${y}`,
  (layer, { z, x, y }) =>
    `/service/wmts?REQUEST=GetTile&LAYER=${layer}&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:${z}&TILEROW=${y}&TILECOL=${x}`,
  (layer, { z, x, y }) => `/service/wmts/rest/${layer}/EPSG:4326/EPSG:4326:${z}/${y}/${x}?format=image/png`,
  (layer, place) =>
    `/service/tms/1.0.0/${layer}@EPSG:4326@png/${place.z}/${place.x}/${fromBottom(place)}.png`,
  (layer, place) => `/service/kml/${layer}/x${place.x}y${fromBottom(place)}z${place.z}.png`,
  (layer, { z, x, y }) => `/ogc/collections/${layer}/map/tiles/EPSG:4326/${z}/${y}/${x}?f=png`,
  (layer, place) => getMap(layer, box(place), 256),
  (layer, place) => getMap(`${layer},${layer}`, box(place), 256),
  (layer, place) => getMap(layer, box(place), 300),
];

function getMap(layers: string, bbox: string, side: number): string {
  const query = `LAYERS=${layers}&SRS=EPSG:4326&BBOX=${bbox}&WIDTH=${side}&HEIGHT=${side}`;
  return `/service/wms?REQUEST=GetMap&FORMAT=image/png&TRANSPARENT=TRUE&${query}`;
}

async function open(areas: readonly string[] = ['west']) {
  const { read: readPicture, reads } = slopingTiles();
  const read: Read = (tiles, ...more) =>
    tiles.format.kind === 'opaque' ? hit(tiles, ...more) : readPicture(tiles, ...more);
  const deps = { catalog: catalogOf(LAYERS), pipeline: { read }, areas: AREAS };
  const { send, app } = await openAccountApp({ deps });
  const body = { name: 'portal', layers: ['*'], areas };
  const created = await send('POST', '/api/v1/keys', body);
  const key = String(JSON.parse(created.text).key);
  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'GET', url, headers: { 'x-api-key': key, ...headers } });
  return { get, send, app, key, reads, created };
}

/** The opacity of pixels in the middle row, at a quarter and at three quarters of the width. */
async function opacities(bytes: Buffer): Promise<readonly number[]> {
  const { width, height, pixels } = await decodeImage(bytes, { maxPixels: 1e6 });
  const row = (height >> 1) * width;
  return [width >> 2, (3 * width) >> 2].map((column) => pixels[4 * (row + column) + 3] ?? -1);
}

/** Hidden pixels whose colour can still be read from the file. */
async function readableOutside(bytes: Buffer): Promise<number> {
  const { pixels } = await decodeImage(bytes, { maxPixels: 1e6 });
  const colours = Array.from(new Uint32Array(Uint8Array.from(pixels).buffer));
  return colours.filter((colour) => colour >>> 24 === 0 && colour !== 0).length;
}

describe('reader keys that are limited to areas', () => {
  it('a map that is warped to another CRS is refused to a key that is limited to areas', async () => {
    const { get, app, reads } = await open();
    const url = getMap('world', '500000,5000000,600000,5100000', 64).replace('EPSG:4326', 'EPSG:25832');
    const refused = await get(url);
    expect([refused.statusCode, refused.body.includes('limited to areas')]).toEqual([400, true]);
    expect(reads).toEqual([]);
    expect((await app.inject(url)).statusCode).toBe(200);
  });

  it.each(SERVICES.map((address) => [address('world', EDGE), address] as const))(
    'a tile across the edge of the area is masked, and one outside is refused: %s',
    async (_, address) => {
      const { get, app } = await open();
      for (const layer of ['world', 'ours']) {
        const edge = await get(address(layer, EDGE));
        expect([edge.statusCode, await opacities(edge.rawPayload)]).toEqual([200, [255, 0]]);
        expect(await readableOutside(edge.rawPayload)).toBe(0);
        expect(edge.headers['cache-control']).toMatch(/^private/);
        expect(edge.headers.vary).toContain('X-Api-Key');
        expect(edge.headers['last-modified']).toBeUndefined();
        const again = await get(address(layer, EDGE), { 'if-none-match': String(edge.headers.etag) });
        expect([again.statusCode, again.headers['cache-control']]).toEqual([
          304,
          edge.headers['cache-control'],
        ]);
        const inside = await get(address(layer, INSIDE));
        expect([inside.statusCode, await opacities(inside.rawPayload)]).toEqual([200, [255, 255]]);
        expect(inside.headers['cache-control']).toMatch(/^private/);
        expect((await get(address(layer, OUTSIDE))).statusCode).toBe(403);
      }
      // Without the key the same tile of the cache is whole, and has another tag.
      const whole = await app.inject(address('world', EDGE));
      expect([whole.statusCode, await opacities(whole.rawPayload)]).toEqual([200, [255, 255]]);
      const tag = String((await get(address('world', EDGE))).headers.etag);
      expect(whole.headers.etag).not.toBe(tag);
      expect(
        (await app.inject({ url: address('world', EDGE), headers: { 'if-none-match': tag } })).statusCode,
      ).toBe(200);
    },
  );

  it('a tile outside the area is refused before it is read, also from the memory of addresses', async () => {
    const { get, app, reads } = await open();
    const address = `/tiles/world/EPSG:4326/${OUTSIDE.z}/${OUTSIDE.x}/${OUTSIDE.y}.png`;
    expect((await app.inject(address)).statusCode).toBe(200);
    for (let i = 0; i < 3; i++) expect((await get(address)).statusCode).toBe(403);
    expect(reads).toHaveLength(1);
  });

  it('a key shows several areas together, and none that is no longer declared', async () => {
    const both = await open(['west', 'far']);
    expect((await both.get(`/tiles/world/EPSG:4326/2/5/0.png`)).statusCode).toBe(200);
    const gone = new Map(AREAS);
    const { read } = slopingTiles();
    const { send, app } = await openAccountApp({
      deps: { catalog: catalogOf(LAYERS), pipeline: { read }, areas: gone },
    });
    const { key } = JSON.parse(
      (await send('POST', '/api/v1/keys', { name: 'a', layers: ['*'], areas: ['far'] })).text,
    );
    gone.delete('far');
    expect((await app.inject(`/tiles/world/EPSG:4326/2/5/0.png?key=${key}`)).statusCode).toBe(403);
  });

  it('a JPEG tile across the edge is white outside the area', async () => {
    const { get } = await open();
    const { rawPayload, headers } = await get('/tiles/world/EPSG:4326/1/2/0.jpeg');
    expect(headers['content-type']).toBe('image/jpeg');
    const { pixels } = await decodeImage(rawPayload, { maxPixels: 1e6 });
    expect([...pixels.subarray(4 * 250, 4 * 250 + 3)].every((value) => value > 250)).toBe(true);
  });

  it('a vector tile across the edge is refused with a reason', async () => {
    const { get } = await open();
    const edge = await get('/tiles/shapes/EPSG:4326/1/2/0.mvt');
    expect([edge.statusCode, edge.body]).toEqual([403, expect.stringContaining('vector tile')]);
    expect((await get('/tiles/shapes/EPSG:4326/2/4/0.mvt')).statusCode).toBe(200);
  });

  it.each([
    ['inside', 10, 502],
    ['beside the edge', 125, 403],
    ['outside', 200, 403],
  ])('feature info %s of the area', async (_, i, status) => {
    const { get } = await open();
    const wms = `${getMap('world', box(EDGE), 256).replace('GetMap', 'GetFeatureInfo')}&QUERY_LAYERS=world&INFO_FORMAT=text/plain`;
    const wmts =
      '/service/wmts?REQUEST=GetFeatureInfo&LAYER=world&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:1&TILEROW=0&TILECOL=2&INFOFORMAT=text/plain';
    // The test's source has no features: inside the area it is asked.
    const asked = (code: number) => (code === 403 ? 403 : 502);
    expect(asked((await get(`${wms}&X=${i}&Y=128`)).statusCode)).toBe(status);
    expect(asked((await get(`${wmts}&I=${i}&J=128`)).statusCode)).toBe(status);
  });

  it('an account with areas sees closed layers there only, and cannot be more than a viewer', async () => {
    const { send, app } = await open();
    const vera = { name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'], areas: ['west'] };
    expect((await send('POST', '/api/v1/users', { ...vera, role: 'operator' })).status).toBe(400);
    expect((await send('POST', '/api/v1/users', { ...vera, areas: ['wst'] })).text).toContain('west');
    const created = await send('POST', '/api/v1/users', vera);
    expect([created.status, JSON.parse(created.text).areas]).toEqual([201, ['west']]);
    const headers = { authorization: basic('vera', GOOD_PASSWORD) };
    const get = (place: Place) =>
      app.inject({ url: `/tiles/ours/EPSG:4326/${place.z}/${place.x}/${place.y}.png`, headers });
    const edge = await get(EDGE);
    expect([edge.statusCode, await opacities(edge.rawPayload)]).toEqual([200, [255, 0]]);
    expect([edge.headers['cache-control'], edge.headers.vary]).toEqual([
      expect.stringMatching(/^private/),
      expect.stringContaining('Authorization'),
    ]);
    expect([(await get(INSIDE)).statusCode, (await get(OUTSIDE)).statusCode]).toEqual([200, 403]);
    const map = await app.inject({ url: getMap('world,ours', box(EDGE), 300), headers });
    expect(await opacities(map.rawPayload)).toEqual([255, 0]);
    const content = `/api/v1/layers/ours/tiles/EPSG:4326/${EDGE.z}/${EDGE.x}/${EDGE.y}/content`;
    expect((await app.inject({ url: content, headers })).statusCode).toBe(403);
    await send('PUT', '/api/v1/users/vera', { areas: null });
    expect((await get(OUTSIDE)).statusCode).toBe(200);
  });

  it('a key names its areas in the list, and an unknown area is refused by name', async () => {
    const { send, app, created } = await open();
    expect(JSON.parse(created.text).areas).toEqual(['west']);
    const { keys } = JSON.parse((await app.request('GET', '/api/v1/keys', { headers: ANNA })).text);
    expect(keys[0].areas).toEqual(['west']);
    for (const areas of [['wst'], [], 'west']) {
      const refused = await send('POST', '/api/v1/keys', { name: 'x', layers: ['*'], areas });
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('area')]);
    }
  });
});
