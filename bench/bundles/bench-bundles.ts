// The bundle store of this checkout beside those of others, in turns: writing, hits, start, eviction, truncation, files.
// npm run bench -- bundles [--beside ../other,../third] [--side 512] [--thin 4096] [--rounds 3] [--seconds 3]
// Medians, and in brackets the ratio to this checkout. Others have to be built. Needs wrk.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureLoad, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { processorSeconds } from '../harness/processes.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { readUsage } from '../harness/request.ts';
import { contestantOf, PROJECT, startServer, wmsLayer } from '../harness/server.ts';
import { type Figure, thinTiles } from './thin-tiles.ts';

const { beside, side, thin, rounds, seconds } = readOptions({
  beside: [] as readonly string[],
  side: 512,
  thin: 4096,
  rounds: 3,
  seconds: 3,
});
const checkouts = [PROJECT, ...beside].map((path) => resolve(path));
const folder = temporaryFolder();
const data = join(folder, 'data');
const tiles = writeTileList(
  join(folder, 'tiles.txt'),
  thinTiles(thin).map(({ z, x, y }) => `${z}/${x}/${y}.png`),
);

/** By step, and by checkout. */
const results = new Map<string, Figure[][]>();
for (let round = 0; round < rounds; round++) {
  say(`round ${round + 1}, load of the machine ${loadavg()[0]?.toFixed(1)}`);
  for (const [at, checkout] of checkouts.entries()) {
    for (const figure of await measure(checkout)) {
      const byCheckout = results.get(figure.step) ?? checkouts.map(() => []);
      byCheckout[at]?.push(figure);
      results.set(figure.step, byCheckout);
    }
  }
}
for (const [step, byCheckout] of results) {
  show(
    step,
    byCheckout.map((figures) => quantile(figures.map(({ processor }) => processor))),
  );
  const walls = byCheckout.map((figures) => quantile(figures.flatMap(({ wall }) => wall ?? [])));
  if (!walls.some(Number.isNaN)) show('  time', walls);
}

async function measure(checkout: string): Promise<readonly Figure[]> {
  const fill = measureStore(checkout, 'fill');
  const server = await measureServer(checkout);
  const empty = measureStore(checkout, 'empty');
  rmSync(data, { recursive: true });
  return [...fill, ...server, ...empty];
}

function measureStore(checkout: string, phase: string): readonly Figure[] {
  const script = fileURLToPath(new URL('./measure-store.ts', import.meta.url));
  const typescript = ['--import', join(checkout, 'scripts', 'typescript', 'register.mjs')];
  const args = [checkout, join(data, 'stores', 'default'), `${side}`, `${thin}`, phase];
  const output = execFileSync(process.execPath, [...typescript, script, ...args], { cwd: checkout });
  return JSON.parse(output.toString()) as Figure[];
}

/** The start of a server up to its first usage, and its hits, all from the store. */
async function measureServer(checkout: string): Promise<readonly Figure[]> {
  const settings = 'memoryTier: { size: 0 }\nlog: { level: warn }\ntasks: { workers: 0 }\n';
  const config = `${settings}layers:${wmsLayer('dense')}${wmsLayer('thin')}\n`;
  const start = performance.now();
  const server = await startServer({ data, config, checkout });
  await readUsage(server.url);
  const wall = (performance.now() - start) * 1000;
  const processor = processorSeconds([server.pid]) * 1e6;
  const contestant = contestantOf(server, checkout, tiles, 'thin');
  await measureLoad(contestant, { connections: 16, seconds: 1 });
  const hits = await measureLoad(contestant, { connections: 16, seconds });
  await server.stop();
  return [
    { step: 'server: start and usage', processor, wall },
    { step: 'server: thin hit', processor: hits.microsecondsEach, wall: 1e6 / hits.requestsPerSecond },
  ];
}

function show(name: string, figures: readonly number[]): void {
  const [first = Number.NaN] = figures;
  const cells = figures.map((figure, at) => {
    const text = figure < 100 ? figure.toFixed(1) : figure.toFixed(0);
    return (at === 0 ? text : `${text} (${(figure / first).toFixed(2)})`).padStart(18);
  });
  say(`${name.padEnd(28)}${cells.join('')}`);
}
