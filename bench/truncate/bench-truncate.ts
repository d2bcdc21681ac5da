import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import type { TileWrite } from '../../src/storage/tile-store.ts';
import { createFileContender } from '../store/file-contender.ts';
import { createSyntheticTiles } from '../store/synthetic-tiles.ts';
import { type Latencies, readHits } from './read-hits.ts';
import { startServerProcess } from './server-process.ts';

const USAGE = `npm run bench:truncate -- [--tiles 1000000] [--folder DIR] [--no-files]
Truncates a layer of a running server while another layer is read, and removes the same tiles as files for comparison.
`;
const { values } = parseArgs({
  options: {
    tiles: { type: 'string', default: '1000000' },
    folder: { type: 'string', default: tmpdir() },
    'no-files': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}

const ZOOM = 14;
const BATCH = 16;
const OTHER_SIDE = 64;
const IDLE_SECONDS = 10;
const side = Math.ceil(Math.sqrt(Number(values.tiles)) / BATCH) * BATCH;
const folder = mkdtempSync(join(values.folder, 'tilewarden-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const data = join(folder, 'data');

const layer = (name: string) => `
  - name: ${name}
    source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: none }
    formats: [image/png]
    gridSets: [EPSG:900913]`;
const configuration = `log: { level: warn }\nlayers:${layer('doomed')}${layer('other')}\n`;

await fillBundles();
execFileSync('sync');
const cold = await startServerProcess(data, configuration);
const usageBefore = await usage(cold.url);
await delay(7000);
await cold.stop();
const server = await startServerProcess(data, configuration);
const asked = performance.now();
const usageAfterRestart = await usage(server.url);
const usageKnownAfter = server.readyAfter + performance.now() - asked;

const idle = await whileReading(() => delay(IDLE_SECONDS * 1000));
let answeredAfter = 0;
let freedAfter = 0;
const during = await whileReading(async () => {
  const begun = performance.now();
  const body = '<truncateLayer><layerName>doomed</layerName></truncateLayer>';
  const headers = { 'content-type': 'text/xml' };
  const response = await fetch(`${server.url}/masstruncate`, { method: 'POST', headers, body });
  answeredAfter = performance.now() - begun;
  if (response.status !== 200) throw new Error(await response.text());
  const { layers } = await usage(server.url);
  if (layers.some(({ name }) => name === 'doomed')) throw new Error('usage still knows the layer');
  while ((await usage(server.url)).sweeping > 0) await delay(20);
  freedAfter = performance.now() - begun;
});
await server.stop();
const filesRemovedAfter = values['no-files'] ? null : await removeFiles();

const ms = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
const hits = ({ requests, median, p99 }: Latencies) =>
  `median ${ms(median)}, p99 ${ms(p99)} (${requests} requests)`;
process.stdout.write(
  `${[
    `tiles of the layer                ${side * side}, ${(usageBefore.bytes / 1024 ** 3).toFixed(2)} GiB with the other layer`,
    `ready after a restart             ${ms(server.readyAfter)}; usage answered after ${ms(usageKnownAfter)}, the same: ${usageAfterRestart.bytes === usageBefore.bytes}`,
    `200 after                         ${ms(answeredAfter)}`,
    `space freed after                 ${ms(freedAfter)}`,
    `rm -rf of the same tiles as files ${filesRemovedAfter === null ? 'not measured' : ms(filesRemovedAfter)}`,
    `hits of another layer, idle       ${hits(idle)}`,
    `hits of another layer, meanwhile  ${hits(during)}`,
  ].join('\n')}\n`,
);

async function fillBundles(): Promise<void> {
  const root = join(data, 'stores', 'default');
  mkdirSync(root, { recursive: true });
  const options = bundleStoreOptions.parse({ type: 'bundle' });
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  const set = { gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  for (const tiles of blocks(side)) await store.putMany({ ...set, layer: 'doomed' }, ZOOM, tiles, 0);
  for (const tiles of blocks(OTHER_SIDE)) await store.putMany({ ...set, layer: 'other' }, ZOOM, tiles, 0);
  await store.close();
}

async function removeFiles(): Promise<number> {
  const root = join(folder, 'files');
  const files = createFileContender(root);
  for (const tiles of blocks(side)) await files.write(tiles);
  execFileSync('sync');
  const begun = performance.now();
  execFileSync('rm', ['-rf', root]);
  return performance.now() - begun;
}

function* blocks(length: number): Generator<readonly TileWrite[]> {
  const tileAt = createSyntheticTiles();
  for (let top = 0; top < length; top += BATCH) {
    for (let left = 0; left < length; left += BATCH) {
      yield Array.from({ length: BATCH ** 2 }, (_, at) =>
        tileAt(left + (at % BATCH), top + Math.floor(at / BATCH)),
      );
    }
  }
}

async function whileReading(work: () => Promise<void>): Promise<Latencies> {
  const stop = new AbortController();
  const path = (n: number) => {
    const place = (n * 2654435761) % OTHER_SIDE ** 2;
    return `/tiles/other/${ZOOM}/${place % OTHER_SIDE}/${Math.floor(place / OTHER_SIDE)}.png`;
  };
  const reading = readHits(server.url, path, stop.signal);
  await work();
  stop.abort();
  return reading;
}

interface Usage {
  readonly bytes: number;
  readonly sweeping: number;
  readonly layers: readonly { readonly name: string }[];
}

async function usage(url: string): Promise<Usage> {
  return (await (await fetch(`${url}/api/v1/usage`)).json()) as Usage;
}
