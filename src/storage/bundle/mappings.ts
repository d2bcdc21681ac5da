import type { Sqlite } from './bundle-file.ts';
import { BUNDLE_SIZE } from './bundle-grid.ts';

/** What of one open bundle lies in memory. */
export interface Mapping {
  readonly db: Sqlite;
  /** One for each tile that was read since the bundle was mapped. */
  readonly touched: Uint8Array;
  on: boolean;
  bytes: number;
}

/** Above the largest bundle that is likely. */
const WHOLE_BUNDLE = 1024 ** 3;
/** What one read brings into memory at most, as the system maps a neighbourhood at once. */
const BYTES_BY_A_READ = 64 * 1024;
/** Mapped parts count as the process's memory, though the system can take them back. */
const MAX_BYTES = 48 * 1024 ** 2;
/** Milliseconds without mapping after there was too much of it. */
const PAUSE = 1000;

/**
 * A mapped bundle is read without a system call for each part of a tile, which pays when the same tiles are read again
 * and again. Reads all over the cache would fill the memory and gain nothing: then bundles are read plainly for a while.
 */
export class Mappings {
  readonly #on = new Set<Mapping>();
  #bytes = 0;
  #plainUntil = Number.NEGATIVE_INFINITY;

  prepare(mapping: Mapping, now: number, key: number | undefined): void {
    if (now < this.#plainUntil) return;
    if (!mapping.on) this.#turnOn(mapping);
    if (key !== undefined) {
      if (mapping.touched[key] === 1) return;
      mapping.touched[key] = 1;
    }
    mapping.bytes += BYTES_BY_A_READ;
    this.#bytes += BYTES_BY_A_READ;
    if (this.#bytes > MAX_BYTES) this.#pause(now);
  }

  forget(mapping: Mapping): void {
    this.#on.delete(mapping);
    this.#bytes -= mapping.bytes;
  }

  #turnOn(mapping: Mapping): void {
    mapping.db.pragma(`mmap_size = ${WHOLE_BUNDLE}`);
    mapping.on = true;
    this.#on.add(mapping);
  }

  #pause(now: number): void {
    this.#plainUntil = now + PAUSE;
    for (const mapping of this.#on) {
      mapping.db.pragma('mmap_size = 0');
      mapping.on = false;
      mapping.bytes = 0;
      mapping.touched.fill(0);
    }
    this.#on.clear();
    this.#bytes = 0;
  }
}

export function createMapping(db: Sqlite): Mapping {
  return { db, touched: new Uint8Array(BUNDLE_SIZE * BUNDLE_SIZE), on: false, bytes: 0 };
}
