import { closeSync, fsyncSync, rmSync } from 'node:fs';
import type { BytePlace, WritableBytes } from '../bytes.ts';
import { blockingly } from '../index/index-failure.ts';
import type { IndexFile } from '../index/index-file.ts';
import { type PackObject, writePackHead } from '../pack-object.ts';
import { placesFrom } from '../pack-tiles.ts';
import {
  append,
  createSegment,
  greatestSegment,
  type OpenSegment,
  SEGMENT_BYTES,
  SegmentReader,
  segmentPath,
} from './segment-files.ts';

/** Segments of different tile sets that are open for appending. */
const MAX_OPEN = 64;
const MAX_READ = 16;
const ATTEMPTS = 20;
/** Milliseconds without a write after which any process may consider a segment complete. */
export const WRITER_GONE_AFTER = 600_000;

interface Growth extends OpenSegment {
  /** Bytes of tiles that were appended since `noted`. */
  filled: number;
}

/** The bytes of tiles in segments, for the one thread of a process that writes them. */
export class SegmentBytes implements WritableBytes {
  readonly #db: IndexFile;
  readonly #root: string;
  readonly #writer: string;
  readonly #clock: () => number;
  readonly #maxBytes: number;
  /** By tile set, the least recently used first. */
  readonly #open = new Map<number, Growth>();
  /** Those that were appended to, or are complete, since `noted`. */
  readonly #changed = new Set<Growth>();
  readonly #noting;
  readonly #reader: SegmentReader;

  /** `writer` identifies this thread among all threads and processes at any time. */
  constructor(db: IndexFile, root: string, writer: string, clock: () => number, maxBytes = SEGMENT_BYTES) {
    this.#db = db;
    this.#root = root;
    this.#writer = writer;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#reader = new SegmentReader(root, MAX_READ, clock);
    this.#noting = db.prepare<[string | null, number, number, number, number, string]>(
      'UPDATE segments SET writer = ?, size = ?, filled = filled + ?, written_at = ? WHERE id = ? AND writer = ?',
    );
  }

  put(set: number, record: PackObject): readonly BytePlace[] {
    const head = writePackHead(record);
    const length = record.tiles.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const segment = this.#segmentFor(set, head.length + length);
    const start = append(segment, [head, ...record.tiles.map(({ bytes }) => bytes)]) + head.length;
    segment.filled += length;
    const lengths = record.tiles.map(({ bytes }) => bytes.length);
    return placesFrom(segment.segment, start, lengths);
  }

  get(set: number, place: BytePlace): Buffer | null {
    return this.#reader.read(set, place);
  }

  readSome(set: number, segment: number, offset: number, length: number): Buffer {
    return this.#reader.readSome(set, segment, offset, length);
  }

  free(set: number, segments: readonly number[]): void {
    this.#reader.close();
    for (const segment of segments) rmSync(segmentPath(this.#root, set, segment), { force: true });
  }

  /** Records the size of the segments. False: another process considers one of them complete. */
  note(): boolean {
    for (const segment of this.#changed) {
      const { size, filled } = segment;
      const writer = this.#open.get(segment.set) === segment ? this.#writer : null;
      const { changes } = this.#noting.run(
        writer,
        size,
        filled,
        this.#clock(),
        segment.segment,
        this.#writer,
      );
      if (changes > 0) continue;
      this.#leave(segment);
      return false;
    }
    return true;
  }

  noted(): void {
    for (const segment of this.#changed) {
      segment.filled = 0;
      this.#changed.delete(segment);
      if (this.#open.get(segment.set) === segment) continue;
      try {
        fsyncSync(segment.descriptor);
      } finally {
        closeSync(segment.descriptor);
      }
    }
  }

  /** The tiles of the set that this thread has put are on the disk. */
  sync(set: number): void {
    const segment = this.#open.get(set);
    if (segment) fsyncSync(segment.descriptor);
  }

  /** The tile set is no longer in use: closes its segment. */
  leave(set: number): void {
    const segment = this.#open.get(set);
    if (segment) this.#leave(segment);
  }

  /** The number of the segment that is being appended to. */
  segmentOf(set: number): number | null {
    return this.#open.get(set)?.segment ?? null;
  }

  /** Other processes may compact them. */
  close(): void {
    for (const segment of new Set([...this.#open.values(), ...this.#changed])) this.#leave(segment);
    this.#reader.close();
    const seal = this.#db.prepare<[string]>('UPDATE segments SET writer = NULL WHERE writer = ?');
    blockingly(() => seal.run(this.#writer));
  }

  #leave(segment: Growth): void {
    if (this.#open.get(segment.set) === segment) this.#open.delete(segment.set);
    this.#changed.delete(segment);
    closeSync(segment.descriptor);
  }

  /** A full segment is closed when its last tiles are named. */
  #segmentFor(set: number, bytes: number): Growth {
    const known = this.#open.get(set);
    const isFull = known && known.size > 0 && known.size + bytes > this.#maxBytes;
    const segment = known && !isFull ? known : { ...this.#create(set), filled: 0 };
    this.#open.delete(set);
    if (isFull) this.#changed.add(known);
    for (const [other, oldest] of this.#open) {
      if (this.#open.size < MAX_OPEN) break;
      this.#open.delete(other);
      this.#changed.add(oldest);
    }
    this.#open.set(set, segment);
    this.#changed.add(segment);
    return segment;
  }

  #create(set: number): OpenSegment {
    const insert = this.#db
      .prepare<[number | null, number, string, number], number>(
        'INSERT INTO segments (id, tile_set, writer, size, filled, live, written_at) VALUES (?, ?, ?, 0, 0, 0, ?) ON CONFLICT DO NOTHING RETURNING id',
      )
      .pluck();
    const remove = this.#db.prepare<[number]>('DELETE FROM segments WHERE id = ?');
    let next: number | null = null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const asked = next;
      const number = blockingly(() => insert.get(asked, set, this.#writer, this.#clock())) ?? null;
      let created: OpenSegment | null = null;
      try {
        created = number === null ? null : createSegment(this.#root, set, number);
        if (created) return created;
      } finally {
        if (number !== null && !created) blockingly(() => remove.run(number));
      }
      // The index is older than the files beside it, or another process has received the same number.
      next = greatestSegment(this.#root) + 1;
    }
    throw new Error('Other processes create segments with the same numbers.');
  }
}
