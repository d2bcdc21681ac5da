/**
 * How many tiles a second leave bundles for an MBTiles file. Store and file are temporary; a tenth of the tiles are equal.
 *
 *   npm run bench:export [-- TILES]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { formatOf } from '../../src/domain/format.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { exportTiles } from '../../src/export/export-tiles.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { exportedPart } from '../../test/fixtures/exported-part.ts';
import { PLAIN_LAYER } from '../../test/fixtures/plain-layer.ts';

const ALLOWED = 20_000;
const BYTES = 4000;
const Z = 10;
const side = Math.ceil(Math.sqrt(Number(process.argv[2] ?? 200_000)) / 16) * 16;
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-export-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
const format = formatOf('image/png');
if (!gridSet || !format) throw new Error('no such grid set or format');
const layer = {
  ...PLAIN_LAYER,
  name: 'bench',
  formats: [format],
  gridSubsets: [createGridSubset(gridSet)],
} as const;
const store = await openBundleStore(
  { type: 'bundle', maxOpenBundles: 256, sweepBytesPerSecond: 2 ** 29, minFreePercent: 0 },
  { root: join(folder, 'store'), log: silentLogger, clock: systemClock },
);
const { set, content } = exportedPart(layer, { layer: layer.name });
const generation = await store.generation(layer.name);
for (let x = 0; x < side; x += 16) {
  for (let y = 0; y < side; y += 16) await store.putMany(set, Z, block(x, y), generation);
}
const begun = [performance.now(), process.cpuUsage()] as const;
const signal = new AbortController().signal;
const target = join(folder, 'export.mbtiles');
const { tiles, bytes } = await exportTiles({
  store,
  set,
  content,
  area: null,
  target,
  signal,
  onProgress: () => {},
});
const seconds = (performance.now() - begun[0]) / 1000;
const used = process.cpuUsage(begun[1]);
const rate = tiles / seconds;
process.stdout.write(
  `${tiles} tiles, ${bytes} bytes: ${rate.toFixed(0)} tiles/s (allowed ${ALLOWED}), ${(tiles / ((used.user + used.system) / 1e6)).toFixed(0)} for each second of processor\n`,
);
await store.close();
if (rate < ALLOWED) process.exitCode = 1;

function block(minX: number, minY: number) {
  return Array.from({ length: 256 }, (_, at) => {
    const [x, y] = [minX + (at % 16), minY + Math.floor(at / 16)];
    const bytes = Buffer.alloc(BYTES, at % 10 === 0 ? 1 : undefined);
    if (at % 10 !== 0) bytes.writeUInt32LE(x * 65_536 + y);
    return { x, y, bytes, createdAt: 0 };
  });
}
