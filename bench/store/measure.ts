import { execFileSync } from 'node:child_process';
import type { TileRect } from '../../src/domain/tile-rect.ts';
import type { Contender } from './contender.ts';
import { createSyntheticTiles, hash } from './synthetic-tiles.ts';

export interface Measurement {
  readonly tiles: number;
  readonly tileBytes: number;
  readonly writesPerSecond: number;
  readonly hotReadsPerSecond: number;
  readonly slowestHotRead: number;
  readonly coldReadsPerSecond: number;
  readonly deletesPerSecond: number;
  readonly dropSeconds: number;
  readonly freedSeconds: number;
  readonly diskBytes: number;
}

export interface MeasureOptions {
  readonly tiles: number;
  /** Makes the system forget what it has read, so that reads come from the disk. */
  readonly forgetDisk: () => void;
}

const METATILE = 4;
const HOT_READS = 100_000;
const HOT_PLACES = 4000;
const COLD_READS = 2000;

export async function measure(
  open: () => Promise<Contender>,
  options: MeasureOptions,
  beforeDrop: () => Promise<void>,
): Promise<Measurement> {
  const side = Math.ceil(Math.sqrt(options.tiles) / METATILE) * METATILE;
  const writing = await open();
  const { seconds: writeSeconds, result: tileBytes } = await timed(() => writeAll(writing, side));
  await writing.close();
  execFileSync('sync');
  const diskBytes = diskUsed(writing.root);

  options.forgetDisk();
  const store = await open();
  const cold = await timed(() => readSome(store, side, COLD_READS, COLD_READS));
  await readSome(store, side, HOT_PLACES, HOT_PLACES);
  const hot = await timed(() => readSome(store, side, HOT_READS, HOT_PLACES));
  const range = middleOf(side);
  const deletion = await timed(() => store.deleteRange(range));
  await beforeDrop();
  const drop = await timed(() => store.drop());
  const freed = await timed(() => store.freed());
  await store.close();
  return {
    tiles: side * side,
    tileBytes,
    writesPerSecond: (side * side) / writeSeconds,
    hotReadsPerSecond: HOT_READS / hot.seconds,
    slowestHotRead: hot.result,
    coldReadsPerSecond: COLD_READS / cold.seconds,
    deletesPerSecond: (range.maxX - range.minX + 1) ** 2 / deletion.seconds,
    dropSeconds: drop.seconds,
    freedSeconds: drop.seconds + freed.seconds,
    diskBytes,
  };
}

async function writeAll(store: Contender, side: number): Promise<number> {
  const tileAt = createSyntheticTiles();
  let bytes = 0;
  for (let top = 0; top < side; top += METATILE) {
    for (let left = 0; left < side; left += METATILE) {
      const tiles = Array.from({ length: METATILE ** 2 }, (_, at) =>
        tileAt(left + (at % METATILE), top + Math.floor(at / METATILE)),
      );
      for (const tile of tiles) bytes += tile.bytes.length;
      await store.write(tiles);
    }
  }
  return bytes;
}

/** Reads `count` tiles from `places` places all over the zoom; the result is the slowest read in milliseconds. */
async function readSome(store: Contender, side: number, count: number, places: number): Promise<number> {
  let slowest = 0;
  for (let read = 0; read < count; read++) {
    const place = hash(read, 3) % places;
    const begun = performance.now();
    await store.read(hash(place, 1) % side, hash(place, 2) % side);
    slowest = Math.max(slowest, performance.now() - begun);
  }
  return slowest;
}

/** A quarter of each side, not on the border of anything. */
function middleOf(side: number): TileRect {
  const from = Math.floor(side * 0.37);
  const to = from + Math.floor(side / 4) - 1;
  return { minX: from, minY: from, maxX: to, maxY: to };
}

function diskUsed(root: string): number {
  return Number.parseInt(execFileSync('du', ['-s', '--block-size=1', root], { encoding: 'utf8' }), 10);
}

export async function timed<T>(
  work: () => Promise<T>,
): Promise<{ readonly seconds: number; readonly result: T }> {
  const begun = performance.now();
  const result = await work();
  return { seconds: (performance.now() - begun) / 1000, result };
}
