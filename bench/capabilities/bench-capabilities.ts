/** How fast capabilities and a start are with many layers: npm run build, then npm run bench:capabilities */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createLayer } from '../../src/catalog/create-layer.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Layer } from '../../src/domain/layer.ts';
import { catalogOf, createTestApp } from '../../test/fixtures/http-app.ts';
import { listen } from '../../test/fixtures/inject.ts';
import { manyLayers } from './many-layers.ts';

const LISTED = 1000;
const DECLARED = 10_000;
const ROUNDS = 15;
const STARTS = 5;
const say = (line: string) => void process.stdout.write(`${line}\n`);
const folder = await mkdtemp(join(tmpdir(), 'tilewarden-bench-'));

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

async function timesOf(rounds: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return times;
}

function tell(what: string, times: readonly number[], allowed: number): void {
  const worst = Math.max(...times);
  say(
    `${what.padEnd(52)} ${median(times).toFixed(1)} ms, at worst ${worst.toFixed(1)} ms (allowed ${allowed} ms)`,
  );
}

async function configuration(count: number): Promise<string> {
  const file = join(folder, `${count}.yaml`);
  await writeFile(file, manyLayers(count));
  return file;
}

async function measureCapabilities(): Promise<void> {
  const flags = { config: await configuration(LISTED), data: folder };
  const { settings } = loadSettings({ flags, environment: {}, workingFolder: folder });
  const make = () => settings.layers.map((layer) => createLayer(layer, settings.gridSets));
  let layers: readonly Layer[] = make();
  const catalog = { ...catalogOf([]), layers: () => layers, version: 1 };
  const { url: address, close } = await listen(createTestApp({ deps: { catalog } }));
  const ask = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(`${address}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities`, { headers });
    const { byteLength } = await answer.arrayBuffer();
    return { byteLength, etag: answer.headers.get('etag') ?? '' };
  };
  const { byteLength } = await ask();
  say(`WMTS capabilities of ${LISTED} layers in 3 grid sets: ${(byteLength / 2 ** 20).toFixed(1)} MiB`);
  const all = await timesOf(ROUNDS, async () => {
    layers = make();
    catalog.version++;
    await ask();
  });
  tell('after all layers were declared again', all, 300);
  const one = await timesOf(ROUNDS, async () => {
    layers = layers.map((layer, index) =>
      index === 500 ? { ...layer, title: `Changed ${Math.random()}` } : layer,
    );
    catalog.version++;
    await ask();
  });
  tell('after one layer has changed', one, 300);
  tell('while nothing has changed', await timesOf(ROUNDS, () => ask()), 20);
  const { etag } = await ask();
  tell('to a client that has it already', await timesOf(ROUNDS, () => ask({ 'if-none-match': etag })), 20);
  await close();
}

/** Until the line that says it is ready. */
async function start(config: string, round: number): Promise<void> {
  const args = [
    'dist/cli/main.js',
    'serve',
    '--port',
    '0',
    '--data',
    join(folder, `data-${round}`),
    '--config',
    config,
  ];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: server.stdout })) if (line.includes('is ready')) break;
  server.kill('SIGKILL');
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
}

try {
  await measureCapabilities();
  const config = await configuration(DECLARED);
  let round = 0;
  const times: number[] = [];
  while (round < STARTS) {
    const began = performance.now();
    const ready = start(config, round++);
    await ready;
    times.push(performance.now() - began);
  }
  tell(`start with ${DECLARED} layers, from command to ready`, times, 3000);
} finally {
  await rm(folder, { recursive: true, force: true });
}
