import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { geoServerAsGeoWebCache } from './import-geoserver.ts';
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

function read(global: string | null) {
  const report = new ImportReport();
  const folder = {
    tileLayers: [readXml(TILE_LAYER)],
    geowebcache: readXml(GRID_SETS),
    global: global === null ? null : readXml(global),
  };
  const options = {
    folder: '/data/gwc',
    gridSets: builtInGridSets(),
    hasTiles: () => false,
    isThere: () => true,
  };
  const imported = importGeoWebCache(geoServerAsGeoWebCache(folder, report), options, report);
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
});
