/** Stores with synthetic tiles. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Store, TileWrite } from '../../src/storage/store.ts';
import { PROJECT } from './server.ts';

const ONE_COLOUR_SHARE = 0.3;
const ONE_COLOUR_BYTES = 103;
const MIN_BYTES = 2000;
const MAX_BYTES = 20_000;
const NOISE_BYTES = 1024 ** 2;
const CONCURRENT_WRITES = 4;

export const tileSet = (layer: string) => ({
  layer,
  gridSet: 'EPSG:900913',
  format: 'image/png',
  parametersId: null,
});

/** By the code of a checkout. */
export async function openTiles(root: string, checkout = PROJECT): Promise<Store> {
  mkdirSync(root, { recursive: true });
  const load = (file: string) => import(pathToFileURL(join(checkout, 'src/storage', file)).href);
  const { openSegmentStore } = (await load(
    'segments/segment-store.ts',
  )) as typeof import('../../src/storage/segments/segment-store.ts');
  const options = { maxOpenSegments: 256, sweepBytesPerSecond: 2 ** 29 };
  return openSegmentStore(options, { root, log: silentLogger, clock: systemClock });
}

/** Some batches concurrently. */
export async function writeTiles(
  store: Store,
  layer: string,
  zoom: number,
  batches: Iterable<readonly TileWrite[]>,
): Promise<void> {
  const rest = batches[Symbol.iterator]();
  const write = async () => {
    for (let next = rest.next(); !next.done; next = rest.next())
      await store.put(tileSet(layer), zoom, next.value, 0);
  };
  await Promise.all(Array.from({ length: CONCURRENT_WRITES }, write));
}

/** The tiles of a square of `side`, in smaller squares of `batch`. */
export function* squares(side: number, batch: number): Generator<readonly TileWrite[]> {
  const tileAt = createSyntheticTiles();
  for (let top = 0; top < side; top += batch) {
    for (let left = 0; left < side; left += batch) {
      yield Array.from({ length: batch ** 2 }, (_, at) =>
        tileAt(left + (at % batch), top + Math.floor(at / batch)),
      );
    }
  }
}

/** Tiles as of a map: three in ten of one colour, the others 2 to 20 KB with more small ones than large. */
export function createSyntheticTiles(): (x: number, y: number) => TileWrite {
  const noise = Buffer.alloc(NOISE_BYTES);
  for (let at = 0; at < NOISE_BYTES; at += 4) noise.writeUInt32LE(hash(at, 17), at);
  return (x, y) => {
    const length = sizeOf(x, y);
    const from = hash(y, x) % (NOISE_BYTES - MAX_BYTES);
    return { x, y, bytes: noise.subarray(from, from + length), createdAt: 1_700_000_000_000 };
  };
}

function sizeOf(x: number, y: number): number {
  const kind = hash(x, y) / 2 ** 32;
  if (kind < ONE_COLOUR_SHARE) return ONE_COLOUR_BYTES;
  const spread = (kind - ONE_COLOUR_SHARE) / (1 - ONE_COLOUR_SHARE);
  return Math.round(MIN_BYTES + (MAX_BYTES - MIN_BYTES) * spread ** 2);
}

/** A number from 0 to 2³² − 1 that looks random and is the same in every run. */
export function hash(a: number, b: number): number {
  let mixed = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
