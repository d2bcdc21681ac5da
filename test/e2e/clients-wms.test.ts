import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { decodeImage, type RasterImage } from '../../src/raster/decode-image.ts';
import { soon } from '../fixtures/eventually.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { openServerBeforeMapServer, type ServerBeforeMapServer } from './server-before-mapserver.ts';

interface Place {
  readonly gridSet: string;
  /** As WMS names it. */
  readonly srs: string;
  /** x before y; off the grid on purpose. */
  readonly bounds: readonly [number, number, number, number];
  /** A tile of the grid set: zoom, column, row from the top, and its place worked out by hand. */
  readonly tile: readonly [number, number, number];
  readonly tileBounds: readonly [number, number, number, number];
}

const HALF = 20037508.34;
const PLACES: readonly Place[] = [
  {
    gridSet: 'EPSG:900913',
    srs: 'EPSG:3857',
    bounds: [-2100000, 3800000, 4900000, 8000000],
    tile: [2, 2, 1],
    tileBounds: [0, 0, HALF / 2, HALF / 2],
  },
  {
    gridSet: 'EPSG:4326',
    srs: 'EPSG:4326',
    bounds: [-21, 31, 59, 73],
    tile: [2, 4, 0],
    tileBounds: [0, 45, 45, 90],
  },
  {
    gridSet: 'LAMB93',
    srs: 'EPSG:2154',
    bounds: [110000, 6100000, 1180000, 7150000],
    tile: [2, 1, 2],
    tileBounds: [512000, 6512000, 1024000, 7024000],
  },
];

const CONFIG = (url: string) => `
stores:
  default: { type: memory }
upstreams:
  '127.0.0.1': { concurrency: 2, allowPrivate: true }
gridSets:
  - { name: LAMB93, srs: 2154, extent: [0, 6000000, 2048000, 8048000], resolutions: [8000, 4000, 2000, 1000] }
layers:
  - name: land
    source: { type: wms, url: '${url}', layers: land }
    formats: [image/png]
    gridSets: [{ name: EPSG:900913, zoomStop: 6 }, { name: EPSG:4326, zoomStop: 6 }, LAMB93]
    metatile: [4, 4]
    fullWMS: true
    queryable: true
`;

const WIDTH = 600;
const heightFor = ([minX, minY, maxX, maxY]: Place['bounds']) =>
  Math.round((WIDTH * (maxY - minY)) / (maxX - minX));

/** Reads a request from each line of its input, and writes a line with its fault, or an empty one. */
const OWSLIB = `
import json, sys, traceback
from owslib.wms import WebMapService
from owslib.wmts import WebMapTileService
def read(asked):
    if asked['service'] == 'wms':
        wms = WebMapService(asked['url'], version=asked['version'])
        layer = wms['land']
        assert layer.queryable == 1 and 'EPSG:3857' in layer.crsOptions, layer.crsOptions
        assert abs(layer.boundingBoxWGS84[0] + 180) < 1, layer.boundingBoxWGS84
        return wms.getmap(layers=['land'], styles=[''], srs=asked['srs'], bbox=asked['bounds'],
                          size=asked['size'], format='image/png', transparent=False)
    if asked['service'] == 'info':
        wms = WebMapService(asked['url'], version=asked['version'])
        return wms.getfeatureinfo(layers=['land'], query_layers=['land'], srs=asked['srs'], bbox=asked['bounds'],
                                  size=asked['size'], xy=asked['xy'], info_format='text/plain', format='image/png')
    wmts = WebMapTileService(asked['url'])
    z, x, y = asked['tile']
    assert str(z) in [name.split(':')[-1] for name in wmts['land'].tilematrixsetlinks[asked['gridSet']].tilematrixlimits]
    return wmts.gettile(layer='land', tilematrixset=asked['gridSet'], tilematrix='%s:%d' % (asked['gridSet'], z),
                        row=y, column=x, format='image/png')
for line in sys.stdin:
    asked = json.loads(line)
    try:
        open(asked['file'], 'wb').write(read(asked).read())
        print('', flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
`;

/** One process for all tests: most of its time goes into loading libraries. */
async function openOwsLib(program: string) {
  const child = await started(spawn(program, ['-c', OWSLIB], { stdio: ['pipe', 'pipe', 'inherit'] }));
  const lines = createInterface(child.stdout);
  return {
    async read(request: object): Promise<void> {
      const line = Promise.race([once(lines, 'line'), once(child, 'close')]);
      child.stdin.write(`${JSON.stringify(request)}\n`);
      expect(await soon('OWSLib answers', line)).toEqual(['']);
    },
    async close(): Promise<void> {
      const over = once(child, 'close');
      child.stdin.end();
      await over;
    },
  };
}

describe('WMS', needs('gdal', 'mapserver', 'owslib'), () => {
  let fixture: ServerBeforeMapServer;
  let owsLib: Awaited<ReturnType<typeof openOwsLib>>;
  beforeAll(async () => {
    fixture = await openServerBeforeMapServer(CONFIG);
    owsLib = await openOwsLib(programPath('owslib'));
  });
  afterAll(async () => {
    await owsLib?.close();
  });

  const file = () => join(fixture.folder, 'read.png');

  async function byOwsLib(asked: object): Promise<Buffer> {
    await owsLib.read({ url: `${fixture.server.url}/service/wms`, file: file(), ...asked });
    return readFile(file());
  }

  const decode = (bytes: Buffer) => decodeImage(bytes, { maxPixels: 4e6 });

  async function drawnUpstream(
    srs: string,
    bounds: Place['bounds'],
    width: number,
    height: number,
  ): Promise<RasterImage> {
    const response = await fetch(
      `${fixture.mapServer.url}?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=land&STYLES=&FORMAT=image/png&SRS=${srs}&BBOX=${bounds}&WIDTH=${width}&HEIGHT=${height}`,
    );
    return decode(Buffer.from(await response.arrayBuffer()));
  }

  it.each(PLACES)('a WMS map is read by GDAL in $gridSet as MapServer draws it', async ({ srs, bounds }) => {
    const [minX, minY, maxX, maxY] = bounds;
    const height = heightFor(bounds);
    const dataset = join(fixture.folder, 'wms.xml');
    writeFileSync(
      dataset,
      `<GDAL_WMS><Service name="WMS"><Version>1.1.1</Version><ServerUrl>${fixture.server.url}/service/wms?</ServerUrl><Layers>land</Layers><Styles/><SRS>${srs}</SRS><ImageFormat>image/png</ImageFormat></Service><DataWindow><UpperLeftX>${minX}</UpperLeftX><UpperLeftY>${maxY}</UpperLeftY><LowerRightX>${maxX}</LowerRightX><LowerRightY>${minY}</LowerRightY><SizeX>${WIDTH}</SizeX><SizeY>${height}</SizeY></DataWindow><Projection>${srs}</Projection><BandsCount>4</BandsCount><BlockSizeX>300</BlockSizeX><BlockSizeY>250</BlockSizeY></GDAL_WMS>`,
    );
    await fixture.run('gdal_translate', ['-q', '-of', 'PNG', dataset, file()]);
    const read = await decode(await readFile(file()));
    expectAlike(read, await drawnUpstream(srs, bounds, WIDTH, height));
  });

  it.each(PLACES)('a WMS layer is found by GDAL as a tile set in $gridSet', async (place) => {
    const listed = await fixture.run('gdalinfo', [
      `WMS:${fixture.server.url}/service/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetCapabilities&TILED=true&SRS=${place.srs}`,
    ]);
    const datasets = [...listed.matchAll(/SUBDATASET_\d+_NAME=(.*)/g)].map((match) => match[1] ?? '');
    const dataset = datasets.find((name) => name.includes(`SRS=${place.srs}&`) && name.includes('TILESIZE='));
    expect(dataset, listed).toBeDefined();
    const [minX, minY, maxX, maxY] = place.tileBounds.map(String);
    const window = ['-projwin', minX, maxY, maxX, minY, '-outsize', '256', '256'] as string[];
    await fixture.run('gdal_translate', ['-q', '-of', 'PNG', ...window, dataset ?? '', file()]);
    const read = await decode(await readFile(file()));
    expectAlike(read, await drawnUpstream(place.srs, place.tileBounds, 256, 256));
  });

  it.each(PLACES.flatMap((place) => ['1.1.1', '1.3.0'].map((version) => ({ ...place, version }))))(
    'a WMS map is read by OWSLib $version in $gridSet as MapServer draws it',
    async ({ srs, bounds, version }) => {
      const [minX, minY, maxX, maxY] = bounds;
      const height = heightFor(bounds);
      // OWSLib swaps the axes itself for known codes.
      const asked = { service: 'wms', version, srs, bounds: [minX, minY, maxX, maxY], size: [WIDTH, height] };
      const read = await decode(await byOwsLib(asked));
      expectAlike(read, await drawnUpstream(srs, bounds, WIDTH, height));
    },
  );

  it.each(PLACES)('a WMTS tile is read by OWSLib in $gridSet as MapServer draws it', async (place) => {
    const { gridSet, tile, srs, tileBounds } = place;
    const url = `${fixture.server.url}/service/wmts?REQUEST=GetCapabilities`;
    const read = await decode(await byOwsLib({ service: 'wmts', url, gridSet, tile }));
    expectAlike(read, await drawnUpstream(srs, tileBounds, 256, 256));
  });

  it.each(['1.1.1', '1.3.0'])('WMS %s passes GetFeatureInfo on to MapServer', async (version) => {
    const asked = { service: 'info', version, srs: 'EPSG:3857', bounds: PLACES[0]?.bounds, size: [600, 360] };
    const onLand = await byOwsLib({ ...asked, xy: [300, 180] });
    expect(onLand.toString()).toContain('Feature');
    const atSea = await byOwsLib({ ...asked, xy: [5, 180] });
    expect(atSea.toString()).not.toContain('Feature ');
    const byWmts = await fetch(
      `${fixture.server.url}/service/wmts?REQUEST=GetFeatureInfo&LAYER=land&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:2&TILEROW=1&TILECOL=2&I=60&J=60&INFOFORMAT=text/plain`,
    );
    expect([byWmts.status, byWmts.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining('sandbox'),
    ]);
    expect(await byWmts.text()).toContain('Feature');
  });
});

/** Except for the edges of lines, which are drawn at other sizes and then resampled. */
function expectAlike(a: RasterImage, b: RasterImage): void {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  let [different, total] = [0, 0];
  for (let i = 0; i < a.pixels.length; i += 4) {
    if (a.pixels.readUInt32LE(i) === b.pixels.readUInt32LE(i)) continue;
    const distance = [0, 1, 2].map((channel) =>
      Math.abs((a.pixels[i + channel] ?? 0) - (b.pixels[i + channel] ?? 0)),
    );
    const worst = Math.max(...distance);
    total += worst;
    if (worst > 80) different++;
  }
  const count = a.width * a.height;
  expect(
    { share: different / count < 0.02, mean: total / count < 4 },
    `${different / count} ${total / count}`,
  ).toEqual({
    share: true,
    mean: true,
  });
  expect(new Set(new Uint32Array(a.pixels.buffer, a.pixels.byteOffset, count)).size).toBeGreaterThan(2);
}
