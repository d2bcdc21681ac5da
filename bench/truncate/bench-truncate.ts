// Restarts of a server that has a million tiles, and truncation of their layer while another one is read.
// npm run bench -- truncate [--tiles 1000000] [--folder DIR] [--restart-only]. 8 GB of disk with a million tiles.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import type { Latencies } from './read-hits.ts';
import { startReaderProcess } from './reader-process.ts';

const { values } = parseArgs({
  options: {
    tiles: { type: 'string', default: '1000000' },
    folder: { type: 'string', default: tmpdir() },
    'restart-only': { type: 'boolean', default: false },
  },
});

const ZOOM = 14;
/** Tiles are written in squares of this side, so a layer has a multiple of it. */
const SQUARE = 16;
const OTHER_SIDE = 64;
const IDLE_SECONDS = 10;
const SMALL_LAYERS = 10;
/** Milliseconds between looks at the trash, and at the usage: that makes work for the server, and counts as load. */
const POLL = 20;
const LOOK = 1000;
/** Milliseconds between two truncations. */
const BETWEEN = 100;
const side = Math.ceil(Math.sqrt(Number(values.tiles)) / SQUARE) * SQUARE;
const folder = temporaryFolder(values.folder);
const data = join(folder, 'data');
const store = join(data, 'stores', 'default');
const small = (prefix: string) => Array.from({ length: SMALL_LAYERS }, (_, n) => `${prefix}-${n}`);
const [calm, busy] = [small('calm'), small('busy')];
const configuration = `log: { level: warn }\nlayers:${['doomed', 'other', 'meanwhile', ...calm, ...busy].map(layer).join('')}\n`;

say(`Writing ${side * side} tiles and some small layers`);
const smallOnes = [...calm, ...busy].map((name) => `${name}=${SQUARE}`);
await fill(store, `doomed=${side}`, `other=${OTHER_SIDE}`, ...smallOnes);
execFileSync('sync');
await measureRestarts();
if (!values['restart-only']) await measureTruncation();
say(`load of the machine at the end: ${loadavg()[0]?.toFixed(2)}`);

async function measureRestarts(): Promise<void> {
  const first = await startAndAsk('first start, nothing counted yet');
  // What was read lately is not believed until a second has passed; then it is written down.
  await delay(7000);
  await first.server.stop();
  const second = await startAndAsk('restart');
  await second.server.kill();
  const third = await startAndAsk('restart after kill -9');
  await third.server.stop();
  const same = [second, third].every(({ bytes }) => bytes === first.bytes);
  say(`  usage the same each time: ${same}`);
}

async function startAndAsk(
  name: string,
): Promise<{ readonly server: ServerProcess; readonly bytes: number }> {
  const server = await startServerProcess(data, configuration);
  const asked = performance.now();
  const { bytes } = await usage(server.url);
  const known = server.readyAfter + performance.now() - asked;
  say(
    `${name}: ready after ${ms(server.readyAfter)}, usage known after ${ms(known)}: ${(bytes / 1024 ** 3).toFixed(2)} GiB`,
  );
  return { server, bytes };
}

async function measureTruncation(): Promise<void> {
  const server = await startServerProcess(data, configuration);
  const before = await usage(server.url);
  const reader = startReaderProcess({ url: server.url, layer: 'other', zoom: ZOOM, side: OTHER_SIDE });
  await delay(3000);
  await reader.latencies();
  say(`Reading hits for ${IDLE_SECONDS} s`);
  await delay(IDLE_SECONDS * 1000);
  const idle = await reader.latencies();

  const begun = performance.now();
  const answeredAfter = await truncate(server, 'doomed');
  const left = await usage(server.url);
  if (left.layers.some(({ name }) => name === 'doomed')) throw new Error('usage still knows the layer');
  const sweeping = [left.sweeping];
  let freedAfter = 0;
  while ((sweeping.at(-1) ?? 0) > 0) {
    freedAfter = await emptied(join(store, 'trash'), begun, LOOK);
    sweeping.push((await usage(server.url)).sweeping);
  }
  const during = await reader.latencies();
  const calmResponses = await truncateAll(server, calm);
  const writing = fill(store, `meanwhile=${SQUARE * 32}`);
  await delay(2000);
  const busyResponses = await truncateAll(server, busy);
  await writing;
  await reader.stop();
  await server.stop();
  say(`
tiles of the layer                ${side * side} of ${before.tiles}, ${gib(before.bytes)} in all
200 after                         ${ms(answeredAfter)}
sweeping counted down             ${countedDown(sweeping)}
space freed after                 ${ms(freedAfter)}
hits of another layer, idle       ${hits(idle)}
hits of another layer, meanwhile  ${hits(during)}, p99 ${(during.p99 / idle.p99).toFixed(2)} x idle
200 for small layers, idle        ${spread(calmResponses)}
200 for small layers while a process writes tiles at full speed
                                  ${spread(busyResponses)}`);
}

async function truncateAll(server: ServerProcess, layers: readonly string[]): Promise<readonly number[]> {
  const times: number[] = [];
  for (const name of layers) {
    times.push(await truncate(server, name));
    await delay(BETWEEN);
  }
  return times;
}

/** Waits until nothing lies in the folder, `atMost` milliseconds; answers how long that was since `begun`. */
async function emptied(trash: string, begun: number, atMost: number): Promise<number> {
  const deadline = performance.now() + atMost;
  while (readdirSync(trash).length > 0 && performance.now() < deadline) await delay(POLL);
  return performance.now() - begun;
}

/** Milliseconds until the answer. */
async function truncate({ url }: ServerProcess, name: string): Promise<number> {
  const body = `<truncateLayer><layerName>${name}</layerName></truncateLayer>`;
  const headers = { 'content-type': 'text/xml' };
  const begun = performance.now();
  const response = await fetch(`${url}/masstruncate`, { method: 'POST', headers, body });
  const time = performance.now() - begun;
  if (response.status !== 200) throw new Error(await response.text());
  return time;
}

async function fill(...args: readonly string[]): Promise<void> {
  const script = fileURLToPath(new URL('./fill.ts', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const endWithUs = () => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const [code] = (await once(child, 'exit')) as [number | null];
  process.off('exit', endWithUs);
  if (code !== 0) throw new Error(`writing tiles ended with ${code}`);
}

interface Usage {
  readonly bytes: number;
  readonly tiles: number;
  readonly sweeping: number;
  readonly layers: readonly { readonly name: string }[];
}

async function usage(url: string): Promise<Usage> {
  return (await (await fetch(`${url}/api/v1/usage`)).json()) as Usage;
}

function layer(name: string): string {
  const source = `{ type: wms, url: 'http://127.0.0.1:9/wms', layers: none }`;
  return `\n  - { name: ${name}, source: ${source}, formats: [image/png], gridSets: [EPSG:900913] }`;
}

function countedDown(sweeping: readonly number[]): string {
  const falls = sweeping.every((bytes, at) => at === 0 || bytes <= (sweeping[at - 1] ?? 0));
  return `from ${gib(sweeping[0] ?? 0)} to 0 in ${sweeping.length} looks, ${falls ? 'never rising' : 'ROSE in between'}`;
}

function hits({ requests, median, p99 }: Latencies): string {
  return `median ${ms(median)}, p99 ${ms(p99)} (${requests} requests)`;
}

function spread(times: readonly number[]): string {
  return `median ${ms(quantile(times))}, slowest ${ms(quantile(times, 1))} of ${times.length}`;
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}
