// Hits and the time until an edit is seen, while 10,000 changes a minute are applied; beside idle and a control load.
// npm run bench -- changes [webhook|postgres] [processes] [rounds]
// The control is the same load without tiles: a repeated event, which changes nothing, or rows in a table without a feed. So its
// ratio to idle is the share of sender, HTTP and database in the use of the cores. Idle, control and changes alternate, two seconds each.
// PROFILE=folder writes a profile of the server there.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { openTestPostgres } from '../../test/fixtures/postgres.ts';
import { quantile, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, startServerProcess } from '../harness/server-process.ts';
import { ask, CHANGES, SECRET } from './send-changes.ts';

const SECONDS = 2;
const CONNECTIONS = 3;
const SIDE = 8;
const PROBES = 6;
const METER = new URL('../turns/turn-meter.mjs', import.meta.url).href;
const SENDER = new URL('./send-changes.ts', import.meta.url);
const PHASES = ['idle', 'control', 'changes'] as const;
type Phase = (typeof PHASES)[number];

function summary(times: readonly number[]) {
  const shown = (share: number) => Number(quantile(times, share).toFixed(2));
  return { count: times.length, p50: shown(0.5), p95: shown(0.95), p99: shown(0.99) };
}

const anyTile = () => {
  const at = () => Math.floor(Math.random() * SIDE);
  return `tiles/world/7/${60 + at()}/${100 + at()}.png`;
};

/** About 200 a second on each connection, so that the cores are not full of them. */
async function hits(url: string): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  const connection = async () => {
    for (; performance.now() < end; await sleep(1 + Math.random() * 7))
      times.push((await ask('GET', `${url}${anyTile()}`)).ms);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return times;
}

interface Address {
  readonly server: string;
  readonly database: string | null;
}

/** Milliseconds from commits of edits until the tile of each is made again. */
async function untilFresh({ server, database }: Address): Promise<number[]> {
  if (database === null) return [];
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const times: number[] = [];
  for (let n = 0; n < PROBES; n++) {
    const tile = `${server}tiles/world/9/${267 + n}/179.png`;
    for (let cache = ''; cache !== 'HIT'; ) ({ cache } = await ask('GET', tile));
    const begun = performance.now();
    await client.query(
      `with row as (insert into ${CHANGES} (minx, miny, maxx, maxy) values (7, 47, 14, 47.2)) select pg_notify('${CHANGES}', '')`,
    );
    for (let cache = 'HIT'; cache === 'HIT'; await sleep(5)) ({ cache } = await ask('GET', tile));
    times.push(performance.now() - begun);
  }
  await client.end();
  return times;
}

async function measure(address: Address, type: string, rounds: number, turns: () => Promise<Turns>) {
  const times: Record<Phase, number[]> = eachPhase(() => []);
  const longest: Record<Phase, number> = eachPhase(() => 0);
  const accepted: number[] = [];
  const fresh: Record<Phase, number[]> = eachPhase(() => []);
  let processor = 0;
  for (let round = 0; round < rounds * PHASES.length; round++) {
    const phase = PHASES[round % PHASES.length] ?? 'idle';
    const sender = phase === 'idle' ? null : new Worker(SENDER, { workerData: { ...address, type, phase } });
    await sleep(500);
    const before = await turns();
    times[phase].push(...(await hits(address.server)));
    const after = await turns();
    longest[phase] = Math.max(longest[phase], after.longest.processor);
    if (phase === 'changes') processor += after.processor - before.processor;
    fresh[phase].push(...(await untilFresh(address)));
    if (!sender) continue;
    sender.postMessage('stop');
    const [answers] = (await once(sender, 'message')) as [number[]];
    if (phase === 'changes') accepted.push(...answers);
    // The rest of what they cause.
    await sleep(1000);
  }
  const { idle, control, changes } = eachPhase((phase) => summary(times[phase]));
  return {
    hits: { idle, control, changes },
    p99: {
      controlToIdle: Number((control.p99 / idle.p99).toFixed(2)),
      changesToControl: Number((changes.p99 / control.p99).toFixed(2)),
      changesToIdle: Number((changes.p99 / idle.p99).toFixed(2)),
    },
    longestTurnMs: longest,
    processorMsPerSecond: Math.round(processor / rounds / SECONDS),
    [type === 'webhook' ? 'acceptedMs' : 'insertedMs']: summary(accepted),
    ...(fresh.idle.length > 0 && { untilFreshMs: eachPhase((phase) => summary(fresh[phase])) }),
  };
}

function eachPhase<Value>(of: (phase: Phase) => Value) {
  return { idle: of('idle'), control: of('control'), changes: of('changes') };
}

interface Turns {
  readonly longest: { readonly processor: number };
  readonly processor: number;
}

async function openServer(folder: string, feed: string, processes: string) {
  const meter = join(folder, 'meter');
  const layer = '{ name: world, source: { type: world }, gridSets: [EPSG:900913, EPSG:4326] }';
  const profile = process.env.PROFILE
    ? ['--cpu-prof', '--cpu-prof-interval=100', `--cpu-prof-dir=${process.env.PROFILE}`]
    : [];
  process.env.TURN_METER = meter;
  const { url, stop } = await startServerProcess(
    join(folder, 'data'),
    `log: { level: warn }\nlayers: [${layer}]\nchanges: [${feed}]\n`,
    [...profile, '--import', METER, ...FROM_BUILD],
    ['--no-auth', '--processes', processes],
  );
  const turns = async () =>
    JSON.parse((await ask('GET', `http://127.0.0.1:${readFileSync(meter, 'utf8')}/`)).text) as Turns;
  return { url: `${url}/`, stop, turns };
}

async function run(type = 'webhook', processes = '1', rounds = '5'): Promise<void> {
  const folder = temporaryFolder();
  const postgres = type === 'postgres' ? await openTestPostgres() : null;
  const feed = postgres
    ? `{ name: edits, type: postgres, url: '${postgres.address}', table: ${CHANGES}, layers: [world] }`
    : `{ name: hook, type: webhook, secret: '${SECRET}', layers: [world] }`;
  if (postgres) await createTables(postgres.address);
  const server = await openServer(folder, feed, processes);
  try {
    for (let at = 0; at < SIDE * SIDE; at++)
      await ask('GET', `${server.url}tiles/world/7/${60 + (at % SIDE)}/${100 + Math.floor(at / SIDE)}.png`);
    await hits(server.url);
    const address = { server: server.url, database: postgres?.address ?? null };
    const measured = await measure(address, type, Number(rounds), server.turns);
    const shown = { feed: type, processes: Number(processes), ...measured };
    process.stdout.write(`${JSON.stringify(shown, null, 1)}\n`);
  } finally {
    await server.stop();
    await postgres?.close();
  }
}

async function createTables(address: string): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  for (const table of [CHANGES, `${CHANGES}_control`])
    await client.query(
      `create table ${table} (id bigint generated always as identity primary key, at timestamptz default now(), layer text, minx float8, miny float8, maxx float8, maxy float8, srid int)`,
    );
  await client.end();
}

await run(...process.argv.slice(2));
