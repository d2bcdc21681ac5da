// Hits and the time until an edit is visible, while 10,000 changes a minute are applied; beside idle and a control load. Needs wrk.
// npm run bench -- changes [--feed webhook|postgres] [--processes 1] [--rounds 5]
// The control is the same load without tiles: a repeated event, which changes nothing, or rows in a table without a feed. So its
// ratio to idle is the share of sender, HTTP and database in the use of the cores. Idle, control and changes alternate, two seconds each.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { openTestPostgres } from '../../test/fixtures/databases.ts';
import { type LoadResult, measureLoad, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { request } from '../harness/request.ts';
import { contestantOf, SERVE_FLAGS, startServer } from '../harness/server.ts';
import { CHANGES, insertRow, SECRET } from './send-changes.ts';

const { feed, processes, rounds } = readOptions({ feed: 'webhook', processes: 1, rounds: 5 });
/** About 200 requests a second on each connection, so that the cores are not full of them. */
const LOAD = { seconds: 2, connections: 3, pause: 4 };
const SIDE = 8;
const PROBES = 6;
const PHASES = ['idle', 'control', 'changes'] as const;
type Phase = (typeof PHASES)[number];
const eachPhase = <Value>(of: (phase: Phase) => Value) => ({
  idle: of('idle'),
  control: of('control'),
  changes: of('changes'),
});

const hits = eachPhase((): LoadResult[] => []);
const longestTurnMs = eachPhase((): number[] => []);
const freshMs = eachPhase((): number[] => []);
const acceptMs: number[] = [];
let processorMs = 0;

const folder = temporaryFolder();
const postgres = feed === 'postgres' ? await openTestPostgres() : null;
const database = postgres && new pg.Client({ connectionString: postgres.address });
await database?.connect();
for (const table of [CHANGES, `${CHANGES}_control`])
  await database?.query(
    `create table ${table} (id bigint generated always as identity primary key, at timestamptz default now(), layer text, minx float8, miny float8, maxx float8, maxy float8, srid int)`,
  );
const source = postgres
  ? `{ name: edits, type: postgres, url: '${postgres.address}', table: ${CHANGES}, layers: [world] }`
  : `{ name: hook, type: webhook, secret: '${SECRET}', layers: [world] }`;
const layer = '{ name: world, source: { type: world }, gridSets: [EPSG:900913, EPSG:4326] }';
const server = await startServer({
  data: join(folder, 'data'),
  config: `log: { level: warn }\nlayers: [${layer}]\nchanges: [${source}]\n`,
  flags: [...SERVE_FLAGS, '--processes', String(processes)],
  metered: true,
});
try {
  const names = Array.from(
    { length: SIDE ** 2 },
    (_, at) => `7/${60 + (at % SIDE)}/${100 + Math.floor(at / SIDE)}.png`,
  );
  const contestant = contestantOf(server, 'world', writeTileList(join(folder, 'tiles.txt'), names));
  for (const name of names) await request(`${server.url}/tiles/world/${name}`);
  await measureLoad(contestant, LOAD);
  for (let round = 0; round < rounds; round++)
    for (const phase of PHASES) await measure(phase, () => measureLoad(contestant, LOAD));
  report();
} finally {
  await server.stop();
  await database?.end();
  await postgres?.close();
}

async function measure(phase: Phase, load: () => Promise<LoadResult>): Promise<void> {
  const workerData = { server: server.url, database: postgres?.address ?? null, phase };
  const script = new URL('./send-changes.ts', import.meta.url);
  const sender = phase === 'idle' ? null : new Worker(script, { workerData });
  await delay(500);
  const before = await server.turns();
  hits[phase].push(await load());
  const after = await server.turns();
  longestTurnMs[phase].push(after.longest.processor);
  if (phase === 'changes') processorMs += after.processor - before.processor;
  if (database) freshMs[phase].push(...(await measureEdits(database)));
  if (!sender) return;
  sender.postMessage('stop');
  const [times] = (await once(sender, 'message')) as [number[]];
  if (phase === 'changes') acceptMs.push(...times);
  // The server still works on the last changes.
  await delay(1000);
}

/** Milliseconds from commits of edits until the tile of each is new. */
async function measureEdits(client: pg.Client): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < PROBES; n++) {
    const isHit = async () => {
      const response = await request(`${server.url}/tiles/world/9/${267 + n}/179.png`);
      await response.arrayBuffer();
      return response.headers.get('x-cache') === 'HIT';
    };
    while (!(await isHit()));
    const start = performance.now();
    await client.query(insertRow(CHANGES, '7, 47, 14, 47.2'));
    while (await isHit()) await delay(5);
    times.push(performance.now() - start);
  }
  return times;
}

function report(): void {
  const rounded = (figure: number) => Number(figure.toFixed(2));
  const summary = (times: readonly number[]) => ({
    count: times.length,
    p50: rounded(quantile(times)),
    p95: rounded(quantile(times, 0.95)),
    p99: rounded(quantile(times, 0.99)),
  });
  // Medians of the rounds.
  const median = (phase: Phase, figure: 'requests' | 'p50' | 'p99') =>
    rounded(quantile(hits[phase].map((result) => result[figure])));
  const [idle, control, changes] = PHASES.map((phase) => median(phase, 'p99')) as [number, number, number];
  const figures = {
    feed,
    processes,
    hits: eachPhase((phase) => ({
      requests: median(phase, 'requests'),
      p50: median(phase, 'p50'),
      p99: median(phase, 'p99'),
    })),
    p99: {
      controlToIdle: rounded(control / idle),
      changesToControl: rounded(changes / control),
      changesToIdle: rounded(changes / idle),
    },
    longestTurnMs: eachPhase((phase) => Math.max(...longestTurnMs[phase])),
    processorMsPerSecond: Math.round(processorMs / rounds / LOAD.seconds),
    [database ? 'insertedMs' : 'acceptedMs']: summary(acceptMs),
    ...(database && { untilFreshMs: eachPhase((phase) => summary(freshMs[phase])) }),
  };
  say(JSON.stringify(figures, null, 1));
}
