import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeImage, type RasterImage } from '../../src/raster/decode-image.ts';
import { createReaderKey } from '../fixtures/accounts.ts';
import { needs } from '../fixtures/needs.ts';
import { openServerBeforeMapServer, type ServerBeforeMapServer } from './server-before-mapserver.ts';

const TILE = 256;
const BLOCK = 2;
const SIDE = BLOCK * TILE;

interface GridCase {
  readonly gridSet: string;
  readonly zoom: number;
  /** The block of 2×2 tiles that is read, by its first column and row. */
  readonly column: number;
  readonly row: number;
  /** The block's place, x before y, worked out by hand. */
  readonly bounds: readonly [minX: number, minY: number, maxX: number, maxY: number];
  /** The request to MapServer. */
  readonly srs: string;
}

const HALF = 20037508.34;
const GRID_CASES: readonly GridCase[] = [
  {
    gridSet: 'EPSG:900913',
    zoom: 2,
    column: 1,
    row: 1,
    bounds: [-HALF / 2, -HALF / 2, HALF / 2, HALF / 2],
    srs: 'EPSG:3857',
  },
  { gridSet: 'EPSG:4326', zoom: 2, column: 3, row: 0, bounds: [-45, 0, 45, 90], srs: 'EPSG:4326' },
  // France: easting first. Its level 1 has 512 km to a tile.
  { gridSet: 'LAMB93', zoom: 1, column: 0, row: 1, bounds: [0, 6000000, 1024000, 7024000], srs: 'EPSG:2154' },
  // Poland: northing first, aligned to the top.
  {
    gridSet: 'PL1992',
    zoom: 1,
    column: 1,
    row: 0,
    bounds: [356000, 288000, 868000, 800000],
    srs: 'EPSG:2180',
  },
];

const CONFIG = (url: string) => `
stores:
  default: { type: memory }
upstreams:
  '127.0.0.1': { concurrency: 2, allowPrivate: true }
gridSets:
  - name: LAMB93
    srs: 2154
    extent: [0, 6000000, 1300000, 7200000]
    resolutions: [4000, 2000, 1000]
  - name: PL1992
    srs: 2180
    extent: [100000, 100000, 900000, 800000]
    resolutions: [2000, 1000, 500]
    alignTopLeft: true
    yCoordinateFirst: true
layers:
  - name: the/land
    source: { type: wms, url: '${url}', layers: land }
    formats: [image/png]
    gridSets: [{ name: EPSG:900913, zoomStop: 5 }, EPSG:4326, LAMB93, PL1992]
    metatile: [2, 2]
  - name: closed
    access: authenticated
    source: { type: wms, url: '${url}', layers: land }
    gridSets: [{ name: EPSG:900913, zoomStop: 5 }]
    metatile: [2, 2]
`;

describe('GDAL', needs('gdal', 'mapserver'), () => {
  let fixture: ServerBeforeMapServer;
  beforeAll(async () => {
    fixture = await openServerBeforeMapServer(CONFIG);
  });

  async function run(program: string, args: readonly string[]): Promise<string> {
    const output = await fixture.run(program, args);
    expect(output).not.toMatch(/error|warning/i);
    return output;
  }

  async function readByGdal(dataset: string, { bounds }: GridCase): Promise<RasterImage> {
    const file = join(fixture.folder, 'read.png');
    const [minX, minY, maxX, maxY] = bounds.map(String) as [string, string, string, string];
    const window = ['-projwin', minX, maxY, maxX, minY, '-outsize', String(SIDE), String(SIDE)];
    await run('gdal_translate', ['-q', '-of', 'PNG', ...window, dataset, file]);
    return decodeImage(await readFile(file), { maxPixels: SIDE * SIDE });
  }

  async function fetchImage(url: string): Promise<RasterImage> {
    const response = await fetch(url);
    expect(response.status, url).toBe(200);
    return decodeImage(Buffer.from(await response.arrayBuffer()), { maxPixels: SIDE * SIDE });
  }

  async function tilesDirectly({ gridSet, zoom, column, row }: GridCase): Promise<RasterImage> {
    const pixels = Buffer.alloc(SIDE * SIDE * 4);
    for (let i = 0; i < BLOCK * BLOCK; i++) {
      const [across, down] = [i % BLOCK, Math.floor(i / BLOCK)];
      const place = `${zoom}/${column + across}/${row + down}`;
      const tile = await fetchImage(`${fixture.server.url}/tiles/the%2Fland/${gridSet}/${place}.png`);
      for (let y = 0; y < TILE; y++) {
        const line = tile.pixels.subarray(y * TILE * 4, (y + 1) * TILE * 4);
        line.copy(pixels, ((down * TILE + y) * SIDE + across * TILE) * 4);
      }
    }
    return { width: SIDE, height: SIDE, pixels };
  }

  const drawnUpstream = ({ srs, bounds }: GridCase) =>
    fetchImage(
      `${fixture.mapServer.url}?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=land&STYLES=&FORMAT=image/png&SRS=${srs}&BBOX=${bounds}&WIDTH=${SIDE}&HEIGHT=${SIDE}`,
    );

  it('GDAL finds every grid set in the capabilities', async () => {
    const listed = await run('gdalinfo', [`WMTS:${fixture.server.url}/service/wmts?REQUEST=GetCapabilities`]);
    for (const { gridSet } of GRID_CASES) expect(listed).toContain(`tilematrixset=${gridSet}`);
  });

  it.each(GRID_CASES)(
    'GDAL reads $gridSet by WMTS with the pixels of the tiles and of MapServer',
    async (grid) => {
      const dataset = `WMTS:${fixture.server.url}/service/wmts?REQUEST=GetCapabilities,layer=the/land,tilematrixset=${grid.gridSet},zoom_level=${grid.zoom}`;
      const read = await readByGdal(dataset, grid);
      expect(differentShare(read, await tilesDirectly(grid))).toBe(0);
      expect(differentShare(read, await drawnUpstream(grid))).toBeLessThan(0.005);
      expect(coloursIn(read)).toBeGreaterThan(2);
    },
  );

  it('GDAL reads a layer and a grid set that were created over REST', async () => {
    const put = async (path: string, body: string) => {
      const headers = { 'content-type': 'text/xml', authorization: fixture.server.authorization };
      return (await fetch(`${fixture.server.url}/rest/${path}.xml`, { method: 'PUT', headers, body })).status;
    };
    const doubles = (values: readonly number[]) =>
      values.map((value) => `<double>${value}</double>`).join('');
    const [grid] = GRID_CASES.filter(({ gridSet }) => gridSet === 'LAMB93').map((one) => ({
      ...one,
      gridSet: 'over-rest',
    }));
    if (!grid) throw new Error('There is no such grid set.');
    expect(
      await put(
        'gridsets/over-rest',
        `<gridSet><name>over-rest</name><srs><number>2154</number></srs><extent><coords>${doubles([0, 6000000, 1300000, 7200000])}</coords></extent>
         <resolutions>${doubles([4000, 2000, 1000])}</resolutions><tileHeight>256</tileHeight><tileWidth>256</tileWidth></gridSet>`,
      ),
    ).toBe(201);
    expect(
      await put(
        'layers/made:over rest',
        `<wmsLayer><name>made:over rest</name><mimeFormats><string>image/png</string></mimeFormats>
         <gridSubsets><gridSubset><gridSetName>over-rest</gridSetName></gridSubset></gridSubsets>
         <wmsUrl><string>${fixture.mapServer.url.replaceAll('&', '&amp;')}</string></wmsUrl><wmsLayers>land</wmsLayers><transparent>false</transparent></wmsLayer>`,
      ),
    ).toBe(200);
    const service = `WMTS:${fixture.server.url}/service/wmts?REQUEST=GetCapabilities`;
    const dataset = `${service},layer=made:over rest,tilematrixset=over-rest,zoom_level=${grid.zoom}`;
    const read = await readByGdal(dataset, grid);
    expect(differentShare(read, await drawnUpstream(grid))).toBeLessThan(0.005);
    expect(coloursIn(read)).toBeGreaterThan(2);
  });

  it('GDAL uses the deepest zoom of a layer as its full size', async () => {
    const dataset = `WMTS:${fixture.server.url}/service/wmts?REQUEST=GetCapabilities,layer=the/land,tilematrixset=EPSG:900913`;
    expect(await run('gdalinfo', ['-nomd', dataset])).toContain(`Size is ${TILE * 2 ** 5}, ${TILE * 2 ** 5}`);
  });

  it('GDAL lists the layers of the TMS service document', async () => {
    const listed = await run('gdalinfo', [`${fixture.server.url}/service/tms`]);
    expect(listed).toContain('the%2Fland@EPSG%3A900913@png');
    expect(listed).toContain('the%2Fland@LAMB93@png');
    expect(listed).not.toContain('PL1992');
  });

  it.each(GRID_CASES.filter(({ gridSet }) => gridSet !== 'PL1992'))(
    'GDAL reads $gridSet by TMS with the pixels of the tiles',
    async (grid) => {
      const read = await readByGdal(
        `${fixture.server.url}/service/tms/1.0.0/the%2Fland@${grid.gridSet}@png`,
        grid,
      );
      expect(differentShare(read, await tilesDirectly(grid))).toBe(0);
    },
  );

  it('GDAL reads a closed layer by TMS and WMTS with a key in the address', async () => {
    const key = await createReaderKey(fixture.server.url, fixture.server.authorization, ['closed']);
    const [grid] = GRID_CASES;
    if (!grid) throw new Error('There is no grid set.');
    const service = `${fixture.server.url}/service`;
    const tileMatrixSet = `layer=closed,tilematrixset=${grid.gridSet},zoom_level=${grid.zoom}`;
    for (const dataset of [
      `${service}/tms/1.0.0/closed@${grid.gridSet}@png?key=${key}`,
      `WMTS:${service}/wmts?REQUEST=GetCapabilities&key=${key},${tileMatrixSet}`,
    ]) {
      expect(differentShare(await readByGdal(dataset, grid), await tilesDirectly(grid))).toBe(0);
    }
    const listed = await run('gdalinfo', [`${service}/tms?key=${key}`]);
    expect(listed).toContain('closed@EPSG%3A900913@png');
    expect(listed).not.toContain('land');
  });
});

function differentShare(a: RasterImage, b: RasterImage): number {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  if (a.pixels.equals(b.pixels)) return 0;
  let different = 0;
  for (let i = 0; i < a.pixels.length; i += 4) {
    if (a.pixels.readUInt32LE(i) !== b.pixels.readUInt32LE(i)) different++;
  }
  return different / (a.width * a.height);
}

function coloursIn({ pixels }: RasterImage): number {
  return new Set(new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4)).size;
}
