/** Pictures of which MapProxy's users report that they are wrong there: the numbers are those of its issues. */
import { beforeAll, expect, it } from 'vitest';
import { decodeImage, type RasterImage } from '../../src/raster/decode-image.ts';
import { type DrawingServer, openDrawingServer } from '../fixtures/drawing-server.ts';
import { whenFileOver } from '../fixtures/when-over.ts';
import { openServer } from './server-in-process.ts';

/** Of 255. */
const CLOSE = 2;
const EDGE = 20037508.342789244;

let drawing: DrawingServer;
let url: string;

beforeAll(async () => {
  drawing = await openDrawingServer();
  whenFileOver(() => drawing.close());
  const wms = (layers: string, more = '') =>
    `{ type: wms, url: '${drawing.origin}/wms', layers: ${layers}${more} }`;
  const config = `
stores: { default: { type: memory } }
areas: [{ name: box, srs: EPSG:4326, bounds: [-40, -30, 50, 40] }]
layers:
  - { name: photo, source: ${wms('photo_9')}, gridSets: [EPSG:900913], metatile: [1, 1], fullWMS: true, expireCache: -1 }
  - { name: places, source: ${wms('places_9', ', transparent: true')}, gridSets: [EPSG:900913], metatile: [1, 1], fullWMS: true, expireCache: -1 }
  - name: core
    source: { type: layers, of: [{ source: ${wms('iopts_9')}, transparentColor: '#ff0000', tolerance: 5 }] }
    gridSets: [EPSG:900913]
    metatile: [1, 1]
  - { name: mixture, source: { type: layers, of: [{ layer: core }, { layer: places }] }, gridSets: [EPSG:900913], metatile: [1, 1] }
  - name: tiles
    source:
      type: layers
      of: [{ source: { type: xyz, url: '${drawing.origin}/tms/1.0.0/iopts/{z}/{x}/{-y}.png' }, transparentColor: '#ff0000' }]
    gridSets: [EPSG:900913]
    metatile: [1, 1]
  - { name: fine, source: ${wms('photo_20')}, gridSets: [{ name: EPSG:900913, zoomStart: 4 }], metatile: [1, 1], within: box }
  - { name: coarse, source: { type: layers, of: [{ layer: fine }] }, gridSets: [EPSG:900913], metatile: [1, 1] }
  - { name: mercator, source: ${wms('photo_60')}, gridSets: [EPSG:900913], metatile: [1, 1], fullWMS: true, wmsCrs: [EPSG:3413] }
  - { name: degrees, source: { type: layers, of: [{ layer: mercator }] }, gridSets: [EPSG:4326], metatile: [1, 1] }
  - { name: geodetic, source: ${wms('photo_60')}, gridSets: [EPSG:4326], metatile: [1, 1] }
  - { name: projected, source: { type: layers, of: [{ layer: geodetic }] }, gridSets: [EPSG:900913], metatile: [1, 1] }
  - { name: small, source: ${wms('photo_2')}, gridSets: [EPSG:900913], metatile: [1, 1] }
  - { name: smallDegrees, source: { type: layers, of: [{ layer: small }] }, gridSets: [EPSG:4326], metatile: [1, 1] }
`;
  ({ url } = await openServer({ config, flags: { 'no-auth': 'true' }, outlivesTest: true }));
});

async function picture(address: string): Promise<RasterImage> {
  const response = await fetch(address);
  expect(response.status, address).toBe(200);
  return decodeImage(Buffer.from(await response.arrayBuffer()), { maxPixels: 1024 * 1024 });
}

const tile = (path: string) => picture(`${url}/tiles/${path}.png`);

/** As the source draws it in that CRS. */
function drawn(
  layer: string,
  srs: number,
  box: readonly number[],
  transparent = false,
): Promise<RasterImage> {
  const place = `srs=EPSG:${srs}&bbox=${box.join(',')}&width=256&height=256`;
  return picture(
    `${drawing.origin}/wms?layers=${layer}&${place}&format=image/png&transparent=${transparent}`,
  );
}

function map(layers: string, srs: number, box: readonly number[]): Promise<RasterImage> {
  const place = `srs=EPSG:${srs}&bbox=${box.join(',')}&width=256&height=256`;
  return picture(
    `${url}/service/wms?version=1.1.1&request=GetMap&styles=&layers=${layers}&${place}&format=image/png&transparent=true`,
  );
}

/** Pixels, each as red, green, blue and alpha. */
function pixelsOf({ pixels }: RasterImage): readonly (readonly number[])[] {
  return Array.from({ length: pixels.length / 4 }, (_, at) => [...pixels.subarray(4 * at, 4 * at + 4)]);
}

/** Mean of the colours where both are opaque, and the share of such pixels. */
function compare(one: RasterImage, other: RasterImage): { readonly mean: number; readonly share: number } {
  const [a, b] = [pixelsOf(one), pixelsOf(other)];
  const opaque = [...a.keys()].filter((at) => a[at]?.[3] === 255 && b[at]?.[3] === 255);
  let [sum, count] = [0, 0];
  for (const at of opaque) {
    for (let i = 0; i < 3; i++) sum += Math.abs((a[at]?.[i] ?? 0) - (b[at]?.[i] ?? 0)) / 3;
    count++;
  }
  return { mean: sum / count, share: count / a.length };
}

/** In web mercator. */
function boxOf(z: number, x: number, y: number): readonly number[] {
  const side = (2 * EDGE) / 2 ** z;
  return [x * side - EDGE, EDGE - (y + 1) * side, (x + 1) * side - EDGE, EDGE - y * side];
}

it.each([3, 12])('an opaque layer is shown under a transparent one at zoom %i (#952)', async (z) => {
  const box = boxOf(z, 2 ** (z - 1), 2 ** (z - 1) - 1).map((edge, at) => edge + (at % 2 ? 1.5 : 2.5));
  const [both, photo, places] = await Promise.all([
    map('photo,places', 900913, box),
    map('photo', 900913, box),
    map('places', 900913, box),
  ]);
  const [a, b, c] = [pixelsOf(both), pixelsOf(photo), pixelsOf(places)];
  expect(a.every(([, , , alpha]) => alpha === 255)).toBe(true);
  const through = a.filter((_, at) => c[at]?.[3] === 0);
  expect(through).toEqual(b.filter((_, at) => c[at]?.[3] === 0));
});

it('a colour is transparent in layers that are drawn from others, before and after they are cached (#556)', async () => {
  const source = pixelsOf(await drawn('iopts_9', 900913, boxOf(3, 4, 3)));
  const isRed = ([red, green, blue]: readonly number[]) => red === 255 && green === 0 && blue === 0;
  const places = pixelsOf(await drawn('places_9', 900913, boxOf(3, 4, 3), true));
  for (const path of ['core/3/4/3', 'mixture/3/4/3', 'core/3/4/3', 'mixture/3/4/3']) {
    const seen = pixelsOf(await tile(path));
    const empty = [...source.keys()].filter(
      (at) => isRed(source[at] ?? []) && (path.startsWith('core') || places[at]?.[3] === 0),
    );
    const alphas = empty.map((at) => seen[at]?.[3]);
    expect(alphas.length).toBeGreaterThan(1000);
    expect(new Set(alphas)).toEqual(new Set([0]));
    expect(seen.filter(([, , , alpha]) => alpha === 255).length).toBeGreaterThan(1000);
  }
});

it('a colour of ready-made tiles is transparent (#519)', async () => {
  const seen = pixelsOf(await tile('tiles/7/64/63'));
  const alphas = new Set(seen.map(([, , , alpha]) => alpha));
  expect(alphas).toEqual(new Set([0, 255]));
  expect(
    seen.some(([red, green, blue, alpha]) => alpha === 255 && red === 255 && green === 0 && blue === 0),
  ).toBe(false);
});

it('a clipped layer without the zoom is drawn from its finer tiles, and clipped (#849)', async () => {
  const image = await tile('coarse/3/4/3');
  const wanted = await drawn('photo_20', 900913, boxOf(3, 4, 3));
  const { mean, share } = compare(image, wanted);
  expect(mean).toBeLessThan(CLOSE);
  expect(share).toBeCloseTo(40 / 40.98, 1);
  expect(pixelsOf(await tile('coarse/3/7/0')).every(([, , , alpha]) => alpha === 0)).toBe(true);
});

it.each([0, 2])(
  'pictures of zoom %i in degrees and in web mercator show the same places (#285)',
  async (z) => {
    const side = 180 / 2 ** z;
    const [column, row] = [2 ** z, (2 ** z) >> 1];
    const top = 90 - row * side;
    const box = [column * side - 180, top - side, (column + 1) * side - 180, top];
    const inDegrees = compare(
      await tile(`degrees/EPSG:4326/${z}/${column}/${row}`),
      await drawn('photo_60', 4326, box),
    );
    expect(inDegrees.mean).toBeLessThan(CLOSE);
    const place = [z, (2 ** z) >> 1, (2 ** z) >> 1] as const;
    const inMetres = compare(
      await tile(`projected/${place.join('/')}`),
      await drawn('photo_60', 900913, boxOf(...place)),
    );
    expect(inMetres.mean).toBeLessThan(CLOSE);
    expect(Math.min(inDegrees.share, inMetres.share)).toBeGreaterThan(0.9);
  },
);

it.each([5])('a picture in degrees that ends at 180° is right up to there at zoom %i (#286)', async (z) => {
  const side = 180 / 2 ** z;
  const [column, row] = [2 ** (z + 1) - 1, 2 ** (z - 1)];
  const top = 90 - row * side;
  const box = [180 - side, top - side, 180, top];
  const { mean, share } = compare(
    await tile(`smallDegrees/EPSG:4326/${z}/${column}/${row}`),
    await drawn('photo_2', 4326, box),
  );
  expect(mean).toBeLessThan(CLOSE);
  expect(share).toBe(1);
});

it('a polar map from web mercator is whole and in its place (#297)', async () => {
  const box = [-4e6, -4e6, 4e6, 4e6];
  const { mean, share } = compare(await map('mercator', 3413, box), await drawn('photo_60', 3413, box));
  expect(mean).toBeLessThan(CLOSE);
  expect(share).toBeGreaterThan(0.98);
});
