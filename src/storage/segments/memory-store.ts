import { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { BytePlace, WritableBytes } from '../bytes.ts';
import { isRefusedByTrigger, storeFailure } from '../index/index-failure.ts';
import { createMemoryIndex, type IndexFile } from '../index/index-file.ts';
import { IndexReader } from '../index/index-reader.ts';
import type { PackObject } from '../pack-object.ts';
import type { Store } from '../store.ts';
import { createIndexedStore } from './indexed-store.ts';
import type { RunCommand } from './segment-writer.ts';
import { SegmentWriting } from './segment-writing.ts';

/** The store of this process alone: the same index in memory, and a segment for each tile. */
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
    // Its own changes count too: there is one connection.
    reader: new IndexReader(db, 'SELECT total_changes()'),
    readBytes: (_, place) => bytes.get(0, place),
    run,
    start() {},
    clock,
    log,
  });
  return { ...store, close: () => run('close', []) };
}

/** A put that would exceed it is rolled back. */
function limitBytes(db: IndexFile, maxBytes: number): void {
  const refuse = `WHEN (SELECT sum(bytes) FROM usage) > ${maxBytes} BEGIN SELECT RAISE(ABORT, 'full'); END`;
  db.exec(`CREATE TRIGGER usage_inserted AFTER INSERT ON usage ${refuse}`);
  db.exec(
    `CREATE TRIGGER usage_updated AFTER UPDATE ON usage ${refuse.replace('WHEN', 'WHEN NEW.bytes > OLD.bytes AND')}`,
  );
}

class MemoryBytes implements WritableBytes {
  readonly #db: IndexFile;
  readonly #tiles = new Map<number, Buffer>();
  readonly #insert;
  readonly #removeDead;

  constructor(db: IndexFile) {
    this.#db = db;
    this.#insert = db
      .prepare<[number, number], number>(
        'INSERT INTO segments (tile_set, size, filled, live, written_at) VALUES (?, ?, 0, 0, 0) RETURNING id',
      )
      .pluck();
    this.#removeDead = db.prepare<[], number>('DELETE FROM segments WHERE live <= 0 RETURNING id').pluck();
  }

  put(set: number, { tiles }: PackObject): readonly BytePlace[] {
    return tiles.map(({ bytes }) => {
      const segment = this.#insert.get(set, bytes.length) ?? 0;
      this.#tiles.set(segment, Buffer.from(bytes));
      return { segment, offset: 0, length: bytes.length };
    });
  }

  get(_: number, { segment, length }: BytePlace): Buffer | null {
    return length === 0 ? Buffer.alloc(0) : (this.#tiles.get(segment) ?? null);
  }

  free(_: number, segments: readonly number[]): void {
    for (const segment of segments) this.#tiles.delete(segment);
  }

  /** Removes tiles that no row names. */
  sweep(): void {
    this.free(0, this.#removeDead.all());
  }

  note(): boolean {
    return true;
  }

  noted(): void {}

  leave(set: number): void {
    for (const table of ['packs', 'pages', 'usage'])
      this.#db.prepare<[number]>(`DELETE FROM ${table} WHERE tile_set = ?`).run(set);
    this.#db.prepare<[number]>('UPDATE segments SET live = 0 WHERE tile_set = ?').run(set);
    this.#db.prepare<[number]>('DELETE FROM tile_sets WHERE id = ?').run(set);
  }

  close(): void {
    this.#tiles.clear();
  }
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
