/**
 * How long cache hits take while a seed runs at full speed, beside an idle server: two readers, all workers drawing.
 *
 *   npm run bench:seed-hits -- [--seconds 5]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Latencies, readHits } from '../truncate/read-hits.ts';
import { startServerProcess } from '../truncate/server-process.ts';

const READ_ZOOM = 3;
/** More than can be done while it is measured. */
const SEEDED_ZOOM = 10;
const WARM_UP_SECONDS = 1;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' } } });
const seconds = Number(values.seconds);
const say = (line: string) => void process.stdout.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-seed-hits-'));
const server = await startServerProcess(join(folder, 'data'), 'log: { level: error }\n');

async function start(request: object): Promise<number> {
  const answer = await fetch(`${server.url}/rest/seed/world.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ seedRequest: { name: 'world', gridSetId: 'EPSG:900913', ...request } }),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return Number(answer.headers.get('x-task-id'));
}

async function task(id: number): Promise<{ readonly state: string; readonly tilesProcessed: number }> {
  return (await fetch(`${server.url}/api/v1/tasks/${id}`)).json() as ReturnType<typeof task>;
}

async function until(
  id: number,
  reached: (known: Awaited<ReturnType<typeof task>>) => boolean,
): Promise<void> {
  for (let known = await task(id); !reached(known); known = await task(id)) {
    if (known.state === 'aborted') throw new Error(`task ${id} was aborted`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function read(forSeconds: number): Promise<Latencies> {
  const path = (n: number) => `/tiles/world/${READ_ZOOM}/${n % 8}/${Math.floor(n / 8) % 8}.png`;
  return readHits(server.url, path, AbortSignal.timeout(forSeconds * 1000));
}

function show(name: string, { requests, median, p99 }: Latencies): void {
  say(
    `${name.padEnd(16)}median ${median.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms   (${requests} hits in ${seconds} s)`,
  );
}

try {
  await until(await start({ type: 'seed', zoomStop: READ_ZOOM }), ({ state }) => state === 'done');
  await read(WARM_UP_SECONDS);
  const idle = await read(seconds);
  show('idle', idle);
  const id = await start({ type: 'reseed', zoomStart: SEEDED_ZOOM, zoomStop: SEEDED_ZOOM, threadCount: 64 });
  await until(id, ({ tilesProcessed }) => tilesProcessed > 0);
  const before = (await task(id)).tilesProcessed;
  const busy = await read(seconds);
  show('while seeding', busy);
  const { state, tilesProcessed } = await task(id);
  if (state !== 'running') throw new Error(`the seed was ${state} before the end`);
  say(`${'seeded'.padEnd(16)}${Math.round((tilesProcessed - before) / seconds)} tiles/s`);
  say(`${'p99'.padEnd(16)}${(busy.p99 / idle.p99).toFixed(2)} × idle (aim: at most 3)`);
  await fetch(`${server.url}/rest/seed`, { method: 'POST', body: new URLSearchParams({ kill_all: 'all' }) });
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
