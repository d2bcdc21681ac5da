import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { type GeoServerFolder, geoServerAsGeoWebCache } from './import-geoserver.ts';
import { importGeoWebCache } from './import-geowebcache.ts';
import { ImportReport } from './import-report.ts';

const TILE_LAYER = `<GeoServerTileLayer>
  <id>LayerInfoImpl--570ae188:124761b8d78:-7fba</id>
  <enabled>false</enabled><inMemoryCached>true</inMemoryCached>
  <name>topp:roads</name>
  <mimeFormats><string>image/jpeg</string><string>image/png</string></mimeFormats>
  <gridSubsets>
    <gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset>
    <gridSubset><gridSetName>city</gridSetName></gridSubset>
  </gridSubsets>
  <metaWidthHeight><int>3</int><int>2</int></metaWidthHeight>
  <expireCache>60</expireCache><expireClients>0</expireClients>
  <parameterFilters>
    <styleParameterFilter><key>STYLES</key><defaultValue></defaultValue>
      <availableStyles class="sorted-set"><string>night</string></availableStyles>
      <defaultStyle>day</defaultStyle></styleParameterFilter>
  </parameterFilters>
  <gutter>7</gutter><cacheWarningSkips/>
</GeoServerTileLayer>`;
const GRID_SETS = `<gwcConfiguration><gridSets><gridSet><name>city</name><srs><number>25832</number></srs>
  <extent><coords><double>280000</double><double>5076000</double><double>792000</double><double>5588000</double></coords></extent>
  <resolutions><double>1000</double><double>500</double></resolutions><tileHeight>256</tileHeight><tileWidth>256</tileWidth>
</gridSet></gridSets></gwcConfiguration>`;

const CATALOG = [
  '<namespace><id>n1</id><prefix>topp</prefix></namespace>',
  '<workspace><id>w1</id><name>topp</name></workspace>',
  '<style><id>s1</id><name>day</name></style>',
  '<style><id>s2</id><name>night</name><workspace><id>w1</id></workspace></style>',
  '<style><id>s3</id><name>print</name></style>',
  `<featureType><id>f1</id><name>streets</name><namespace><id>n1</id></namespace><title>Streets</title>
    <abstract>All of them</abstract><enabled>true</enabled>
    <latLonBoundingBox><minx>5</minx><maxx>15</maxx><miny>47</miny><maxy>55</maxy></latLonBoundingBox></featureType>`,
  `<layer><id>LayerInfoImpl--570ae188:124761b8d78:-7fba</id><name>streets</name><defaultStyle><id>s1</id></defaultStyle>
    <styles><style><id>s2</id></style><style><id>s3</id></style></styles><resource class="featureType"><id>f1</id></resource>
    <advertised>false</advertised></layer>`,
  `<layerGroup><id>g1</id><name>base</name><workspace><id>w1</id></workspace><title>Base</title>
    <bounds><minx>0</minx><maxx>90</maxx><miny>0</miny><maxy>45</maxy><crs>EPSG:4326</crs></bounds></layerGroup>`,
];

function read(global: string | null, changed: Partial<GeoServerFolder> = {}) {
  const report = new ImportReport();
  const folder = {
    tileLayers: [readXml(TILE_LAYER)],
    isPart: false,
    catalog: [],
    settings: null,
    geowebcache: readXml(GRID_SETS),
    global: global === null ? null : readXml(global),
    ...changed,
  };
  const { document, ...known } = geoServerAsGeoWebCache(folder, report);
  const options = {
    folder: '/data/gwc',
    gridSets: builtInGridSets(),
    hasTiles: () => false,
    isThere: () => true,
    findArchive: () => null,
    readTable: () => null,
    ...known,
  };
  const imported = importGeoWebCache(document, options, report);
  expect(checkImported(imported).refused).toEqual([]);
  return imported;
}

describe('the tile layers of a GeoServer', () => {
  it('a tile layer of GeoServer is a layer that its WMS draws, with its grid sets, styles and times', () => {
    const { layers, gridSets } = read(null);
    expect(layers).toMatchObject([
      {
        name: 'topp:roads',
        enabled: false,
        source: { type: 'wms', url: ['http://localhost:8080/geoserver/wms'], layers: 'topp:roads' },
        formats: ['image/jpeg', 'image/png'],
        gridSets: [{ name: 'EPSG:900913' }, { name: 'city' }],
        metatile: [3, 2],
        gutter: 7,
        expireCache: 60,
        parameters: [{ name: 'STYLES', default: '', values: ['', 'day', 'night'] }],
      },
    ]);
    expect(gridSets).toMatchObject([{ name: 'city', srs: 25832 }]);
  });

  it.each([
    '<global><proxyBaseUrl>https://maps.example.org/geoserver/</proxyBaseUrl></global>',
    '<global><settings><proxyBaseUrl>https://maps.example.org/geoserver</proxyBaseUrl></settings></global>',
  ])('a GeoServer with %s is asked there', (global) => {
    expect(read(global).layers).toMatchObject([
      { source: { url: ['https://maps.example.org/geoserver/wms'] } },
    ]);
  });

  it('the assumed address of a GeoServer is reported', () => {
    expect(read('<global/>').report.entries).toContainEqual({
      subject: 'global.xml',
      element: 'proxyBaseUrl',
      fate: 'changed',
      what: expect.stringContaining('write yours into url'),
    });
  });

  it('a tile layer of GeoServer has the name, title, styles and extent of its catalog', () => {
    const filter = `<styleParameterFilter><key>STYLES</key><defaultValue></defaultValue>
      <availableStyles><string>topp:night</string><string>gone</string></availableStyles></styleParameterFilter>`;
    const tileLayer = readXml(
      TILE_LAYER.replace(/<styleParameterFilter>.*<\/styleParameterFilter>/s, filter),
    );
    const { layers, report } = read(null, {
      tileLayers: [tileLayer],
      catalog: CATALOG.map((one) => readXml(one)),
    });
    expect(layers).toMatchObject([
      {
        name: 'topp:streets',
        title: 'Streets',
        description: 'All of them',
        advertised: false,
        source: { layers: 'topp:streets' },
        parameters: [{ name: 'STYLES', default: '', values: ['', 'day', 'topp:night'] }],
        gridSets: [
          { name: 'EPSG:900913', extent: [556597.45, 5942074.07, 1669792.36, 7361866.11] },
          { name: 'city' },
        ],
      },
    ]);
    const about = (subject: string) => report.entries.filter((entry) => entry.subject === subject);
    expect(about('layer topp:streets')).toContainEqual(
      expect.objectContaining({ element: 'name', what: 'was topp:roads when its file was written' }),
    );
    expect(about('layer topp:base')).toMatchObject([{ what: 'GeoServer keeps no tiles of it' }]);
  });

  it('a tile layer whose layer GeoServer has removed is left out', () => {
    const catalog = CATALOG.filter((one) => !one.startsWith('<layer>')).map((one) => readXml(one));
    const { layers, report } = read(null, { catalog });
    expect(layers).toEqual([]);
    expect(report.entries).toContainEqual(
      expect.objectContaining({
        subject: 'layer topp:roads',
        fate: 'left out',
        what: 'it is not in GeoServer’s catalog',
      }),
    );
  });

  it('a data folder without tile layers has one for each layer and group, by the defaults of gwc-gs.xml', () => {
    const catalog = CATALOG.map((one) => readXml(one));
    const settings =
      readXml(`<GeoServerGWCConfig><metaTilingX>2</metaTilingX><metaTilingY>3</metaTilingY><gutter>9</gutter>
      <defaultCachingGridSetIds><string>EPSG:4326</string></defaultCachingGridSetIds>
      <defaultVectorCacheFormats><string>image/webp</string></defaultVectorCacheFormats></GeoServerGWCConfig>`);
    expect(read(null, { tileLayers: null, catalog, settings }).layers).toMatchObject([
      {
        name: 'topp:streets',
        formats: ['image/webp'],
        metatile: [2, 3],
        gutter: 9,
        gridSets: [{ name: 'EPSG:4326', extent: [5, 47, 15, 55] }],
        parameters: [{ name: 'STYLES', values: ['', 'day', 'topp:night', 'print'] }],
      },
      { name: 'topp:base', title: 'Base', formats: ['image/png', 'image/jpeg'] },
    ]);
    const none = readXml(
      '<GeoServerGWCConfig><cacheLayersByDefault>false</cacheLayersByDefault></GeoServerGWCConfig>',
    );
    expect(read(null, { tileLayers: null, catalog, settings: none }).layers).toEqual([]);
  });

  it('the keys of a layer in a bucket begin with the id of its tile layer, whatever it is called', () => {
    const bucket = '<S3BlobStore default="true"><id>b</id><bucket>tiles</bucket></S3BlobStore>';
    const geowebcache = readXml(
      GRID_SETS.replace('<gridSets>', `<blobStores>${bucket}</blobStores><gridSets>`),
    );
    const { layers } = read(null, { geowebcache, catalog: CATALOG.map((one) => readXml(one)) });
    expect(layers).toMatchObject([
      { name: 'topp:streets', adopt: { bucket: 'b', name: 'LayerInfoImpl--570ae188:124761b8d78:-7fba' } },
    ]);
  });

  it('layers and grid sets of gwc/geowebcache.xml come with the tile layers', () => {
    const geowebcache = readXml(
      GRID_SETS.replace(
        '</gridSets>',
        '</gridSets><layers><wmsLayer><name>other</name><wmsUrl><string>http://maps.test/wms</string></wmsUrl></wmsLayer></layers>',
      ),
    );
    expect(read(null, { geowebcache }).layers.map(({ name }) => name)).toEqual(['other', 'topp:roads']);
  });
});
