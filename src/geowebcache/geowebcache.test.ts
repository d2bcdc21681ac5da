import { describe, expect, it } from 'vitest';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { javaDouble } from '../lib/java-number.ts';
import { writeDocument } from './document-node.ts';
import { readGwcGridSet, writeGwcGridSet } from './grid-set-document.ts';
import { type DocumentFormat, readDocument } from './read-document.ts';
import { readGwcLayer } from './read-layer.ts';
import { writeGwcLayer } from './write-layer.ts';

const LAYER = `<wmsLayer>
  <blobStoreId>fast</blobStoreId><enabled>false</enabled><advertised>false</advertised>
  <transientLayer>true</transientLayer>
  <name>topp:roads and rails</name>
  <metaInformation><title>Roads</title><description>All of them</description>
    <keywords><string>road</string><string>rail</string></keywords></metaInformation>
  <mimeFormats><string>image/png</string><string>image/tiff</string><string>image/jpeg</string></mimeFormats>
  <gridSubsets>
    <gridSubset><gridSetName>EPSG:4326</gridSetName>
      <extent><coords><double>-10</double><double>2.5E1</double><double>30.0</double><double>60</double></coords></extent>
      <zoomStart>1</zoomStart><zoomStop>12</zoomStop><minCachedLevel>3</minCachedLevel><maxCachedLevel>10</maxCachedLevel>
      <note>from the survey</note>
    </gridSubset>
  </gridSubsets>
  <updateSources>
    <geoRssFeed><feedUrl>http://example.org/rss?since=\${lastUpdate}</feedUrl><gridSetId>EPSG:900913</gridSetId>
      <pollInterval>300</pollInterval><operation>seed</operation><maxMaskLevel>9</maxMaskLevel></geoRssFeed>
    <geoRssFeed><feedUrl>http://example.org/other</feedUrl><pollInterval>5</pollInterval></geoRssFeed>
    <geoRssFeed><feedUrl>http://example.org/off</feedUrl></geoRssFeed>
  </updateSources>
  <requestFilters>
    <circularExtentFilter><name>round</name></circularExtentFilter>
    <fileRasterFilter><name>mask</name><zoomStop>6</zoomStop></fileRasterFilter>
  </requestFilters>
  <metaWidthHeight><int>5</int><int>2</int></metaWidthHeight>
  <expireCacheList><expirationRule minZoom="0" expiration="-2"/><expirationRule minZoom="8" expiration="-1"/></expireCacheList>
  <expireClientsList><expirationRule minZoom="0" expiration="500"/></expireClientsList>
  <backendTimeout>90</backendTimeout><cacheBypassAllowed>true</cacheBypassAllowed>
  <queryable>true</queryable><wmsQueryLayers>roads</wmsQueryLayers>
  <infoMimeFormats><string>text/html</string></infoMimeFormats>
  <parameterFilters>
    <stringParameterFilter><key>STYLES</key><defaultValue>day</defaultValue>
      <normalize><case>LOWER</case><locale>tr</locale></normalize>
      <values><string>day</string><string>night</string></values></stringParameterFilter>
    <regexParameterFilter><key>CQL_FILTER</key><defaultValue/><regex>[A-Z]+</regex></regexParameterFilter>
    <floatParameterFilter><key>ELEVATION</key><defaultValue>1.5</defaultValue>
      <values><float>1.5</float><float>3</float></values><threshold>0.5</threshold></floatParameterFilter>
    <integerParameterFilter><key>LEVEL</key><values><int>1</int><int>2</int></values><threshold>1</threshold></integerParameterFilter>
  </parameterFilters>
  <wmsUrl><string>http://one.example.org/wms?</string><string>http://two.example.org/wms</string></wmsUrl>
  <wmsLayers>roads,rails</wmsLayers><wmsStyles>a,b</wmsStyles><gutter>7</gutter><wmsVersion>1.3.0</wmsVersion>
  <httpUsername>anna</httpUsername><httpPassword>pw</httpPassword>
  <transparent>false</transparent><bgColor>0x0066FF</bgColor>
  <vendorParameters>MAP=/srv/a.map&amp;TOKEN=x%20y</vendorParameters><concurrency>6</concurrency>
  <legends defaultWidth="20" defaultHeight="30" defaultFormat="image/png">
    <legend style="day"><width>40</width><minScale>1000</minScale></legend>
    <legend style="night"><completeUrl>http://example.org/night.png</completeUrl></legend>
  </legends>
  <httpRequestMode>FormPost</httpRequestMode>
  <unheardOf kind="x"><inner>1</inner></unheardOf>
</wmsLayer>`;

function read(text: string, format: DocumentFormat = 'xml') {
  return readGwcLayer(readDocument(Buffer.from(text), format));
}

function rewritten(text: string, from: DocumentFormat, to: DocumentFormat): string {
  return writeDocument(writeGwcLayer(read(text, from).document), to);
}

describe("GeoWebCache's document of a layer", () => {
  it("GeoWebCache's document of a layer becomes a declaration with all that administrators use", () => {
    expect(read(LAYER).document).toEqual({
      name: 'topp:roads and rails',
      enabled: false,
      advertised: false,
      transient: true,
      title: 'Roads',
      description: 'All of them',
      source: {
        type: 'wms',
        url: ['http://one.example.org/wms?', 'http://two.example.org/wms'],
        layers: 'roads,rails',
        styles: 'a,b',
        queryLayers: 'roads',
        version: '1.3.0',
        transparent: false,
        bgColor: '0x0066FF',
        vendorParameters: { MAP: '/srv/a.map', TOKEN: 'x y' },
        username: 'anna',
        password: 'pw',
        timeoutSeconds: 90,
        concurrency: 6,
        maxUrlLength: 200,
      },
      formats: ['image/png', 'image/jpeg'],
      gridSets: [
        {
          name: 'EPSG:4326',
          extent: [-10, 25, 30, 60],
          zoomStart: 1,
          zoomStop: 12,
          minCachedLevel: 3,
          maxCachedLevel: 10,
        },
      ],
      metatile: [5, 2],
      gutter: 7,
      parameters: [
        { name: 'STYLES', default: 'day', normalize: 'lower', values: ['day', 'night'] },
        { name: 'CQL_FILTER', default: '', regex: '[A-Z]+' },
        { name: 'ELEVATION', default: '1.5', floats: [1.5, 3], threshold: 0.5 },
        { name: 'LEVEL', integers: [1, 2], threshold: 1 },
      ],
      store: 'fast',
      expireCache: [
        { minZoom: 0, seconds: 0 },
        { minZoom: 8, seconds: -1 },
      ],
      expireClients: [{ minZoom: 0, seconds: 500 }],
      cacheBypass: true,
      queryable: true,
      infoFormats: ['text/html'],
      legends: [
        { style: 'day', width: 40, height: 30, format: 'image/png', minScale: 1000 },
        {
          style: 'night',
          width: 20,
          height: 30,
          format: 'image/png',
          url: 'http://example.org/night.png',
        },
      ],
      requestFilters: [{ type: 'circular', name: 'round' }],
      updateSources: [
        {
          url: `http://example.org/rss?since=\${lastUpdate}`,
          gridSet: 'EPSG:900913',
          intervalSeconds: 300,
          action: 'renew',
        },
        { url: 'http://example.org/other', intervalSeconds: 5, action: 'truncate' },
      ],
    });
  });

  it('an import lists element by element what has no effect', () => {
    const reported = read(LAYER).warnings.map(({ path }) => path.join('.'));
    expect(reported.toSorted()).toEqual([
      'gridSubsets.gridSubset.note',
      'metaInformation.keywords',
      'mimeFormats.string',
      'parameterFilters.stringParameterFilter.normalize.locale',
      'requestFilters.fileRasterFilter',
      'unheardOf',
      'updateSources.geoRssFeed',
      'updateSources.geoRssFeed.maxMaskLevel',
    ]);
  });

  it.each([
    ['xml', 'xml'],
    ['xml', 'json'],
  ] as const)("GeoWebCache's layer document as %s reads the same when returned as %s", (from, to) => {
    const text = rewritten(LAYER, from, to);
    const again = read(text, to);
    expect(again.document).toEqual(read(LAYER).document);
    expect(again.warnings).toEqual([]);
    expect(rewritten(text, to, 'xml')).toBe(rewritten(LAYER, from, 'xml'));
  });

  it('elements of a layer without effect are not shown again, and are named with a reason', () => {
    const text = rewritten(LAYER, 'xml', 'xml');
    expect(text).not.toMatch(/unheardOf|image\/tiff|<note>|<locale>|fileRasterFilter/);
    expect(JSON.parse(rewritten(LAYER, 'xml', 'json')).wmsLayer.metaWidthHeight).toEqual([5, 2]);
    const named = read(LAYER).warnings.map(({ path, what }) => `${path.join('.')} ${what}`);
    expect(named).toContain('unheardOf has no effect: it is not known here');
    expect(named).toContain('mimeFormats.string has no effect: image/tiff is a format that is not served');
    expect(named).toContain('metaInformation.keywords has no effect');
  });

  it("GeoWebCache's document of a layer has the defaults of GeoWebCache", () => {
    const { document, warnings } = read(
      '{"wmsLayer":{"name":"a","wmsUrl":["http://example.org/wms"]}}',
      'json',
    );
    expect(document).toEqual({
      name: 'a',
      source: { type: 'wms', url: ['http://example.org/wms'], layers: 'a', transparent: true },
      formats: ['image/png', 'image/jpeg'],
      gridSets: [{ name: 'EPSG:4326' }, { name: 'EPSG:900913' }],
      metatile: [3, 3],
      expireClients: 7200,
    });
    expect(warnings).toEqual([]);
  });

  it("GeoWebCache's document of a layer may be JSON with or without the names of list entries", () => {
    const named = `{"wmsLayer":{"name":"a","wmsUrl":{"string":"http://h/wms"},"mimeFormats":{"string":["image/gif"]},
      "gridSubsets":{"gridSubset":[{"gridSetName":"EPSG:4326","extent":{"coords":{"double":[1,2,3,4]}}}]},
      "expireCacheList":{"expirationRule":{"@minZoom":0,"@expiration":60}}}}`;
    const bare = `{"wmsLayer":{"name":"a","wmsUrl":["http://h/wms"],"mimeFormats":["image/gif"],
      "gridSubsets":[{"gridSetName":"EPSG:4326","extent":{"coords":[1,2,3,4]}}],
      "expireCacheList":[{"@minZoom":"0","@expiration":"60"}]}}`;
    expect(read(named, 'json').document).toEqual(read(bare, 'json').document);
    expect(read(bare, 'json').document).toMatchObject({
      formats: ['image/gif'],
      gridSets: [{ name: 'EPSG:4326', extent: [1, 2, 3, 4] }],
      expireCache: [{ minZoom: 0, seconds: 60 }],
    });
  });

  it.each([
    ['<layer/>', /wmsLayer/],
    ['<wmsLayer><wmsUrl><string>http://h</string></wmsUrl></wmsLayer>', /^name is missing/],
    ['<wmsLayer><name>a</name></wmsLayer>', /^wmsUrl is missing/],
    ['<wmsLayer><name>a</name><enabled>maybe</enabled></wmsLayer>', /^enabled must be true or false/],
    [
      '<wmsLayer><name>a</name><wmsUrl><string>http://h</string></wmsUrl><mimeFormats><string>image/tiff</string></mimeFormats></wmsLayer>',
      /mimeFormats has no format/,
    ],
    [
      '<wmsLayer><name>a</name><wmsUrl><string>http://h</string></wmsUrl><expireCache>-9</expireCache></wmsLayer>',
      /expireCache must be a number of seconds/,
    ],
    [
      '<wmsLayer><name>a</name><wmsUrl><string>http://h</string></wmsUrl><gridSubsets><gridSubset/></gridSubsets></wmsLayer>',
      /A gridSubset must have a gridSetName/,
    ],
  ])('the document %s of a layer is refused', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});

describe("GeoWebCache's document of a grid set", () => {
  const TEXT = `<gridSet><name>EPSG:2163</name><srs><number>2163</number></srs>
    <extent><coords><double>-2495667.977678598</double><double>-2223677.196231552</double><double>3291070.6104286816</double><double>959189.3312465074</double></coords></extent>
    <scaleDenominators><double>2.5E7</double><double>1000000.0</double></scaleDenominators>
    <metersPerUnit>1.0</metersPerUnit><pixelSize>2.8E-4</pixelSize>
    <scaleNames><string>far</string><string>near</string></scaleNames>
    <tileHeight>200</tileHeight><tileWidth>100</tileWidth><owner>us</owner></gridSet>`;

  it("GeoWebCache's document of a grid set becomes a declaration", () => {
    const { document, warnings } = readGwcGridSet(readDocument(Buffer.from(TEXT), 'xml'));
    expect(document).toEqual({
      name: 'EPSG:2163',
      srs: 2163,
      extent: [-2495667.977678598, -2223677.196231552, 3291070.6104286816, 959189.3312465074],
      scaleDenominators: [25_000_000, 1_000_000],
      levelNames: ['far', 'near'],
      tileSize: [100, 200],
      metersPerUnit: 1,
      pixelSize: 0.00028,
      yCoordinateFirst: false,
    });
    expect(warnings).toMatchObject([{ path: ['owner'], ignored: true }]);
  });

  it("GeoWebCache's document of a grid set has numbers as Java prints them, and plain ones in JSON", () => {
    const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:4326');
    if (!gridSet) throw new Error('no grid set');
    const node = writeGwcGridSet(gridSet, null);
    expect(writeDocument(node, 'xml')).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<gridSet><name>EPSG:4326<\/name>.*<double>-180.0<\/double>.*<double>0.703125<\/double>.*<pixelSize>2.8E-4<\/pixelSize>/s,
    );
    expect(JSON.parse(writeDocument(node, 'json')).gridSet).toMatchObject({
      srs: { number: 4326 },
      extent: { coords: [-180, -90, 180, 90] },
      tileWidth: 256,
    });
  });
});

it.each([
  [0, '0.0'],
  [1, '1.0'],
  [-2.5, '-2.5'],
  [25_000_000, '2.5E7'],
  [0.00028, '2.8E-4'],
  [9_999_999, '9999999.0'],
  [10_000_000, '1.0E7'],
  [0.001, '0.001'],
])('the double %d is printed as Java does', (value, text) => expect(javaDouble(value)).toBe(text));
