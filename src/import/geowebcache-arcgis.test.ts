import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { storedZip } from '../../test/fixtures/adopted-caches.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { checkImported } from '../config/check-imported.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { arcgisDocument } from './geowebcache-arcgis.ts';
import { importFromFile } from './import-from.ts';
import { importGeoWebCache } from './import-geowebcache.ts';
import { tableOfXml } from './xml-table.ts';

interface Scheme {
  readonly wkid?: number | '';
  readonly origin?: readonly [number, number];
  readonly ids?: readonly number[];
  readonly resolutions: readonly number[];
  readonly format?: string;
  readonly storage?: string;
}

function conf(scheme: Scheme): string {
  const {
    wkid = 25832,
    origin = [0, 6_000_000],
    resolutions,
    format = 'PNG32',
    storage = 'CompactV2',
  } = scheme;
  const ids = scheme.ids ?? resolutions.map((_, z) => z);
  const level = (id: number, z: number) =>
    `<LODInfo><LevelID>${id}</LevelID><Resolution>${resolutions[z]}</Resolution></LODInfo>`;
  return `<CacheInfo><TileCacheInfo><SpatialReference><WKT>PROJCS["x"]</WKT><WKID>${wkid}</WKID></SpatialReference>
    <TileOrigin><X>${origin[0]}</X><Y>${origin[1]}</Y></TileOrigin><TileCols>256</TileCols><TileRows>256</TileRows><DPI>96</DPI>
    <LODInfos>${ids.map(level).join('')}</LODInfos></TileCacheInfo>
    <TileImageInfo><CacheTileFormat>${format}</CacheTileFormat></TileImageInfo>
    <CacheStorageInfo><StorageFormat>esriMapCacheStorageMode${storage}</StorageFormat></CacheStorageInfo></CacheInfo>`;
}

const extent = ([minX, minY, maxX, maxY]: readonly number[]) =>
  `<EnvelopeN><XMin>${minX}</XMin><YMin>${minY}</YMin><XMax>${maxX}</XMax><YMax>${maxY}</YMax></EnvelopeN>`;
const BOUNDS = extent([400_000, 5_500_000, 500_000, 5_600_000]);
const UTM = { resolutions: [100, 50, 10] };

function read(scheme: Scheme, { fields = '', bounds = BOUNDS, path = 'roads/conf.xml' } = {}) {
  const files: Readonly<Record<string, string>> = {
    '/gwc/roads/conf.xml': conf(scheme),
    '/gwc/roads/conf.cdi': bounds,
  };
  const root = readXml(
    `<gwcConfiguration><layers><arcgisLayer><name>roads</name><tilingScheme>${path}</tilingScheme>${fields}</arcgisLayer></layers></gwcConfiguration>`,
  );
  const imported = importGeoWebCache(root, {
    folder: '/gwc',
    gridSets: builtInGridSets(),
    hasTiles: () => false,
    isThere: (folder) => folder !== '/gwc/gone',
    findArchive: () => null,
    readTable: (file) => (files[file] ? tableOfXml(readXml(files[file])) : null),
  });
  expect(checkImported(imported).refused).toEqual([]);
  const [layer] = imported.layers;
  const reported = imported.report.entries.map(({ fate, element, what }) => `${fate} ${element}: ${what}`);
  return { layer, gridSets: imported.gridSets, reported: reported.join('\n') };
}

describe('an arcgisLayer of geowebcache.xml', () => {
  it('a compact ArcGIS cache is adopted in the grid of its conf.xml, as far as conf.cdi reaches', () => {
    const { layer, gridSets, reported } = read(UTM, {
      fields: '<metaInformation><title>Roads</title></metaInformation><storageFormat>x</storageFormat>',
    });
    expect(gridSets).toEqual([
      {
        name: 'EPSG:25832_roads',
        srs: 25832,
        // Whole tiles of the finest level from TileOrigin on.
        extent: [0, 6_000_000 - 196 * 2560, 196 * 2560, 6_000_000],
        resolutions: [100, 50, 10],
        tileSize: [256, 256],
        pixelSize: 0.0254 / 96,
        alignTopLeft: true,
      },
    ]);
    expect(layer).toEqual({
      name: 'roads',
      title: 'Roads',
      source: { type: 'layers', of: [] },
      onMiss: 'not-found',
      formats: ['image/png'],
      gridSets: [{ name: 'EPSG:25832_roads', extent: [400_000, 5_500_000, 500_000, 5_600_000] }],
      adopt: { layout: 'arcgis-compact', folder: '/gwc/roads/_alllayers', origin: 'nw' },
    });
    expect(reported).toContain('changed tilingScheme: /gwc/roads/_alllayers: its tiles are adopted');
    expect(reported).toContain('left out storageFormat: ');
  });

  it('an ArcGIS cache of web maps has the grid set that comes with the program', () => {
    const resolutions = [0, 1, 2].map((z) => 156543.03392800014 / 2 ** z);
    const origin = [-20037508.342787001, 20037508.342787001] as const;
    const bounds = extent([0, 0, 1e6, 1e6]);
    const { layer, gridSets } = read({ wkid: 102100, origin, resolutions, format: 'MIXED' }, { bounds });
    expect(gridSets).toEqual([]);
    expect(layer).toMatchObject({
      formats: ['image/vnd.jpeg-png'],
      gridSets: [{ name: 'EPSG:900913', extent: [0, 0, 1e6, 1e6], zoomStop: 2 }],
    });
  });

  it('an exploded ArcGIS cache is adopted by its folders, whose names begin with its first LevelID', () => {
    const scheme = { ...UTM, ids: [8, 9, 10], storage: 'Exploded', format: 'JPEG' };
    const fields = '<tileCachePath>tiles</tileCachePath><hexZoom>true</hexZoom>';
    const { layer, reported } = read(scheme, { fields });
    expect(layer).toMatchObject({
      formats: ['image/jpeg'],
      gridSets: [{ zoomStop: 1 }],
      adopt: { layout: 'mapproxy', paths: 'arcgis', folder: '/gwc/tiles', origin: 'nw', zoomOffset: -8 },
    });
    expect(reported).toContain('changed hexZoom: levels are read by decimal numbers');
  });

  it.each([
    [UTM, { path: 'other/conf.xml' }, 'the conf.xml of an ArcGIS cache; /gwc/other/conf.xml is none'],
    [UTM, { fields: '<tileCachePath>gone</tileCachePath>' }, 'there is no folder /gwc/gone'],
    [UTM, { bounds: extent([-9e5, 0, -8e5, 1]) }, 'the bounds in conf.cdi are not in its tiling scheme'],
    [{ ...UTM, wkid: '' }, {}, 'has no WKID'],
    [{ ...UTM, ids: [0, 2, 3] }, {}, 'LevelIDs in conf.xml must be whole numbers in sequence'],
    [{ ...UTM, format: 'LERC' }, {}, 'its CacheTileFormat LERC is not served here'],
    [{ resolutions: [Number.NaN] }, {}, 'Resolution in the tiling scheme must be a number, not "NaN"'],
  ] as const)('an ArcGIS cache that cannot be read is left out with the reason %#', (scheme, given, why) => {
    const { layer, reported } = read(scheme, given);
    expect(layer).toBeUndefined();
    expect(reported).toContain(`left out all of it: `);
    expect(reported).toContain(why);
  });

  it('a conf.xml alone is a layer with the name of its service', () => {
    const nameIn = (path: string) => arcgisDocument(path).children[0]?.children[0]?.children[0]?.text;
    expect(nameIn('/arcgis/city/Layers/conf.xml')).toBe('city');
    expect(nameIn('/arcgis/city/conf.xml')).toBe('city');
  });
});

describe('an ArcGIS tile package', () => {
  const importPackage = async (name: string, files: Readonly<Record<string, string>>) => {
    const folder = mkdtempSync(join(tmpdir(), 'tilewarden-package-'));
    whenOver(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, name);
    writeFileSync(file, storedZip(files));
    const imported = await importFromFile(file, null, null, {});
    expect(checkImported(imported).refused).toEqual([]);
    return { ...imported, file };
  };
  const reference = { wkid: 102100, latestWkid: 3857 };
  const lods = [0, 1, 2, 3, 4].map((level) => ({ level, resolution: 156543.03392800014 / 2 ** level }));
  const origin = { x: -20037508.342787001, y: 20037508.342787001 };
  const root = {
    tileInfo: { rows: 256, cols: 256, dpi: 96, origin, spatialReference: reference, lods },
    tileImageInfo: { format: 'PNG' },
    storageInfo: { storageFormat: 'esriMapCacheStorageModeCompactV2' },
    maxLOD: 2,
    fullExtent: { xmin: 0, ymin: 0, xmax: 1e6, ymax: 1e6 },
  };

  it('a .tpkx is a layer with its name, in the grid of its root.json as far as its maxLOD', async () => {
    const { layers, file } = await importPackage('Roads.tpkx', { 'root.json': JSON.stringify(root) });
    expect(layers).toMatchObject([
      {
        name: 'Roads',
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', extent: [0, 0, 1e6, 1e6], zoomStop: 2 }],
        adopt: { layout: 'arcgis-compact', file, origin: 'nw' },
      },
    ]);
  });

  it('a .tpk is a layer in the grid of its conf.xml', async () => {
    const { layers, gridSets, file } = await importPackage('City.tpk', {
      'v101/Layers/conf.xml': conf({ ...UTM, storage: 'Compact' }),
      'v101/Layers/conf.cdi': BOUNDS,
    });
    expect(gridSets).toMatchObject([{ name: 'EPSG:25832_City', resolutions: [100, 50, 10] }]);
    expect(layers).toMatchObject([{ name: 'City', adopt: { layout: 'arcgis-compact', file } }]);
  });

  it.each([
    [{ 'root.json': '{}' }, 'LevelIDs'],
    [{ 'conf.xml': conf({ ...UTM, storage: 'Exploded' }), 'conf.cdi': BOUNDS }, 'unpack it'],
    [{ 'item.json': '' }, 'x.tpkx is none'],
  ])('a package that cannot be served is left out with the reason %#', async (files, why) => {
    const { layers, report } = await importPackage('x.tpkx', files);
    expect(layers).toEqual([]);
    expect(report.entries.map(({ what }) => what).join()).toMatch(new RegExp(why));
  });

  it('a package whose root.json is not JSON is refused', async () => {
    await expect(importPackage('x.tpkx', { 'root.json': '{' })).rejects.toThrow('is not a JSON object');
  });
});
