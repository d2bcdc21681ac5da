/**
 * npm run test:qgis, after npm run build: QGIS without a screen loads layers from a server; then the recipe for a server in
 * front of QGIS Server is tried.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { started } from './steps.mjs';
import { report, runTests } from './test.mjs';

const folder = await mkdtemp(join(tmpdir(), 'tilewarden-qgis-'));
const password = 'a password for tests only';
const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
const args = ['serve', '--port', '0', '--data', folder, '--config', 'test/qgis/tilewarden.yaml'];
const server = await started(
  spawn(process.execPath, ['dist/cli/main.js', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TILEWARDEN_ADMIN_PASSWORD: password },
  }),
);
let status = null;
try {
  const url = await addressOf(server);
  await createOverRest(url);
  const key = await createKey(url);
  // QGIS's module works only with the Python of the system that it was built for.
  const qgis = await started(
    spawn('/usr/bin/python3', ['test/qgis/load-layers.py', url, key], {
      stdio: 'inherit',
      env: { ...process.env, QT_QPA_PLATFORM: 'offscreen', HOME: folder },
    }),
  );
  [status] = await once(qgis, 'exit');
} finally {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
}
if (status !== 0) process.exit(status ?? 1);
report(await runTests('qgis', ['test/qgis/'], { TEST_QGIS: 'yes' }), { requireAll: true });

/** A reader key for the layer that is not public. */
async function createKey(url) {
  const answer = await fetch(`${url}/api/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ name: 'qgis', layers: ['closed'] }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).key;
}

/** Declares a layer in GeoWebCache's format, with the server's own WMS as its source. */
async function createOverRest(url) {
  const answer = await fetch(`${url}/rest/layers/made:over%20rest.xml`, {
    method: 'PUT',
    headers: { 'content-type': 'text/xml', authorization },
    body: `<wmsLayer><name>made:over rest</name><mimeFormats><string>image/png</string></mimeFormats>
      <gridSubsets><gridSubset><gridSetName>EPSG:4326</gridSetName></gridSubset></gridSubsets>
      <wmsUrl><string>${url}/service/wms</string></wmsUrl><wmsLayers>world</wmsLayers></wmsLayer>`,
  });
  if (!answer.ok) throw new Error(await answer.text());
}

async function addressOf({ stdout }) {
  for await (const line of createInterface({ input: stdout })) {
    const [, url] = /ready at (http\S+?)\/?$/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error('The server did not start.');
}
