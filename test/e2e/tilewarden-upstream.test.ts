import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { vectorTile, writeMbtiles } from '../fixtures/archives.ts';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const TILE = vectorTile('roads');
const VECTOR_LAYERS = [{ id: 'roads', fields: {} }];
const SIZE = 256 * 256;

const LOWER = (archive: string) => `
stores: { default: { type: memory } }
layers:
  - name: world
    source: { type: world }
    metatile: [2, 2]
    formats: [image/png, image/jpeg]
    gridSets: [{ name: EPSG:900913, zoomStop: 8 }, { name: EPSG:4326, zoomStop: 8 }]
    fullWMS: true
  - name: roads
    source: { type: archive, path: '${archive}' }
    formats: [application/vnd.mapbox-vector-tile]
    gridSets: [{ name: EPSG:900913, zoomStop: 4 }]
`;

const UPPER = (base: string) => `
stores: { default: { type: memory } }
upstreams:
  '127.0.0.1': { concurrency: 8, allowPrivate: true }
gridSets:
  - { name: utm32, srs: 25832, extent: [250000, 5200000, 950000, 6100000], levels: 6 }
layers:
  - name: by-xyz
    source: { type: xyz, url: '${base}/tiles/world/{z}/{x}/{y}.png?apikey={key}', keys: { key: { env: KEY } } }
    gridSets: [EPSG:900913]
  - name: by-tms
    source: { type: xyz, url: '${base}/service/tms/1.0.0/world@EPSG:900913@png/{z}/{x}/{-y}.png' }
    gridSets: [EPSG:900913]
  - name: by-wmts
    source: { type: wmts, url: '${base}/service/wmts', layer: world }
    gridSets: [EPSG:900913, EPSG:4326]
  - name: by-wmts-paths
    source: { type: wmts, url: '${base}/service/wmts', layer: world, encoding: rest }
    gridSets: [WebMercatorQuad, EPSG:4326]
  - name: by-wms
    source: { type: wms, url: '${base}/service/wms', layers: world }
    metatile: [1, 1]
    gridSets: [EPSG:900913, EPSG:4326]
  - name: vector-by-xyz
    source: { type: xyz, url: '${base}/tiles/roads/{z}/{x}/{y}.pbf' }
    formats: [application/vnd.mapbox-vector-tile]
    gridSets: [EPSG:900913]
  - name: by-layer
    source: { type: layer, layer: by-wmts }
    metatile: [1, 1]
    gridSets: [utm32, EPSG:900913]
`;

describe('a Tilewarden on top of a Tilewarden', () => {
  let lower: OpenServer;
  let upper: OpenServer;
  beforeAll(async () => {
    const tiles = [{ z: 0, x: 0, y: 0, bytes: gzipSync(TILE) }];
    const json = JSON.stringify({ vector_layers: VECTOR_LAYERS });
    const archive = join(temporaryFolder(), 'roads.mbtiles');
    writeMbtiles(archive, 'pbf', tiles, { json });
    lower = await openServer({ config: LOWER(archive) });
    upper = await openServer({ config: UPPER(lower.url), env: { KEY: 'hush' } });
  });
  async function ask(server: OpenServer, path: string, headers: Record<string, string>) {
    const { statusCode, headers: got, body } = await request(new URL(path, server.url), { headers });
    return { statusCode, headers: got, bytes: Buffer.from(await body.arrayBuffer()) };
  }

  /** Retries after a 503: on a busy machine the lower server may be silent for so long that it is paused. */
  function get(server: OpenServer, path: string, headers: Record<string, string> = {}) {
    return eventually(
      `${path} is answered`,
      () => ask(server, path, headers),
      ({ statusCode }) => statusCode !== 503,
    );
  }

  async function pixelsOf(server: OpenServer, path: string): Promise<Buffer> {
    const { statusCode, bytes } = await get(server, path);
    expect(statusCode, bytes.toString('utf8', 0, 300)).toBe(200);
    return (await decodeImage(bytes, { maxPixels: SIZE })).pixels;
  }

  it.each(['by-xyz', 'by-tms', 'by-wmts', 'by-wms', 'by-layer'])(
    'layer %s shows the tiles of its Tilewarden upstream in web mercator',
    async (name) => {
      for (const place of ['EPSG:900913/0/0/0.png', 'EPSG:900913/4/8/5.png']) {
        const expected = await pixelsOf(lower, `tiles/world/${place}`);
        expect((await pixelsOf(upper, `tiles/${name}/${place}`)).equals(expected), place).toBe(true);
      }
    },
  );

  it.each(['by-wmts', 'by-wmts-paths', 'by-wms'])(
    'layer %s shows the tiles of its Tilewarden upstream in degrees',
    async (name) => {
      const expected = await pixelsOf(lower, 'tiles/world/EPSG:4326/3/8/1.png');
      expect((await pixelsOf(upper, `tiles/${name}/EPSG:4326/3/8/1.png`)).equals(expected)).toBe(true);
    },
  );

  it('a Tilewarden upstream with the GeoWebCache grid serves the equal OGC grid', async () => {
    const expected = await pixelsOf(lower, 'tiles/world/EPSG:900913/4/8/5.png');
    const shown = await pixelsOf(upper, 'tiles/by-wmts-paths/WebMercatorQuad/4/8/5.png');
    expect(shown.equals(expected)).toBe(true);
  });

  it('a national grid is drawn from web mercator tiles of a Tilewarden upstream', async () => {
    const pixels = await pixelsOf(upper, 'tiles/by-layer/utm32/1/0/1.png');
    const colours = new Set(Array.from({ length: SIZE }, (_, i) => pixels.readUInt32LE(4 * i)));
    expect(colours.size).toBeGreaterThan(3);
    expect([...colours].every((colour) => colour >>> 24 === 255)).toBe(true);
  });

  it('vector tiles of a Tilewarden upstream are passed on with their headers', async () => {
    const packed = await get(lower, 'tiles/roads/0/0/0.pbf', { 'accept-encoding': 'gzip' });
    expect(packed.headers).toMatchObject({
      'content-type': 'application/vnd.mapbox-vector-tile',
      'content-encoding': 'gzip',
    });
    expect(gunzipSync(packed.bytes).equals(TILE)).toBe(true);
    const passed = await get(upper, 'tiles/vector-by-xyz/0/0/0.pbf');
    expect(passed.bytes.equals(TILE)).toBe(true);
    const stillPacked = await get(upper, 'tiles/vector-by-xyz/0/0/0.pbf', { 'accept-encoding': 'gzip' });
    expect(stillPacked.headers).toMatchObject({ 'content-encoding': 'gzip' });
    expect(stillPacked.bytes.equals(packed.bytes)).toBe(true);
    expect((await get(upper, 'tiles/vector-by-xyz/2/1/1.pbf')).statusCode).toBe(204);
    const described = JSON.parse((await get(lower, 'tiles/roads.json')).bytes.toString());
    expect(described).toMatchObject({ vector_layers: VECTOR_LAYERS });
  });
});
