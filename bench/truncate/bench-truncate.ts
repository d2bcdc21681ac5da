// Restarts of a server that has a million tiles, and truncation of their layer while another one is read. Needs wrk.
// npm run bench -- truncate [--tiles 1000000]. Needs 8 GB of disk in TMPDIR for a million tiles.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LoadResult, measureLoad, startLoad, tileNames, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { scriptArguments, spawnBeside } from '../harness/processes.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { readUsage, truncateLayer } from '../harness/request.ts';
import { contestantOf, type Server, startServer, wmsLayer } from '../harness/server.ts';

const ZOOM = 14;
/** Tiles are written in squares of this side, so a layer has a multiple of it. */
const SQUARE = 16;
const READ_SIDE = 64;
/** The readers leave most of the processors alone. */
const READERS = { connections: 2, pause: 2 };
const IDLE_SECONDS = 10;
const SMALL_LAYERS = 10;
const TRASH_POLL_MS = 20;
/** Usage is work for the server, and counts as load. */
const USAGE_POLL_MS = 1000;
const BETWEEN_TRUNCATIONS_MS = 100;
/** Readings of the last second are not trusted yet; then they are written down. */
const COUNTED_MS = 7000;

const options = readOptions({ tiles: 1_000_000 });
const side = Math.ceil(Math.sqrt(options.tiles) / SQUARE) * SQUARE;
const folder = temporaryFolder();
const data = join(folder, 'data');
const store = join(data, 'stores', 'default');
const small = (prefix: string) => Array.from({ length: SMALL_LAYERS }, (_, n) => `${prefix}-${n}`);
const [calm, busy] = [small('calm'), small('busy')];
const layers = ['large', 'read', 'background', ...calm, ...busy].map((name) => wmsLayer(name));
const config = `log: { level: warn }\nlayers:${layers.join('')}\n`;

say(`Writing ${side * side} tiles and some small layers`);
const smallSquares = [...calm, ...busy].map((name) => `${name}=${SQUARE}`);
await fill(`large=${side}`, `read=${READ_SIDE}`, ...smallSquares);
execFileSync('sync');
await measureRestarts();
await measureTruncation();
say(`load of the machine at the end: ${loadavg()[0]?.toFixed(2)}`);

async function measureRestarts(): Promise<void> {
  const first = await start('first start, nothing counted yet');
  await delay(COUNTED_MS);
  await first.server.stop();
  const second = await start('restart');
  await second.server.kill();
  const third = await start('restart after kill -9');
  await third.server.stop();
  const isSame = second.bytes === first.bytes && third.bytes === first.bytes;
  say(`  usage the same each time: ${isSame}`);
}

async function start(name: string): Promise<{ readonly server: Server; readonly bytes: number }> {
  const server = await startServer({ data, config });
  const request = performance.now();
  const { bytes } = await readUsage(server.url);
  const usageAfter = server.readyAfter + performance.now() - request;
  say(`${name}: ready after ${ms(server.readyAfter)}, usage known after ${ms(usageAfter)}: ${gib(bytes)}`);
  return { server, bytes };
}

async function measureTruncation(): Promise<void> {
  const server = await startServer({ data, config });
  const before = await readUsage(server.url);
  const tiles = writeTileList(join(folder, 'tiles.txt'), tileNames(ZOOM, READ_SIDE));
  const reader = contestantOf(server, 'a layer', tiles, 'read');
  await measureLoad(reader, { ...READERS, seconds: 3 });
  say(`Reading hits for ${IDLE_SECONDS} s`);
  const idle = await measureLoad(reader, { ...READERS, seconds: IDLE_SECONDS });

  const reading = startLoad(reader, { ...READERS, seconds: 3600 });
  const large = await truncateLarge(server);
  const during = await reading.stop();
  const calmTimes = await truncateSmall(server, calm);
  const writing = fill(`background=${SQUARE * 32}`);
  await delay(2000);
  const busyTimes = await truncateSmall(server, busy);
  await writing;
  await server.stop();
  say(`
tiles of the layer                ${side * side} of ${before.tiles}, ${gib(before.bytes)} in all
200 after                         ${ms(large.responseMs)}
sweeping counted down             ${countdown(large.sweeping)}
space freed after                 ${ms(large.freedMs)}
hits of another layer, idle       ${hits(idle)}
hits of another layer, sweeping   ${hits(during)}, p99 ${(during.p99 / idle.p99).toFixed(2)} x idle
200 for small layers, idle        ${spread(calmTimes)}
200 for small layers while a process writes tiles at full speed
                                  ${spread(busyTimes)}`);
}

/** `sweeping`: bytes that are still to be freed, until there are none. */
async function truncateLarge({ url }: Server) {
  const start = performance.now();
  const responseMs = await truncateLayer(url, 'large');
  const rest = await readUsage(url);
  if (rest.layers.some(({ name }) => name === 'large')) throw new Error('usage still contains the layer');
  const sweeping = [rest.sweeping];
  let freedMs = 0;
  while ((sweeping.at(-1) ?? 0) > 0) {
    const deadline = performance.now() + USAGE_POLL_MS;
    while (readdirSync(join(store, 'trash')).length > 0 && performance.now() < deadline)
      await delay(TRASH_POLL_MS);
    freedMs = performance.now() - start;
    sweeping.push((await readUsage(url)).sweeping);
  }
  return { responseMs, sweeping, freedMs };
}

async function truncateSmall({ url }: Server, names: readonly string[]): Promise<readonly number[]> {
  const times: number[] = [];
  for (const name of names) {
    times.push(await truncateLayer(url, name));
    await delay(BETWEEN_TRUNCATIONS_MS);
  }
  return times;
}

/** In another process. */
async function fill(...layers: readonly string[]): Promise<void> {
  const script = new URL('./fill.ts', import.meta.url);
  const args = scriptArguments(script, store, String(ZOOM), ...layers);
  const [code] = await once(await spawnBeside(process.execPath, args, { stdio: 'inherit' }), 'exit');
  if (code !== 0) throw new Error(`writing tiles ended with ${code}`);
}

function countdown(sweeping: readonly number[]): string {
  const isFalling = sweeping.every((bytes, at) => at === 0 || bytes <= (sweeping[at - 1] ?? 0));
  return `from ${gib(sweeping[0] ?? 0)} to 0 in ${sweeping.length} looks, ${isFalling ? 'never rising' : 'ROSE in between'}`;
}

function hits({ requests, p50, p99 }: LoadResult): string {
  return `median ${ms(p50)}, p99 ${ms(p99)} (${requests} requests)`;
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
