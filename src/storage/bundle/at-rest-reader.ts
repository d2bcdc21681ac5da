import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { FORMAT, FORMER_FORMAT, SQLITE_PAGE_BYTES } from './bundle-file.ts';

export interface TileRow {
  readonly created_at: number;
  readonly checksum: number;
  readonly fresh_until: number | null;
  readonly made_by: number | null;
  /** 0 for tiles of version 0.2. */
  readonly ticket: number;
  /** Null for tiles of version 0.2. */
  readonly proof: number | null;
  readonly bytes: Buffer;
}

/** What a bundle at rest says of a tile: its row, null when it has none, 'unsure' when SQLite has to be asked. */
type AtRest = TileRow | null | 'unsure';

/** Of the header: https://sqlite.org/fileformat.html#the_database_header. Pages of 1024 bytes, no log, none reserved. */
const HEADER = { bytes: 100, layout: 'SQLite format 3\0\x04\0\x01\x01\0', version: 60 };
const FORMATS = [FORMER_FORMAT, FORMAT];
/** Where the trees begin in a file of that version: after the header, the map of pointers and two tables. */
const [TILE_ROOT, SHARED_ROOT] = [5, 6];
const PAGE_BYTES = SQLITE_PAGE_BYTES;
const [INTERIOR, LEAF] = [5, 13];
/** Of a cell, what lies in its leaf: https://sqlite.org/fileformat.html#b_tree_pages, "cell payload overflow pages". */
const [MAX_WITHIN, MIN_WITHIN] = [PAGE_BYTES - 35, Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23];
const OVERFLOW_BYTES = PAGE_BYTES - 4;
/** Pages that are read in one go at most: those of a tile mostly follow one another. */
const WINDOW_PAGES = 16;
/** With a leaf, so that a small tile needs no second read. */
const LEAF_PAGES = 4;
/** The first pages of a file, with the roots of its trees. */
const START_PAGES = 8;
/** Of the upper part of the trees of a file; a full bundle has some forty. */
const MAX_UPPER_PAGES = 128;
/** Bytes. Larger is a damaged length, or a tile for which SQLite's way is no slower. */
const MAX_PAYLOAD = 16 * 1024 ** 2;
const MAX_LEVELS = 8;
/** Of rows of version 0.2, and of others; in bundles of that version the new columns come after the bytes. */
const [FORMER_COLUMNS, COLUMNS] = [7, 9];

type Value = number | Buffer | null;
/** Of numbers, by their kinds: null, 1 to 4 and 6 bytes, neither 8 nor a fraction, and the numbers 0 and 1. */
const NUMBER_BYTES: readonly (number | undefined)[] = [0, 1, 2, 3, 4, 6, undefined, undefined, 0, 0];

/**
 * Milliseconds for which a reader takes it that a bundle is still in its place, which saves a system call for each
 * tile of a busy bundle. The removal of a bundle is reported only after this time.
 */
export const READERS_LEASE = 20;

/**
 * Reads single tiles of bundles without writers, without the expensive opening of a database. Pages of a file change
 * only while its header says that it has a log, and each change of that raises a counter in the header: what lies
 * between two equal headers without a log was read whole. So a file is kept open with the upper part of its trees, and
 * one look at its header, after a tile was read, proves both. Everything unexpected is left to SQLite.
 */
export class AtRestReader {
  readonly #maxFiles: number;
  readonly #files = new Map<string, RestingFile>();

  constructor(maxFiles: number) {
    this.#maxFiles = maxFiles;
  }

  /** Fails as opening a file fails. `now`: milliseconds of a clock that never goes back. */
  read(path: string, key: number, now: number): AtRest {
    const known = this.#current(path, now);
    const row = known ? known.find(key) : 'unsure';
    return row === 'unsure' ? this.#open(path, now).find(key) : row;
  }

  /** Those that were not read since `before`, and those that have gone, so that their space is freed. */
  closeIdle(before: number): void {
    for (const [path, { usedAt }] of this.#files) if (usedAt < before || !existsSync(path)) this.#close(path);
  }

  closeBelow(folder: string): void {
    for (const path of this.#files.keys()) if (path.startsWith(`${folder}/`)) this.#close(path);
  }

  closeAll(): void {
    for (const path of this.#files.keys()) this.#close(path);
  }

  #current(path: string, now: number): RestingFile | null {
    const known = this.#files.get(path);
    if (!known) return null;
    known.usedAt = now;
    if (now - known.seenAt <= READERS_LEASE) return known;
    known.seenAt = now;
    return existsSync(path) ? known : null;
  }

  #open(path: string, now: number): RestingFile {
    this.#close(path);
    if (this.#files.size >= this.#maxFiles) this.#close(this.#leastUsed());
    const file = new RestingFile(openSync(path, 'r'), now);
    this.#files.set(path, file);
    file.begin();
    return file;
  }

  #leastUsed(): string {
    let [least, usedAt] = ['', Number.POSITIVE_INFINITY];
    for (const [path, file] of this.#files) if (file.usedAt < usedAt) [least, usedAt] = [path, file.usedAt];
    return least;
  }

  #close(path: string): void {
    this.#files.get(path)?.close();
    this.#files.delete(path);
  }
}

/** What was read last; one file is read at a time. */
const further = Buffer.alloc(WINDOW_PAGES * PAGE_BYTES);
const header = Buffer.alloc(HEADER.bytes);

/** The pages of a file, as they are looked at. */
class RestingFile {
  /** Where the last page that was asked for lies. */
  window: Buffer;
  usedAt: number;
  /** When it was last known to be in its place. */
  seenAt: number;
  readonly #file: number;
  readonly #start = Buffer.alloc(START_PAGES * PAGE_BYTES);
  #startEnd = 1;
  #isAtRest = false;
  readonly #upper = new Map<number, Buffer>();
  #first = 1;
  #end = 1;

  constructor(file: number, now: number) {
    this.#file = file;
    this.usedAt = this.seenAt = now;
    this.window = this.#start;
  }

  begin(): void {
    this.#startEnd = 1 + this.#fill(this.#start, 1, START_PAGES);
    const layout = this.#start.toString('latin1', 0, HEADER.layout.length);
    this.#isAtRest = layout === HEADER.layout && FORMATS.includes(this.#start.readUInt32BE(HEADER.version));
  }

  /** Also 'unsure' when it has changed since it was opened. */
  find(key: number): AtRest {
    if (!this.#isAtRest) return 'unsure';
    this.#first = this.#end = 1;
    try {
      const row = findTile(this, key);
      return this.#isUnchanged() ? row : 'unsure';
    } catch (error) {
      if (error instanceof RangeError) return 'unsure';
      throw error;
    }
  }

  /** Where the page begins in the window. `count`: how many pages from there on are needed, as far as is known. */
  at(page: number, count: number): number {
    if (page < 1) throw new RangeError('no such page');
    const known = page < this.#startEnd ? this.#start : this.#upper.get(page);
    this.window = known ?? further;
    if (known) return known === this.#start ? (page - 1) * PAGE_BYTES : 0;
    if (page < this.#first || page >= this.#end) {
      this.#first = page;
      this.#end = page + this.#fill(further, page, Math.min(count, WINDOW_PAGES));
    }
    if (page >= this.#end) throw new RangeError('no such page');
    return (page - this.#first) * PAGE_BYTES;
  }

  /** A page of the upper part of a tree, which begins there in the window. */
  keep(page: number, at: number): void {
    if (this.window !== further || this.#upper.size >= MAX_UPPER_PAGES) return;
    this.#upper.set(page, Buffer.from(this.window.subarray(at, at + PAGE_BYTES)));
  }

  close(): void {
    closeSync(this.#file);
  }

  #isUnchanged(): boolean {
    const bytes = readSync(this.#file, header, 0, HEADER.bytes, 0);
    return bytes === HEADER.bytes && header.compare(this.#start, 0, HEADER.bytes) === 0;
  }

  /** How many pages that are. */
  #fill(window: Buffer, page: number, count: number): number {
    const read = readSync(this.#file, window, 0, count * PAGE_BYTES, (page - 1) * PAGE_BYTES);
    return Math.floor(read / PAGE_BYTES);
  }
}

function findTile(pages: RestingFile, key: number): AtRest {
  const row = findRow(pages, TILE_ROOT, key);
  if (row === null || row === 'unsure') return row;
  if (row.length !== COLUMNS && row.length !== FORMER_COLUMNS) return 'unsure';
  const [created_at, checksum, fresh_until = null, made_by = null] = [row[1], row[2], row[3], row[5]];
  // A ticket is never null.
  const former = typeof row[6] !== 'number';
  const own = row[former ? 6 : 8];
  const ticket = row[former ? 7 : 6] ?? 0;
  const proof = row[former ? 8 : 7] ?? null;
  if (typeof created_at !== 'number' || typeof checksum !== 'number') return 'unsure';
  const bytes = own ?? sharedBytes(pages, checksum);
  if (Buffer.isBuffer(fresh_until) || Buffer.isBuffer(made_by) || Buffer.isBuffer(proof)) return 'unsure';
  if (!Buffer.isBuffer(bytes) || typeof ticket !== 'number') return 'unsure';
  return { created_at, checksum, fresh_until, made_by, ticket, proof, bytes };
}

function sharedBytes(pages: RestingFile, checksum: number): Value | undefined {
  const row = findRow(pages, SHARED_ROOT, checksum);
  return row === 'unsure' ? null : row?.[1];
}

function findRow(pages: RestingFile, root: number, key: number): readonly Value[] | null | 'unsure' {
  let page = root;
  for (let level = 0; level < MAX_LEVELS; level++) {
    const at = pages.at(page, LEAF_PAGES);
    const { window } = pages;
    const kind = window[at];
    if (kind === LEAF) return rowInLeaf(pages, at, key);
    if (kind !== INTERIOR) return 'unsure';
    pages.keep(page, at);
    // The first child whose keys go as far as `key`, or the last.
    page = window.readUInt32BE(cellFor(window, at, key, false) ?? at + 8);
  }
  return 'unsure';
}

function rowInLeaf(pages: RestingFile, at: number, key: number): readonly Value[] | null {
  const { window } = pages;
  const cell = cellFor(window, at, key, true);
  if (cell === null) return null;
  const keyAt = afterVarint(window, cell);
  if (varint(window, keyAt) !== key) return null;
  return recordValues(payload(pages, afterVarint(window, keyAt), varint(window, cell)));
}

/** Where the first cell with this key or a higher one begins. */
function cellFor(window: Buffer, at: number, key: number, isLeaf: boolean): number | null {
  const cells = window.readUInt16BE(at + 3);
  const pointers = at + (isLeaf ? 8 : 12);
  let low = 0;
  for (let high = cells; low < high; ) {
    const middle = (low + high) >>> 1;
    const cell = at + window.readUInt16BE(pointers + 2 * middle);
    // Before a key is the length of its row, or the page of its child.
    if (varint(window, isLeaf ? afterVarint(window, cell) : cell + 4) >= key) high = middle;
    else low = middle + 1;
  }
  return low === cells ? null : at + window.readUInt16BE(pointers + 2 * low);
}

/** From the common pool: most tiles are sent and forgotten. The memory tier makes copies of its own. */
function payload(pages: RestingFile, from: number, length: number): Buffer {
  if (length > MAX_PAYLOAD) throw new RangeError('too large');
  const all = Buffer.allocUnsafe(length);
  let filled = pages.window.copy(all, 0, from, from + bytesWithin(length));
  for (let next = from + filled; filled < length; ) {
    const count = Math.ceil((length - filled) / OVERFLOW_BYTES);
    next = pages.at(pages.window.readUInt32BE(next), count);
    filled += pages.window.copy(all, filled, next + 4, next + 4 + Math.min(OVERFLOW_BYTES, length - filled));
  }
  return all;
}

/** How much of a row lies in its leaf; the rest is in a chain of pages. */
function bytesWithin(length: number): number {
  if (length <= MAX_WITHIN) return length;
  const fitting = MIN_WITHIN + ((length - MIN_WITHIN) % OVERFLOW_BYTES);
  return fitting <= MAX_WITHIN ? fitting : MIN_WITHIN;
}

/** https://sqlite.org/fileformat.html#record_format: the kinds of the columns, then their values. */
function recordValues(record: Buffer): readonly Value[] {
  const headerBytes = varint(record, 0);
  const values: Value[] = [];
  let from = headerBytes;
  for (let at = afterVarint(record, 0); at < headerBytes; at = afterVarint(record, at)) {
    const kind = varint(record, at);
    const bytes = bytesOf(kind);
    values.push(decoded(record, from, bytes, kind));
    from += bytes;
  }
  return values;
}

function bytesOf(kind: number): number {
  if (kind >= 12) return Math.floor((kind - 12) / 2);
  const bytes = NUMBER_BYTES[kind];
  if (bytes === undefined) throw new RangeError('no number of at most 48 bits');
  return bytes;
}

/** Null, whole numbers, 0 and 1 by their kinds; texts and bytes as they are. */
function decoded(record: Buffer, from: number, bytes: number, kind: number): Value {
  if (kind === 0) return null;
  if (kind === 8 || kind === 9) return kind - 8;
  return kind >= 12 ? record.subarray(from, from + bytes) : record.readIntBE(from, bytes);
}

/** Numbers beyond 2⁴² do not occur. */
function varint(buffer: Buffer, from: number): number {
  let value = 0;
  for (let at = from; at < from + 6; at++) {
    const byte = buffer.readUInt8(at);
    value = value * 128 + (byte & 127);
    if (byte < 128) return value;
  }
  throw new RangeError('too large a number');
}

function afterVarint(buffer: Buffer, from: number): number {
  let at = from;
  while (buffer.readUInt8(at) >= 128) at++;
  return at + 1;
}
