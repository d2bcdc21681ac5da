import proj4 from 'proj4';
import { expect, it } from 'vitest';
import { inLength, isLong, randomSeed } from '../../test/fixtures/length.ts';
import { paintImage } from '../../test/fixtures/pictures.ts';
import type { MapPicture } from '../domain/bounds.ts';
import { formatOf } from '../domain/format.ts';
import { boundsOfTile, createGridSet, levelOf } from '../domain/grid-set.ts';
import { createGridSubset, type GridSubset } from '../domain/grid-subset.ts';
import { definitionOf } from '../domain/projection.ts';
import { decodeImage } from '../raster/decode-image.ts';
import { createMapDrawer, type ReadTiles } from '../raster/draw-map.ts';
import { encodeImage } from '../raster/encode-image.ts';
import { planWarp, subsetToWarp } from './map-plan.ts';

const png = formatOf('image/png');
if (!png) throw new Error('There is no PNG.');
const PNG = png;
const HALF = 20037508.342789244;
const small = { tileWidth: 32, tileHeight: 32, levels: 22 };
const world = { minX: -180, minY: -90, maxX: 180, maxY: 90 };
const square = { minX: -HALF, minY: -HALF, maxX: HALF, maxY: HALF };
const degrees = createGridSubset(createGridSet({ name: 'degrees', srs: 4326, extent: world, ...small }));
const mercator = createGridSubset(createGridSet({ name: 'mercator', srs: 3857, extent: square, ...small }));

/** A CRS, and the degrees in which boxes lie: west, south, east, north. */
// biome-ignore format: a table
const PLACES: readonly (readonly [srs: number, west: number, south: number, east: number, north: number])[] = [
  [4326, -200, -89, 200, 89], [3857, -200, -84, 200, 84], [3395, -179, -80, 179, 80], [3413, -180, 50, 180, 90],
  [3031, -180, -90, 180, -50], [5041, -180, 60, 180, 90], [5042, -180, -90, 180, -60], [3035, -30, 30, 50, 70],
  [2056, 5.9, 45.8, 10.5, 47.9], [27700, -8, 50, 2, 60], [28992, 3.3, 50.7, 7.3, 53.6], [25832, 4, 40, 14, 70],
  [32701, -180, -60, -172, -1], [32660, 173, 1, 180, 70], [2154, -5, 41, 10, 51], [3577, 112, -44, 154, -10],
  [5070, -125, 24, -66, 49], [2193, 166, -47, 179, -34], [3978, -140, 42, -52, 80], [31370, 2.5, 49.4, 6.4, 51.6],
];

type Point3 = readonly [number, number, number];

/** In kilometres from the middle of the earth: no edge anywhere, neither at 180° nor at the poles. */
function onGlobe([longitude, latitude]: readonly [number, number]): Point3 {
  const [lon, lat] = [(longitude * Math.PI) / 180, (latitude * Math.PI) / 180];
  const r = 6378.137;
  return [r * Math.cos(lat) * Math.cos(lon), r * Math.cos(lat) * Math.sin(lon), r * Math.sin(lat)];
}

const apart = (a: Point3, b: Point3) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const shade = (km: number, wave: number) => 127.5 + 127.5 * Math.sin((2 * Math.PI * km) / wave);

function converterOf(srs: number) {
  const converter = proj4(definitionOf({ srs, projection: null }) ?? '');
  return {
    toDegrees: (x: number, y: number) => converter.inverse([x, y]) as [number, number],
    fromDegrees: (x: number, y: number) => converter.forward([x, y]) as [number, number],
  };
}

function fromMercator(x: number, y: number): readonly [number, number] {
  return [(x / HALF) * 180, (Math.atan(Math.sinh((y / HALF) * Math.PI)) * 180) / Math.PI];
}

/** Tiles that show waves along the three axes of the globe. */
function tilesOf({ gridSet }: GridSubset, z: number, wave: number): ReadTiles {
  const toDegrees = gridSet.srs === 4326 ? (x: number, y: number) => [x, y] as const : fromMercator;
  return (_layer, positions) =>
    Promise.all(
      positions.map(({ x, y }) => {
        const bounds = boundsOfTile(gridSet, z, x, y);
        const { resolution } = levelOf(gridSet, z);
        const image = paintImage(32, 32, (i, j) => {
          const place = toDegrees(bounds.minX + (i + 0.5) * resolution, bounds.maxY - (j + 0.5) * resolution);
          const [r, g, b] = onGlobe(place).map((km) => Math.round(shade(km, wave)));
          return [r ?? 0, g ?? 0, b ?? 0, 255];
        });
        return encodeImage(image, PNG);
      }),
    );
}

const CHECKED_PER_BOX = 40;
/** Small tiles are many tiles. */
const MAX_PIXELS = 40_000;
const draw = createMapDrawer();

function subsetsFor(srs: number): readonly [GridSubset, ...GridSubset[]] {
  if (srs === 4326) return [mercator];
  return srs === 3857 ? [degrees] : [degrees, mercator];
}

/** In pixels, as far as colours tell; null where they do not. */
async function worstError(srs: number, picture: MapPicture, random: () => number) {
  const crs = { srs, projection: null };
  const { toDegrees } = converterOf(srs);
  const { bounds, width, height } = picture;
  const at = (i: number, j: number) => {
    const x = bounds.minX + (i / width) * (bounds.maxX - bounds.minX);
    return onGlobe(toDegrees(x, bounds.maxY - (j / height) * (bounds.maxY - bounds.minY)));
  };
  const wave = 24 * apart(at(width / 2, height / 2), at(width / 2, height / 2 + 1));
  const subset = subsetToWarp(subsetsFor(srs), picture, crs);
  const plan = planWarp(subset, picture, crs, MAX_PIXELS);
  if (!plan) return null;
  const drawing = { layers: [plan.layer], width, height, format: PNG, background: null };
  const read = tilesOf(subset, plan.z, wave);
  const { bytes } = await draw(drawing, read, new AbortController().signal);
  const { pixels } = await decodeImage(bytes, { maxPixels: width * height });
  const source = converterOf(subset.gridSet.srs);
  const { resolution } = levelOf(subset.gridSet, plan.z);
  let [worst, checked] = [0, 0];
  for (let n = 0; n < CHECKED_PER_BOX; n++) {
    const [i, j] = [Math.floor(random() * width), Math.floor(random() * height)];
    const here = at(i + 0.5, j + 0.5);
    const x = bounds.minX + ((i + 0.5) / width) * (bounds.maxX - bounds.minX);
    const lonLat = toDegrees(x, bounds.maxY - ((j + 0.5) / height) * (bounds.maxY - bounds.minY));
    if (subset === mercator && Math.abs(lonLat[1]) > 85) continue;
    const [sx, sy] = source.fromDegrees(...lonLat);
    const [tile, pixel] = [
      apart(here, onGlobe(source.toDegrees(sx, sy + resolution))),
      apart(here, at(i + 1.5, j + 0.5)),
    ];
    // Of interpolation and of averaging, which smooth the waves.
    const smoothed = 2 + 127.5 * ((2 * Math.PI) / wave) ** 2 * ((tile * tile + pixel * pixel) / 8) * 2;
    const steep = 127.5 * ((2 * Math.PI) / wave) * pixel;
    if (smoothed > steep / 3) continue;
    for (const [channel, km] of here.entries()) {
      const off = Math.abs((pixels[4 * (j * width + i) + channel] ?? 0) - shade(km, wave));
      worst = Math.max(worst, (off - smoothed) / steep);
      checked++;
    }
    expect(pixels[4 * (j * width + i) + 3]).toBe(255);
  }
  return checked === 0 ? null : worst;
}

function randomPicture(index: number, random: () => number) {
  const [srs, west, south, east, north] = PLACES[index % PLACES.length] ?? PLACES[0] ?? [4326, 0, 0, 1, 1];
  const { fromDegrees } = converterOf(srs);
  const [x, y] = fromDegrees(west + random() * (east - west), south + random() * (north - south));
  const [width, height] = [32 + Math.floor(random() * 40), 24 + Math.floor(random() * 32)];
  const unit = srs === 4326 ? 1e-5 : 1;
  // Metres to a pixel: a building to a continent.
  const pixel = unit * 10 ** (random() * 4.3);
  const bounds = {
    minX: x - (pixel * width) / 2,
    minY: y - (pixel * height) / 2,
    maxX: x + (pixel * width) / 2,
    maxY: y + (pixel * height) / 2,
  };
  return { srs, picture: { bounds, width, height } };
}

const SEED = randomSeed();

it(`maps in twenty other CRS are right to half a pixel, over 180° and the poles too (seed ${SEED})`, {
  timeout: isLong ? 1_800_000 : 300_000,
}, async () => {
  let state = SEED;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  let compared = 0;
  for (let index = 0; index < inLength(30, 10_000); index++) {
    const { srs, picture } = randomPicture(index, random);
    const error = await worstError(srs, picture, random);
    if (error === null) continue;
    compared++;
    expect(error, `EPSG:${srs} ${JSON.stringify(picture)}`).toBeLessThan(0.5);
  }
  expect(compared).toBeGreaterThan(inLength(20, 7_500));
});
