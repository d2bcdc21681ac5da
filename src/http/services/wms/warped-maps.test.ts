import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  slopeAt,
  slopingTiles,
  subset,
} from '../../../../test/fixtures/http-app.ts';
import { projectionOfSrs } from '../../../domain/projection.ts';
import { decodeImage } from '../../../raster/decode-image.ts';

const degrees = subset('EPSG:4326', 8);
const layers = [
  layerNamed('warped', { fullWms: true, wmsCrs: [3035, 25832, 3413], gridSubsets: [degrees] }),
  layerNamed('both', { fullWms: true, wmsCrs: [25832] }),
  layerNamed('plain', { fullWms: true }),
];

async function request(parameters: Record<string, string>) {
  const { read, reads } = slopingTiles();
  const { inject } = createTestApp({ deps: { catalog: catalogOf(layers), pipeline: { read } } });
  const query = new URLSearchParams({ REQUEST: 'GetMap', STYLES: '', FORMAT: 'image/png', ...parameters });
  return { answer: await inject(`/service/wms?${query}`), reads };
}

async function picture(parameters: Record<string, string>) {
  const { answer, reads } = await request({ TRANSPARENT: 'TRUE', ...parameters });
  expect(answer.statusCode, answer.body).toBe(200);
  const image = await decodeImage(answer.rawPayload, { maxPixels: 4e6 });
  const pixel = (x: number, y: number) => [
    ...image.pixels.subarray(4 * (y * image.width + x)).subarray(0, 4),
  ];
  return { answer, reads, pixel };
}

function expectSlope(pixel: readonly number[], srs: number, x: number, y: number) {
  const place = projectionOfSrs(srs)?.toLonLat(x, y) ?? [0, 0];
  const wanted = slopeAt(degrees.gridSet, ...place);
  for (const [channel, value] of wanted.entries()) {
    expect(Math.abs((pixel[channel] ?? 0) - value), `${x} ${y}`).toBeLessThanOrEqual(2);
  }
  expect(pixel[3]).toBe(255);
}

describe('WMS maps in other CRS', () => {
  it.each([
    ['1.1.1', { SRS: 'EPSG:3035' }, '2600000,1400000,7200000,5500000'],
    ['1.3.0', { CRS: 'EPSG:3035' }, '1400000,2600000,5500000,7200000'],
    ['1.3.0', { CRS: 'urn:ogc:def:crs:EPSG::3035' }, '1400000,2600000,5500000,7200000'],
  ])(
    'a WMS map in another CRS is warped from tiles, with the axes of %s and %j',
    async (VERSION, crs, BBOX) => {
      const { pixel, answer } = await picture({
        VERSION,
        ...crs,
        BBOX,
        LAYERS: 'warped',
        WIDTH: '230',
        HEIGHT: '205',
      });
      for (const [x, y] of [
        [0, 0],
        [229, 0],
        [115, 100],
        [3, 204],
      ] as const) {
        expectSlope(pixel(x, y), 3035, 2600000 + (x + 0.5) * 20000, 5500000 - (y + 0.5) * 20000);
      }
      expect(answer.headers['geowebcache-crs']).toBe('EPSG:3035');
      expect(answer.headers['x-cache']).toBe('HIT');
    },
  );

  it('a WMS map around the pole and over 180° has no gap', async () => {
    const BBOX = '-3000000,-3000000,3000000,3000000';
    const { pixel } = await picture({
      SRS: 'EPSG:3413',
      BBOX,
      LAYERS: 'warped',
      WIDTH: '150',
      HEIGHT: '150',
    });
    for (let x = 0; x < 150; x += 3) for (let y = 0; y < 150; y += 3) expect(pixel(x, y)[3]).toBe(255);
    expectSlope(pixel(20, 40), 3413, -3000000 + 20.5 * 40000, 3000000 - 40.5 * 40000);
  });

  it('a WMS map draws warped layers and layers with that CRS on each other', async () => {
    const place = { SRS: 'EPSG:4326', BBOX: '1,2,33,44', WIDTH: '64', HEIGHT: '84' };
    expect((await picture({ ...place, LAYERS: 'plain,warped' })).reads.length).toBeGreaterThan(1);
    const utm = { SRS: 'EPSG:25832', BBOX: '200000,5000000,900000,6000000', WIDTH: '70', HEIGHT: '100' };
    const { reads } = await picture({ ...utm, LAYERS: 'both,warped' });
    expect(new Set(reads.map((read) => read.split(' ')[0]))).toEqual(new Set(['both', 'warped']));
  });

  it('a WMS map is not available in a CRS that the layer does not name, and the answer names those', async () => {
    const place = { SRS: 'EPSG:3035', BBOX: '0,0,1,1', WIDTH: '64', HEIGHT: '84' };
    const { answer } = await request({ ...place, LAYERS: 'both' });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('EPSG:3857, EPSG:900913, EPSG:4326, EPSG:25832');
    expect((await request({ ...place, SRS: 'EPSG:25832', LAYERS: 'plain' })).answer.statusCode).toBe(400);
  });

  it('WMS capabilities list CRS that maps are warped to, with a box in the order of their axes', async () => {
    const read = async (VERSION: string) =>
      (await request({ REQUEST: 'GetCapabilities', VERSION, LAYERS: 'both' })).answer.body;
    expect(await read('1.1.1')).toMatch(/<SRS>EPSG:25832<\/SRS>[\s\S]*<BoundingBox SRS="EPSG:25832"/);
    const warped = (await request({ REQUEST: 'GetCapabilities', VERSION: '1.3.0', LAYERS: 'warped' })).answer
      .body;
    const box =
      /<BoundingBox CRS="EPSG:3035" minx="([^"]*)" miny="([^"]*)" maxx="([^"]*)" maxy="([^"]*)"/.exec(warped);
    const older = await request({ REQUEST: 'GetCapabilities', VERSION: '1.1.1', LAYERS: 'warped' });
    const xFirst = /<BoundingBox SRS="EPSG:3035" minx="([^"]*)" miny="([^"]*)"/.exec(older.answer.body);
    expect([box?.[2], box?.[1]]).toEqual([xFirst?.[1], xFirst?.[2]]);
    expect(box?.[1]).not.toBe(box?.[2]);
    const polar = /<BoundingBox CRS="EPSG:3413" minx="-(\d+)/.exec(warped);
    expect(Number(polar?.[1])).toBeLessThan(5e7);
    for (const code of [3035, 25832, 3413]) expect(warped).toContain(`<CRS>EPSG:${code}</CRS>`);
  });
});
