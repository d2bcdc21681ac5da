import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { type Format, formatOf } from '../../src/domain/format.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { type Metatile, metatileAt, metatileImage } from '../../src/domain/metatile.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { copyPart, decodeImage, type RasterImage, samplesOf } from '../../src/raster/decode-image.ts';
import { MetatileCutter } from '../../src/raster/metatile-cutter.ts';
import { openUpstreamClient, type UpstreamClient } from '../../src/sources/upstream/upstream-client.ts';
import { upstreamOptions } from '../../src/sources/upstream/upstream-options.ts';
import { wmsSourceOptions } from '../../src/sources/wms/map-request.ts';
import { openWmsSource } from '../../src/sources/wms/wms-source.ts';
import { evenGutter } from '../fixtures/layers.ts';
import { needs } from '../fixtures/needs.ts';
import { acceptImage } from '../fixtures/pictures.ts';
import { sharedMapServer } from '../fixtures/shared-services.ts';

const TILE = 256;
const GRID = { columns: 2, rows: 2, tileWidth: TILE, tileHeight: TILE, gutter: evenGutter(0) };
const png = formatOf('image/png') as Format;
/** The same block of 2×2 tiles at zoom 2, written by hand as the standard has it. */
const CASES = [
  ['1.1.1', 'EPSG:900913', 'SRS=EPSG:3857&BBOX=-20037508.34,0,0,20037508.34', [0, 0]],
  ['1.3.0', 'EPSG:900913', 'CRS=EPSG:3857&BBOX=-20037508.34,0,0,20037508.34', [0, 0]],
  ['1.1.1', 'EPSG:4326', 'SRS=EPSG:4326&BBOX=-90,0,0,90', [1, 0]],
  ['1.3.0', 'EPSG:4326', 'CRS=EPSG:4326&BBOX=0,-90,90,0', [1, 0]],
  ['1.3.0', 'EPSG:4326', 'CRS=EPSG:4326&BBOX=-90,90,0,180', [3, 1]],
] as const;

describe('a WMS layer on MapServer', needs('mapserver'), () => {
  let mapServer: { readonly url: string };
  let upstream: UpstreamClient;
  beforeAll(async () => {
    mapServer = await sharedMapServer();
    upstream = openUpstreamClient({
      userAgent: 'Tilewarden/test',
      upstreams: { '127.0.0.1': upstreamOptions.parse({ concurrency: 2, allowPrivate: true }) },
      clock: systemClock,
      log: silentLogger,
    });
  });
  afterAll(async () => {
    await upstream?.close();
  });

  /** As MapServer sends it, 2×2 tiles. */
  async function fetchEncoded(version: string, gridSetName: string, column: number, row: number, gutter = 0) {
    const gridSet = builtInGridSets().find(({ name }) => name === gridSetName);
    if (!gridSet) throw new Error('no such grid set');
    const metatile = metatileAt(
      createGridSubset(gridSet),
      { columns: 2, rows: 2 },
      2,
      column,
      row,
    ) as Metatile;
    const shape = metatileImage(gridSet, metatile, evenGutter(gutter));
    const options = wmsSourceOptions.parse({
      type: 'wms',
      url: mapServer.url,
      layers: 'land',
      version,
    });
    const answer = await openWmsSource(options, { upstream }).fetch({
      gridSet,
      metatile,
      ...shape,
      format: png,
      parameters: new Map(),
      priority: 'interactive',
      signal: new AbortController().signal,
    });
    if (answer.kind !== 'encoded') throw new Error('not encoded');
    return answer;
  }

  async function fetchMetatile(...place: Parameters<typeof fetchEncoded>) {
    const { bytes, mediaType } = await fetchEncoded(...place);
    const side = 2 * TILE + 2 * (place[4] ?? 0);
    return await acceptImage(bytes, mediaType, side, side);
  }

  async function drawByHand(version: string, place: string, size = 2 * TILE): Promise<RasterImage> {
    const query = `SERVICE=WMS&VERSION=${version}&REQUEST=GetMap&LAYERS=land&STYLES=&FORMAT=image/png`;
    const response = await fetch(`${mapServer.url}?${query}&WIDTH=${size}&HEIGHT=${size}&${place}`);
    return await decodeImage(Buffer.from(await response.arrayBuffer()), { maxPixels: 1e7 });
  }

  it.each(CASES)(
    'tiles of a WMS layer equal the maps of MapServer pixel for pixel: WMS %s, %s, %s',
    async (version, name, place, at) => {
      const [column, row] = at;
      const picture = await fetchEncoded(version, name, column, row);
      const drawn = await drawByHand(version, place);
      const tiles = await new MetatileCutter().cut({ picture, grid: GRID, format: png });
      for (const [i, { bytes }] of tiles.entries()) {
        const part = { left: (i % 2) * TILE, top: (i >> 1) * TILE, width: TILE, height: TILE };
        const tile = await decodeImage(bytes, { maxPixels: TILE * TILE });
        expect(tile.pixels.equals(copyPart(samplesOf(drawn), part).data), `tile ${i}`).toBe(true);
      }
      expect(
        new Set(new Uint32Array(drawn.pixels.buffer, drawn.pixels.byteOffset, 4 * TILE * TILE)).size,
      ).toBeGreaterThan(2);
    },
  );

  it('tiles of a WMS layer are the same in both versions and with a metatile and a gutter', async () => {
    const plain = await fetchMetatile('1.1.1', 'EPSG:4326', 1, 0);
    const newer = await fetchMetatile('1.3.0', 'EPSG:4326', 1, 0);
    const framed = samplesOf(await fetchMetatile('1.3.0', 'EPSG:4326', 1, 0, 16));
    const inside = { left: 16, top: 16, width: 2 * TILE, height: 2 * TILE };
    const wide = { width: 2 * TILE, height: 2 * TILE, pixels: copyPart(framed, inside).data };
    expect(newer.pixels.equals(plain.pixels)).toBe(true);
    expect(differentShare(wide, plain)).toBeLessThan(0.005);
  });

  /** The world in one tile of web mercator. */
  async function fetchWorld(declared: object, parameters: readonly [string, string][] = []) {
    const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
    if (!gridSet) throw new Error('no grid set');
    const options = wmsSourceOptions.parse({ type: 'wms', url: mapServer.url, ...declared });
    const metatile = metatileAt(createGridSubset(gridSet), { columns: 1, rows: 1 }, 0, 0, 0) as Metatile;
    const answer = await openWmsSource(options, { upstream }).fetch({
      gridSet,
      metatile,
      ...metatileImage(gridSet, metatile, evenGutter(0)),
      format: png,
      parameters: new Map(parameters),
      priority: 'task',
      signal: new AbortController().signal,
    });
    if (answer.kind !== 'encoded') throw new Error('not encoded');
    return await acceptImage(answer.bytes, answer.mediaType, TILE, TILE);
  }

  it('a tile of a WMS layer fails when MapServer reports an exception', async () => {
    await expect(fetchWorld({ layers: 'no-such-layer' })).rejects.toMatchObject({
      reason: 'service-exception',
    });
  });

  it.each([
    ['GET', 4000],
    ['POST', 200],
  ])('tiles of a WMS layer show the day and height of their parameters, by %s', async (_, maxUrlLength) => {
    const days = { layers: 'days', maxUrlLength };
    const redAt = async (...parameters: [string, string][]) => {
      const { pixels } = await fetchWorld(days, parameters);
      // Columns in the middle of the three squares, at 30 degrees north.
      return [28, 142, 213].map((column) => pixels.readUInt8(4 * (105 * TILE + column)) === 200);
    };
    expect(await redAt()).toEqual([true, false, false]);
    expect(await redAt(['TIME', '2026-02-01'], ['ELEVATION', '0'])).toEqual([false, true, false]);
    expect(await redAt(['TIME', '2026-02-01'], ['ELEVATION', '500'])).toEqual([false, false, true]);
  });
});

function differentShare(a: RasterImage, b: RasterImage): number {
  let different = 0;
  for (let i = 0; i < a.pixels.length; i += 4) {
    if (a.pixels.readUInt32LE(i) !== b.pixels.readUInt32LE(i)) different++;
  }
  return different / (a.width * a.height);
}
