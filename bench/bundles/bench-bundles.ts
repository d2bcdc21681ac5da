// The bundle store of this checkout beside those of others, in turns: writing, hits, start, eviction, truncation, files.
// npm run bench -- bundles [--beside ../other,../third] [--side 512] [--thin 4096] [--rounds 3] [--seconds 3] [--folder DIR]
// Medians, and in brackets the ratio to this checkout. Others have to be built. Needs wrk.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { PROJECT, startServerProcess } from '../harness/server-process.ts';
import { measureLoad, processorSeconds } from '../hits/measure-hits.ts';
import { type Figure, thinTiles, ZOOM } from './thin-tiles.ts';

const { values } = parseArgs({
  options: {
    beside: { type: 'string' },
    side: { type: 'string', default: '512' },
    thin: { type: 'string', default: '4096' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const others = values.beside?.split(',').map((path) => resolve(path)) ?? [];
const checkouts = [resolve(PROJECT), ...others];
const script = fileURLToPath(new URL('./measure-store.ts', import.meta.url));
const folder = temporaryFolder(values.folder);
const names = join(folder, 'tiles.txt');
writeFileSync(
  names,
  thinTiles(Number(values.thin))
    .map(({ z, x, y }) => `${z}/${x}/${y}.png\n`)
    .join(''),
);
const LAYERS = ['dense', 'thin'].map(
  (name) =>
    `\n  - { name: ${name}, source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: none }, formats: [image/png], gridSets: [EPSG:900913] }`,
);

/** By step, and by checkout. */
const found = new Map<string, Figure[][]>();
for (let round = 0; round < Number(values.rounds); round++) {
  say(`round ${round + 1}, load of the machine ${loadavg()[0]?.toFixed(1)}`);
  for (const [at, checkout] of checkouts.entries()) {
    for (const figure of await measureOnce(checkout)) {
      const known = found.get(figure.step) ?? checkouts.map(() => []);
      known[at]?.push(figure);
      found.set(figure.step, known);
    }
  }
}
for (const [step, byCheckout] of found) {
  show(
    `${step}`,
    byCheckout.map((figures) => quantile(figures.map(({ processor }) => processor))),
  );
  const walls = byCheckout.map((figures) => quantile(figures.flatMap(({ wall }) => wall ?? [])));
  if (!walls.some(Number.isNaN)) show('  time', walls);
}

async function measureOnce(checkout: string): Promise<readonly Figure[]> {
  const data = join(folder, 'data');
  mkdirSync(join(data, 'stores', 'default'), { recursive: true });
  const figures = [...inProcess(checkout, data, 'fill'), ...(await served(checkout, data))];
  figures.push(...inProcess(checkout, data, 'empty'));
  rmSync(data, { recursive: true });
  return figures;
}

function inProcess(checkout: string, data: string, phase: string): readonly Figure[] {
  const typescript = ['--import', join(checkout, 'scripts', 'typescript', 'register.mjs')];
  const args = [checkout, join(data, 'stores', 'default'), values.side, values.thin, phase];
  const text = execFileSync(process.execPath, [...typescript, script, ...args], {
    cwd: checkout,
    encoding: 'utf8',
  });
  return JSON.parse(text) as Figure[];
}

/** The start of a server until it has reported its usage, and its hits, all from the store. */
async function served(checkout: string, data: string): Promise<readonly Figure[]> {
  const configuration = `memoryTier: { size: 0 }\nlog: { level: warn }\ntasks: { workers: 0 }\nlayers:${LAYERS.join('')}\n`;
  const begun = performance.now();
  const server = await startServerProcess(data, configuration, [join(checkout, 'dist', 'cli', 'main.js')]);
  await (await fetch(`${server.url}/api/v1/usage`)).text();
  const wall = (performance.now() - begun) * 1000;
  const start = { step: 'server: start and usage', processor: processorSeconds([server.pid]) * 1e6, wall };
  const contestant = {
    name: checkout,
    url: server.url,
    prefix: '/tiles/thin',
    pids: () => [server.pid],
    stop: server.stop,
  };
  const load = { seconds: Number(values.seconds), connections: 16, zoom: ZOOM, tiles: names };
  await measureLoad(contestant, { ...load, seconds: 1 });
  const { requestsPerSecond, microsecondsEach } = await measureLoad(contestant, load);
  await server.stop();
  return [start, { step: 'server: thin hit', processor: microsecondsEach, wall: 1e6 / requestsPerSecond }];
}

function show(name: string, figures: readonly number[]): void {
  const [first = Number.NaN] = figures;
  const cells = figures.map((figure, at) => {
    const text = figure < 100 ? figure.toFixed(1) : figure.toFixed(0);
    return (at === 0 ? text : `${text} (${(figure / first).toFixed(2)})`).padStart(18);
  });
  say(`${name.padEnd(28)}${cells.join('')}`);
}
