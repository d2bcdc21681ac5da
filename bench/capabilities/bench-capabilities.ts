// WMTS capabilities of 1,000 layers, and a start with 10,000.
// npm run bench -- capabilities
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLayer } from '../../src/catalog/create-layer.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Layer } from '../../src/domain/layer.ts';
import { catalogOf, createTestApp } from '../../test/fixtures/http-app.ts';
import { listen } from '../../test/fixtures/inject.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { manyLayers } from './many-layers.ts';

const LISTED = 1000;
const DECLARED = 10_000;
const ROUNDS = 15;
const STARTS = 5;
const folder = temporaryFolder();

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
    `${what.padEnd(52)} ${quantile(times).toFixed(1)} ms, at worst ${worst.toFixed(1)} ms (allowed ${allowed} ms)`,
  );
}

async function measureCapabilities(): Promise<void> {
  const config = join(folder, 'tilewarden.yaml');
  writeFileSync(config, manyLayers(LISTED));
  const flags = { config, data: folder };
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

await measureCapabilities();
const times: number[] = [];
for (let round = 0; round < STARTS; round++) {
  const data = join(folder, `${round}`, 'data');
  mkdirSync(data, { recursive: true });
  const server = await startServerProcess(data, manyLayers(DECLARED));
  times.push(server.readyAfter);
  await server.kill();
}
tell(`start with ${DECLARED} layers, from command to ready`, times, 3000);
