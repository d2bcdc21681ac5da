// Several nodes on one PostgreSQL and S3: seeding by 1, 2 and 4 workers, hits, truncation of 100,000 packs. Needs wrk and Ceph.
// npm run bench -- nodes [--seconds 10] [--rounds 3] [--packs 100000]. The map server takes 200 ms; workers have two threads.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openTestPostgres } from '../../test/fixtures/databases.ts';
import { openTestS3 } from '../../test/fixtures/object-stores.ts';
import { measureLoad, tileNames, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { processorSeconds } from '../harness/processes.ts';
import { openReplayUpstream } from '../harness/replay-upstream.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { startTask, stopTasks, truncateLayer } from '../harness/request.ts';
import { contestantOf, type Server, startServer, upstreamLimits, wmsLayer } from '../harness/server.ts';

const { seconds, rounds, packs } = readOptions({ seconds: 10, rounds: 3, packs: 100_000 });
const UPSTREAM_MS = 200;
const THREADS = 2;
const SEEDED_ZOOM = 8;
const READ_ZOOM = 3;
const NO_WORKERS = 'tasks: { workers: 0 }';
/** The bucket is first checked ten seconds after a start, which loads and compiles the client of S3. */
const IDLE_MS = 12_000;
/** Without those of truncated layers, which are being removed. */
const STORED =
  'select tile_set, detail from packs join tile_sets on tile_sets.id = tile_set where dropped_at is null';

const folder = temporaryFolder();
const tiles = writeTileList(join(folder, 'tiles.txt'), tileNames(READ_ZOOM));
const upstream = await openReplayUpstream({ delayMs: UPSTREAM_MS });
const postgres = await openTestPostgres();
const s3 = await openTestS3();
const running: Server[] = [];
try {
  const first = await serve('first', sharedConfig(NO_WORKERS));
  await compareSeeding(first);
  await compareHits();
  await measureTruncation(first);
} finally {
  for (const server of running) await server.stop();
  await upstream.close();
  await s3.close();
  await postgres.close();
}

function configOf(store: object, settings: string): string {
  const limits = upstreamLimits(upstream.url, 'concurrency: 64, adaptive: false');
  const stores = `stores: ${JSON.stringify({ default: store })}\n`;
  return `log: { level: error }\n${stores}${limits}layers:${wmsLayer('bench', upstream.url)}\n${settings}`;
}

function sharedConfig(settings: string): string {
  const store = { type: 's3', pathStyle: true, ...JSON.parse(s3.address) };
  return configOf(store, `database: ${postgres.address}\n${settings}`);
}

async function serve(name: string, config: string): Promise<Server> {
  const server = await startServer({ data: join(folder, name, 'data'), config });
  running.push(server);
  return server;
}

/** A process that performs tasks, with `THREADS` concurrent metatiles. */
async function startWorker(name: string): Promise<Server> {
  const worker = await startServer({
    data: join(folder, name, 'data'),
    config: sharedConfig(`tasks: { workers: 1, maxThreads: ${THREADS} }`),
    command: 'worker',
    flags: ['--node', name],
  });
  running.push(worker);
  return worker;
}

/** Metatiles a second, counted at the map server, after all workers have begun. */
async function seedingSpeed({ url }: Server, workers: number): Promise<number> {
  const threadCount = workers * THREADS;
  const zooms = { zoomStart: SEEDED_ZOOM, zoomStop: SEEDED_ZOOM };
  const requests = async () => (await upstream.figures()).requests;
  const earlier = await requests();
  await startTask(url, 'bench', {
    name: 'bench',
    type: 'reseed',
    gridSetId: 'EPSG:900913',
    ...zooms,
    threadCount,
  });
  while ((await requests()) - earlier < threadCount * 5) await delay(100);
  const [before, start] = [await requests(), performance.now()];
  await delay(seconds * 1000);
  const speed = ((await requests()) - before) / ((performance.now() - start) / 1000);
  await stopTasks(url);
  return speed;
}

async function compareSeeding(server: Server): Promise<void> {
  let alone = 0;
  const workers: Server[] = [];
  for (const count of [1, 2, 4]) {
    while (workers.length < count) workers.push(await startWorker(`worker-${workers.length + 1}`));
    const speed = await seedingSpeed(server, count);
    alone ||= speed;
    const share = speed / (alone * count);
    const max = (count * THREADS * 1000) / UPSTREAM_MS;
    say(
      `seeding by ${count}: ${speed.toFixed(1)} metatiles/s of at most ${max}; ${share.toFixed(2)} of linear`,
    );
  }
  for (const worker of workers) await worker.stop();
}

/** Rows without objects, beside those of a tile. */
async function fill(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`${STORED} limit 1`);
  const width = Math.ceil(Math.sqrt(packs));
  await client.query(
    `insert into packs (tile_set, z, band, x, y, tiles, bytes, detail)
     select $1, 14, (n / $2) >> 5, n % $2, n / $2, 16, 16000, $3 from generate_series(0, ($4)::int - 1) n`,
    [rows[0].tile_set, width, rows[0].detail, packs],
  );
  await client.query(
    `insert into pages (tile_set, z, band, x, y, tiles, bytes, written_at, touched_at, renewed)
     select $1, 14, (y >> 1) >> 4, x >> 1, y >> 1, count(*) * 16, count(*) * 16000, 1, 1, 0
     from packs where tile_set = $1 and z = 14 group by x >> 1, y >> 1`,
    [rows[0].tile_set],
  );
}

async function measureTruncation({ url }: Server): Promise<void> {
  const client = new pg.Client(postgres.address);
  await client.connect();
  for (let round = 0; round < rounds; round++) {
    await fetch(`${url}/tiles/bench/EPSG:900913/5/0/0.png`);
    while ((await client.query(STORED)).rowCount === 0) await delay(50);
    await fill(client);
    const ms = await truncateLayer(url, 'bench');
    say(`a layer of ${packs} packs: truncated by HTTP in ${ms.toFixed(0)} ms`);
  }
  await client.end();
}

/** Both are restarted in each round: processes with the same code differ by some percent, as it is compiled differently. */
async function compareHits(): Promise<void> {
  const load = { seconds: Math.ceil(seconds / 3), connections: 8 };
  const all: number[][] = [[], []];
  const net: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const both = [
      await serve('second', sharedConfig(NO_WORKERS)),
      await serve('alone', configOf({ type: 'bundle' }, NO_WORKERS)),
    ].map((server) => contestantOf(server, 'a node', tiles, 'bench/EPSG:900913'));
    for (const contestant of both) await measureLoad(contestant, { ...load, seconds: 4 });
    await delay(IDLE_MS);
    const before = both.map(({ pids }) => processorSeconds(pids()));
    await delay(IDLE_MS);
    for (const [at, contestant] of both.entries()) {
      const idle = (processorSeconds(contestant.pids()) - (before[at] ?? 0)) / (IDLE_MS / 1000);
      const { microsecondsEach, requestsPerSecond } = await measureLoad(contestant, load);
      all[at]?.push(microsecondsEach);
      net[at]?.push(microsecondsEach - (1e6 * idle) / requestsPerSecond);
    }
    for (const contestant of both) await contestant.stop();
  }
  sayHits('a hit from memory', all);
  sayHits('the same without the use of each when idle', net);
}

function sayHits(name: string, [s3Times = [], bundleTimes = []]: readonly number[][]): void {
  const [far, near] = [quantile(s3Times), quantile(bundleTimes)];
  say(
    `${name}: ${far.toFixed(1)} µs of processor with s3, ${near.toFixed(1)} with bundles; ${(far / near).toFixed(3)}`,
  );
}
