import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  slopeAt,
  slopingTiles,
  subset,
} from '../../../../test/fixtures/http-app.ts';
import { createGridSubset } from '../../../domain/grid-subset.ts';
import { decodeImage } from '../../../raster/decode-image.ts';

const full = layerNamed('full', { fullWms: true });
const tiled = layerNamed('tiled');
const { gridSet: degrees } = subset('EPSG:4326', 5);
const extent = { minX: 0, minY: 0, maxX: 90, maxY: 45 };
const corner = layerNamed('corner', {
  fullWms: true,
  gridSubsets: [createGridSubset(degrees, { extent, zoomStop: 5 })],
});
const HALF = 20037508.34;

function openWms() {
  const { read, reads } = slopingTiles();
  const { inject, log } = createTestApp({
    deps: { catalog: catalogOf([full, tiled, corner]), pipeline: { read } },
  });
  return { inject, reads, log };
}

async function getMap(parameters: Record<string, string>, headers: Record<string, string> = {}) {
  const { inject, reads } = openWms();
  const query = new URLSearchParams({ REQUEST: 'GetMap', STYLES: '', FORMAT: 'image/png', ...parameters });
  const answer = await inject({ method: 'GET', url: `/service/wms?${query}`, headers });
  return { answer, reads };
}

async function picture(parameters: Record<string, string>) {
  const { answer, reads } = await getMap(parameters);
  expect(answer.statusCode, answer.body).toBe(200);
  const image = await decodeImage(answer.rawPayload, { maxPixels: 4e6 });
  const pixel = (x: number, y: number) => [
    ...image.pixels.subarray((y * image.width + x) * 4).subarray(0, 4),
  ];
  return { answer, reads, image, pixel };
}

/** The answer shows at its corners and in its middle what belongs there. */
async function expectSlope(
  parameters: Record<string, string>,
  [minX, minY, maxX, maxY]: readonly [number, number, number, number],
  gridSet = degrees,
) {
  const { image, pixel } = await picture(parameters);
  const { width, height } = image;
  expect([width, height]).toEqual([Number(parameters.WIDTH), Number(parameters.HEIGHT)]);
  for (const [x, y] of [
    [1, 1],
    [width - 2, 1],
    [width >> 1, height >> 1],
    [1, height - 2],
  ] as const) {
    const east = minX + ((x + 0.5) / width) * (maxX - minX);
    const north = maxY - ((y + 0.5) / height) * (maxY - minY);
    const wanted = slopeAt(gridSet, east, north);
    const got = pixel(x, y);
    for (const [channel, value] of wanted.entries()) {
      expect(Math.abs((got[channel] ?? 0) - value), `${x},${y}`).toBeLessThanOrEqual(2);
    }
  }
}

describe('maps by WMS', () => {
  it('a WMS map is a tile if its box is one, in both versions and every name of the CRS', async () => {
    const place = { LAYERS: 'tiled', WIDTH: '256', HEIGHT: '256' };
    const mercator = { ...place, BBOX: `0,0,${HALF},${HALF}` };
    for (const parameters of [
      { ...mercator, VERSION: '1.1.1', SRS: 'EPSG:900913' },
      { ...mercator, VERSION: '1.1.1', SRS: 'EPSG:3857', TILED: 'true' },
      { ...mercator, VERSION: '1.3.0', CRS: 'EPSG:3857' },
      { ...mercator, CRS: 'EPSG:900913' },
    ]) {
      const { answer, reads } = await getMap(parameters);
      expect(answer.statusCode, answer.body).toBe(200);
      expect(reads).toEqual(['tiled EPSG:900913 - 1/1/0']);
      expect(answer.headers).toMatchObject({
        'geowebcache-cache-result': 'HIT',
        'geowebcache-tile-index': '[1, 1, 1]',
        'cache-control': 'max-age=7200, must-revalidate',
      });
    }
    for (const parameters of [
      { ...place, VERSION: '1.1.1', SRS: 'EPSG:4326', BBOX: '90,0,180,90' },
      { ...place, VERSION: '1.3.0', CRS: 'EPSG:4326', BBOX: '0,90,90,180' },
      { ...place, VERSION: '1.3.0', CRS: 'CRS:84', BBOX: '90,0,180,90' },
    ]) {
      expect((await getMap(parameters)).reads).toEqual(['tiled EPSG:4326 - 1/3/0']);
    }
  });

  it('a WMS map may be a tile whose box is off by a tenth, unless the layer can compose the exact one', async () => {
    const place = { SRS: 'EPSG:4326', BBOX: '4,-3,94,87', WIDTH: '256', HEIGHT: '256' };
    expect((await getMap({ ...place, LAYERS: 'tiled' })).reads).toEqual(['tiled EPSG:4326 - 1/2/0']);
    expect((await getMap({ ...place, LAYERS: 'full', TILED: 'TRUE' })).reads).toHaveLength(1);
    expect((await getMap({ ...place, LAYERS: 'full' })).reads).toHaveLength(4);
  });

  it.each([
    ['1.1.1', { SRS: 'EPSG:4326', BBOX: '-20,30,60,70' }],
    ['1.3.0', { CRS: 'EPSG:4326', BBOX: '30,-20,70,60' }],
    ['1.3.0', { CRS: 'CRS:84', BBOX: '-20,30,60,70' }],
  ])('a WMS map of any other box is composed from tiles, in %s with %j', async (VERSION, place) => {
    await expectSlope({ VERSION, LAYERS: 'full', WIDTH: '500', HEIGHT: '250', ...place }, [-20, 30, 60, 70]);
  });

  it('a WMS map is composed in web mercator, larger and smaller than the tiles', async () => {
    const { gridSet } = subset('EPSG:900913', 12);
    for (const [side, size] of [
      [3e7, 300],
      [1e6, 700],
      [10, 64],
    ] as const) {
      const box: [number, number, number, number] = [-side / 2, -side / 3, side / 2, side / 1.5];
      const parameters = { LAYERS: 'full', SRS: 'EPSG:3857', WIDTH: String(size), HEIGHT: String(size) };
      await expectSlope({ ...parameters, BBOX: box.join(',') }, box, gridSet);
    }
  });

  it('a WMS map shows a background where the layer has nothing', async () => {
    const place = { LAYERS: 'corner', SRS: 'EPSG:4326', BBOX: '-90,-45,90,45', WIDTH: '360', HEIGHT: '180' };
    expect((await picture(place)).pixel(10, 10)).toEqual([255, 255, 255, 255]);
    expect((await picture({ ...place, BGCOLOR: '0x102030' })).pixel(10, 10)).toEqual([16, 32, 48, 255]);
    const { pixel } = await picture({ ...place, TRANSPARENT: 'true' });
    expect(pixel(10, 10)).toEqual([0, 0, 0, 0]);
    // Right up to the edge of the layer nothing is half transparent, and beyond it nothing is left of it.
    for (const [x, y] of [
      [180, 0],
      [180, 89],
      [359, 0],
      [359, 89],
    ] as const)
      expect(pixel(x, y)[3]).toBe(255);
    for (const [x, y] of [
      [179, 0],
      [180, 90],
      [359, 90],
    ] as const)
      expect(pixel(x, y)).toEqual([0, 0, 0, 0]);
  });

  it('a WMS map outside the layer is an empty picture, not an error', async () => {
    const place = { SRS: 'EPSG:4326', WIDTH: '256', HEIGHT: '256', BBOX: '-180,-90,-90,0' };
    const { answer, reads, pixel } = await picture({ ...place, LAYERS: 'corner', TILED: 'true' });
    expect(reads).toEqual([]);
    expect(pixel(0, 0)[3]).toBe(0);
    expect(answer.headers['geowebcache-cache-result']).toBe('OTHER');
    expect(answer.headers['geowebcache-message']).toContain('no tile');
  });

  it('a WMS map takes the style and the other parameters that the layer has filters for', async () => {
    const place = { LAYERS: 'full', SRS: 'EPSG:4326', BBOX: '0,0,90,90', WIDTH: '256', HEIGHT: '256' };
    const [light, dark, named] = await Promise.all(
      ['', 'dark', 'light'].map((STYLES) => getMap({ ...place, STYLES })),
    );
    expect(dark?.reads).not.toEqual(light?.reads);
    expect(named?.reads).toEqual(light?.reads);
  });

  it('a WMS map draws several layers on each other, each in its style', async () => {
    const place = { SRS: 'EPSG:4326', BBOX: '-45,0,45,45', WIDTH: '200', HEIGHT: '100' };
    const { answer, reads } = await getMap({ ...place, LAYERS: 'full,corner', STYLES: 'dark,' });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(new Set(reads.map((read) => read.split(' ')[0]))).toEqual(new Set(['full', 'corner']));
  });

  it.each([
    'image/gif',
    'image/webp',
    'image/png8',
    'png',
    'PNG',
    'jpeg',
    'image/jpeg',
    'image/png; mode=8bit',
  ])('a WMS map is made as %s, whatever the layer stores', async (FORMAT) => {
    const place = { SRS: 'EPSG:4326', BBOX: '0,0,90,90', WIDTH: '256', HEIGHT: '256' };
    for (const LAYERS of ['tiled', 'full', 'tiled,full']) {
      const { answer, image, pixel, reads } = await picture({ ...place, LAYERS, FORMAT });
      const type = FORMAT.toLowerCase()
        .replace('image/', '')
        .replace(/8$|;.*/, '');
      expect(answer.headers['content-type']).toBe(`image/${type}`);
      expect([image.width, image.height]).toEqual([256, 256]);
      expect(new Set(reads).size).toBe(LAYERS === 'tiled,full' ? 2 : 1);
      const wanted = slopeAt(degrees, 45, 45);
      const off = pixel(128, 128)
        .slice(0, 3)
        .map((value, channel) => Math.abs(value - (wanted[channel] ?? 0)));
      expect(Math.max(...off)).toBeLessThan(25);
    }
  });

  it('several layers are drawn on a tile without fullWMS, pixel by pixel as stored', async () => {
    const place = { SRS: 'EPSG:4326', WIDTH: '256', HEIGHT: '256', LAYERS: 'tiled,tiled' };
    const { image, reads } = await picture({ ...place, BBOX: '3,-2,93,88' });
    expect(new Set(reads)).toEqual(new Set(['tiled EPSG:4326 - 1/2/0']));
    const stored = await picture({ ...place, BBOX: '0,0,90,90', LAYERS: 'tiled' });
    expect(image.pixels.equals(stored.image.pixels)).toBe(true);
    const { answer } = await getMap({ ...place, BBOX: '20,0,110,90' });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('locator="BBOX"');
  });

  it('a WMS map has its lifetime, and is not sent again to a client that has it', async () => {
    const place = { LAYERS: 'full', SRS: 'EPSG:4326', BBOX: '1,2,33,44', WIDTH: '100', HEIGHT: '90' };
    const { answer } = await getMap(place);
    expect(answer.headers).toMatchObject({
      'x-cache': 'HIT',
      'geowebcache-cache-result': 'WMS',
      'geowebcache-gridset': 'EPSG:4326',
      'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
      'cache-control': 'max-age=7200, must-revalidate',
      'content-length': String(answer.rawPayload.length),
    });
    const again = await getMap(place, { 'if-none-match': String(answer.headers.etag) });
    expect(again.answer.statusCode).toBe(304);
    expect(again.answer.rawPayload).toHaveLength(0);
  });

  it('a WMS map answers HEAD as it answers GET', async () => {
    const { inject } = openWms();
    const url =
      '/service/wms?REQUEST=GetMap&LAYERS=full&FORMAT=image/png&SRS=EPSG:4326&BBOX=1,2,33,44&WIDTH=50&HEIGHT=60';
    const [get, head] = [await inject(url), await inject({ method: 'HEAD', url })];
    expect(head.rawPayload).toHaveLength(0);
    for (const name of ['content-length', 'etag', 'content-type', 'last-modified']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  it('a WMS error is drawn in a picture, or is an empty picture, on request', async () => {
    const place = { LAYERS: 'missing', SRS: 'EPSG:4326', BBOX: '0,0,90,90', WIDTH: '200', HEIGHT: '80' };
    const drawn = await picture({ ...place, EXCEPTIONS: 'application/vnd.ogc.se_inimage' });
    expect(drawn.answer.headers['cache-control']).toBe('no-store');
    expect(new Set(drawn.image.pixels).size).toBeGreaterThan(5);
    const blank = await picture({ ...place, VERSION: '1.3.0', EXCEPTIONS: 'BLANK', BGCOLOR: '0x0000FF' });
    expect([blank.image.width, blank.image.height]).toEqual([200, 80]);
    expect(blank.pixel(5, 5)).toEqual([0, 0, 255, 255]);
    const clear = await picture({ ...place, EXCEPTIONS: 'BLANK', TRANSPARENT: 'TRUE' });
    expect(clear.pixel(5, 5)).toEqual([0, 0, 0, 0]);
  });

  it.each([
    [4096, 32],
    [3000, 40],
    [8192, 16],
    [8192, 1],
    [1, 700],
  ])('a WMS map is a valid picture at %i×%i', async (width, height) => {
    const across = 45 * Math.min(1, width / height);
    const BBOX = [0, 0, across, (across * height) / width].join(',');
    const place = { LAYERS: 'full', SRS: 'EPSG:4326', BBOX };
    for (const TRANSPARENT of ['TRUE', 'FALSE']) {
      const { image } = await picture({
        ...place,
        TRANSPARENT,
        WIDTH: String(width),
        HEIGHT: String(height),
      });
      expect([image.width, image.height]).toEqual([width, height]);
    }
  });

  it('a WMS error in a picture is no larger than can be read, in the requested shape', async () => {
    const place = { LAYERS: 'missing', SRS: 'EPSG:4326', BBOX: '0,0,90,90', WIDTH: '4096', HEIGHT: '2048' };
    const { image } = await picture({ ...place, EXCEPTIONS: 'INIMAGE' });
    expect(image.width / image.height).toBe(2);
    expect(image.width * image.height).toBeLessThanOrEqual(512 * 512);
  });

  it.each([
    'REQUEST=%00&EXCEPTIONS=INIMAGE&WIDTH=64&HEIGHT=64',
    'LAYERS=a%00b&REQUEST=GetMap&EXCEPTIONS=INIMAGE&WIDTH=64&HEIGHT=64',
    'LAYERS=a%00b&REQUEST=GetMap',
    'LAYERS=a%ef%bf%bfb&REQUEST=GetMap',
  ])('a WMS error for %s survives a character that no picture and no XML has', async (query) => {
    const { inject, log } = openWms();
    const answer = await inject(`/service/wms?FORMAT=image/png&SRS=EPSG:4326&BBOX=0,0,9,9&${query}`);
    expect(answer.statusCode).toBeLessThan(500);
    expect(log).toEqual([]);
  });
});
