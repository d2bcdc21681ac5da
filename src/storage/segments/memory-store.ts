import { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { BytePlace, Bytes, PutBytes } from '../bytes.ts';
import { isRefusedByTrigger, storeFailure } from '../index/index-failure.ts';
import { createMemoryIndex, type IndexFile } from '../index/index-file.ts';
import { IndexReader } from '../index/index-reader.ts';
import type { PackObject } from '../pack-object.ts';
import type { Store } from '../store.ts';
import { createIndexedStore } from './indexed-store.ts';
import type { RunCommand } from './segment-writer.ts';
import { SegmentWriting } from './segment-writing.ts';

/** A store in the memory of this process: the same index as on disk, and a segment for each tile. */
export function createMemoryStore(
  { maxBytes }: MemoryStoreOptions,
  { clock, log }: Env = { clock: systemClock, log: silentLogger },
): Store {
  const db = createMemoryIndex();
  db.exec('CREATE INDEX segments_dead ON segments (id) WHERE live <= 0');
  if (maxBytes !== undefined) limitBytes(db, maxBytes);
  const bytes = new MemoryBytes(db);
  const reserve = { use: <T>(work: () => T) => work(), refill() {} };
  const writing = new SegmentWriting(db, { bytes, upkeep: { wake() {}, step: () => 0 }, reserve });
  const run: RunCommand = async (method, parameters) => {
    try {
      const work = writing[method] as (
        ...parameters: readonly unknown[]
      ) => ReturnType<(typeof writing)[typeof method]>;
      return work.apply(writing, [...parameters]);
    } catch (error) {
      if (isRefusedByTrigger(error)) throw new TilewardenError('store-full', 'The memory store is full.');
      throw storeFailure(error);
    } finally {
      if (method !== 'close') bytes.sweep();
    }
  };
  const store = createIndexedStore({
    db,
    // Counts changes by this connection, which is the only one.
    reader: new IndexReader(db, 'SELECT total_changes()'),
    readBytes: (_, place) => bytes.get(place),
    run,
    start() {},
    clock,
    log,
  });
  return { ...store, close: () => run('close', []) };
}

/** Rolls back a put that would exceed the limit. */
function limitBytes(db: IndexFile, maxBytes: number): void {
  const refuse = `WHEN (SELECT sum(bytes) FROM usage) > ${maxBytes} BEGIN SELECT RAISE(ABORT, 'full'); END`;
  db.exec(`CREATE TRIGGER usage_inserted AFTER INSERT ON usage ${refuse}`);
  db.exec(
    `CREATE TRIGGER usage_updated AFTER UPDATE ON usage ${refuse.replace('WHEN', 'WHEN NEW.bytes > OLD.bytes AND')}`,
  );
}

const DROPPED = '(SELECT id FROM tile_sets WHERE dropped_at IS NOT NULL)';
const SWEEP = [
  ...['packs', 'pages', 'usage', 'segments'].map(
    (table) => `DELETE FROM ${table} WHERE tile_set IN ${DROPPED}`,
  ),
  'DELETE FROM tile_sets WHERE dropped_at IS NOT NULL',
  'DELETE FROM segments WHERE live <= 0',
];

/** Each tile is a segment of its own, with its bytes in the segment's row. */
class MemoryBytes implements Bytes {
  readonly #insert;
  readonly #find;
  readonly #sweep;

  constructor(db: IndexFile) {
    db.exec('ALTER TABLE segments ADD COLUMN bytes BLOB');
    this.#insert = db
      .prepare<[number, number, Buffer], number>(
        'INSERT INTO segments (tile_set, size, filled, live, written_at, bytes) VALUES (?, ?, 0, 0, 0, ?) RETURNING id',
      )
      .pluck();
    this.#find = db.prepare<[number], Buffer>('SELECT bytes FROM segments WHERE id = ?').pluck();
    this.#sweep = SWEEP.map((text) => db.prepare(text));
  }

  put(set: number, records: readonly PackObject[]): PutBytes {
    const places = records.map(({ tiles }) =>
      tiles.map(({ bytes }) => {
        const segment = this.#insert.get(set, bytes.length, bytes) ?? 0;
        return { segment, offset: 0, length: bytes.length };
      }),
    );
    return { places, note: () => true };
  }

  get({ segment, length }: BytePlace): Buffer | null {
    // The row of an empty tile has no live bytes, so `sweep` removes it.
    return length === 0 ? Buffer.alloc(0) : (this.#find.get(segment) ?? null);
  }

  /** Removes dropped tile sets, and tiles that no row names. */
  sweep(): void {
    for (const statement of this.#sweep) statement.run();
  }

  close(): void {}
}

export const memoryStoreOptions = z
  .strictObject({
    type: z.literal('memory'),
    maxBytes: z
      .int()
      .positive()
      .optional()
      .describe(
        'Sum of the tiles it may hold; a write that would exceed it is refused. No limit when left out.',
      ),
  })
  .describe('Keeps tiles in the memory of the server process: gone at a restart, unseen by other processes.');

export type MemoryStoreOptions = z.infer<typeof memoryStoreOptions>;

export const memoryDriver = {
  type: 'memory',
  options: memoryStoreOptions,
  place: 'memory',
  shown: [],
  geowebcacheName: 'MemoryBlobStore',
  open: async (options: MemoryStoreOptions) => createMemoryStore(options),
} as const;
