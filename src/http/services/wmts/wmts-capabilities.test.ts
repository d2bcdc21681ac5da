import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../../test/fixtures/accounts.ts';
import { catalogOf, createTestApp, layerNamed, subset } from '../../../../test/fixtures/http-app.ts';
import { createGridSet, createGridSetRegistry, type GridSetOptions } from '../../../domain/grid-set.ts';
import { createGridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { createParameterFilter } from '../../../domain/parameter-filter.ts';
import { readXml } from '../../../lib/xml/read-xml.ts';
import type { XmlElement } from '../../../lib/xml/xml-element.ts';
import { createAccountAccess } from '../../auth/access.ts';

const ADDRESS = '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities';
const LIMITS = { bytes: 1e8, depth: 20, elements: 1e6, attributes: 32 };

/** wmtsGetCapabilities_response.xsd and the parts of ows 1.1.0 it builds on: what may stand in what, in this order. */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  Capabilities: ['ServiceIdentification', 'OperationsMetadata', 'Contents', 'ServiceMetadataURL'],
  ServiceIdentification: ['Title', 'Abstract', 'ServiceType', 'ServiceTypeVersion'],
  OperationsMetadata: ['Operation'],
  Operation: ['DCP'],
  DCP: ['HTTP'],
  HTTP: ['Get'],
  Get: ['Constraint'],
  Constraint: ['AllowedValues'],
  AllowedValues: ['Value'],
  Contents: ['Layer', 'TileMatrixSet'],
  Layer: [
    ...['Title', 'Abstract', 'WGS84BoundingBox', 'Identifier', 'BoundingBox', 'Style', 'Format'],
    ...['Dimension', 'TileMatrixSetLink', 'ResourceURL'],
  ],
  WGS84BoundingBox: ['LowerCorner', 'UpperCorner'],
  BoundingBox: ['LowerCorner', 'UpperCorner'],
  Style: ['Identifier'],
  Dimension: ['Identifier', 'Default', 'Value'],
  TileMatrixSetLink: ['TileMatrixSet', 'TileMatrixSetLimits'],
  TileMatrixSetLimits: ['TileMatrixLimits'],
  TileMatrixLimits: ['TileMatrix', 'MinTileRow', 'MaxTileRow', 'MinTileCol', 'MaxTileCol'],
  TileMatrixSet: ['Identifier', 'SupportedCRS', 'WellKnownScaleSet', 'TileMatrix'],
  TileMatrix: [
    ...['Identifier', 'ScaleDenominator', 'TopLeftCorner', 'TileWidth', 'TileHeight'],
    ...['MatrixWidth', 'MatrixHeight'],
  ],
};
/** The pattern that the schema has for them. */
const TEMPLATE = /^([A-Za-z0-9\-_.!~*'();/?:@+$,#{}=&]|%[A-Fa-f0-9]{2})+$/;

function violations(node: XmlElement): readonly string[] {
  const order = ORDER[node.name] ?? [];
  const places = node.children.map((child) => order.indexOf(child.name));
  const own = node.children
    .filter((_, i) => (places[i] ?? -1) < (i === 0 ? 0 : Math.max(0, places[i - 1] ?? 0)))
    .map((child) => `${child.name} in ${node.name}`);
  return [...own, ...node.children.flatMap(violations)];
}

function all(node: XmlElement, name: string): readonly XmlElement[] {
  return node.children.flatMap((child) => (child.name === name ? [child] : all(child, name)));
}

const textsOf = (node: XmlElement, name: string) => all(node, name).map(({ text }) => text);

function named(nodes: readonly XmlElement[], name: string): XmlElement {
  const found = nodes.find((node) =>
    node.children.some((child) => child.name === 'Identifier' && child.text === name),
  );
  if (!found) throw new Error(`nothing named ${name}`);
  return found;
}

async function capabilities(layers: readonly Layer[], url = ADDRESS, headers: Record<string, string> = {}) {
  const { request } = createTestApp({ deps: { catalog: catalogOf(layers) } });
  const answer = await request('GET', url, { headers });
  expect(answer.status, answer.text).toBe(200);
  const root = readXml(answer.text, LIMITS);
  expect(violations(root)).toEqual([]);
  const [contents] = all(root, 'Contents');
  if (!contents) throw new Error('no contents');
  const children = (name: string) => contents.children.filter((child) => child.name === name);
  return { answer, root, layers: children('Layer'), matrixSets: children('TileMatrixSet') };
}

const LAMBERT: GridSetOptions = {
  name: 'LAMB93',
  srs: 2154,
  extent: { minX: 0, minY: 6000000, maxX: 1300000, maxY: 7200000 },
  resolutions: [4000, 1000, 250],
  tileWidth: 512,
  tileHeight: 512,
};
const lambert = createGridSet(LAMBERT);

describe('WMTS capabilities', () => {
  it('WMTS capabilities describe the service and its address, as the caller used it', async () => {
    const { answer, root } = await capabilities([layerNamed('world')], `/geowebcache${ADDRESS}`, {
      host: 'maps.example:8080',
    });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/xml; charset=utf-8',
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
    });
    expect(root.attributes.get('version')).toBe('1.0.0');
    expect(textsOf(root, 'ServiceType')).toEqual(['OGC WMTS']);
    const operations = all(root, 'Operation');
    expect(operations.map((operation) => operation.attributes.get('name'))).toEqual([
      'GetCapabilities',
      'GetTile',
      'GetFeatureInfo',
    ]);
    const base = 'http://maps.example:8080/geowebcache/service/wmts';
    const addresses = new Set(all(root, 'Get').map((get) => get.attributes.get('xlink:href')));
    expect([...addresses]).toEqual([`${base}?`]);
    expect(all(root, 'ServiceMetadataURL').map((url) => url.attributes.get('xlink:href'))).toEqual([
      `${base}?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetCapabilities`,
      `${base}/rest/WMTSCapabilities.xml`,
    ]);
  });

  it('WMTS capabilities are the same by path', async () => {
    const byPath = await capabilities([layerNamed('world')], '/service/wmts/rest/WMTSCapabilities.xml');
    expect(byPath.answer.text).toBe((await capabilities([layerNamed('world')])).answer.text);
  });

  it('WMTS capabilities describe a layer with its styles, formats, dimensions and addresses', async () => {
    const { layers } = await capabilities([
      layerNamed('a & b/c', {
        description: 'Rivers <and> lakes',
        parameters: [
          createParameterFilter({ name: 'STYLES', defaultValue: 'dark', values: ['light', 'dark'] }),
          createParameterFilter({ name: 'TIME', defaultValue: '2024', values: ['2023', '2024'] }),
          createParameterFilter({ name: 'ELEVATION', integers: [0, 100] }),
          createParameterFilter({ name: 'CQL_FILTER', regex: '.*' }),
        ],
      }),
    ]);
    const [layer] = layers;
    if (!layer) throw new Error('no layer');
    expect(textsOf(layer, 'Title')).toEqual(['Title of a & b/c']);
    expect(textsOf(layer, 'Abstract')).toEqual(['Rivers <and> lakes']);
    expect(
      all(layer, 'Style').map((style) => [
        ...textsOf(style, 'Identifier'),
        style.attributes.get('isDefault'),
      ]),
    ).toEqual([
      ['dark', 'true'],
      ['light', 'false'],
    ]);
    expect(textsOf(layer, 'Format')).toEqual(['image/png', 'image/jpeg']);
    const dimensions = all(layer, 'Dimension');
    expect(dimensions.map((dimension) => textsOf(dimension, 'Identifier'))).toEqual([
      ['TIME'],
      ['ELEVATION'],
    ]);
    expect(dimensions.map((dimension) => textsOf(dimension, 'Default'))).toEqual([['2024'], []]);
    expect(dimensions.map((dimension) => textsOf(dimension, 'Value'))).toEqual([
      ['2023', '2024'],
      ['0', '100'],
    ]);
    const templates = all(layer, 'ResourceURL').map((url) => url.attributes.get('template') ?? '');
    const folder = 'http://localhost/service/wmts/rest/a%20%26%20b%2Fc';
    const place = '{style}/{TIME}/{ELEVATION}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}';
    expect(templates).toEqual([
      `${folder}/${place}?format=image/png`,
      `${folder}/${place}?format=image/jpeg`,
    ]);
    for (const template of templates) expect(template).toMatch(TEMPLATE);
  });

  it('WMTS capabilities have addresses that lead to tiles', async () => {
    const { layers } = await capabilities([layerNamed('a b/c', { parameters: [] })]);
    const [url] = layers.flatMap((layer) => all(layer, 'ResourceURL'));
    const filled = (url?.attributes.get('template') ?? '')
      .replace('{style}', layers.flatMap((layer) => textsOf(layer, 'Style')).join() || 'default')
      .replace('{TileMatrixSet}', 'EPSG:4326')
      .replace('{TileMatrix}', 'EPSG:4326:1')
      .replace('{TileRow}', '1')
      .replace('{TileCol}', '3');
    const { request } = createTestApp({
      deps: { catalog: catalogOf([layerNamed('a b/c', { parameters: [] })]) },
    });
    expect((await request('GET', filled.replace('http://localhost', ''))).status).toBe(200);
  });

  it('WMTS capabilities have one style to name for a layer without styles', async () => {
    const { layers } = await capabilities([layerNamed('plain', { parameters: [] })]);
    expect(
      layers.flatMap((layer) => all(layer, 'Style')).flatMap((style) => textsOf(style, 'Identifier')),
    ).toEqual(['default']);
  });

  it('WMTS capabilities have boxes in degrees and in each CRS, axes in the order of the CRS', async () => {
    const extent = { minX: 5, minY: 45, maxX: 15, maxY: 55 };
    const degrees = createGridSubset(subset('EPSG:4326', 12).gridSet, { extent });
    const { layers } = await capabilities([
      layerNamed('a', { gridSubsets: [degrees] }),
      layerNamed('both', { gridSubsets: [degrees, createGridSubset(lambert)] }),
      layerNamed('b', { gridSubsets: [createGridSubset(lambert)] }),
      layerNamed('c', { gridSubsets: [subset('EPSG:900913', 3)] }),
      layerNamed('d', {
        gridSubsets: [createGridSubset(createGridSet({ ...LAMBERT, name: 'X', srs: 999999 }))],
      }),
    ]);
    const boxes = (layer: string, name: string) =>
      all(named(layers, layer), name).map((box) => [
        box.attributes.get('crs'),
        ...box.children.map(({ text }) => text),
      ]);
    expect(boxes('a', 'WGS84BoundingBox')).toEqual([[undefined, '5 45', '15 55']]);
    expect(boxes('both', 'BoundingBox')).toEqual([
      ['urn:ogc:def:crs:EPSG::4326', '45 5', '55 15'],
      ['urn:ogc:def:crs:EPSG::2154', '0 6000000', '1300000 7200000'],
    ]);
    const [[, southWest, northEast] = []] = boxes('b', 'WGS84BoundingBox');
    expect([southWest, northEast].flatMap((corner) => (corner ?? '').split(' ').map(Number))).toEqual(
      [-7.07648, 40.77324, 11.64941, 51.89128].map((value) => expect.closeTo(value, 4)),
    );
    expect(boxes('d', 'WGS84BoundingBox')).toEqual([]);
    const [[, lower, upper] = []] = boxes('c', 'WGS84BoundingBox');
    expect([lower, upper].flatMap((corner) => (corner ?? '').split(' ').map(Number))).toEqual(
      [-180, -85.0511287, 180, 85.0511287].map((value) => expect.closeTo(value, 6)),
    );
  });

  it('WMTS capabilities limit a layer to its tiles, in every zoom of every grid set', async () => {
    const extent = { minX: 5, minY: 45, maxX: 15, maxY: 55 };
    const { gridSet } = subset('EPSG:4326', 12);
    const { layers } = await capabilities([
      layerNamed('part', { gridSubsets: [createGridSubset(gridSet, { extent, zoomStart: 4, zoomStop: 5 })] }),
      layerNamed('all', { gridSubsets: [createGridSubset(gridSet)] }),
    ]);
    const limits = all(named(layers, 'part'), 'TileMatrixLimits').map((limit) =>
      limit.children.map(({ text }) => text),
    );
    expect(limits).toEqual([
      ['EPSG:4326:4', '3', '3', '16', '17'],
      ['EPSG:4326:5', '6', '7', '32', '34'],
    ]);
    expect(all(named(layers, 'all'), 'TileMatrixLimits')).toHaveLength(gridSet.levels.length);
  });

  it('WMTS capabilities describe each grid set once, as deep as any layer goes and as the standard counts', async () => {
    const mercator = [subset('EPSG:900913', 5), subset('WebMercatorQuad', 99)];
    const degrees = ['EPSG:4326', 'GlobalCRS84Pixel', 'GlobalCRS84Scale', 'GoogleCRS84Quad'].map((name) =>
      subset(name, 99),
    );
    const inches = createGridSet({ ...LAMBERT, name: 'INCHES', resolutions: [4000], pixelSize: 0.0254 / 90 });
    const [first, ...rest] = [...mercator, ...degrees, createGridSubset(lambert), createGridSubset(inches)];
    if (!first) throw new Error('no grid set');
    const { matrixSets } = await capabilities([
      layerNamed('a', { gridSubsets: [first, ...rest] }),
      layerNamed('b', { gridSubsets: [subset('EPSG:900913', 12)] }),
    ]);
    const described = matrixSets.map((set) => [
      set.children.find(({ name }) => name === 'Identifier')?.text,
      ...textsOf(set, 'SupportedCRS'),
      all(set, 'TileMatrix').length,
      textsOf(set, 'TopLeftCorner')[0],
      textsOf(set, 'WellKnownScaleSet')[0]?.split(':').at(-1) ?? null,
    ]);
    const crs84 = 'urn:ogc:def:crs:OGC:1.3:CRS84';
    expect(described).toEqual([
      ['EPSG:900913', 'urn:ogc:def:crs:EPSG::3857', 13, '-20037508.34 20037508.34', null],
      [
        'WebMercatorQuad',
        'urn:ogc:def:crs:EPSG::3857',
        25,
        '-20037508.3427892 20037508.3427892',
        'GoogleMapsCompatible',
      ],
      ['EPSG:4326', 'urn:ogc:def:crs:EPSG::4326', 22, '90 -180', null],
      ['GlobalCRS84Pixel', crs84, 18, '-180 90', 'GlobalCRS84Pixel'],
      ['GlobalCRS84Scale', crs84, 21, '-180 90', 'GlobalCRS84Scale'],
      ['GoogleCRS84Quad', crs84, 19, '-180 90', 'GoogleCRS84Quad'],
      ['LAMB93', 'urn:ogc:def:crs:EPSG::2154', 3, '0 8048000', null],
      ['INCHES', 'urn:ogc:def:crs:EPSG::2154', 1, '0 8048000', null],
    ]);
    const scales = (name: string) => textsOf(named(matrixSets, name), 'ScaleDenominator').map(Number);
    expect(scales('WebMercatorQuad')[0]).toBeCloseTo(559082264.0287178, 5);
    expect(scales('EPSG:4326')[0]).toBeCloseTo(279541132.0143589, 5);
    expect(scales('EPSG:900913')[1]).toBeCloseTo(279541131.97544646, 5);
    expect(scales('LAMB93')).toEqual(
      [4000, 1000, 250].map((resolution) => expect.closeTo(resolution / 0.00028, 5)),
    );
    expect(scales('INCHES')).toEqual([expect.closeTo(4000 / 0.00028, 5)]);
    const [level] = all(named(matrixSets, 'LAMB93'), 'TileMatrix');
    expect(level?.children.slice(-4).map(({ text }) => text)).toEqual(['512', '512', '1', '1']);
  });
});

describe('WMTS capabilities of some layers', () => {
  it('WMTS capabilities of one layer are served by its name', async () => {
    const world = layerNamed('world', { gridSubsets: [subset('EPSG:4326', 3)] });
    const { layers, matrixSets } = await capabilities([world, layerNamed('other')], `${ADDRESS}&layer=world`);
    expect(layers.flatMap((layer) => textsOf(layer, 'Title'))).toEqual(['Title of world']);
    expect(matrixSets.length).toBe(1);
  });

  it('WMTS capabilities show callers the layers that they may see', async () => {
    const accounts = await openTestAccounts();
    await accounts.ensureAdministrator(GOOD_PASSWORD);
    const catalog = catalogOf([layerNamed('open'), layerNamed('closed', { access: 'operator' })]);
    const { request } = createTestApp({
      deps: { catalog },
      access: createAccountAccess(accounts.authenticator),
    });
    const headers = { authorization: basic('admin', GOOD_PASSWORD) };
    const stranger = await request('GET', ADDRESS);
    expect(stranger.text).not.toContain('closed');
    expect(stranger.headers['cache-control']).toBe('private, no-cache');
    expect((await request('GET', ADDRESS, { headers })).text).toContain('Title of closed');
    expect((await request('GET', ADDRESS)).text).toBe(stranger.text);
    expect((await request('GET', `${ADDRESS}&LAYER=closed`)).status).toBe(401);
    expect((await request('GET', `${ADDRESS}&LAYER=closed`, { headers })).status).toBe(200);
    const tile = '/service/wmts/rest/closed/light/EPSG:4326/EPSG:4326:0/0/0?format=image/png';
    const refused = await request('GET', tile);
    expect(refused.status).toBe(401);
    expect(refused.headers).toHaveProperty('www-authenticate');
    expect((await request('GET', tile, { headers })).status).toBe(200);
  });
});

describe('WMTS capabilities that were asked for before', () => {
  it('WMTS capabilities are not sent again while nothing has changed, and are new when a layer has', async () => {
    let layers: readonly Layer[] = [layerNamed('world')];
    const gridSets = createGridSetRegistry([]);
    const catalog = { layer: () => null, layers: () => layers, gridSets, version: 1 };
    const { request } = createTestApp({ deps: { catalog } });
    const first = await request('GET', ADDRESS);
    const etag = first.headers.etag ?? '';
    const again = await request('GET', ADDRESS, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
    layers = [layerNamed('world', { title: 'Another title' })];
    catalog.version++;
    const changed = await request('GET', ADDRESS, { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.text).toContain('Another title');
    layers = [...layers, layerNamed('more')];
    catalog.version++;
    expect((await request('GET', ADDRESS)).text).toContain('Title of more');
  });

  it('WMTS capabilities are cached separately for each address', async () => {
    const { request } = createTestApp();
    for (let i = 0; i < 40; i++) {
      const { text } = await request('GET', ADDRESS, { headers: { host: `host${i % 20}.example` } });
      expect(text).toContain(`http://host${i % 20}.example/service/wmts?`);
      expect(text).not.toContain(`host${(i + 1) % 20}.example`);
    }
  });
});
