import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGridSet } from '../../src/domain/grid-set.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { createParameterFilter } from '../../src/domain/parameter-filter.ts';
import { CONTACT_FIELDS, DEFAULT_SERVICE } from '../../src/domain/service-description.ts';
import { catalogOf, createTestApp, format, layerNamed, subset } from '../fixtures/http-app.ts';
import { needs, programPath } from '../fixtures/needs.ts';

// Debian has the schemas among the tests of MapProxy.
const SCHEMAS = '/usr/share/python3-mapproxy/test/schemas';
const WMTS = 'wmts/1.0/wmtsGetCapabilities_response.xsd';
const OWS = 'ows/1.1.0/owsAll.xsd';
const WMS_130 = 'wms/1.3.0/capabilities_1_3_0.xsd';
const WMS_130_EXCEPTIONS = 'wms/1.3.0/exceptions_1_3_0.xsd';
const KML = 'kml/2.2.0/ogckml22.xsd';
const WMS_111 = 'wms/1.1.1/capabilities_1_1_1.dtd';
const WMS_111_EXCEPTIONS = 'wms/1.1.1/exception_1_1_1.dtd';

const lambert = createGridSet({
  name: 'LAMB "93" <&>',
  srs: 2154,
  extent: { minX: 0, minY: 6000000, maxX: 1300000, maxY: 7200000 },
  levels: 8,
});
const part = { extent: { minX: 5, minY: 45, maxX: 15, maxY: 55 }, zoomStart: 2, zoomStop: 9 };
const everyGridSet = [
  'EPSG:4326',
  'WebMercatorQuad',
  'WorldCRS84Quad',
  'GlobalCRS84Pixel',
  'GoogleCRS84Quad',
];

const catalog = catalogOf([
  layerNamed('world'),
  layerNamed('described', {
    keywords: ['a & b', 'c'],
    metadata: [{ url: 'http://a.test/?x&y', type: 'ISO19115:2003', format: 'application/xml' }],
    identifier: { authority: 'EXAMPLE', url: 'http://a.test/', value: 'id <1>' },
  }),
  layerNamed('no title <&>', { title: '', parameters: [], infoFormats: ['text/plain', 'application/json'] }),
  layerNamed('nation', {
    gridSubsets: [createGridSubset(lambert, { scales: [1e6, Infinity] })],
    description: 'One’s "own" <grid>',
  }),
  layerNamed('a/b c{d}%', {
    formats: [format('image/png8'), format('application/vnd.mapbox-vector-tile')],
    gridSubsets: [
      createGridSubset(subset('EPSG:4326', 9).gridSet, part),
      ...everyGridSet.slice(1).map((name) => subset(name, 40)),
    ],
    parameters: [
      createParameterFilter({ name: 'STYLES', values: ['a "b" & c'] }),
      createParameterFilter({
        name: 'TIME',
        defaultValue: '2024-01-01',
        values: ['2024-01-01', '2025-01-01'],
      }),
      createParameterFilter({ name: 'ELEVATION', integers: [0, 10] }),
      createParameterFilter({ name: 'CQL_FILTER', regex: '.*' }),
    ],
  }),
]);

const current = {
  ...DEFAULT_SERVICE,
  keywords: ['x'],
  fees: 'none',
  accessConstraints: '<none>',
  providerName: 'Acme',
  providerSite: 'http://a.test/',
  contact: Object.fromEntries(CONTACT_FIELDS.map((name) => [name, `<${name}>`])),
};
const service = { current, change: async () => {}, refresh: async () => {}, setFile: async () => {} };

const groups = new Map([
  ['inner', { name: 'inner', title: 'Inner <&>', layers: ['world', 'no title <&>'] }],
  ['outer', { name: 'outer', layers: ['inner', 'nation'] }],
]);

describe('the schemas of the OGC', needs('xmllint', 'mapproxy'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-schemas-'));
  beforeAll(() => {
    cpSync(SCHEMAS, folder, { recursive: true });
    const file = join(folder, WMTS);
    // The first edition forbade row and column 0; the OGC has corrected that since.
    const corrected = readFileSync(file, 'utf8').replaceAll(
      /(name="M(?:in|ax)Tile(?:Row|Col)" type=")positiveInteger/g,
      '$1nonNegativeInteger',
    );
    writeFileSync(file, corrected);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function complaintsAbout(url: string, schema: string): Promise<string> {
    const { request } = createTestApp({ deps: { catalog, groups, service } });
    const { text } = await request('GET', url);
    const args = ['--nonet', '--noout', '--schema', join(folder, schema), '-'];
    const { status, stderr } = spawnSync(programPath('xmllint'), args, { input: text, encoding: 'utf8' });
    return status === 0 ? '' : stderr;
  }

  /** The document names the DTD by its address at the OGC; here the same file is in the folder. */
  async function complaintsByDtd(url: string, dtd: string): Promise<string> {
    const { request } = createTestApp({ deps: { catalog, groups, service } });
    const { text } = await request('GET', url);
    const input = text.replace(/SYSTEM "[^"]*"/, `SYSTEM "${pathToFileURL(join(folder, dtd))}"`);
    const { status, stderr } = spawnSync(programPath('xmllint'), ['--nonet', '--noout', '--valid', '-'], {
      input,
      encoding: 'utf8',
    });
    return status === 0 ? '' : stderr;
  }

  it.each([
    '/service/wmts',
    '/service/wmts?REQUEST=GetCapabilities',
    '/service/wmts?REQUEST=GetCapabilities&LAYER=nation',
    '/geoserver/gwc/service/wmts/rest/WMTSCapabilities.xml',
  ])('the WMTS capabilities at %s are valid', async (url) => {
    expect(await complaintsAbout(url, WMTS)).toBe('');
  });

  it.each([
    '/service/wmts?REQUEST=<GetMap>&LAYER="',
    '/service/wmts?REQUEST=GetCapabilities&ACCEPTVERSIONS=3.0.0',
    '/service/wmts?REQUEST=GetFeatureInfo',
  ])('the exception report at %s is valid', async (url) => {
    expect(await complaintsAbout(url, OWS)).toBe('');
  });

  it.each([
    '/service/wms?REQUEST=GetCapabilities',
    '/service/wms?REQUEST=GetCapabilities&VERSION=1.3.0&LAYERS=nation',
    '/geowebcache/service/wms?SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.3.0',
  ])('the WMS 1.3.0 capabilities at %s are valid', async (url) => {
    expect(await complaintsAbout(url, WMS_130)).toBe('');
  });

  it('an exception of WMS 1.3.0 is valid', async () => {
    expect(await complaintsAbout('/service/wms?VERSION=1.3.0', WMS_130_EXCEPTIONS)).toBe('');
    const url = '/service/wms?VERSION=1.3.0&REQUEST=GetMap&LAYERS=<missing>';
    expect(await complaintsAbout(url, WMS_130_EXCEPTIONS)).toBe('');
  });

  it.each([
    '/service/kml/world.kml?STYLES=dark',
    '/service/kml/world/x1y0z0.png.kml',
    '/geowebcache/service/kml/no%20title%20%3C&%3E.kml',
  ])('the KML at %s is valid', async (url) => {
    expect(await complaintsAbout(url, KML)).toBe('');
  });

  it.each([
    ['/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1', WMS_111],
    ['/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true', WMS_111],
    ['/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1&LAYERS=nation', WMS_111],
    ['/service/wms?REQUEST=GetMap&VERSION=1.1.1&LAYERS=<missing>', WMS_111_EXCEPTIONS],
  ])('the WMS 1.1.1 document at %s is valid', async (url, dtd) => {
    expect(await complaintsByDtd(url, dtd)).toBe('');
  });

  it('an invalid WMS document fails the validation', async () => {
    expect(await complaintsAbout('/service/wms?VERSION=1.3.0', WMS_130)).not.toBe('');
    expect(await complaintsByDtd('/service/wms?VERSION=1.1.1', WMS_111)).not.toBe('');
  });

  it('an invalid WMTS document fails the validation', async () => {
    expect(await complaintsAbout('/service/tms', WMTS)).toContain('Services');
  });
});
