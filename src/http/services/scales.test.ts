import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  slopingTiles,
  subset,
} from '../../../test/fixtures/http-app.ts';
import type { Scales } from '../../domain/grid-set.ts';
import { createGridSubset, retinaSubset } from '../../domain/grid-subset.ts';
import { decodeImage } from '../../raster/decode-image.ts';

/** Zoom 2 of EPSG:4326 (1:69,885,283) and zoom 3 of EPSG:900913. */
const SCALES: Scales = [50e6, 100e6];
const within = (name: string, scales: Scales) =>
  createGridSubset(subset(name, 12).gridSet, { zoomStop: 12, scales });

function openScaled(scales = SCALES) {
  const mercator = within('EPSG:900913', scales);
  const scaled = layerNamed('scaled', {
    fullWms: true,
    gridSubsets: [mercator, within('EPSG:4326', scales)],
    retinaSubsets: [retinaSubset(mercator)],
  });
  const { read, reads } = slopingTiles();
  const catalog = catalogOf([scaled, layerNamed('full', { fullWms: true })]);
  const { inject } = createTestApp({ deps: { catalog, pipeline: { read } } });
  return { get: (url: string) => inject({ method: 'GET', url }), reads };
}

async function isEmpty(bytes: Buffer): Promise<boolean> {
  const { pixels } = await decodeImage(bytes, { maxPixels: 1e6 });
  return pixels.every((value, index) => index % 4 !== 3 || value === 0);
}

const WMTS =
  '/service/wmts?REQUEST=GetTile&LAYER=scaled&STYLE=&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEROW=0&TILECOL=0&TILEMATRIX=EPSG:900913:';
const WMS =
  '/service/wms?VERSION=1.1.1&REQUEST=GetMap&STYLES=&FORMAT=image/png&TRANSPARENT=true&SRS=EPSG:4326';

describe('a layer with minScale and maxScale', () => {
  it.each([
    ['/tiles/scaled/2/0/0.png'],
    ['/tiles/scaled/4/0/0.png'],
    ['/tiles/scaled/2/0/0@2x.png'],
    [`${WMTS}2`],
    [`${WMTS}4`],
    [`${WMS}&LAYERS=scaled&BBOX=0,0,90,90&WIDTH=256&HEIGHT=256`],
    [`${WMS}&LAYERS=scaled&BBOX=0,0,90,45&WIDTH=300&HEIGHT=150`],
    [`${WMS}&LAYERS=scaled&BBOX=0,0,9,4.5&WIDTH=300&HEIGHT=150`],
  ])('a request at another scale is answered with an empty picture, and no tile is read: %s', async (url) => {
    const { get, reads } = openScaled();
    const answer = await get(url);
    expect([answer.statusCode, answer.headers['content-type']], answer.body).toEqual([200, 'image/png']);
    expect(answer.headers['x-cache']).toBe('BYPASS');
    expect(await isEmpty(answer.rawPayload)).toBe(true);
    expect(reads).toEqual([]);
  });

  it.each([
    ['/tiles/scaled/3/0/0.png', ['EPSG:900913 - 3/0/0']],
    ['/tiles/scaled/3/0/0@2x.png', ['EPSG:900913@2x - 3/0/0']],
    [`${WMTS}3`, ['EPSG:900913 - 3/0/0']],
    [`${WMS}&LAYERS=scaled&BBOX=0,0,45,45&WIDTH=256&HEIGHT=256`, ['EPSG:4326 - 2/4/1']],
  ])('a request at a scale of the layer is answered with its tile: %s', async (url, wanted) => {
    const { get, reads } = openScaled();
    expect((await get(url)).statusCode).toBe(200);
    expect(reads).toEqual(wanted.map((tile) => `scaled ${tile}`));
  });

  it('a map at a scale of the layer is drawn from tiles of its scales alone', async () => {
    const { get, reads } = openScaled();
    // 1:51,000,000: without limits it is drawn from zoom 3.
    const answer = await get(`${WMS}&LAYERS=scaled&BBOX=0,0,25.6,12.8&WIDTH=200&HEIGHT=100`);
    expect([answer.statusCode, answer.headers['x-cache']]).toEqual([200, 'HIT']);
    expect(reads).toEqual(['scaled EPSG:4326 - 2/4/1']);
  });

  it('a map of several layers is made without the one that has another scale', async () => {
    const { get, reads } = openScaled();
    const answer = await get(`${WMS}&LAYERS=full,scaled&BBOX=0,0,90,90&WIDTH=256&HEIGHT=256`);
    expect(answer.statusCode).toBe(200);
    expect(reads).toEqual(['full EPSG:4326 - 1/2/0']);
  });

  it('WMS capabilities have the scales as each version writes them', async () => {
    const capabilities = async (scales: Scales, version: string) =>
      (await openScaled(scales).get(`/service/wms?REQUEST=GetCapabilities&VERSION=${version}`)).body;
    const newer = await capabilities(SCALES, '1.3.0');
    expect(newer).toContain(
      '</Style>\n<MinScaleDenominator>50000000</MinScaleDenominator><MaxScaleDenominator>100000000</MaxScaleDenominator>\n</Layer>',
    );
    expect(newer.match(/MinScaleDenominator>/g)).toHaveLength(2);
    const [, min, max] =
      /<ScaleHint min="(.*)" max="(.*)"\/>/.exec(await capabilities(SCALES, '1.1.1')) ?? [];
    expect([Number(min), Number(max)]).toEqual([expect.closeTo(19798.99), expect.closeTo(39597.98)]);
    expect(await capabilities([50e6, Infinity], '1.3.0')).not.toContain('MaxScaleDenominator');
    expect(await capabilities([50e6, Infinity], '1.1.1')).toContain('max="Infinity"');
  });
});
