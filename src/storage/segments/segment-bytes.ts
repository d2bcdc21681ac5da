import { closeSync, fsyncSync, rmSync } from 'node:fs';
import type { BytePlace, Bytes, PutBytes } from '../bytes.ts';
import { blockingly } from '../index/index-failure.ts';
import type { IndexFile } from '../index/index-file.ts';
import { type PackObject, writePackHead } from '../pack-object.ts';
import { placesFrom } from '../pack-tiles.ts';
import {
  append,
  createSegment,
  greatestSegment,
  type OpenSegment,
  requireFolder,
  SEGMENT_BYTES,
  type SegmentFile,
  SegmentReader,
  segmentPath,
} from './segment-files.ts';

/** Limit of segments that are open for appending, each of another tile set. */
const MAX_OPEN = 64;
/** Limit of segments that are open for reading. */
const MAX_READ = 16;
/** Attempts to find an unused number for a new segment. */
const ATTEMPTS = 20;
/** Milliseconds without a write after which other processes consider a segment complete: its writer may have died. */
export const WRITER_GONE_AFTER = 600_000;

interface Growth extends OpenSegment {
  /** Bytes of tiles that were appended, whether rows name them or not. */
  filled: number;
}

/** The bytes of tiles in segments, for the writing thread of a process. */
export class SegmentBytes implements Bytes {
  readonly #db: IndexFile;
  readonly #root: string;
  readonly #writer: string;
  readonly #clock: () => number;
  readonly #maxBytes: number;
  /** By tile set, the least recently used first. */
  readonly #open = new Map<number, Growth>();
  /** Segments to be synced and closed, to which nothing more is appended. */
  readonly #complete = new Set<Growth>();
  readonly #note;
  readonly #find;
  readonly #reader: SegmentReader;

  /** `writer` is unique among all threads and processes, including past ones. */
  constructor(db: IndexFile, root: string, writer: string, clock: () => number, maxBytes = SEGMENT_BYTES) {
    this.#db = db;
    this.#root = root;
    this.#writer = writer;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#reader = new SegmentReader(root, MAX_READ);
    this.#note = db.prepare<[string | null, number, number, number, number, string]>(
      'UPDATE segments SET writer = ?, size = ?, filled = ?, written_at = ? WHERE id = ? AND writer = ?',
    );
    this.#find = db.prepare<[number]>('SELECT 1 FROM segments WHERE id = ?');
  }

  put(set: number, records: readonly PackObject[]): PutBytes {
    const parts: Uint8Array[] = [];
    let [length, filled] = [0, 0];
    const starts = records.map((record) => {
      const head = writePackHead(record);
      const start = length + head.length;
      parts.push(head, ...record.tiles.map(({ bytes }) => bytes));
      const tiles = record.tiles.reduce((sum, { bytes }) => sum + bytes.length, 0);
      [length, filled] = [start + tiles, filled + tiles];
      return start;
    });
    const segment = this.#segmentFor(set, length);
    const at = append(segment, parts);
    segment.filled += filled;
    const places = records.map(({ tiles }, number) => {
      const lengths = tiles.map(({ bytes }) => bytes.length);
      return placesFrom(segment.segment, at + (starts[number] ?? 0), lengths);
    });
    return { places, note: () => this.#isNoted(segment, this.#writer) || this.leave(set) };
  }

  get(set: number, place: BytePlace): Buffer | null {
    return this.#reader.read(set, place);
  }

  has(file: SegmentFile): boolean {
    return this.#reader.has(file);
  }

  readSome(set: number, segment: number, offset: number, length: number): Buffer {
    return this.#reader.readSome(set, segment, offset, length);
  }

  free(set: number, segments: readonly number[]): void {
    this.#reader.close();
    if (segments.includes(this.segmentOf(set) ?? 0)) this.leave(set);
    for (const segment of segments) rmSync(segmentPath(this.#root, set, segment), { force: true });
  }

  /** Syncs and closes complete segments. Closes those that another process has removed, which frees their space. */
  tidy(): void {
    for (const { set, segment } of this.#open.values()) if (!this.#find.get(segment)) this.leave(set);
    for (const segment of this.#complete) {
      this.#complete.delete(segment);
      try {
        fsyncSync(segment.descriptor);
      } finally {
        closeSync(segment.descriptor);
      }
    }
  }

  /** Syncs the tiles of the set that this thread has put. */
  sync(set: number): void {
    this.tidy();
    const segment = this.#open.get(set);
    if (segment) fsyncSync(segment.descriptor);
  }

  /** Closes the set's open segment, so that the next put begins another one. Returns false, for `note`. */
  leave(set: number): false {
    const segment = this.#open.get(set);
    this.#open.delete(set);
    if (segment) closeSync(segment.descriptor);
    return false;
  }

  /** The number of the set's open segment. */
  segmentOf(set: number): number | null {
    return this.#open.get(set)?.segment ?? null;
  }

  /** Closes all segments, and lets other processes compact them. */
  close(): void {
    for (const { descriptor } of [...this.#open.values(), ...this.#complete]) closeSync(descriptor);
    this.#reader.close();
    const seal = this.#db.prepare<[string]>('UPDATE segments SET writer = NULL WHERE writer = ?');
    blockingly(() => seal.run(this.#writer));
  }

  #segmentFor(set: number, bytes: number): Growth {
    const known = this.#open.get(set);
    if (known && known.size > 0 && known.size + bytes > this.#maxBytes) this.#finish(known);
    const segment = this.#open.get(set) ?? { ...this.#create(set), filled: 0 };
    this.#open.delete(set);
    for (const oldest of this.#open.values()) {
      if (this.#open.size < MAX_OPEN) break;
      this.#finish(oldest);
    }
    this.#open.set(set, segment);
    return segment;
  }

  #finish(segment: Growth): void {
    this.#open.delete(segment.set);
    this.#complete.add(segment);
    blockingly(() => this.#isNoted(segment, null));
  }

  /** Records the size. False if another process considers the segment complete, and may soon remove it. */
  #isNoted({ segment, size, filled }: Growth, writer: string | null): boolean {
    return this.#note.run(writer, size, filled, this.#clock(), segment, this.#writer).changes > 0;
  }

  #create(set: number): OpenSegment {
    const insert = this.#db
      .prepare<[number | null, number, string, number], number>(
        'INSERT INTO segments (id, tile_set, writer, size, filled, live, written_at) VALUES (?, ?, ?, 0, 0, 0, ?) ON CONFLICT DO NOTHING RETURNING id',
      )
      .pluck();
    const remove = this.#db.prepare<[number]>('DELETE FROM segments WHERE id = ?');
    const named = this.#db.prepare<[], SegmentFile>('SELECT id AS segment, tile_set AS "set" FROM segments');
    requireFolder(this.#root, () => named.all());
    let next: number | null = null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const requested = next;
      const number = blockingly(() => insert.get(requested, set, this.#writer, this.#clock())) ?? null;
      let created: OpenSegment | null = null;
      try {
        created = number === null ? null : createSegment(this.#root, set, number);
        if (created) return created;
      } finally {
        if (number !== null && !created) blockingly(() => remove.run(number));
      }
      // The index is older than the files beside it, or another process has created the same number.
      next = greatestSegment(this.#root) + 1;
    }
    throw new Error('Other processes create segments with the same numbers.');
  }
}
