/**
 * npm run test:geoserver -- http://maps.example.org/geoserver: checks `follow` against a real GeoServer. Creates a workspace
 * there with two layers, a group and a style, over GeoServer's REST; a Tilewarden follows it while the style is saved
 * and edited; reports which layers it marked, and removes the workspace. GEOSERVER_USER (default admin) with
 * GEOSERVER_PASSWORD (default geoserver) must be allowed to change the catalog. Needs a build.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root, say, started } from './steps.mjs';

const [address = ''] = process.argv.slice(2);
if (!URL.canParse(address)) {
  say('Name a GeoServer: npm run test:geoserver -- http://127.0.0.1:8080/geoserver');
  process.exit(1);
}
const geoserver = address.replace(/\/+$/, '');
const username = process.env.GEOSERVER_USER ?? 'admin';
const password = process.env.GEOSERVER_PASSWORD ?? 'geoserver';
const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
const workspace = `tilewarden_try_${Date.now().toString(36)}`;
const [EDITED, OTHER, GROUP] = ['edited', 'other', 'both'].map((name) => `${workspace}:${name}`);
const SLD = 'application/vnd.ogc.sld+xml';
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-geoserver-'));
let [server, isCreated, failures] = [null, false, 0];

try {
  await createCatalog();
  const tilewarden = await startServer();
  await passesUntil(tilewarden, 'the layers and the group are declared', async () => {
    const names = (await json(`${tilewarden}/api/v1/layers`)).layers.map(({ name }) => name);
    return [EDITED, OTHER, GROUP].every((name) => names.includes(name));
  });
  await run(tilewarden);
  check('a pass without a change', await run(tilewarden), []);
  await rest('PUT', `workspaces/${workspace}/styles/try`, SLD, sld(1));
  check('the style is saved as it was', await run(tilewarden), []);
  await rest('PUT', `workspaces/${workspace}/styles/try`, SLD, sld(0.5));
  check('the style has another opacity', await run(tilewarden), [EDITED, GROUP]);
  check('the next pass', await run(tilewarden), []);
} catch (error) {
  failures += 1;
  say(error.message);
} finally {
  if (server) {
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
  if (isCreated)
    await rest('DELETE', `workspaces/${workspace}?recurse=true`).catch((error) => {
      failures += 1;
      say(`The workspace ${workspace} is still there: ${error.message}`);
    });
}
say(failures === 0 ? 'All as it should be.' : `${failures} failed.`);
process.exitCode = failures === 0 ? 0 : 1;

async function createCatalog() {
  await rest('POST', 'workspaces', 'text/xml', `<workspace><name>${workspace}</name></workspace>`);
  isCreated = true;
  await rest('POST', `workspaces/${workspace}/styles?name=try`, SLD, sld(1));
  for (const name of ['edited', 'other']) {
    const store = `workspaces/${workspace}/coveragestores/${name}/file.geotiff?configure=first&coverageName=${name}`;
    await rest('PUT', store, 'image/tiff', geoTiff());
  }
  const style = `<defaultStyle><name>try</name><workspace>${workspace}</workspace></defaultStyle>`;
  await rest('PUT', `layers/${EDITED}`, 'text/xml', `<layer>${style}</layer>`);
  const published = [EDITED, OTHER].map((name) => `<published type="layer"><name>${name}</name></published>`);
  const group = `<layerGroup><name>both</name><mode>SINGLE</mode><publishables>${published.join('')}</publishables></layerGroup>`;
  await rest('POST', `workspaces/${workspace}/layergroups`, 'text/xml', group);
}

function sld(opacity) {
  return `<?xml version="1.0" encoding="UTF-8"?>
<StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld">
  <NamedLayer><Name>try</Name><UserStyle><FeatureTypeStyle><Rule>
    <RasterSymbolizer><Opacity>${opacity}</Opacity></RasterSymbolizer>
  </Rule></FeatureTypeStyle></UserStyle></NamedLayer>
</StyledLayerDescriptor>
`;
}

/** A grey picture of 16×16 pixels over 40 × 40 degrees. */
function geoTiff() {
  const SIDE = 16;
  const [SHORT, LONG, DOUBLE] = [3, 4, 12];
  const data = [
    [33550, DOUBLE, [2.5, 2.5, 0]],
    [33922, DOUBLE, [0, 0, 0, -20, 20, 0]],
    // Geographic, pixels are areas, EPSG:4326.
    [34735, SHORT, [1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326]],
  ];
  const count = 9 + data.length;
  const start = 8 + 2 + 12 * count + 4;
  const bytesOf = (type, values) => values.length * (type === DOUBLE ? 8 : 2);
  const pixelsAt = start + data.reduce((sum, [, type, values]) => sum + bytesOf(type, values), 0);
  const file = Buffer.alloc(pixelsAt + SIDE * SIDE, 128);
  file.fill(0, 0, pixelsAt);
  file.write('II*\0', 0, 'latin1');
  file.writeUInt32LE(8, 4);
  file.writeUInt16LE(count, 8);
  let [at, place] = [10, start];
  const entry = (tag, type, number, value) => {
    file.writeUInt16LE(tag, at);
    file.writeUInt16LE(type, at + 2);
    file.writeUInt32LE(number, at + 4);
    file.writeUInt32LE(value, at + 8);
    at += 12;
  };
  const plain = [
    ...[
      [256, SIDE],
      [257, SIDE],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, pixelsAt],
    ],
    ...[
      [277, 1],
      [278, SIDE],
      [279, SIDE * SIDE],
    ],
  ];
  for (const [tag, value] of plain) entry(tag, LONG, 1, value);
  for (const [tag, type, values] of data) {
    entry(tag, type, values.length, place);
    for (const [i, value] of values.entries()) {
      if (type === DOUBLE) file.writeDoubleLE(value, place + 8 * i);
      else file.writeUInt16LE(value, place + 2 * i);
    }
    place += bytesOf(type, values);
  }
  return file;
}

async function rest(method, path, type, body) {
  const headers = { authorization, ...(type && { 'content-type': type }) };
  const response = await fetch(`${geoserver}/rest/${path}`, { method, headers, ...(body && { body }) });
  const text = await response.text();
  if (!response.ok)
    throw new Error(`GeoServer: ${method} ${path} is ${response.status} ${text.slice(0, 300)}`);
  say(`${method} ${path}: ${response.status}`);
}

async function startServer() {
  const config = join(folder, 'tilewarden.yaml');
  const login = { username, password: { env: 'GEOSERVER_PASSWORD' } };
  const follow = {
    name: 'try',
    type: 'geoserver',
    url: geoserver,
    every: 86_400,
    layers: [`${workspace}:*`],
    ...login,
  };
  writeFileSync(config, JSON.stringify({ log: { level: 'error' }, follow: [follow] }));
  const args = ['serve', '--no-auth', '--port', '0', '--data', join(folder, 'data'), '--config', config];
  const env = { ...process.env, GEOSERVER_PASSWORD: password };
  const main = join(root, 'dist/cli/main.js');
  server = await started(
    spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  for await (const line of createInterface({ input: server.stdout })) {
    const [, url] = /is ready at (\S+)\/$/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error('The server ended before it was ready.');
}

/** Repeats passes, because the first may have begun before GeoServer listed the layers. */
async function passesUntil(tilewarden, what, isThere) {
  for (let i = 0; i < 5; i++) {
    await run(tilewarden);
    if (await isThere()) return say(`ok: ${what}`);
  }
  throw new Error(`Not after five passes: ${what}`);
}

/** Runs a pass of the follower; returns the layers that it marked as changed. */
async function run(tilewarden) {
  const { entries } = await json(`${tilewarden}/api/v1/follow/try/run`, { method: 'POST' });
  return entries.filter(({ action }) => action === 'marked').map(({ layer }) => layer);
}

async function json(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`Tilewarden: ${url} is ${response.status} ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

function check(what, marked, expected) {
  const isRight = [...marked].sort().join() === [...expected].sort().join();
  if (!isRight) failures += 1;
  const list = (names) => names.join(', ') || 'nothing';
  say(
    `${isRight ? 'ok' : 'WRONG'}: ${what}: marked ${list(marked)}${isRight ? '' : `, expected ${list(expected)}`}`,
  );
}
