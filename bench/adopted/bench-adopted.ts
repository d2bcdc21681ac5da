/**
 * What a tile of an adopted folder costs, beside reading its file, and how fast a seed copies. Folder and store are
 * temporary; the contenders take turns. Times are processor time: they do not depend on who else is busy.
 *
 *   npm run bench:adopted [-- TILES]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { TilewardenError } from '../../src/domain/errors.ts';
import { formatOf } from '../../src/domain/format.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { metatileAt } from '../../src/domain/metatile.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openTilePipeline } from '../../src/pipeline/open-tile-pipeline.ts';
import { resolveTileSet } from '../../src/pipeline/resolve-tile-set.ts';
import { encodeImage } from '../../src/raster/encode-image.ts';
import { MetatileCutter } from '../../src/raster/metatile-cutter.ts';
import { openOldFolder } from '../../src/storage/adopted/open-old-folder.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { PLAIN_LAYER } from '../../test/fixtures/plain-layer.ts';
import { mapLike } from '../../test/fixtures/sample-images.ts';

const Z = 8;
const ROUNDS = 5;
const AT_ONCE = 8;
const SIDE = Math.min(2 ** Z, Math.ceil(Math.sqrt(Number(process.argv[2] ?? 16_384)) / 4) * 4);

const root = mkdtempSync(join(tmpdir(), 'tilewarden-bench-'));
const folder = join(root, 'old');
const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
const format = formatOf('image/png');
if (!gridSet || !format) throw new Error('no such grid set or format');

const bytes = await encodeImage(mapLike(256, 256), format);
const files: string[] = [];
for (let x = 0; x < SIDE; x++) {
  mkdirSync(join(folder, String(Z), String(x)), { recursive: true });
  for (let y = 0; y < SIDE; y++) {
    const file = join(folder, String(Z), String(x), `${y}.png`);
    writeFileSync(file, bytes);
    files.push(file);
  }
}

process.stdout.write(`${files.length} files of ${bytes.length} bytes\n`);

const oldCache = openOldFolder(
  { layout: 'xyz', folder, gridSet: undefined, within: null },
  { layer: 'bench', gridSet: gridSet.name },
);
const store = await openBundleStore(
  { type: 'bundle', maxOpenBundles: 256, sweepBytesPerSecond: 2 ** 29, minFreePercent: 0 },
  { root: join(root, 'store'), log: silentLogger, clock: systemClock },
);
const layer = {
  ...PLAIN_LAYER,
  name: 'bench',
  formats: [format],
  gridSubsets: [createGridSubset(gridSet)],
} as const;
const source = () => ({
  maxMetatile: null,
  fetch: () => Promise.reject(new Error('asked')),
  close: async () => {},
});
const tiles = resolveTileSet(
  { layer, store, source, oldCache: () => oldCache },
  { gridSet: null, format: null, parameters: new Map() },
);
const openPipeline = () =>
  openTilePipeline({
    cutter: new MetatileCutter(),
    events: createTileEvents(),
    clock: systemClock,
    random: Math.random,
    log: silentLogger,
  });

/** Microseconds of processor time for each of `count` calls, so many under way at a time. */
async function costOf(count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const tileAt = (index: number) => ({ z: Z, x: Math.floor(index / SIDE), y: index % SIDE });
const asked = (index: number) => ({ gridSet, format, parameters: null, tile: tileAt(index) });
const sums = { file: 0, folder: 0 };
for (let round = 0; round < ROUNDS; round++) {
  sums.file += await costOf(files.length, (index) => readFile(files[index] ?? ''));
  sums.folder += await costOf(files.length, (index) => oldCache.read(asked(index)));
}
const ratio = sums.folder / sums.file;
process.stdout.write(`plain file read     ${(sums.file / ROUNDS).toFixed(1)} µs\n`);
process.stdout.write(`adopted folder      ${(sums.folder / ROUNDS).toFixed(1)} µs   ${ratio.toFixed(2)} ×\n`);

const pipeline = openPipeline();
const size = { columns: 4, rows: 4 };
const metatiles = (SIDE / 4) ** 2;
const began = performance.now();
const copying = await costOf(metatiles, async (index) => {
  const metatile = metatileAt(tiles.subset, size, Z, Math.floor(index / (SIDE / 4)), index % (SIDE / 4));
  if (!metatile) throw new Error('no such metatile');
  const signal = new AbortController().signal;
  const { present } = await pipeline.renew({
    tiles,
    metatile,
    within: metatile.rect,
    mode: 'missing',
    signal,
  });
  if (present !== 16) throw new Error('not copied');
});
const seconds = (performance.now() - began) / 1000;
process.stdout.write(
  `copying             ${(copying / 16).toFixed(1)} µs a tile, ${Math.round(files.length / seconds)} tiles/s\n`,
);

await store.dropLayer('bench');
const overtaken = async () => {
  throw new TilewardenError('generation-stale', 'Not stored.');
};
const unstored = resolveTileSet(
  { layer, store: { ...store, putMany: overtaken }, source, oldCache: () => oldCache },
  { gridSet: null, format: null, parameters: new Map() },
);
for (const [name, asked] of [['hit, not copied ', unstored] as const, ['hit and its copy', tiles] as const]) {
  const reader = openPipeline();
  let cost = -process.cpuUsage().user - process.cpuUsage().system;
  await costOf(files.length, async (index) => reader.read(asked, tileAt(index)));
  await reader.close();
  cost = (cost + process.cpuUsage().user + process.cpuUsage().system) / files.length;
  process.stdout.write(`${name}    ${cost.toFixed(1)} µs   ${(cost / (sums.file / ROUNDS)).toFixed(2)} ×\n`);
}
await pipeline.close();
await store.close();
rmSync(root, { recursive: true, force: true });
