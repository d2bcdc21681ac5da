import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { inLength } from '../fixtures/length.ts';
import { openHttpServer } from '../fixtures/network.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { openServer } from './server-in-process.ts';

async function run(...args: readonly string[]) {
  let [out, err] = ['', ''];
  const code = await runCli(['import', ...args], COMMANDS, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

async function open(config: string): Promise<string> {
  return (await openServer({ config, flags: { 'no-auth': 'true' } })).url;
}

/** Its layer `world` is imported. */
let other: string;
beforeAll(async () => {
  other = await open('stores: { default: { type: memory } }');
});

const ALLOWING = "upstreams: { '127.0.0.1': { allowPrivate: true } }\nlayers: []";

const get = async (url: string) => {
  const answer = await fetch(url, { headers: { connection: 'close' } });
  const text = await answer.text();
  return { status: answer.status, json: answer.ok ? JSON.parse(text) : null };
};

async function serveDocument(text: string): Promise<string> {
  const { url, close } = await openHttpServer((_, response) => response.end(text));
  whenOver(close);
  return url;
}

describe('tilewarden import URL', () => {
  it('tilewarden import URL writes YAML that a server starts with, from a WMTS and a WMS', async () => {
    const folder = temporaryFolder();
    for (const service of ['wmts', 'wms?version=1.1.1', 'wms?version=1.3.0']) {
      const file = join(folder, `${service.replace(/\W/g, '-')}.yaml`);
      const { code, out, err } = await run(`${other}/service/${service}`, '--output', file);
      expect([code, out, err]).toEqual([0, '', expect.stringContaining('Wrote 1 layer and')]);
      const { settings } = await loadSettings({
        flags: { config: file },
        environment: {},
        workingFolder: folder,
      });
      expect(settings.layers.map(({ name }) => name)).toEqual(['world']);
    }
    expect((await run(`${other}/service/wms`, '--output', join(folder, 'wmts.yaml'))).code).toBe(2);
  });

  it('tilewarden import URL declares layers in a running server, once', async () => {
    const server = await open(ALLOWING);
    const first = await run(`${other}/service/wms`, '--layer', 'world', '--apply', '--server', server);
    expect([first.code, first.out, first.err]).toEqual([0, '', expect.stringContaining('Applied 1 of 1')]);
    expect((await get(`${server}/api/v1/layers/world`)).json).toMatchObject({ origin: 'database' });
    const again = await run(`${other}/service/wms`, '--apply', '--server', server);
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringContaining('Layer world was refused: name is already used'),
    ]);
    expect((await run(`${other}/service/wms`, '--apply', '--replace', '--server', server)).code).toBe(0);
  });

  it('tilewarden import URL reports the fault of an address', async () => {
    const page = await serveDocument('<html/>');
    expect(await run(page)).toMatchObject({ code: 1, err: expect.stringContaining('answers with html') });
    const away = await run('http://127.0.0.1:9/wms');
    expect(away).toMatchObject({ code: 1, err: expect.stringContaining('127.0.0.1:9 cannot be read') });
    expect(await run(page, '--replace')).toMatchObject({ code: 2 });
  });
});

describe('POST /api/v1/import', () => {
  const post = (server: string, body: object) =>
    fetch(`${server}/api/v1/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    });

  it('POST /api/v1/import returns declarations and a report, and declares nothing', async () => {
    const server = await open(ALLOWING);
    const answer = await post(server, { url: `${other}/service/wmts`, layers: ['world'] });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      layers: [{ name: 'world', source: { type: 'wmts', layer: 'world' } }],
      report: expect.arrayContaining([expect.objectContaining({ subject: 'layer world', fate: 'taken' })]),
    });
    expect((await get(`${server}/api/v1/layers/world`)).status).toBe(404);
  });

  it('POST /api/v1/import rejects private addresses that the configuration file does not allow', async () => {
    const server = await open('layers: []');
    for (const url of [`${other}/service/wms`, 'http://169.254.169.254/latest', 'http://localhost:1/wms']) {
      const answer = await post(server, { url });
      expect([answer.status, await answer.text()]).toEqual([
        502,
        expect.stringMatching(/is a private address\. Allow it in|cannot be read/),
      ]);
    }
    for (const body of [{ url: 'file:///etc/passwd' }, { address: 'x' }]) {
      const answer = await post(server, body);
      expect([answer.status, await answer.text()]).toEqual([400, expect.any(String)]);
    }
  });

  it('GET /api/v1/preview shows tiles of an undeclared layer, and stores none', async () => {
    const server = await open(ALLOWING);
    const document = {
      name: 'seen',
      source: { type: 'wms', url: `${other}/service/wms`, layers: 'world' },
      gridSets: ['EPSG:900913'],
    };
    const query = new URLSearchParams({ document: JSON.stringify(document) });
    expect((await get(`${server}/api/v1/preview?${query}`)).json).toMatchObject({
      formats: ['image/png'],
      gridSets: [{ name: 'EPSG:900913' }],
    });
    const tile = await fetch(`${server}/api/v1/preview/EPSG:900913/1/0/0?${query}`, {
      headers: { connection: 'close' },
    });
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await tile.arrayBuffer()).byteLength).toBeGreaterThan(0);
    const far = new URLSearchParams({ document: JSON.stringify({ ...document, maxScale: 100_000_000 }) });
    const [hidden, shown] = await Promise.all(
      ['1/0/0', '3/4/3'].map(async (place) => {
        const answer = await fetch(`${server}/api/v1/preview/EPSG:900913/${place}?${far}`);
        return sharp(Buffer.from(await answer.arrayBuffer())).stats();
      }),
    );
    expect([hidden?.isOpaque, shown?.isOpaque]).toEqual([false, true]);
    expect((await get(`${server}/api/v1/usage`)).json).toMatchObject({ layers: [] });
    expect((await get(`${server}/api/v1/layers`)).json).toEqual({ layers: [] });
    expect((await get(`${server}/api/v1/preview/EPSG:900913/1/0/0?document=x`)).status).toBe(400);
  });
});

it('a preview sends the stored secret of a layer in place of its mask, to the same server only', async () => {
  const sent: (string | undefined)[] = [];
  const { url, close } = await openHttpServer((request, response) => {
    sent.push(request.headers.authorization);
    response.writeHead(404).end();
  });
  whenOver(close);
  const server = await open(ALLOWING);
  const source = { type: 'wms', url: `${url}/wms`, layers: 'a', username: 'u', password: 'p' };
  const document = { name: 'closed', source, gridSets: ['EPSG:900913'] };
  const headers = { 'content-type': 'application/json' };
  await fetch(`${server}/api/v1/layers`, { method: 'POST', headers, body: JSON.stringify(document) });
  const preview = async (name: string, address = source.url) => {
    const hidden = { ...document, name, source: { ...source, url: address, password: '********' } };
    const query = new URLSearchParams({ document: JSON.stringify(hidden) });
    return (await get(`${server}/api/v1/preview/EPSG:900913/1/0/0?${query}`)).status;
  };
  expect([await preview('other'), await preview('closed', `${other}/wms`)]).toEqual([400, 400]);
  expect(await preview('closed')).toBe(502);
  expect(new Set(sent)).toEqual(new Set([`Basic ${btoa('u:p')}`]));
});

describe('tilewarden import FOLDER', () => {
  it('tilewarden import FOLDER imports layers, quota and users into a running server', async () => {
    const gwc = temporaryFolder();
    writeFileSync(
      join(gwc, 'geowebcache.xml'),
      `<gwcConfiguration><layers><wmsLayer><name>topp:states</name><wmsUrl><string>http://maps.example.org/wms</string></wmsUrl>
       </wmsLayer></layers></gwcConfiguration>`,
    );
    mkdirSync(join(gwc, 'topp_states'));
    writeFileSync(
      join(gwc, 'geowebcache-diskquota.xml'),
      '<gwcQuotaConfiguration><enabled>true</enabled><globalQuota><value>7</value><units>GiB</units></globalQuota></gwcQuotaConfiguration>',
    );
    writeFileSync(join(gwc, 'users.properties'), 'anna=secret,ROLE_USER\n');
    const server = await open(`adoptFolders: ['${gwc}']\nlayers: []`);
    const { code, out, err } = await run(gwc, '--apply', '--server', server);
    expect([code, err]).toEqual([0, expect.stringContaining('Applied 3 of 3')]);
    expect(out).toMatch(/^anna {2}viewer {2}\S{20}\n$/);
    const { json } = await get(`${server}/api/v1/layers/topp%3Astates`);
    expect(json).toMatchObject({ document: { adopt: { layout: 'geowebcache', folder: gwc } } });
    expect((await get(`${server}/api/v1/quota`)).json).toMatchObject({
      enabled: true,
      globalQuota: { value: 7 },
    });
  });

  it('tilewarden import FOLDER writes many layers as YAML that can be loaded', async () => {
    const folder = temporaryFolder();
    const one = (
      n: number,
    ) => `<wmsLayer><name>layer ${n}</name><metaInformation><title>Layer ${n}</title></metaInformation>
      <mimeFormats><string>image/png</string></mimeFormats><parameterFilters><stringParameterFilter><key>STYLES</key>
      <defaultValue>a</defaultValue><values><string>a</string><string>b</string></values></stringParameterFilter></parameterFilters>
      <wmsUrl><string>http://maps.example.org/wms</string></wmsUrl><wmsLayers>l${n}</wmsLayers></wmsLayer>`;
    const count = inLength(1000, 5000);
    const layers = Array.from({ length: count }, (_, n) => one(n)).join('');
    writeFileSync(
      join(folder, 'geowebcache.xml'),
      `<gwcConfiguration><layers>${layers}</layers></gwcConfiguration>`,
    );
    const file = join(folder, 'tilewarden.yaml');
    const { code, err } = await run(folder, '--output', file, '--quiet');
    expect([code, err]).toEqual([
      0,
      `Wrote ${count.toLocaleString('en')} layers and 0 grid sets to ${file}.\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toContain(`- name: layer ${count - 1}\n`);
    const { settings } = await loadSettings({ flags: {}, environment: {}, workingFolder: folder });
    expect(settings.layers).toHaveLength(count);
  });

  it('tilewarden import FOLDER names the missing or invalid file', async () => {
    const folder = temporaryFolder();
    expect(await run(folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('has none of geowebcache.xml'),
    });
    writeFileSync(join(folder, 'geowebcache.xml'), '<gwcConfiguration>');
    expect(await run(folder)).toMatchObject({ code: 1, err: expect.stringContaining('geowebcache.xml:1:') });
    expect(await run(join(folder, 'nothing'))).toMatchObject({ code: 1 });
    writeFileSync(join(folder, 'geowebcache.xml'), '<gwcConfiguration/>');
    expect(await run(folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('Nothing was imported'),
    });
  });
});
