import { afterEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { builtInGridSet } from '../../../test/fixtures/layers.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { expectedImage } from '../../../test/fixtures/mock-wms-pixels.ts';
import { paintImage } from '../../../test/fixtures/pictures.ts';
import { sourceToolsWith } from '../../../test/fixtures/source-tools.ts';
import type { Bounds } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfTile, createGridSet, type GridSet } from '../../domain/grid-set.ts';
import { createGridSubset, type GridSubset } from '../../domain/grid-subset.ts';
import { projectionOf } from '../../domain/projection.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { ReadableLayer, SourceRequest, TileSource } from '../tile-source.ts';
import { layerDriver } from './layers-source.ts';

const DEGREES = builtInGridSet('EPSG:4326');
const MERCATOR = builtInGridSet('EPSG:900913');
const UTM = createGridSet({
  name: 'utm32',
  srs: 25832,
  extent: { minX: 250000, minY: 5200000, maxX: 950000, maxY: 6100000 },
  levels: 8,
});
/** Of web mercator, with tiles of 64 pixels: a picture takes many of them. */
const SMALL = createGridSet({
  ...{ name: 'small', srs: 900913, extent: MERCATOR.extent, levels: 14, tileWidth: 64, tileHeight: 64 },
});
const POLAR = createGridSet({
  name: 'polar',
  srs: 3995,
  projection: '+proj=stere +lat_0=90 +lat_ts=71 +datum=WGS84 +units=m',
  extent: { minX: -4e6, minY: -4e6, maxX: 4e6, maxY: 4e6 },
  levels: 6,
});

type Colour = (longitude: number, latitude: number) => readonly [number, number, number];

/** Smooth, so that what lies between two pixels is known. */
const smooth: Colour = (longitude, latitude) => [
  128 + 100 * Math.sin(longitude / 7),
  128 + 100 * Math.cos(latitude / 5),
  128 + 100 * Math.sin((longitude + latitude) / 9),
];

interface Lower extends ReadableLayer {
  readonly asked: TileIndex[];
}

/** A layer whose tiles have the colour that belongs to each pixel's place. */
function lower(subset: GridSubset, colour: Colour = smooth): Lower {
  const asked: TileIndex[] = [];
  const painted = new Map<string, Buffer>();
  return {
    subsets: [subset],
    asked,
    async tile({ gridSet }, tile) {
      asked.push(tile);
      const { z, x, y } = tile;
      const draw = () => paint(gridSet, boundsOfTile(gridSet, z, x, y), 256, 256, colour);
      return { bytes: getOrCreate(painted, `${gridSet.name} ${z}/${x}/${y}`, draw), stale: false };
    },
  };
}

/** A layer of one colour, which costs nothing to draw. */
function plain(subset: GridSubset): Lower {
  const asked: TileIndex[] = [];
  const { tileWidth, tileHeight } = subset.gridSet;
  const pixels = Buffer.alloc(4 * tileWidth * tileHeight, Buffer.from([200, 100, 50, 255]));
  const tile = async (_: GridSubset, place: TileIndex) => {
    asked.push(place);
    return { bytes: pixels, stale: false };
  };
  return { subsets: [subset], asked, tile };
}

function paint(gridSet: GridSet, bounds: Bounds, width: number, height: number, colour: Colour): Buffer {
  const projection = projectionOf(gridSet);
  const { pixels } = paintImage(width, height, (column, row) => {
    const x = bounds.minX + ((bounds.maxX - bounds.minX) * (column + 0.5)) / width;
    const y = bounds.maxY - ((bounds.maxY - bounds.minY) * (row + 0.5)) / height;
    const place = projection?.toLonLat(x, y);
    if (!place) return [0, 0, 0, 0];
    const [red, green, blue] = colour(place[0], place[1]);
    return [Math.round(red), Math.round(green), Math.round(blue), 255];
  });
  return pixels;
}

const open: TileSource[] = [];
afterEach(async () => {
  for (const source of open.splice(0)) await source.close();
});

function drawing(layer: ReadableLayer, options: object = {}): TileSource {
  const source = drawingFrom(layer, options);
  open.push(source);
  return source;
}

/** The caller closes it. */
function drawingFrom(layer: ReadableLayer, options: object = {}): TileSource {
  const parsed = layerDriver.options.parse({ type: 'layer', layer: 'lower', ...options });
  return layerDriver.open(
    parsed,
    sourceToolsWith((name) => (name === 'lower' ? layer : null)),
  );
}

/** A picture of `tiles` by `tiles` tiles. */
function picture(gridSet: GridSet, z: number, x: number, y: number, tiles = inLength(1, 2)): SourceRequest {
  const rect = { minX: x, minY: y, maxX: x + tiles - 1, maxY: y + tiles - 1 };
  const first = boundsOfTile(gridSet, z, x, y);
  const last = boundsOfTile(gridSet, z, rect.maxX, rect.maxY);
  return {
    ...sourceRequest({ gridSet: DEGREES }),
    gridSet,
    metatile: { z, column: 0, row: 0, rect },
    bounds: { minX: first.minX, minY: last.minY, maxX: last.maxX, maxY: first.maxY },
    width: tiles * gridSet.tileWidth,
    height: tiles * gridSet.tileHeight,
  };
}

async function draw(source: TileSource, request: SourceRequest): Promise<Buffer> {
  const answer = await source.fetch(request);
  if (answer.kind !== 'pixels') throw new Error(answer.kind);
  return answer.pixels;
}

function furthestApart(a: Buffer, b: Buffer): number {
  let furthest = 0;
  for (let i = 0; i < a.length; i++) furthest = Math.max(furthest, Math.abs((a[i] ?? 0) - (b[i] ?? 0)));
  return furthest;
}

let broken = false;
let hanging = false;
describeTileSource('layer', {
  async open() {
    [broken, hanging] = [false, false];
    const layer: ReadableLayer = {
      subsets: [createGridSubset(DEGREES)],
      async tile({ gridSet }, { z, x, y }, { signal }) {
        if (broken) throw new TilewardenError('source-timeout', 'The map source did not answer in time.');
        if (hanging)
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        const bounds = boundsOfTile(gridSet, z, x, y);
        const { pixels } = expectedImage({ srs: 4326, bounds, width: 256, height: 256 });
        return { bytes: pixels, stale: false };
      },
    };
    const source = drawingFrom(layer);
    return { source, close: () => source.close() };
  },
  formats: ['image/png', 'image/jpeg'],
  breakIt: () => {
    broken = true;
  },
  hang: () => {
    hanging = true;
  },
});

describe('the layer source', () => {
  it('a layer source gives the same pixels if nothing has to be changed', async () => {
    const request = picture(MERCATOR, 5, 16, 10);
    const expected = paint(MERCATOR, request.bounds, request.width, request.height, smooth);
    for (const resampling of ['bilinear', 'nearest']) {
      const layer = lower(createGridSubset(MERCATOR));
      expect(furthestApart(await draw(drawing(layer, { resampling }), request), expected)).toBe(0);
      expect(new Set(layer.asked.map(({ z }) => z))).toEqual(new Set([5]));
    }
  });

  it('a layer source finds the right place at the deepest zooms too', async () => {
    const [z, x, y] = [30, 2 ** 29 + 5, 2 ** 29 - 7];
    const layer = lower(createGridSubset(MERCATOR));
    await draw(drawing(layer), picture(MERCATOR, z, x, y, 1));
    const [asked] = layer.asked;
    const steps = 2 ** (z - (asked?.z ?? 0));
    expect(layer.asked.length).toBeLessThanOrEqual(4);
    expect(layer.asked).toContainEqual({ z: asked?.z, x: Math.floor(x / steps), y: Math.floor(y / steps) });
  });

  it.each([
    ['degrees in web mercator', DEGREES, picture(MERCATOR, 5, 16, 10)],
    ['web mercator in degrees', MERCATOR, picture(DEGREES, 5, 32, 6)],
    ['degrees in a national grid', DEGREES, picture(UTM, 2, 1, 1)],
    ['web mercator in a national grid', MERCATOR, picture(UTM, 4, 5, 6)],
    ['degrees around the pole', DEGREES, picture(POLAR, 4, 9, 9)],
  ])('a layer source draws %s in the right places', async (_, from, request) => {
    const layer = lower(createGridSubset(from));
    const drawn = await draw(drawing(layer), request);
    const expected = paint(request.gridSet, request.bounds, request.width, request.height, smooth);
    expect(furthestApart(drawn, expected)).toBeLessThanOrEqual(2);
    expect(layer.asked.length).toBeLessThanOrEqual(144);
    expect(new Set(layer.asked.map((tile) => JSON.stringify(tile))).size).toBe(layer.asked.length);
  });

  it('a layer source draws across the antimeridian and over the pole with a bounded number of tiles', async () => {
    const layer = lower(createGridSubset(DEGREES), (_, latitude) => [128, 128 + latitude, 0]);
    const request = picture(POLAR, 0, 0, 0, 1);
    const drawn = await draw(drawing(layer), request);
    const expected = paint(POLAR, request.bounds, request.width, request.height, (_, latitude) => [
      128,
      128 + latitude,
      0,
    ]);
    expect(furthestApart(drawn, expected)).toBeLessThanOrEqual(2);
    expect(layer.asked.length).toBeLessThanOrEqual(144);
  });

  it('a layer source joins neighbouring pictures without a seam', async () => {
    const source = drawing(lower(createGridSubset(DEGREES)));
    const whole = await draw(source, picture(UTM, 3, 2, 2, 2));
    for (const [x, y] of [
      [2, 2],
      [3, 2],
      [2, 3],
      [3, 3],
    ] as const) {
      const part = await draw(source, picture(UTM, 3, x, y, 1));
      const lines = Array.from({ length: 256 }, (_, row) => {
        const at = 4 * (((y - 2) * 256 + row) * 512 + (x - 2) * 256);
        return whole.subarray(at, at + 1024);
      });
      expect(furthestApart(Buffer.concat(lines), part)).toBeLessThanOrEqual(1);
    }
  });

  it('a layer source ends sharply where the other layer ends', async () => {
    const extent = { minX: 5, minY: 45, maxX: 15, maxY: 55 };
    const source = drawing(lower(createGridSubset(DEGREES, { extent }), () => [200, 100, 50]));
    const request = picture(MERCATOR, 4, 8, 5, 1);
    const drawn = await draw(source, request);
    const projection = projectionOf(MERCATOR);
    let wrong = 0;
    for (let row = 0; row < 256; row++) {
      for (let column = 0; column < 256; column++) {
        const x = request.bounds.minX + ((request.bounds.maxX - request.bounds.minX) * (column + 0.5)) / 256;
        const y = request.bounds.maxY - ((request.bounds.maxY - request.bounds.minY) * (row + 0.5)) / 256;
        const [longitude, latitude] = projection?.toLonLat(x, y) ?? [0, 0];
        const near = Math.min(...[longitude - 5, longitude - 15, latitude - 45, latitude - 55].map(Math.abs));
        if (near < 0.001) continue;
        const inside = longitude > 5 && longitude < 15 && latitude > 45 && latitude < 55;
        const at = 4 * (row * 256 + column);
        if (drawn.readUInt32BE(at) !== (inside ? 0xc86432ff : 0)) wrong++;
      }
    }
    expect(wrong).toBe(0);
  });

  it('a layer source draws a part of a layer in its place', async () => {
    const extent = { minX: -20, minY: 30, maxX: 40, maxY: 70 };
    const request = picture(UTM, 2, 1, 1);
    const drawn = await draw(drawing(lower(createGridSubset(DEGREES, { extent }))), request);
    const expected = paint(UTM, request.bounds, request.width, request.height, smooth);
    expect(furthestApart(drawn, expected)).toBeLessThanOrEqual(2);
  });

  // Zoom 5 has as many pixels as zoom 7 with tiles of 64.
  it('a picture is drawn from a layer that begins two zooms further down, with some of its tiles at a time', async () => {
    const layer = plain(createGridSubset(SMALL, { zoomStart: 9 }));
    const drawn = await draw(drawing(layer), picture(MERCATOR, 5, 16, 8, 1));
    expect(drawn.every((value, at) => value === [200, 100, 50, 255][at % 4])).toBe(true);
    expect(layer.asked.length).toBeGreaterThanOrEqual(16 * 16);
  });

  it('a layer that begins at a much finer zoom is not drawn, whatever the size of the metatile', async () => {
    const layer = plain(createGridSubset(SMALL, { zoomStart: 10 }));
    for (const tiles of [1, 4]) {
      expect(await drawing(layer).fetch(picture(MERCATOR, 5, 16, 8, tiles))).toEqual({ kind: 'nothing' });
    }
    expect(layer.asked).toEqual([]);
  });

  it('a large metatile is drawn from the same zoom as a small one', async () => {
    const zoomsOf = async (tiles: number) => {
      const layer = plain(createGridSubset(SMALL));
      await draw(drawing(layer), picture(DEGREES, 5, 32, 6, tiles));
      return new Set(layer.asked.map(({ z }) => z));
    };
    expect(await zoomsOf(4)).toEqual(await zoomsOf(1));
  });

  it('a layer source returns nothing where the other layer has nothing', async () => {
    const extent = { minX: 100, minY: 0, maxX: 110, maxY: 10 };
    const layer = lower(createGridSubset(DEGREES, { extent }));
    expect(await drawing(layer).fetch(picture(UTM, 2, 1, 1))).toEqual({ kind: 'nothing' });
    expect(layer.asked).toEqual([]);
  });

  it('a layer source draws from the configured grid set, or from one in the same CRS', async () => {
    const request = picture(MERCATOR, 5, 16, 10);
    const both = (zoomStop: number): Lower => {
      const layer = lower(createGridSubset(DEGREES, { zoomStop }));
      return { ...layer, subsets: [...layer.subsets, createGridSubset(MERCATOR)] };
    };
    const free = both(9);
    await draw(drawing(free), request);
    expect(free.asked).toContainEqual({ z: 5, x: 16, y: 10 });
    const layers = both(3);
    await draw(drawing(layers, { gridSet: 'EPSG:4326' }), request);
    expect(new Set(layers.asked.map(({ z }) => z))).toEqual(new Set([3]));
  });

  it('a layer source fails as a source when the other layer is missing, refuses or cannot be reached', async () => {
    const request = picture(MERCATOR, 5, 16, 10);
    const missing = drawing(lower(createGridSubset(DEGREES)), { layer: 'gone' });
    await expect(missing.fetch(request)).rejects.toMatchObject({
      code: 'source-unavailable',
      message: 'There is no layer gone with pictures to draw from.',
    });
    const refusing: ReadableLayer = {
      subsets: [createGridSubset(DEGREES)],
      tile: async () => {
        throw new TilewardenError('parameter-refused', 'night violates filter for parameter STYLES');
      },
    };
    await expect(drawing(refusing).fetch(request)).rejects.toMatchObject({
      code: 'source-unavailable',
      reason: 'layer',
      message: 'night violates filter for parameter STYLES',
    });
  });
});
