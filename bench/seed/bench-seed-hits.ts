// Cache hits while a seed runs, beside mod_mapcache while mapcache_seed runs. Needs wrk and Apache with mod_mapcache.
// npm run bench -- seed-hits [--seconds 5] [--connections 8] [--rounds 3] [--processes 2]
// Apache uses all processors; --processes is the number of Tilewarden's, by default one for each processor.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type Contestant,
  type LoadResult,
  measureLoad,
  tileNames,
  warmUp,
  writeTileList,
} from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { startApache } from '../harness/peers.ts';
import { openReplayUpstream } from '../harness/replay-upstream.ts';
import { say, sayMachine, temporaryFolder } from '../harness/report.ts';
import { startTask, untilDone } from '../harness/request.ts';
import { contestantOf, startServer, upstreamLimits, wmsLayer } from '../harness/server.ts';
import { MAPCACHE, mapCacheArguments, mapCacheConfig } from './seeders.ts';

const READ_ZOOM = 4;
const SEEDED_ZOOM = 5;
const { rounds, processes, ...load } = readOptions({
  seconds: 5,
  connections: 8,
  rounds: 3,
  processes: availableParallelism(),
});

interface Peer {
  readonly contestant: Contestant;
  seed(from: number, to: number): Promise<unknown>;
}

const folder = temporaryFolder();
const tiles = writeTileList(join(folder, 'tiles.txt'), tileNames(READ_ZOOM));
const upstream = await openReplayUpstream({ picture: 'drawn', zoom: SEEDED_ZOOM, delayMs: 0 });
const peers = [await startTilewarden(), await startMapCache()];
const results = new Map<string, LoadResult[]>();
try {
  sayMachine();
  for (const { contestant } of peers) await warmUp(contestant, load);
  for (let round = 0; round < rounds; round++) {
    for (const { contestant } of peers)
      keep(`${contestant.name} at rest`, await measureLoad(contestant, load));
    for (const peer of peers) keep(`${peer.contestant.name} while seeding`, await measureSeeding(peer));
  }
  const [ours, , oursSeeding, theirsSeeding] = [...results].map(([name, all]) => show(name, all));
  const speed = (oursSeeding?.requestsPerSecond ?? 0) / (theirsSeeding?.requestsPerSecond ?? 0);
  say(`while seeding: ${speed.toFixed(2)} × mod_mapcache (aim: at least 1)`);
  const p99 = (oursSeeding?.p99 ?? 0) / (ours?.p99 ?? 0);
  say(`p99 while seeding: ${p99.toFixed(2)} × at rest (aim: at most 2)`);
} finally {
  for (const { contestant } of peers) await contestant.stop();
  await upstream.close();
}

async function startTilewarden(): Promise<Peer> {
  const config = `
log: { level: error }
server: { processes: ${processes} }
tasks: { workers: 2 }
${upstreamLimits(upstream.url, 'concurrency: 8')}layers:${wmsLayer('bench', upstream.url)}
`;
  const server = await startServer({ data: join(folder, 'data'), config });
  const request = { name: 'bench', gridSetId: 'EPSG:900913', type: 'reseed', threadCount: 2 };
  const seed = async (zoomStart: number, zoomStop: number) =>
    untilDone(server.url, await startTask(server.url, 'bench', { ...request, zoomStart, zoomStop }), 100);
  await seed(0, READ_ZOOM);
  return { contestant: contestantOf(server, 'Tilewarden', tiles, 'bench'), seed };
}

/** Apache with mod_mapcache, and mapcache_seed on the same cache. */
async function startMapCache(): Promise<Peer> {
  const place = join(folder, 'mapcache');
  mkdirSync(place);
  const cache = mapCacheConfig(place, upstream.url, 'image/png');
  const config = join(place, 'mapcache.xml');
  writeFileSync(config, cache);
  const seed = (from: number, to: number) =>
    promisify(execFile)(MAPCACHE, mapCacheArguments(config, `${from},${to}`));
  await seed(0, READ_ZOOM);
  // Apache's own user has to read and lock it.
  for (const name of ['', 'tiles', 'tiles/tiles.sqlite3']) chmodSync(join(place, name), 0o777);
  const prefix = '/mapcache/tms/1.0.0/bench@GoogleMapsCompatible';
  return { contestant: await startApache(place, cache, { prefix, tiles }), seed };
}

/** One seed after the other, until the load ends. */
async function measureSeeding({ contestant, seed }: Peer): Promise<LoadResult> {
  let isLoaded = true;
  const seeding = (async () => {
    while (isLoaded) await seed(SEEDED_ZOOM, SEEDED_ZOOM);
  })();
  const result = await measureLoad(contestant, load);
  isLoaded = false;
  await seeding;
  return result;
}

function keep(name: string, result: LoadResult): void {
  results.set(name, [...(results.get(name) ?? []), result]);
}

function show(name: string, all: readonly LoadResult[]): LoadResult | undefined {
  const sorted = [...all].sort((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  const speeds = sorted.map(({ requestsPerSecond }) => Math.round(requestsPerSecond));
  const at = Math.floor(sorted.length / 2);
  say(
    `${name.padEnd(28)}${speeds[at]} hits/s (${speeds[0]}–${speeds.at(-1)}), p99 ${sorted[at]?.p99.toFixed(2)} ms`,
  );
  return sorted[at];
}
