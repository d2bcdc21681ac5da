// Starts the built server once and uses it a little, so that later starts find its code compiled.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import sharp from 'sharp';
import { started } from '../started.mjs';
import { root } from '../steps.mjs';

/** Long enough for a busy machine. */
const TIMEOUT_MS = 120_000;

/** Returns the result of a step. */
export async function keepCompiled(dist) {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-build-'));
  const maps = createServer(drawMap).listen(0, '127.0.0.1');
  await once(maps, 'listening');
  try {
    writeFileSync(join(folder, 'tilewarden.yaml'), settings(`http://127.0.0.1:${maps.address().port}/`));
    return await useServer(await startServer(dist, folder));
  } finally {
    maps.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function drawMap({ url }, response) {
  const query = new URLSearchParams(url.toLowerCase().replace(/^.*\?/, ''));
  const noise = { type: 'gaussian', mean: 128, sigma: 30 };
  const [width, height] = ['width', 'height'].map((name) => Number(query.get(name)));
  const picture = sharp({ create: { width, height, channels: 3, noise } });
  response.setHeader('content-type', 'image/png').end(await picture.png().toBuffer());
}

const settings = (url) => `
layers:
  - name: noise
    source: { type: wms, url: '${url}', layers: noise }
    gridSets: [EPSG:900913]
`;

function startServer(dist, folder) {
  const keep = ['--require', join(root, 'scripts', 'compiled', 'keep.cjs')];
  const config = ['--config', join(folder, 'tilewarden.yaml'), '--data', join(folder, 'data')];
  const args = ['serve', '--no-auth', '--port', '0', '--processes', '2', ...config];
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('TILEWARDEN_'));
  const options = {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: Object.fromEntries(env),
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  };
  return started(spawn(process.execPath, [...keep, join(dist, 'cli', 'main.js'), ...args], options));
}

async function useServer(server) {
  const log = text(server.stderr);
  const end = once(server, 'close');
  try {
    await requestTiles(server.stdout);
    server.kill('SIGTERM');
    const [code] = await end;
    return { ok: code === 0, output: await log };
  } catch (error) {
    server.kill('SIGKILL');
    return { ok: false, output: `${await log}${error.message}` };
  }
}

async function requestTiles(output) {
  const { value } = await createInterface(output)[Symbol.asyncIterator]().next();
  if (!value) throw new Error('The server did not start.');
  const url = value.replace(/^.* /, '');
  const seedRequest = {
    type: 'seed',
    zoomStart: 0,
    zoomStop: 2,
    gridSetId: 'EPSG:900913',
    format: 'image/png',
  };
  const headers = { 'content-type': 'application/json' };
  await request(`${url}rest/seed/noise.json`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ seedRequest }),
  });
  while (!/"long-array-array": *\[\]/.test(await request(`${url}rest/seed.json`))) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await request(`${url}tiles/noise/0/0/0.png`);
  await request(`${url}tiles/noise/5/0/0.png`);
}

async function request(url, options) {
  const response = await fetch(url, options);
  const body = await response.text();
  if (!response.ok) throw new Error(`The server answered ${response.status} to ${url}: ${body}`);
  return body;
}
