// Cache hits beside nginx, mod_mapcache and bare node:http with the same tiles. Needs wrk and nginx.
// nginx has one process, mod_mapcache threads on every core. Hits from the store are compared with mod_mapcache.
// npm run bench -- hits [--zoom 5] [--bytes 2300] [--seconds 5] [--rounds 3] [--connections 32,512] [--processes 2,4]
// The 256 tiles of the zoom whose size is nearest to --bytes are requested.
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { say, temporaryFolder } from '../harness/report.ts';
import { startBareNode } from './bare-node-server.ts';
import { hasMapCache, startMapCache } from './mapcache-server.ts';
import {
  type Contestant,
  copyTiles,
  type Load,
  measureLoad,
  programPath,
  systemCallsPerRequest,
} from './measure-hits.ts';
import { startNginx } from './nginx-server.ts';
import { startTilewarden } from './tilewarden-server.ts';

const { values } = parseArgs({
  options: {
    zoom: { type: 'string', default: '5' },
    bytes: { type: 'string', default: '2300' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32,512' },
    processes: { type: 'string', default: '2' },
  },
});
const zoom = Number(values.zoom);
const rounds = Number(values.rounds);
const processes = values.processes.split(',').map(Number);
const wanted = Number(values.bytes);
const seconds = Number(values.seconds);
const TILES = 256;

const missing = ['wrk', 'nginx'].filter((program) => programPath(program) === null);
if (missing.length > 0) {
  say(`Not measured: ${missing.join(' and ')} must be installed (Debian: apt-get install wrk nginx-light).`);
  process.exit(1);
}

const folder = temporaryFolder();
const running: Contestant[] = [];
try {
  const fromMemory = await startTilewarden('Tilewarden, from memory', join(folder, 'data'), '256 MiB');
  running.push(fromMemory);
  const www = join(folder, 'www');
  const data = join(folder, 'data');
  const tiles = join(folder, 'tiles.txt');
  const copied = await copyTiles(fromMemory, zoom, www);
  const chosen = copied
    .sort((a, b) => Math.abs(a.bytes - wanted) - Math.abs(b.bytes - wanted))
    .slice(0, TILES);
  writeFileSync(tiles, chosen.map(({ name }) => `${name}\n`).join(''));
  const headers = await headersOf(`${fromMemory.url}/tiles/world/${chosen[0]?.name}`);
  await fromMemory.stop();
  const bytes = chosen.reduce((sum, tile) => sum + tile.bytes, 0) / chosen.length;
  say(`${chosen.length} tiles of ${Math.round(bytes)} bytes, best of ${rounds} rounds of ${seconds} s`);
  const loads = values.connections
    .split(',')
    .map((connections): Load => ({ seconds, connections: Number(connections), zoom, tiles }));
  const nginx = await startNginx('nginx', www, folder);
  running.push(nginx);
  const mapCache = hasMapCache() ? [await startMapCache('mod_mapcache', www, folder)] : [];
  const others = [
    await startBareNode('bare node:http, two headers', www, ['Content-Type', 'image/png']),
    await startBareNode('bare node:http, our headers', www, headers),
    ...mapCache,
  ];
  running.push(...others);
  await competeWith(nginx, others, [1, ...processes], '256 MiB');
  const [reference = nginx] = mapCache;
  await competeWith(reference, [], [1, ...processes], '0');

  /** Servers on one data folder run one after the other, so each has a copy. */
  async function competeWith(
    reference: Contestant,
    beside: readonly Contestant[],
    counts: readonly number[],
    memoryTier: string,
  ): Promise<void> {
    const ours: Contestant[] = [];
    for (const count of counts) {
      const copy = mkdtempSync(join(folder, 'data-'));
      cpSync(data, copy, { recursive: true });
      const from = memoryTier === '0' ? 'from the store' : 'from memory';
      const name = `Tilewarden, ${from}${count === 1 ? '' : `, ${count} processes`}`;
      const server = await startTilewarden(name, copy, memoryTier, count);
      running.push(server);
      ours.push(server);
    }
    for (const load of loads) await compete([reference, ...beside, ...ours], load);
    for (const server of ours) await server.stop();
  }
} finally {
  for (const contestant of running) await contestant.stop();
}

/** In turns, so that whatever else the machine does hits both; the best round of each is the one least disturbed. */
async function compete(contestants: readonly Contestant[], load: Load): Promise<void> {
  say(`\n${load.connections} connections`);
  const results = contestants.map(() => ({
    requestsPerSecond: 0,
    microsecondsEach: Number.POSITIVE_INFINITY,
    p99: Number.POSITIVE_INFINITY,
  }));
  // The first round fills memories and lets what is compiled at run time be compiled; it does not count.
  for (const contestant of contestants) await measureLoad(contestant, { ...load, seconds: 2 });
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      const { requestsPerSecond, microsecondsEach, p99 } = await measureLoad(contestant, load);
      const best = results[i];
      if (!best) continue;
      best.requestsPerSecond = Math.max(best.requestsPerSecond, requestsPerSecond);
      best.microsecondsEach = Math.min(best.microsecondsEach, microsecondsEach);
      best.p99 = Math.min(best.p99, p99);
    }
  }
  const [reference] = results;
  for (const [i, contestant] of contestants.entries()) {
    const result = results[i];
    if (!result || !reference) continue;
    const calls = await systemCallsPerRequest(contestant, load);
    say(
      `${contestant.name.padEnd(40)} ${String(Math.round(result.requestsPerSecond)).padStart(7)} requests/s` +
        `  ${(result.requestsPerSecond / reference.requestsPerSecond).toFixed(2)} of ${contestants[0]?.name}` +
        `  ${result.microsecondsEach.toFixed(0).padStart(4)} µs of processor each` +
        `  p99 ${result.p99.toFixed(1)} ms` +
        `  ${calls === null ? 'system calls not counted' : `${calls.toFixed(1)} system calls each`}`,
    );
  }
}

/** As they came, names and values in turn, but for those that `node:http` adds by itself. */
async function headersOf(url: string): Promise<readonly string[]> {
  const { headers } = await fetch(url);
  const own = ['content-length', 'date', 'connection', 'keep-alive'];
  return [...headers].filter(([name]) => !own.includes(name)).flat();
}
