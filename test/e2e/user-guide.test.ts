import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { needs, programPath } from '../fixtures/needs.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { ADMIN_PASSWORD } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const FILES: Readonly<Record<string, string>> = {
  'layer.xml': `<wmsLayer><name>layer1</name><mimeFormats><string>image/png</string></mimeFormats>
    <gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset></gridSubsets>
    <wmsUrl><string>http://localhost:8080/geoserver/wms</string></wmsUrl><wmsLayers>topp:states</wmsLayers></wmsLayer>`,
  'gridset.xml': `<gridSet><name>gridSet1</name><srs><number>2163</number></srs>
    <extent><coords><double>-2495667.9</double><double>-2223677.1</double><double>3291070.6</double><double>959189.3</double></coords></extent>
    <scaleDenominators><double>25000000</double><double>1000000</double></scaleDenominators>
    <tileHeight>200</tileHeight><tileWidth>200</tileWidth></gridSet>`,
  'global.xml': '<global><backendTimeout>120</backendTimeout></global>',
};

let folder: string;
let server: OpenServer;

beforeAll(async () => {
  folder = temporaryFolder();
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
  const world = (name: string) => `  - { name: '${name}', source: { type: world } }\n`;
  const layers = ['nurc:Arc_Sample', 'topp:states'].map(world).join('');
  server = await openServer({
    config: `upstreams: { 'localhost:8080': { allowPrivate: true } }\nlayers:\n${layers}`,
  });
});

/** As in the guide, except for server, user and password. */
async function curl(...given: string[]): Promise<{ readonly status: number; readonly body: string }> {
  const args = given.map((arg) => arg.replace(/^http:\/\/localhost:80[89]0/, server.url));
  const all = ['-s', '-u', `admin:${ADMIN_PASSWORD}`, '-w', '\n%{http_code}', ...args];
  const { stdout } = await promisify(execFile)(programPath('curl'), all, { cwd: folder });
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}

const XML = ['-H', 'Content-type: text/xml'];
const HOST = 'http://localhost:8080/geowebcache/rest';

it.each<[what: string, args: string[], status: number, body: RegExp]>([
  ['layers are listed', [`${HOST}/layers`], 200, /<layers><layer><name>nurc:Arc_Sample/],
  [
    'a layer is added',
    ['-XPUT', ...XML, '-d', '@layer.xml', `${HOST}/layers/layer1.xml`],
    200,
    /^layer saved$/,
  ],
  [
    'a layer is changed, under the prefix of GeoServer',
    ['-XPUT', ...XML, '-d', '@layer.xml', 'http://localhost:8080/geoserver/gwc/rest/layers/layer1.xml'],
    200,
    /^layer saved$/,
  ],
  ['a layer is shown', [`${HOST}/layers/layer1.xml`], 200, /<wmsLayers>topp:states<\/wmsLayers>/],
  [
    'a layer is deleted',
    ['-XDELETE', 'http://localhost:8080/geoserver/gwc/rest/layers/layer1.xml'],
    200,
    /^layer1 deleted$/,
  ],
  ['grid sets are listed', [`${HOST}/gridsets`], 200, /<gridSets><gridSet><name>EPSG:4326/],
  [
    'a grid set is added',
    ['-XPUT', '-H', 'Content-type: application/xml', '-d', '@gridset.xml', `${HOST}/gridsets/gridSet1.xml`],
    201,
    /^$/,
  ],
  [
    'a grid set is deleted',
    ['-XDELETE', 'http://localhost:8080/geoserver/gwc/rest/gridsets/gridSet1.xml'],
    200,
    /^$/,
  ],
  ['stores are listed', [`${HOST}/blobstores`], 200, /<blobStores><blobStore><name>default/],
  ['global settings are shown', ['-XGET', `${HOST}/global.xml`], 200, /<global><serviceInformation>/],
  ['global settings are changed', ['-XPUT', ...XML, '-d', '@global.xml', `${HOST}/global.xml`], 200, /^$/],
  [
    'a layer is truncated',
    [
      '-XPOST',
      ...XML,
      '-d',
      '<seedRequest><name>nurc:Arc_Sample</name><srs><number>4326</number></srs><zoomStart>1</zoomStart><zoomStop>12</zoomStop><format>image/png</format><type>truncate</type><threadCount>2</threadCount></seedRequest>',
      `${HOST}/seed/nurc:Arc_Sample.xml`,
    ],
    200,
    /^$/,
  ],
  [
    'a part of a layer is not truncated when the body names another, in JSON with single quotes and a brace too many',
    [
      '-XPOST',
      '-H',
      'Content-type: application/json',
      '-d',
      "{'seedRequest':{'name':'topp:states','bounds':{'coords':{ 'double':['-124.0','22.0','66.0','72.0']}},'srs':{'number':4326},'zoomStart':1,'zoomStop':12,'format':'image\\/png','type':'truncate','threadCount':4}}}",
      `${HOST}/seed/nurc:Arc_Sample.json`,
    ],
    400,
    /^name is "topp:states", the address names the layer "nurc:Arc_Sample"/,
  ],
  [
    'tasks of a layer are listed',
    ['-XGET', `${HOST}/seed/topp:states.json`],
    200,
    /^\{"long-array-array":\[/,
  ],
  [
    'tasks are listed',
    ['-XGET', 'http://localhost:8080/geoserver/gwc/rest/seed.json'],
    200,
    /^\{"long-array-array":\[/,
  ],
  ['tasks are stopped', ['-d', 'kill_all=all', `${HOST}/seed`], 200, /<html/],
  ['tasks of a layer are stopped', ['-d', 'kill_all=all', `${HOST}/seed/topp:states`], 200, /<html/],
  [
    'kinds of mass truncation are listed',
    ['-XGET', ...XML, `${HOST}/masstruncate`],
    200,
    /<requestType>truncateLayer/,
  ],
  [
    'a layer is emptied',
    [
      '-X',
      'POST',
      ...XML,
      '-d',
      '<truncateLayer><layerName>topp:states</layerName></truncateLayer>',
      `${HOST}/masstruncate`,
    ],
    200,
    /^$/,
  ],
  ['the quota is shown', ['-XGET', `${HOST}/diskquota.xml`], 200, /<maxConcurrentCleanUps>2</],
  ['the quota is shown in JSON', ['-XGET', `${HOST}/diskquota.json`], 200, /"maxConcurrentCleanUps":2/],
  [
    'a number below one is refused',
    [
      'http://localhost:8090/geowebcache/rest/diskquota.xml',
      '-X',
      'PUT',
      '-d',
      '<gwcQuotaConfiguration><maxConcurrentCleanUps>-1</maxConcurrentCleanUps></gwcQuotaConfiguration>',
    ],
    400,
    /maxConcurrentCleanUps shall be a positive integer: -1/,
  ],
  [
    'an unknown unit is refused',
    [
      'http://localhost:8090/geowebcache/rest/diskquota.json',
      '-X',
      'PUT',
      '-d',
      '{gwcQuotaConfiguration:{globalQuota:{value:100,units:ZZiB}}}',
    ],
    400,
    /ZZiB[\s\S]*---- Debugging information ----/,
  ],
  [
    'the quota is set',
    [
      'http://localhost:8090/geowebcache/rest/diskquota.xml',
      '-X',
      'PUT',
      '-d',
      '<gwcQuotaConfiguration><enabled>true</enabled><globalQuota><value>100</value><units>GiB</units></globalQuota></gwcQuotaConfiguration>',
    ],
    200,
    /<value>100<\/value><units>GiB<\/units>/,
  ],
  [
    'the policy is set',
    [
      'http://localhost:8090/geowebcache/rest/diskquota.json',
      '-X',
      'PUT',
      '-d',
      '{gwcQuotaConfiguration:{globalQuota:{value:100,units:MiB},globalExpirationPolicyName:LRU}}',
    ],
    200,
    /"globalExpirationPolicyName":"LRU"/,
  ],
  [
    'the configuration is reloaded',
    ['-d', 'reload_configuration=1', `${HOST}/reload`],
    200,
    /TileLayerConfiguration reloaded. Read 2 layers/,
  ],
])('with calls of the user guide %s', needs('curl'), async (_what, args, status, body) => {
  const answer = await curl(...args);
  expect(answer.status, answer.body).toBe(status);
  expect(answer.body).toMatch(body);
});

const GWC = 'http://localhost:8080/geoserver/gwc/rest';
const JSON_TYPE = ['-H', 'Content-Type: application/json'];
const LAYER = `${GWC}/layers/layer1.xml`;

/** Requests of scripts and libraries for GeoServer, unchanged. */
it('GeoNode adds its filter of styles to a layer once, and truncates the layer', needs('curl'), async () => {
  await curl('-XPUT', ...XML, '-d', '@layer.xml', LAYER);
  const filter =
    '<styleParameterFilter><key>STYLES</key>                <defaultValue /></styleParameterFilter>';
  const shown = (await curl(...XML, LAYER)).body;
  const changed = shown.replace('</wmsLayer>', `<parameterFilters>${filter}</parameterFilters></wmsLayer>`);
  expect(await curl(...XML, '--data-binary', changed, LAYER)).toMatchObject({ status: 200 });
  const again = (await curl(...XML, LAYER)).body;
  expect(again.match(/<styleParameterFilter>/g)).toHaveLength(1);
  expect(again).not.toContain('<regexParameterFilter><key>STYLES</key>');
  expect(await curl(...XML, '--data-binary', again, LAYER)).toMatchObject({ status: 200 });
  expect((await curl(...XML, LAYER)).body).toBe(again);
  const truncate = '<truncateLayer><layerName>layer1</layerName></truncateLayer>';
  expect(await curl(...XML, '--data-binary', truncate, `${GWC}/masstruncate`)).toEqual({
    status: 200,
    body: '',
  });
});

it.each<[what: string, args: string[], status: number, body: RegExp]>([
  [
    'the Python client of camptocamp reloads',
    [...JSON_TYPE, '-d', 'reload_configuration=1', `${GWC}/reload`],
    200,
    /Read 2 layers/,
  ],
  ['a missing layer is requested', [`${GWC}/layers/ws:none.json`], 404, /Unknown layer: ws:none/],
  [
    'a layer of GeoServer is rejected with the reason',
    [
      '-XPUT',
      ...JSON_TYPE,
      '-d',
      '{"GeoServerLayer": {"name": "ws:none", "enabled": "true", "gridSubsets": {"gridSubset": [{"gridSetName": "EPSG:4326"}]}}}',
      `${GWC}/layers/ws:none.json`,
    ],
    400,
    /Only a wmsLayer with its wmsUrl can be declared/,
  ],
  [
    'an existing layer keeps its source',
    [
      '-XPUT',
      ...XML,
      '-d',
      '<GeoServerLayer><name>layer1</name><enabled>true</enabled><gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset></gridSubsets><mimeFormats><string>image/jpeg</string></mimeFormats><metaWidthHeight><int>4</int><int>4</int></metaWidthHeight><gutter>0</gutter></GeoServerLayer>',
      LAYER,
    ],
    200,
    /^layer saved$/,
  ],
  ['an existing layer has its new format', [LAYER], 200, /image\/jpeg[\s\S]*<wmsLayers>topp:states</],
  [
    'a seed is posted as the form of the seed page',
    [
      ...['threadCount=1', 'type=seed', 'gridSetId=EPSG:4326', 'format=image/png', 'zoomStart=0'].flatMap(
        field,
      ),
      ...['zoomStop=1', 'minX=-10', 'minY=-10', 'maxX=10', 'maxY=10'].flatMap(field),
      `${GWC}/seed/topp:states`,
    ],
    200,
    /Task submitted/,
  ],
  [
    'a seed request of a Go client is accepted',
    [
      ...JSON_TYPE,
      '-d',
      '{"seedRequest":{"name":"topp:states","srs":{"number":4326},"zoomStart":0,"zoomStop":1,"format":"image/png","type":"reseed","threadCount":1}}',
      `${GWC}/seed/topp%3Astates.json`,
    ],
    200,
    /^$/,
  ],
  ['tasks are stopped by a form', ['-d', 'kill_all=all', `${GWC}/seed/topp:states`], 200, /<html/],
  [
    'the whole quota is put',
    [
      '-XPUT',
      '-H',
      'Content-Type: application/xml',
      '--data-binary',
      '<gwcQuotaConfiguration><enabled>true</enabled><diskBlockSize>4096</diskBlockSize><cacheCleanUpFrequency>10</cacheCleanUpFrequency><cacheCleanUpUnits>MINUTES</cacheCleanUpUnits><maxConcurrentCleanUps>1</maxConcurrentCleanUps><globalExpirationPolicyName>LRU</globalExpirationPolicyName><globalQuota><value>50</value><units>GiB</units></globalQuota></gwcQuotaConfiguration>',
      `${GWC}/diskquota.xml`,
    ],
    200,
    /<cacheCleanUpUnits>MINUTES</,
  ],
  ['the quota is read without an ending', [`${GWC}/diskquota`], 200, /<globalExpirationPolicyName>LRU</],
  ['a layer is deleted by its bare name', ['-XDELETE', `${GWC}/layers/layer1`], 200, /^layer1 deleted$/],
  [
    'everything is emptied by the button of the demo page',
    ['-d', '%3CtruncateAll%3E=%3C%2FtruncateAll%3E', `${GWC}/masstruncate`],
    200,
    /Truncated All Layers/,
  ],
])('with calls of GeoServer clients %s', needs('curl'), async (_what, args, status, body) => {
  const answer = await curl(...args);
  expect(answer.status, answer.body).toBe(status);
  expect(answer.body).toMatch(body);
});

it(
  'a quota changed by a script is returned with this change and otherwise as read',
  needs('curl'),
  async () => {
    const read = (await curl(`${GWC}/diskquota.xml`)).body;
    const changed = read.replace(/<value>[^<]*</, '<value>20<').replace('<enabled>true', '<enabled>false');
    const answer = await curl('-XPUT', ...XML, '--data-binary', changed, `${GWC}/diskquota.xml`);
    expect(answer).toEqual({ status: 200, body: changed });
  },
);

function field(text: string): readonly string[] {
  return ['--data-urlencode', text];
}

it('every request without the right password is refused', needs('curl'), async () => {
  for (const path of ['layers', 'layers/world.xml', 'gridsets', 'blobstores', 'global', 'statistics']) {
    expect((await fetch(`${server.url}/geowebcache/rest/${path}`)).status, path).toBe(401);
  }
  // Once: a wrong password costs a third of a second of processor.
  expect((await curl('-u', 'unknown:wrong password', `${HOST}/layers`)).status).toBe(401);
});
