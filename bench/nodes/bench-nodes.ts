// Several nodes on one PostgreSQL and S3: seeding by 1, 2 and 4 workers, hits, truncation of 100,000 packs. Needs wrk and Ceph.
// npm run bench -- nodes [--seconds 10] [--rounds 3] [--packs 100000]. The map server takes 200 ms; workers have two threads.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import sharp from 'sharp';
import { openTestPostgres } from '../../test/fixtures/postgres.ts';
import { openTestS3 } from '../../test/fixtures/s3.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, PROJECT, type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { type Contestant, measureLoad, processorSeconds } from '../hits/measure-hits.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    packs: { type: 'string', default: '100000' },
  },
});
const [SECONDS, ROUNDS, PACKS] = [Number(values.seconds), Number(values.rounds), Number(values.packs)];
const THREADS = 2;
const SEEDED_ZOOM = 8;
const READ_ZOOM = 3;

const folder = temporaryFolder();
const upstream = await openSlowUpstream();
const postgres = await openTestPostgres();
const s3 = await openTestS3();
const store = { type: 's3', pathStyle: true, ...JSON.parse(s3.address) };
const running: { stop(): Promise<void> }[] = [];

/** A map server that takes 200 ms for the same picture, whatever is asked. */
async function openSlowUpstream() {
  const land = (at: number) => (((at % 1024) >> 6) ^ (at >> 16)) % 5;
  const pixels = Buffer.from(Array.from({ length: 1024 ** 2 }, (_, at) => 40 * land(at)));
  const raw = { width: 1024, height: 1024, channels: 1 as const };
  const picture = await sharp(pixels, { raw }).toColourspace('srgb').png().toBuffer();
  let requests = 0;
  const server = createServer((_, answer) => {
    requests++;
    setTimeout(() => answer.writeHead(200, { 'content-type': 'image/png' }).end(picture), 200);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/wms`,
    get requests() {
      return requests;
    },
    close: () => void server.close().closeAllConnections(),
  };
}

function configOf(stores: object, more: string): string {
  return `
log: { level: error }
stores: ${JSON.stringify({ default: stores })}
upstreams: { '${new URL(upstream.url).host}': { concurrency: 64, adaptive: false, allowPrivate: true } }
layers:
  - { name: bench, source: { type: wms, url: '${upstream.url}', layers: a }, formats: [image/png], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }
${more}`;
}

const onShared = (more: string) => configOf(store, `database: ${postgres.address}\n${more}`);

async function serve(name: string, configuration: string): Promise<ServerProcess> {
  const data = join(folder, name, 'data');
  mkdirSync(join(folder, name), { recursive: true });
  const server = await startServerProcess(data, configuration);
  running.push(server);
  return server;
}

/** A process that performs tasks, with `THREADS` concurrent metatiles. */
async function work(name: string): Promise<ChildProcess> {
  mkdirSync(join(folder, name), { recursive: true });
  const config = join(folder, name, 'tilewarden.yaml');
  writeFileSync(config, onShared(`tasks: { workers: 1, maxThreads: ${THREADS} }`));
  const flags = ['worker', '--node', name, '--data', join(folder, name, 'data'), '--config', config];
  const worker = spawn(process.execPath, [...FROM_BUILD, ...flags], {
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.push({ stop: () => end(worker) });
  for await (const line of createInterface({ input: worker.stdout })) if (line.includes('is ready')) break;
  return worker;
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGTERM');
  await ended;
}

async function post(url: string, contentType: string, body: string): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': contentType }, body });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer;
}

/** Metatiles a second, counted at the map server, once all workers are at work. */
async function seedingSpeed(server: ServerProcess, workers: number): Promise<number> {
  const seed = { type: 'reseed', gridSetId: 'EPSG:900913', zoomStart: SEEDED_ZOOM, zoomStop: SEEDED_ZOOM };
  const body = JSON.stringify({ seedRequest: { name: 'bench', ...seed, threadCount: workers * THREADS } });
  await post(`${server.url}/rest/seed/bench.json`, 'application/json', body);
  const asked = upstream.requests;
  while (upstream.requests - asked < workers * THREADS * 5) await pause(100);
  const [before, begun] = [upstream.requests, performance.now()];
  await pause(SECONDS * 1000);
  const speed = (upstream.requests - before) / ((performance.now() - begun) / 1000);
  await post(`${server.url}/rest/seed`, 'application/x-www-form-urlencoded', 'kill_all=all');
  return speed;
}

async function compareSeeding(server: ServerProcess): Promise<void> {
  let alone = 0;
  const hands: ChildProcess[] = [];
  for (const workers of [1, 2, 4]) {
    while (hands.length < workers) hands.push(await work(`worker-${hands.length + 1}`));
    const speed = await seedingSpeed(server, workers);
    alone ||= speed;
    const share = speed / (alone * workers);
    const most = (workers * THREADS * 1000) / 200;
    say(
      `seeding by ${workers}: ${speed.toFixed(1)} metatiles/s of at most ${most}; ${share.toFixed(2)} of linear`,
    );
  }
  for (const hand of hands) await end(hand);
}

/** Not those of truncated layers, which are being removed. */
const STORED =
  'select tile_set, detail from packs join tile_sets on tile_sets.id = tile_set where dropped_at is null';

/** Rows beside those that a seed has left; their objects are not there. */
async function fill(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`${STORED} limit 1`);
  const width = Math.ceil(Math.sqrt(PACKS));
  await client.query(
    `insert into packs (tile_set, z, band, x, y, detail)
     select $1, 14, (n / $2) >> 5, n % $2, n / $2, $3 from generate_series(0, ($4)::int - 1) n`,
    [rows[0].tile_set, width, rows[0].detail, PACKS],
  );
  await client.query(
    `insert into pack_pages (tile_set, z, band, x, y, tiles, bytes, written_at, changed, renewed)
     select $1, 14, (y >> 2) >> 3, x >> 2, y >> 2, count(*) * 16, count(*) * 16000, 1, 1, 0
     from packs where tile_set = $1 and z = 14 group by x >> 2, y >> 2`,
    [rows[0].tile_set],
  );
}

async function measureTruncation(server: ServerProcess): Promise<void> {
  const client = new pg.Client(postgres.address);
  await client.connect();
  for (let round = 0; round < ROUNDS; round++) {
    await fetch(`${server.url}/tiles/bench/EPSG:900913/5/0/0.png`);
    while ((await client.query(STORED)).rowCount === 0) await pause(50);
    await fill(client);
    const begun = performance.now();
    await post(
      `${server.url}/masstruncate`,
      'text/xml',
      '<truncateLayer><layerName>bench</layerName></truncateLayer>',
    );
    say(`a layer of ${PACKS} packs: truncated by HTTP in ${(performance.now() - begun).toFixed(0)} ms`);
  }
  await client.end();
}

function contestant(name: string, { url, pid, stop }: ServerProcess): Contestant {
  return { name, url, prefix: '/tiles/bench/EPSG:900913', pids: () => [pid], stop };
}

/** The first look at the bucket comes ten seconds after a start, and has the client of S3 loaded and compiled. */
const IDLE_MS = 12_000;

/** Both are restarted in each round: how the same code is compiled differs from process to process by some percent. */
async function compareHits(idle: string): Promise<void> {
  const load = { seconds: Math.ceil(SECONDS / 3), connections: 8, zoom: READ_ZOOM };
  const all: Record<string, number[]> = { s3: [], bundles: [] };
  const alone: Record<string, number[]> = { s3: [], bundles: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const both = [
      contestant('s3', await serve('second', onShared(idle))),
      contestant('bundles', await serve('alone', configOf({ type: 'bundle' }, idle))),
    ];
    for (const one of both) await measureLoad(one, { ...load, seconds: 4 });
    await pause(IDLE_MS);
    const before = both.map(({ pids }) => processorSeconds(pids()));
    await pause(IDLE_MS);
    for (const [at, one] of both.entries()) {
      const idling = (processorSeconds(one.pids()) - (before[at] ?? 0)) / (IDLE_MS / 1000);
      const { microsecondsEach, requestsPerSecond } = await measureLoad(one, load);
      all[one.name]?.push(microsecondsEach);
      alone[one.name]?.push(microsecondsEach - (1e6 * idling) / requestsPerSecond);
    }
    for (const one of both) await one.stop();
  }
  sayHits('a hit from memory', all);
  sayHits('the same without what each uses when idle', alone);
}

function sayHits(what: string, { s3: far = [], bundles: near = [] }: Record<string, number[]>): void {
  const middle = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const ratio = (middle(far) / middle(near)).toFixed(3);
  say(
    `${what}: ${middle(far).toFixed(1)} µs of processor with s3, ${middle(near).toFixed(1)} with bundles; ${ratio}`,
  );
}

try {
  const idle = 'tasks: { workers: 0 }';
  const first = await serve('first', onShared(idle));
  await compareSeeding(first);
  await compareHits(idle);
  await measureTruncation(first);
} finally {
  for (const one of running) await one.stop();
  upstream.close();
  await s3.close();
  await postgres.close();
}
