/**
 * What counting costs: the same seed, and the same tiles written into a store alone, by turns with the ledger and
 * without. With: bundles keep their page statistics, and a quota is in force that is never reached, so that the usage
 * is looked at four times a second and writers pass its gate. Without: none of it.
 *
 *   npm run bench:accounting -- [--rounds 9] [--zoom 6] [--side 256]
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ProcessWatch } from '../seed/process-watch.ts';
import { openReplayUpstream } from '../seed/replay-upstream.ts';
import { startServerProcess } from '../truncate/server-process.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    zoom: { type: 'string', default: '6' },
    side: { type: 'string', default: '256' },
  },
});
const FROM_SOURCES = ['--import', './scripts/typescript/register.mjs'];
const WITHOUT_COUNTING = ['--import', './bench/accounting/without-counting.mjs'];
const WORKERS = 2;

interface Times {
  readonly seconds: number;
  /** Milliseconds of processors that all its processes took. */
  readonly processorMs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-accounting-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.once('SIGTERM', () => process.exit(1));
process.once('SIGINT', () => process.exit(1));
const upstream = await openReplayUpstream();
const tiles = (4 ** (Number(values.zoom) + 1) - 1) / 3;

await compare(`seeding ${tiles} tiles by ${WORKERS} workers`, seed);
await compare(`writing ${Number(values.side) ** 2} tiles into a store, and nothing else`, write);
await upstream.close();

/** By turns, and every other round the other way round: what slows the machine down slows both. */
async function compare(
  what: string,
  measure: (counted: boolean, data: string) => Promise<Times>,
): Promise<void> {
  say(what);
  const ratios: Times[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const times = new Map<boolean, Times>();
    for (const counted of round % 2 === 0 ? [true, false] : [false, true]) {
      const data = join(folder, 'data');
      mkdirSync(data, { recursive: true });
      times.set(counted, await measure(counted, data));
      rmSync(data, { recursive: true, force: true });
    }
    const [withIt, without] = [times.get(true), times.get(false)];
    if (!withIt || !without) throw new Error('nothing was measured');
    ratios.push({
      seconds: withIt.seconds / without.seconds,
      processorMs: withIt.processorMs / without.processorMs,
    });
    say(`  round ${round + 1}: with the ledger ${shown(withIt)}, without ${shown(without)}`);
  }
  const [seconds, processorMs] = [
    ratios.map((ratio) => ratio.seconds),
    ratios.map((ratio) => ratio.processorMs),
  ];
  say(`  more time with the ledger: ${spread(seconds)}; of the processors: ${spread(processorMs)}`);
}

async function seed(counted: boolean, data: string): Promise<Times> {
  const host = new URL(upstream.url).host;
  const layer = `{ name: bench, source: { type: wms, url: '${upstream.url}', layers: a }, formats: [image/png], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }`;
  const configuration = `log: { level: error }\nupstreams: { '${host}': { concurrency: 8, allowPrivate: true } }\ntasks: { workers: ${WORKERS} }\nlayers:\n  - ${layer}\n`;
  const processors = new ProcessWatch();
  const program = [...FROM_SOURCES, ...(counted ? [] : WITHOUT_COUNTING), 'src/cli/main.ts'];
  const server = await startServerProcess(data, configuration, program);
  try {
    if (counted) await enforceQuota(server.url);
    await seedTo(server.url, 3);
    processors.restart();
    const begun = performance.now();
    await seedTo(server.url, Number(values.zoom));
    return { seconds: (performance.now() - begun) / 1000, ...processors.stop() };
  } finally {
    processors.stop();
    await server.stop();
  }
}

async function enforceQuota(url: string): Promise<void> {
  await ask(`${url}/api/v1/quota`, 'PUT', { enabled: true, globalQuota: { value: 1, units: 'TiB' } });
}

async function seedTo(url: string, zoomStop: number): Promise<void> {
  const request = { layer: 'bench', type: 'reseed', zoomStop, threadCount: WORKERS };
  const { id } = (await ask(`${url}/api/v1/tasks`, 'POST', request)) as { readonly id: number };
  for (;;) {
    const task = (await ask(`${url}/api/v1/tasks/${id}`, 'GET')) as {
      readonly state: string;
      readonly reason: string;
    };
    if (task.state === 'done') return;
    if (task.state === 'aborted') throw new Error(`the task was aborted: ${task.reason}`);
    await delay(20);
  }
}

async function ask(address: string, method: string, body?: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(address, { method, ...(body && { headers, body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${address} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function write(counted: boolean, data: string): Promise<Times> {
  const script = fileURLToPath(new URL('./write-tiles.ts', import.meta.url));
  const flags = [...FROM_SOURCES, ...(counted ? [] : WITHOUT_COUNTING)];
  const args = [...flags, script, data, values.side, counted ? 'counted' : 'uncounted'];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Times;
}

function shown({ seconds, processorMs }: Times): string {
  return `${seconds.toFixed(2)} s (${(processorMs / 1000).toFixed(2)} s of processors)`;
}

function spread(ratios: readonly number[]): string {
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (share: number) => percent(sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN);
  return `median ${at(0.5)}, half of the rounds between ${at(0.25)} and ${at(0.75)}`;
}

function percent(ratio: number): string {
  return `${((ratio - 1) * 100).toFixed(1)} %`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
