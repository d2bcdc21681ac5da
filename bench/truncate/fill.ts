import { mkdirSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import type { TileWrite } from '../../src/storage/tile-store.ts';
import { createSyntheticTiles } from '../store/synthetic-tiles.ts';

/**
 * A process of its own that writes square layers of tiles: `fill.ts store ROOT LAYER=SIDE …` into a bundle store,
 * `fill.ts files ROOT SIDE PART PARTS` as files, one of several processes at work on them.
 */
const ZOOM = 14;
/** Tiles along a side of one written block. */
const BATCH = 16;
/** Writes handed over before the first of them has ended. */
const AT_ONCE = 4;
const PROGRESS_EVERY = 100_000;

const [how, root = '', ...rest] = process.argv.slice(2);
if (how === 'store') await fillStore(rest.map((named) => named.split('=')));
if (how === 'files') fillFiles(Number(rest[0]), Number(rest[1]), Number(rest[2]));

async function fillStore(layers: readonly string[][]): Promise<void> {
  mkdirSync(root, { recursive: true });
  const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  const progress = createProgress('tiles in bundles');
  for (const [layer = '', side] of layers) {
    const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
    const blocks = blocksOf(Number(side));
    const writeOn = async () => {
      for (const tiles of blocks) {
        await store.putMany(set, ZOOM, tiles, 0);
        progress(tiles.length);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, writeOn));
  }
  await store.close();
}

function fillFiles(side: number, part: number, parts: number): void {
  const progress = createProgress(`tiles as files, process ${part + 1} of ${parts}`);
  let block = 0;
  for (const tiles of blocksOf(side)) {
    if (block++ % parts !== part) continue;
    const [first] = tiles;
    const folder = `${root}/${Math.floor((first?.x ?? 0) / BATCH)}/${Math.floor((first?.y ?? 0) / BATCH)}`;
    mkdirSync(folder, { recursive: true });
    for (const { x, y, bytes } of tiles) writeFileSync(`${folder}/${x}_${y}.png`, bytes);
    progress(tiles.length);
  }
}

function* blocksOf(side: number): Generator<readonly TileWrite[]> {
  const tileAt = createSyntheticTiles();
  for (let top = 0; top < side; top += BATCH) {
    for (let left = 0; left < side; left += BATCH) {
      yield Array.from({ length: BATCH ** 2 }, (_, at) =>
        tileAt(left + (at % BATCH), top + Math.floor(at / BATCH)),
      );
    }
  }
}

function createProgress(what: string): (tiles: number) => void {
  const begun = performance.now();
  let written = 0;
  return (tiles) => {
    const before = Math.floor(written / PROGRESS_EVERY);
    written += tiles;
    if (Math.floor(written / PROGRESS_EVERY) === before) return;
    const seconds = (performance.now() - begun) / 1000;
    process.stdout.write(
      `  ${written} ${what} after ${seconds.toFixed(0)} s, ${Math.round(written / seconds)}/s\n`,
    );
  };
}
