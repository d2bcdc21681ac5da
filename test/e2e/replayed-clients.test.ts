import { beforeAll, describe, expect, it } from 'vitest';
import { readXml } from '../../src/lib/xml/read-xml.ts';
import type { XmlElement } from '../../src/lib/xml/xml-element.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const FILE = `
upstreams: { 'maps.example.org': {} }
layers:
  - { name: 'geonode:roads', source: { type: world }, gridSets: [EPSG:900913] }
`;
const REST = '/geoserver/gwc/rest';
/** As the clients of both send them, whether or not there is a body. */
const GO = { accept: 'application/xml', 'accept-encoding': 'identity', 'content-type': 'application/xml' };
const PYTHON = { accept: '*/*', 'content-type': 'text/xml' };

let server: OpenServer;
beforeAll(async () => {
  server = await openServer({ config: FILE, flags: { 'no-auth': 'true' } });
});

async function send(
  headers: Record<string, string>,
  method: string,
  path: string,
  body: string | null = null,
) {
  const answer = await fetch(new URL(REST + path, server.url), { method, headers, body });
  return { status: answer.status, text: await answer.text() };
}

/** The texts of all elements at a way from the root, e.g. `extent/coords/double`. */
async function texts(path: string) {
  const { status, text } = await send(GO, 'GET', path);
  expect(status, text).toBe(200);
  const root = readXml(text, { bytes: 2 ** 20, depth: 20, elements: 10_000, attributes: 32 });
  return (way: string) =>
    way
      .split('/')
      .reduce<readonly XmlElement[]>(
        (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
        [root],
      )
      .map((element) => element.text);
}

/** The requests of GeoNode 4 and 5 (`geoserver/gwc.py`, `management/commands`). */
describe("GeoNode's GeoWebCache client", () => {
  it('GeoNode truncates a layer and all layers', async () => {
    const layer = '<truncateLayer><layerName>geonode:roads</layerName></truncateLayer>';
    expect((await send(PYTHON, 'POST', '/masstruncate', layer)).status).toBe(200);
    expect((await send(PYTHON, 'POST', '/masstruncate', '<truncateAll></truncateAll>')).status).toBe(200);
    expect((await send(PYTHON, 'POST', '/masstruncate/', '<truncateAll></truncateAll>')).status).toBe(200);
  });

  it('GeoNode finds a declared layer, and gets the reason why a GeoServer layer is rejected', async () => {
    expect((await send(PYTHON, 'GET', '/layers/geonode:roads.xml')).status).toBe(200);
    expect((await send(PYTHON, 'GET', '/layers/geonode:rivers.xml')).status).toBe(404);
    const layer = '<GeoServerLayer><enabled>true</enabled><name>geonode:rivers</name></GeoServerLayer>';
    const answer = await send(PYTHON, 'PUT', '/layers/geonode:rivers.xml', layer);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('GeoServerLayer')]);
  });

  it('the request in which GeoNode gives a layer its six default grid sets is accepted', async () => {
    const made =
      '<wmsLayer><name>geonode:parks</name><wmsUrl><string>http://maps.example.org/wms</string></wmsUrl></wmsLayer>';
    expect((await send(PYTHON, 'PUT', '/layers/geonode:parks.xml', made)).status).toBeLessThan(202);
    const { text } = await send(PYTHON, 'GET', '/layers/geonode:parks.xml');
    const names = ['EPSG:3857', 'EPSG:3857x2', 'EPSG:4326', 'EPSG:4326x2', 'EPSG:900913', 'EPSG:900913x2'];
    const subsets = names
      .map((name) => `<gridSubset><gridSetName>${name}</gridSetName></gridSubset>`)
      .join('');
    const changed = text
      .replace(/<gridSubsets>.*<\/gridSubsets>/s, '')
      .replace(/<\/wmsLayer>/, `<gridSubsets>${subsets}</gridSubsets></wmsLayer>`);
    expect((await send(PYTHON, 'POST', '/layers/geonode:parks.xml', changed)).status).toBe(200);
    expect((await texts('/layers/geonode:parks.xml'))('gridSubsets/gridSubset/gridSetName').sort()).toEqual(
      names,
    );
  });
});

/** The requests of camptocamp's Go client, on which their Terraform provider is built. Numbers are written as Go does. */
describe("camptocamp's GeoWebCache client", () => {
  const gridSet = (width: number) =>
    `<gridSet><name>swiss</name><description>CH</description><alignTopLeft>true</alignTopLeft><metersPerUnit>1</metersPerUnit><pixelSize>0.00028</pixelSize><tileHeight>256</tileHeight><tileWidth>${width}</tileWidth><yCoordinateFirst>false</yCoordinateFirst><extent><coords><double>2.42e+06</double><double>1.03e+06</double><double>2.9e+06</double><double>1.35e+06</double></coords></extent><scaleNames><string>a</string><string>b</string></scaleNames><scaleDenominators><double>1.4285714285714286e+07</double><double>7.142857142857143e+06</double></scaleDenominators><srs><number>2056</number></srs></gridSet>`;
  const layer = (expires: number) =>
    `<wmsLayer><name>swiss land</name><enabled>true</enabled><mimeFormats><string>image/png</string></mimeFormats><gridSubsets><gridSubset><gridSetName>swiss</gridSetName></gridSubset></gridSubsets><metaWidthHeight><int>3</int><int>2</int></metaWidthHeight><expireCache>0</expireCache><expireClients>${expires}</expireClients><gutter>5</gutter><backendTimeout>90</backendTimeout><cacheBypassAllowed>true</cacheBypassAllowed><wmsUrl><string>http://maps.example.org/wms</string></wmsUrl><wmsLayers>land</wmsLayers><wmsVersion>1.1.1</wmsVersion><vendorParameters>map=ch&amp;x=1</vendorParameters><transparent>true</transparent><bgColor>0xFFFFFF</bgColor></wmsLayer>`;

  it('Terraform creates, reads, updates and deletes a grid set and a layer unchanged', async () => {
    expect((await send(GO, 'PUT', '/gridsets/swiss', gridSet(256))).status).toBeLessThan(202);
    expect((await send(GO, 'PUT', '/gridsets/swiss', gridSet(512))).status).toBe(200);
    const grid = await texts('/gridsets/swiss');
    expect(grid('tileWidth')).toEqual(['512']);
    expect(grid('extent/coords/double').map(Number)).toEqual([2.42e6, 1.03e6, 2.9e6, 1.35e6]);
    expect(grid('scaleNames/string')).toEqual(['a', 'b']);
    expect(grid('scaleDenominators/double').map(Number)).toEqual([14285714.285714285, 7142857.142857143]);
    expect(['description', 'alignTopLeft', 'metersPerUnit', 'pixelSize', 'srs/number'].flatMap(grid)).toEqual(
      ['CH', 'true', '1.0', '2.8E-4', '2056'],
    );
    expect((await texts('/gridsets'))('gridSet/name')).toContain('swiss');

    expect((await send(GO, 'PUT', '/layers/swiss%20land', layer(0))).status).toBeLessThan(202);
    expect((await send(GO, 'PUT', '/layers/swiss%20land', layer(60))).status).toBe(200);
    const read = await texts('/layers/swiss%20land');
    const fields =
      'enabled expireCache expireClients gutter backendTimeout cacheBypassAllowed wmsLayers wmsVersion transparent bgColor vendorParameters';
    expect(fields.split(' ').flatMap((field) => read(field)[0] ?? `no ${field}`)).toEqual(
      'true 0 60 5 90 true land 1.1.1 true 0xFFFFFF map=ch&x=1'.split(' '),
    );
    expect(read('metaWidthHeight/int')).toEqual(['3', '2']);
    expect(read('mimeFormats/string')).toEqual(['image/png']);
    expect(read('wmsUrl/string')).toEqual(['http://maps.example.org/wms']);
    expect(read('gridSubsets/gridSubset/gridSetName')).toEqual(['swiss']);

    expect((await send(GO, 'DELETE', '/layers/swiss%20land')).status).toBe(200);
    expect((await send(GO, 'GET', '/layers/swiss%20land')).status).toBe(404);
    expect((await send(GO, 'DELETE', '/gridsets/swiss')).status).toBe(200);
    expect((await send(GO, 'GET', '/gridsets/swiss')).status).toBe(404);
  });

  it('Terraform reads and replaces the disk quota', async () => {
    const quota = `<gwcQuotaConfiguration><enabled>true</enabled><cacheCleanUpFrequency>10</cacheCleanUpFrequency><cacheCleanUpUnits>SECONDS</cacheCleanUpUnits><maxConcurrentCleanUps>2</maxConcurrentCleanUps><globalExpirationPolicyName>LRU</globalExpirationPolicyName><globalQuota><value>20</value><units>GiB</units></globalQuota><layerQuotas><LayerQuota><layer>geonode:roads</layer><expirationPolicyName>LFU</expirationPolicyName><quota><value>100</value><units>MiB</units></quota></LayerQuota></layerQuotas></gwcQuotaConfiguration>`;
    expect((await send(GO, 'PUT', '/diskquota.xml', quota)).status).toBe(200);
    const read = await texts('/diskquota.xml');
    expect(
      ['enabled', 'globalExpirationPolicyName', 'globalQuota/value', 'globalQuota/units'].flatMap(read),
    ).toEqual(['true', 'LRU', '20', 'GiB']);
    const ofLayer = ['layer', 'expirationPolicyName', 'quota/value', 'quota/units'];
    expect(ofLayer.flatMap((way) => read(`layerQuotas/LayerQuota/${way}`))).toEqual([
      'geonode:roads',
      'LFU',
      '100',
      'MiB',
    ]);
  });

  it("camptocamp's client reads stores, and cannot change them outside the configuration file", async () => {
    expect((await texts('/blobstores'))('blobStore/name')).toEqual(['default']);
    const store =
      '<FileBlobStore><id>other</id><enabled>true</enabled><baseDirectory>/tmp/a</baseDirectory><fileSystemBlockSize>4096</fileSystemBlockSize></FileBlobStore>';
    const answer = await send(GO, 'PUT', '/blobstores/other', store);
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('configuration file')]);
  });
});
