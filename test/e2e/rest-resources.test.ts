import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { readXml } from '../../src/lib/xml/read-xml.ts';
import type { XmlElement } from '../../src/lib/xml/xml-element.ts';
import { freshData, writeConfig } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const FILE = `
gridSets:
  - { name: EPSG:2163, srs: 2163, extent: [-2495667.977678598, -2223677.196231552, 3291070.6104286816, 959189.3312465074],
      scaleDenominators: [25000000, 1000000, 100000, 25000], tileSize: 200, metersPerUnit: 1, yCoordinateFirst: false }
layers:
  - { name: img states, source: { type: wms, url: 'http://127.0.0.1:1/wms?', layers: 'nurc:Img_Sample,topp:states' },
      gridSets: [EPSG:900913, { name: EPSG:4326, zoomStop: 2 }] }
  - { name: world, source: { type: world }, gridSets: [EPSG:900913] }
`;

let config: string;
let data: string;
let server: OpenServer;

async function start(): Promise<void> {
  server = await openServer({ data, flags: { config, 'no-auth': 'true' }, outlivesTest: true });
}

async function call(method: string, path: string, body?: string, type = 'text/xml') {
  const answer = await fetch(new URL(path.replace(/^\//, ''), server.url), {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': type } }),
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    headers: answer.headers,
    text: await answer.text(),
  };
}

/** Reads a document; `at('a/b')` is the text of the first such element. */
async function xml(path: string) {
  const { status, type, text } = await call('GET', path);
  expect([status, type]).toEqual([200, 'application/xml']);
  const root = readXml(text, { bytes: 2 ** 20, depth: 20, elements: 10_000, attributes: 32 });
  const all = (way: string) => {
    const steps = way.split('/');
    return steps.reduce<readonly XmlElement[]>(
      (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
      [root],
    );
  };
  return { root, all, at: (way: string) => all(way)[0]?.text ?? null };
}

const wmsLayer = (name: string, more = '', url = 'http://example.com/wms1?') =>
  `<wmsLayer><name>${name}</name><wmsUrl><string>${url}</string></wmsUrl><wmsLayers>remote</wmsLayers>${more}</wmsLayer>`;

beforeAll(async () => {
  data = await freshData({});
  config = writeConfig(FILE);
  await start();
});
describe('/rest/layers', () => {
  it('/rest/layers lists names with links, as XML and as JSON, under every prefix', async () => {
    const { root, all } = await xml('/geowebcache/rest/layers.xml');
    expect(root.name).toBe('layers');
    expect(all('layer/name').map(({ text }) => text)).toEqual(['img states', 'world']);
    const link = all('layer/link')[0];
    expect(link?.attributes.get('href')).toBe(`${server.url}/geowebcache/rest/layers/img%20states.xml`);
    expect(link?.attributes.get('type')).toBe('text/xml');
    const json = await call('GET', '/geoserver/gwc/rest/layers.json');
    expect([json.type, JSON.parse(json.text)]).toEqual(['application/json', ['img states', 'world']]);
  });

  it.each(['/rest/layers/img%20states.xml', '/rest/layers/img+states.xml', '/rest/layers/img%20states'])(
    '/rest/layers shows a layer at %s',
    async (path) => {
      const { root, at } = await xml(path);
      expect(root.name).toBe('wmsLayer');
      expect([
        at('name'),
        at('wmsUrl/string'),
        at('wmsLayers'),
        at('gridSubsets/gridSubset/gridSetName'),
      ]).toEqual(['img states', 'http://127.0.0.1:1/wms?', 'nurc:Img_Sample,topp:states', 'EPSG:900913']);
    },
  );

  it('/rest/layers chooses XML or JSON by extension, by parameter and by Accept', async () => {
    for (const path of ['img%20states.json', 'img%20states?format=json']) {
      const { type, text } = await call('GET', `/rest/layers/${path}`);
      expect([type, JSON.parse(text).wmsLayer.name]).toEqual(['application/json', 'img states']);
    }
    const asked = await fetch(`${server.url}/rest/layers/world`, { headers: { accept: 'application/json' } });
    expect(await asked.json()).toHaveProperty('wmsLayer');
  });

  it('/rest/layers creates, changes, serves, lists and deletes a layer', async () => {
    const at = '/geowebcache/rest/layers/testLayer.xml';
    expect(await call('PUT', at, wmsLayer('testLayer'))).toMatchObject({ status: 200, text: 'layer saved' });
    expect((await xml(at)).at('wmsUrl/string')).toBe('http://example.com/wms1?');
    const changed = await call('POST', at, wmsLayer('testLayer', '', 'http://example.com/wms2?'));
    expect([changed.status, changed.text, changed.headers.get('warning')]).toEqual([
      200,
      '',
      '299: Deprecated API. Use PUT instead.',
    ]);
    expect((await xml(at)).at('wmsUrl/string')).toBe('http://example.com/wms2?');
    expect((await call('GET', '/service/wmts?REQUEST=GetCapabilities')).text).toContain('testLayer');
    expect(await call('DELETE', at)).toMatchObject({ status: 200, text: 'testLayer deleted' });
    expect(await call('GET', at)).toMatchObject({ status: 404, text: 'Unknown layer: testLayer\n' });
    expect((await call('GET', '/service/wmts?REQUEST=GetCapabilities')).text).not.toContain('testLayer');
    expect((await call('DELETE', at)).status).toBe(404);
  });

  it.each(['a.b.c', 'topp:dotted.name', 'with space', 'slash/inside', '100%'])(
    '/rest/layers accepts a layer named %s',
    async (name) => {
      const at = `/rest/layers/${encodeURIComponent(name)}.xml`;
      expect((await call('PUT', at, wmsLayer(name))).status).toBe(200);
      expect((await xml(at)).at('name')).toBe(name);
      expect((await xml(at.replace(/\.xml$/, ''))).at('name')).toBe(name);
      expect((await call('DELETE', at)).text).toBe(`${name} deleted`);
    },
  );

  it('/rest/layers names elements without effect in its answer, and does not show them again', async () => {
    const more =
      '<unheardOf kind="x"><inner>1</inner></unheardOf><requestFilters><wmsRasterFilter><name>mask</name></wmsRasterFilter></requestFilters>';
    const saved = await call('PUT', '/rest/layers/strange.xml', wmsLayer('strange', more));
    expect([saved.status, saved.text]).toEqual([200, 'layer saved']);
    expect(saved.headers.get('warning')).toMatch(
      /unheardOf has no effect: it is not known here.*wmsRasterFilter has no effect: tiles are not masked/s,
    );
    const shown = (await call('GET', '/rest/layers/strange.xml')).text;
    expect(shown).not.toMatch(/unheardOf|wmsRasterFilter/);
    const again = await call('PUT', '/rest/layers/strange.xml', shown);
    expect([again.status, again.headers.get('warning')]).toEqual([200, null]);
    await call('DELETE', '/rest/layers/strange.xml');
  });

  it('/rest/layers never shows a password, and keeps it when its mask is sent back', async () => {
    const secret = '<httpUsername>anna</httpUsername><httpPassword>hush</httpPassword>';
    await call('PUT', '/rest/layers/closed.xml', wmsLayer('closed', secret));
    const { text } = await call('GET', '/rest/layers/closed.xml');
    expect(text).toContain('<httpPassword>********</httpPassword>');
    await call('PUT', '/rest/layers/closed.xml', text);
    await server.stop();
    await start();
    expect((await call('GET', '/rest/layers/closed.xml')).text).toContain('<httpPassword>********');
    await call('PUT', '/rest/layers/closed.xml', wmsLayer('closed'));
    expect((await call('GET', '/rest/layers/closed.xml')).text).not.toContain('httpPassword');
    await call('DELETE', '/rest/layers/closed.xml');
  });

  it('/rest/layers keeps settings that GeoWebCache does not have', async () => {
    const document = {
      name: 'ours',
      attribution: 'us',
      source: { type: 'wms', url: 'http://example.com/wms', layers: 'a', headers: { 'x-key': '1' } },
    };
    await call('PUT', '/api/v1/layers/ours', JSON.stringify(document), 'application/json');
    await call('PUT', '/rest/layers/ours.xml', wmsLayer('ours', '<gutter>9</gutter>'));
    const { document: now } = JSON.parse((await call('GET', '/api/v1/layers/ours')).text);
    expect(now).toMatchObject({
      attribution: 'us',
      gutter: 9,
      source: { layers: 'remote', headers: { 'x-key': '********' } },
    });
    await call('DELETE', '/rest/layers/ours.xml');
  });

  it('/rest/layers forgets a transient layer when the server stops', async () => {
    await call('PUT', '/rest/layers/brief.xml', wmsLayer('brief', '<transientLayer>true</transientLayer>'));
    expect((await xml('/rest/layers/brief.xml')).at('transientLayer')).toBe('true');
    await server.stop();
    await start();
    expect((await call('GET', '/rest/layers/brief.xml')).status).toBe(404);
  });

  it.each([
    [
      'PUT',
      '/rest/layers/one.xml',
      wmsLayer('two'),
      400,
      /^There is a mismatch between the name of the {2}layer/,
    ],
    [
      'POST',
      '/rest/layers/missing.xml',
      wmsLayer('missing'),
      400,
      /^Layer missing is not known by the configuration/,
    ],
    ['PUT', '/rest/layers/img%20states.xml', wmsLayer('img states'), 409, /configuration file/],
    ['DELETE', '/rest/layers/world', undefined, 409, /configuration file/],
    ['PUT', '/rest/layers/x.xml', '<wmsLayer><name>x</name></wmsLayer>', 400, /^wmsUrl is missing/],
    ['PUT', '/rest/layers/x.xml', wmsLayer('x', '<gutter>-4</gutter>'), 400, /^gutter must be at least 0/],
    [
      'PUT',
      '/rest/layers/x.xml',
      wmsLayer('x', '<parameterFilters><cssParameterFilter/></parameterFilters>'),
      400,
      /^parameterFilters contains an element that is not a known ParameterFilter/,
    ],
    [
      'PUT',
      '/rest/layers/x.xml',
      wmsLayer('x', '<blobStoreId>nowhere</blobStoreId>'),
      400,
      /names the store nowhere/,
    ],
    ['PUT', '/rest/layers.xml', wmsLayer('x'), 405, /./],
    ['DELETE', '/rest/layers', undefined, 405, /./],
  ])('%s %s is rejected and changes nothing', async (method, path, body, status, text) => {
    const before = await call('GET', '/rest/layers.json');
    const answer = await call(method, path, body);
    expect([answer.status, answer.type]).toEqual([status, 'text/plain; charset=utf-8']);
    expect(answer.text).toMatch(text);
    expect((await call('GET', '/rest/layers.json')).text).toBe(before.text);
  });

  it('/rest/layers reads a body by its content type, and a body of form type by extension', async () => {
    const json = '{"wmsLayer":{"name":"x","wmsUrl":["http://example.com/wms"]}}';
    expect((await call('PUT', '/rest/layers/x.xml', json, 'application/json')).status).toBe(200);
    const form = 'application/x-www-form-urlencoded';
    expect((await call('PUT', '/rest/layers/x.json', json, form)).status).toBe(200);
    expect((await call('PUT', '/rest/layers/x', wmsLayer('x'), form)).status).toBe(200);
    expect((await call('PUT', '/rest/layers/x.xml', wmsLayer('x'), 'text/plain')).status).toBe(415);
    await call('DELETE', '/rest/layers/x');
  });
});

describe('/rest/gridsets', () => {
  const gridSet = (srs: number, more = '') => `<?xml version="1.0" encoding="UTF-8"?>
    <gridSet><name>testGridset</name><srs><number>${srs}</number></srs>
    <extent><coords><double>-2495667.9</double><double>-2223677.1</double><double>3291070.6</double><double>959189.3</double></coords></extent>
    <alignTopLeft>false</alignTopLeft>
    <scaleDenominators><double>2.5E7</double><double>1000000.0</double></scaleDenominators>
    <metersPerUnit>1.0</metersPerUnit><pixelSize>2.8E-4</pixelSize>
    <scaleNames><string>a</string><string>b</string></scaleNames>
    <tileHeight>211</tileHeight><tileWidth>211</tileWidth><yCoordinateFirst>false</yCoordinateFirst>${more}</gridSet>`;

  it('/rest/gridsets lists grid sets, and shows one with numbers as Java prints them', async () => {
    const { all } = await xml('/rest/gridsets.xml');
    const names = all('gridSet/name').map(({ text }) => text);
    expect(names).toEqual(
      expect.arrayContaining(['EPSG:4326', 'EPSG:900913', 'WebMercatorQuad', 'EPSG:2163']),
    );
    expect(JSON.parse((await call('GET', '/rest/gridsets.json')).text)).toEqual(names);
    const shown = await xml('/rest/gridsets/EPSG:2163.xml');
    const ways = [
      'srs/number',
      'extent/coords/double',
      'scaleDenominators/double',
      'metersPerUnit',
      'pixelSize',
      'tileWidth',
    ];
    expect(ways.map(shown.at)).toEqual(['2163', '-2495667.977678598', '2.5E7', '1.0', '2.8E-4', '200']);
    const json = JSON.parse((await call('GET', '/rest/gridsets/EPSG:2163.json')).text).gridSet;
    expect(json).toMatchObject({
      srs: { number: 2163 },
      scaleDenominators: [25e6, 1e6, 1e5, 25e3],
      yCoordinateFirst: false,
    });
    expect(json.extent.coords).toEqual([
      -2495667.977678598, -2223677.196231552, 3291070.6104286816, 959189.3312465074,
    ]);
  });

  it('/rest/gridsets creates, changes and deletes a grid set', async () => {
    const at = '/geowebcache/rest/gridsets/testGridset.xml';
    expect(await call('GET', at)).toMatchObject({
      status: 404,
      text: 'Failed to get GridSet. A GridSet with name "testGridset" does not exist.\n',
    });
    expect(await call('PUT', at, gridSet(4326))).toMatchObject({ status: 201, text: '' });
    expect((await xml(at)).at('srs/number')).toBe('4326');
    const changed = await call('PUT', '/rest/gridsets/testGridset', gridSet(2163, '<owner>us</owner>'));
    expect([changed.status, changed.headers.get('warning')]).toEqual([
      200,
      '299 - "owner has no effect: it is not known here"',
    ]);
    const shown = await xml(at);
    expect([shown.at('srs/number'), shown.at('owner'), shown.at('scaleNames/string')]).toEqual([
      '2163',
      null,
      'a',
    ]);
    await call(
      'PUT',
      '/rest/layers/on.xml',
      wmsLayer(
        'on',
        '<gridSubsets><gridSubset><gridSetName>testGridset</gridSetName></gridSubset></gridSubsets>',
      ),
    );
    expect(await call('DELETE', at)).toMatchObject({
      status: 409,
      text: expect.stringContaining('used by layer on'),
    });
    await call('DELETE', '/rest/layers/on.xml');
    expect((await call('DELETE', at)).status).toBe(200);
    expect(await call('DELETE', at)).toMatchObject({
      status: 404,
      text: 'Failed to remove GridSet. A GridSet with name "testGridset" does not exist.\n',
    });
  });

  it('/rest/gridsets cannot change built-in grid sets or those of the configuration file', async () => {
    const renamed = (name: string) => gridSet(4326).replace('testGridset', name);
    expect((await call('PUT', '/rest/gridsets/EPSG:4326.xml', renamed('EPSG:4326'))).status).toBe(409);
    expect((await call('DELETE', '/rest/gridsets/EPSG:2163')).status).toBe(409);
    const guide = renamed('guide:2163');
    expect((await call('PUT', '/rest/gridsets/gridSet1.xml', guide)).status).toBe(201);
    expect((await call('PUT', '/rest/gridsets/gridSet1.xml', guide)).status).toBe(200);
    expect((await call('GET', '/rest/gridsets/gridSet1.xml')).status).toBe(404);
    expect((await call('DELETE', '/rest/gridsets/guide:2163.xml')).status).toBe(200);
  });
});

describe('/rest/blobstores', () => {
  it('/rest/blobstores shows stores in the format of GeoWebCache', async () => {
    const { all } = await xml('/geowebcache/rest/blobstores.xml');
    expect(all('blobStore/name').map(({ text }) => text)).toEqual(['default']);
    expect(all('blobStore/link')[0]?.attributes.get('href')).toBe(
      `${server.url}/geowebcache/rest/blobstores/default.xml`,
    );
    expect(JSON.parse((await call('GET', '/rest/blobstores.json')).text)).toEqual(['default']);
    const { root, at } = await xml('/rest/blobstores/default.xml');
    expect([
      root.name,
      root.attributes.get('default'),
      at('id'),
      at('enabled'),
      at('fileSystemBlockSize'),
    ]).toEqual(['FileBlobStore', 'true', 'default', 'true', '4096']);
    const json = JSON.parse((await call('GET', '/rest/blobstores/default.json')).text);
    expect(json.FileBlobStore).toMatchObject({ '@default': 'true', id: 'default', enabled: true });
  });

  it('/rest/blobstores answers 409 to changes and names the configuration file', async () => {
    const body = '<FileBlobStore><id>more</id></FileBlobStore>';
    for (const [method, path] of [
      ['PUT', 'more'],
      ['DELETE', 'default.xml'],
    ] as const) {
      expect(
        await call(method, `/rest/blobstores/${path}`, method === 'PUT' ? body : undefined),
      ).toMatchObject({
        status: 409,
        text: expect.stringContaining('under "stores" in the configuration file'),
      });
    }
    expect((await call('GET', '/rest/blobstores/more')).text).toBe(
      'Failed to get BlobStoreInfo. A BlobStoreInfo with name "more" does not exist.\n',
    );
  });
});

describe('/rest/global', () => {
  const information = `<serviceInformation><title>Maps of Hobart</title><description>From a cache</description>
    <keywords><string>WMS</string><string>WMTS</string></keywords>
    <serviceProvider><providerName>Jane Doe inc.</providerName><providerSite>http://www.example.com/</providerSite>
    <serviceContact><individualName>Jane Doe</individualName></serviceContact></serviceProvider>
    <fees>NONE</fees><accessConstraints>NONE</accessConstraints></serviceInformation>`;

  it('/rest/global stores the service information that capabilities show', async () => {
    const put = await call(
      'PUT',
      '/geowebcache/rest/global',
      `<global>${information}<backendTimeout>150</backendTimeout></global>`,
    );
    expect([put.status, put.text]).toEqual([200, '']);
    expect(put.headers.get('warning')).toContain(
      'backendTimeout has no effect: set backendTimeout of a layer',
    );
    const { at, all } = await xml('/rest/global.xml');
    expect([
      at('serviceInformation/title'),
      at('serviceInformation/serviceProvider/serviceContact/individualName'),
    ]).toEqual(['Maps of Hobart', 'Jane Doe']);
    expect(all('serviceInformation/keywords/string')).toHaveLength(2);
    expect([
      at('runtimeStatsEnabled'),
      at('wmtsCiteCompliant'),
      at('backendTimeout'),
      at('lockProvider'),
    ]).toEqual(['true', 'false', '120', null]);
    for (const service of ['wmts', 'wms']) {
      const { text } = await call('GET', `/service/${service}?SERVICE=${service}&REQUEST=GetCapabilities`);
      expect(text).toContain('Title>Maps of Hobart<');
    }
    const json = JSON.parse((await call('GET', '/rest/global.json')).text).global;
    expect(json.serviceInformation.keywords).toEqual(['WMS', 'WMTS']);
  });

  it('/rest/global changes only given elements, accepts its own response, and is persistent', async () => {
    const locks = await call('PUT', '/rest/global', '<global><lockProvider>nioLock</lockProvider></global>');
    expect(locks.headers.get('warning')).toContain('lockProvider has no effect');
    const { text } = await call('GET', '/rest/global.xml');
    expect((await call('PUT', '/rest/global', text)).status).toBe(200);
    await server.stop();
    await start();
    const { at } = await xml('/rest/global.xml');
    expect([at('lockProvider'), at('serviceInformation/title')]).toEqual([null, 'Maps of Hobart']);
  });

  it('/rest/global rejects changes of read-only elements', async () => {
    const answer = await call('PUT', '/rest/global', '<global><location>foobar</location></global>');
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('Cannot modify read-only property "location"'),
    ]);
    expect((await call('POST', '/rest/global', '<global/>')).status).toBe(405);
    expect((await call('DELETE', '/rest/global')).status).toBe(405);
  });
});

describe('the smaller resources', () => {
  it.each(['GET /rest/bounds/world/EPSG:4326/java', 'POST /rest/filter/round/update/xml'])(
    '%s is an unknown path',
    async (line) => {
      const [method = '', path = ''] = line.split(' ');
      expect((await call(method, path)).status).toBe(404);
    },
  );

  it('/rest/statistics counts hits and misses', async () => {
    for (const _ of [1, 2]) await fetch(`${server.url}/tiles/world/0/0/0.png`);
    const { root, at } = await xml('/rest/statistics.xml');
    expect(root.name).toBe('gwcInMemoryCacheStatistics');
    expect(Number(at('hitCount'))).toBeGreaterThan(0);
    expect(
      JSON.parse((await call('GET', '/rest/statistics.json')).text).gwcInMemoryCacheStatistics.totalCount,
    ).toBeGreaterThan(1);
  });
});

describe('/rest/reload', () => {
  const form = 'application/x-www-form-urlencoded';
  const reload = () => call('POST', '/geowebcache/rest/reload', 'reload_configuration=1', form);
  const write = (text: string) => writeFile(config, text);

  it('/rest/reload applies changes of the configuration file and nothing else', async () => {
    await call('PUT', '/rest/layers/img2.xml', wmsLayer('img2'));
    await write(
      FILE.replace('name: img states', 'name: img2, title: From the file').replace(
        'layers:\n',
        'layers:\n  - { name: more, source: { type: world }, gridSets: [EPSG:4326] }\n',
      ),
    );
    const done = await reload();
    expect([done.status, done.type]).toEqual([200, 'text/html; charset=utf-8']);
    expect(done.text).toContain(
      'TileLayerConfiguration reloaded. Read 3 layers from configuration resources.',
    );
    expect(done.text).toMatch(/Changed: .*more.*img2.*img states/);
    expect((await call('GET', '/rest/layers/img%20states.xml')).status).toBe(404);
    expect((await xml('/rest/layers/img2.xml')).at('metaInformation/title')).toBe('From the file');
    expect((await call('GET', '/tiles/more/EPSG:4326/0/0/0.png')).status).toBe(200);
    await write(FILE);
    await reload();
    expect((await xml('/rest/layers/img2.xml')).at('wmsLayers')).toBe('remote');
    expect((await call('GET', '/rest/layers/more.xml')).status).toBe(404);
    await call('DELETE', '/rest/layers/img2.xml');
    expect((await reload()).text).toContain('No layer changed.');
  });

  it('/rest/reload changes nothing if the configuration file has errors, and lists them', async () => {
    await write(FILE.replace('type: world', 'type: wrold'));
    const refused = await reload();
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('tilewarden.yaml:');
    expect((await call('GET', '/tiles/world/0/0/0.png')).status).toBe(200);
    await write(FILE);
  });

  it('/rest/reload does not remove a grid set that a layer declared over HTTP uses', async () => {
    const subset = '<gridSubsets><gridSubset><gridSetName>EPSG:2163</gridSetName></gridSubset></gridSubsets>';
    await call('PUT', '/rest/layers/on.xml', wmsLayer('on', subset));
    await write(FILE.replace(/gridSets:[\s\S]*?\nlayers:/, 'layers:'));
    expect(await reload()).toMatchObject({ status: 400, text: expect.stringContaining('layer on') });
    await write(FILE);
    await call('DELETE', '/rest/layers/on.xml');
  });

  it('/rest/reload names changed settings that need a restart', async () => {
    await write(`${FILE}\nmemoryTier: { size: 1 MiB }\n`);
    for (const _ of [1, 2]) {
      expect((await reload()).text).toContain('Changes to memoryTier take effect after a restart.');
    }
    await write(FILE);
    expect((await reload()).text).not.toContain('restart');
  });

  it('/rest/reload rejects a layer that needs a setting which needs a restart', async () => {
    const layer = '  - { name: more, source: { type: world }, gridSets: [EPSG:4326], store: fast }\n';
    const stores = 'stores: { default: { type: bundle }, fast: { type: bundle } }\n';
    await write(`${stores}${FILE.replace('layers:\n', `layers:\n${layer}`)}`);
    const refused = await reload();
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('layers[0].store names the store fast, which is not declared');
    expect(refused.text).toContain('stores');
    expect(JSON.parse((await call('GET', '/rest/layers.json')).text).sort()).toEqual(['img states', 'world']);
    await write(FILE);
    expect((await reload()).text).toContain('No layer changed.');
  });

  it('/rest/reload accepts only a POST of the form on GeoWebCache’s page', async () => {
    expect((await call('POST', '/rest/reload', 'a=b', form)).status).toBe(400);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await call(method, '/rest/reload')).status).toBe(405);
  });
});

it.each([
  ['/rest', 'layers'],
  ['/geowebcache/rest/', 'gridsets'],
])('%s is an HTML page, as in GeoWebCache', async (path, text) => {
  const answer = await call('GET', path);
  expect([answer.status, answer.type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.text).toContain(text);
});

it.each(['gmaps', 'mgmaps', 've'])('/service/%s accepts a trailing slash', async (service) => {
  const query = '?layers=none&zoom=0&x=0&y=0&quadkey=0';
  const [plain, slash] = [
    await call('GET', `/service/${service}${query}`),
    await call('GET', `/service/${service}/${query}`),
  ];
  expect([slash.status, slash.text]).toEqual([plain.status, plain.text]);
  expect(slash.text).toContain('none');
});
