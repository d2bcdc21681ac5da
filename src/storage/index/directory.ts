import { crc32 } from 'node:zlib';
import type { BytePlace } from '../bytes.ts';
import type { Making } from '../pack-object.ts';

/** Tiles along a side of a pack. */
export const PACK_SIZE = 8;
const SLOTS = PACK_SIZE ** 2;

/** A tile in the index. */
export interface IndexedTile extends BytePlace {
  /** The tile's position in the pack, row by row. */
  readonly slot: number;
  /** CRC-32 of the bytes. */
  readonly checksum: number;
  readonly making: Making;
}

/** A pack of a tile set; `x` and `y` count packs. */
export interface PackPosition {
  readonly set: number;
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Returns the new tiles of a pack, or the same array for no change. */
export type PackEdit = (tiles: readonly IndexedTile[], pack: PackPosition) => readonly IndexedTile[];

/** The version of the format. */
const FORM = 1;
const HEAD_BYTES = 3;
const MAKING_BYTES = 34;
const ENTRY_BYTES = 18;
const BITMAP_BYTES = SLOTS / 8;
const CHECKSUM_BYTES = 4;

/**
 * The row of a pack in the index, read in its binary form. Tiles that were put together share a making:
 *
 *   version · number of makings · makings · bitmap of the slots with a tile · an entry for each tile · checksum
 *
 * The checksum covers the pack's position and the row, so that a row that is damaged or misplaced is not read.
 */
export class Directory {
  readonly #detail: Buffer;
  readonly makings: readonly Making[];
  readonly #bitmapAt: number;

  private constructor(detail: Buffer) {
    this.#detail = detail;
    let at = HEAD_BYTES;
    this.makings = Array.from({ length: detail.readUInt16LE(1) }, () => {
      const making = readMaking(detail, at);
      at += MAKING_BYTES + Buffer.byteLength(making.validator ?? '');
      return making;
    });
    this.#bitmapAt = at;
  }

  /** Null if the row is damaged, or belongs to another place. */
  static read(detail: Buffer, position: PackPosition): Directory | null {
    const end = detail.length - CHECKSUM_BYTES;
    if (end < HEAD_BYTES || detail.readUInt8(0) !== FORM) return null;
    const isWhole = crc32(detail.subarray(0, end), seedOf(position)) === detail.readUInt32LE(end);
    return isWhole ? new Directory(detail) : null;
  }

  static write(tiles: readonly IndexedTile[], position: PackPosition): Buffer {
    const numbers = new Map<Making, number>();
    const heads = writeMakings(tiles, numbers);
    const bitmapAt = heads.reduce((sum, { length }) => sum + length, HEAD_BYTES);
    const end = bitmapAt + BITMAP_BYTES + tiles.length * ENTRY_BYTES;
    const detail = Buffer.alloc(end + CHECKSUM_BYTES);
    detail.writeUInt8(FORM, 0);
    detail.writeUInt16LE(heads.length, 1);
    heads.reduce((at, head) => at + head.copy(detail, at), HEAD_BYTES);
    let at = bitmapAt + BITMAP_BYTES;
    for (const tile of tiles.toSorted((a, b) => a.slot - b.slot)) {
      const byte = bitmapAt + (tile.slot >> 3);
      detail.writeUInt8(detail.readUInt8(byte) | (1 << (tile.slot & 7)), byte);
      detail.writeUInt32LE(tile.segment, at);
      detail.writeUInt32LE(tile.offset, at + 4);
      detail.writeUInt32LE(tile.length, at + 8);
      detail.writeUInt32LE(tile.checksum, at + 12);
      detail.writeUInt16LE(numbers.get(tile.making) ?? 0, at + 16);
      at += ENTRY_BYTES;
    }
    detail.writeUInt32LE(crc32(detail.subarray(0, end), seedOf(position)), end);
    return detail;
  }

  find(slot: number): IndexedTile | null {
    const [low, high] = [
      this.#detail.readUInt32LE(this.#bitmapAt),
      this.#detail.readUInt32LE(this.#bitmapAt + 4),
    ];
    const [word, bit] = slot < 32 ? [low, slot] : [high, slot - 32];
    if (((word >>> bit) & 1) === 0) return null;
    const before = countBits(bit === 0 ? 0 : word << (32 - bit)) + (slot < 32 ? 0 : countBits(low));
    return this.#entry(slot, before);
  }

  tiles(): IndexedTile[] {
    const found: IndexedTile[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      const byte = this.#detail.readUInt8(this.#bitmapAt + (slot >> 3));
      if (byte & (1 << (slot & 7))) found.push(this.#entry(slot, found.length));
    }
    return found;
  }

  #entry(slot: number, number: number): IndexedTile {
    const detail = this.#detail;
    const at = this.#bitmapAt + BITMAP_BYTES + number * ENTRY_BYTES;
    const making = this.makings[detail.readUInt16LE(at + 16)];
    if (!making) throw new RangeError('The description of a pack is damaged.');
    return {
      slot,
      segment: detail.readUInt32LE(at),
      offset: detail.readUInt32LE(at + 4),
      length: detail.readUInt32LE(at + 8),
      checksum: detail.readUInt32LE(at + 12),
      making,
    };
  }
}

export function slotOf(x: number, y: number): number {
  return (y % PACK_SIZE) * PACK_SIZE + (x % PACK_SIZE);
}

export function packOf(tile: number): number {
  return Math.floor(tile / PACK_SIZE);
}

/** The tile in a slot of the pack. */
export function tileInPack({ x, y }: { readonly x: number; readonly y: number }, slot: number) {
  return { x: x * PACK_SIZE + (slot % PACK_SIZE), y: y * PACK_SIZE + Math.floor(slot / PACK_SIZE) };
}

function seedOf({ set, z, x, y }: PackPosition): number {
  return crc32(`${set} ${z} ${x} ${y}`);
}

/** Writes each making once; `numbers` receives their indexes in the result. */
function writeMakings(tiles: readonly IndexedTile[], numbers: Map<Making, number>): readonly Buffer[] {
  const byText = new Map<string, number>();
  const heads: Buffer[] = [];
  for (const { making } of tiles) {
    if (numbers.has(making)) continue;
    const head = writeMaking(making);
    const text = head.toString('latin1');
    const number = byText.get(text) ?? heads.push(head) - 1;
    byText.set(text, number);
    numbers.set(making, number);
  }
  return heads;
}

/** Null is written as NaN, and a missing validator as the length 0, others as their length plus one. */
function writeMaking({ ticket, createdAt, freshUntil, madeBy, validator }: Making): Buffer {
  const text = validator === null ? null : Buffer.from(validator);
  const bytes = Buffer.alloc(MAKING_BYTES + (text?.length ?? 0));
  bytes.writeDoubleLE(ticket, 0);
  bytes.writeDoubleLE(createdAt, 8);
  bytes.writeDoubleLE(freshUntil ?? Number.NaN, 16);
  bytes.writeDoubleLE(madeBy ?? Number.NaN, 24);
  bytes.writeUInt16LE(text ? text.length + 1 : 0, 32);
  text?.copy(bytes, MAKING_BYTES);
  return bytes;
}

function readMaking(detail: Buffer, at: number): Making {
  const length = detail.readUInt16LE(at + 32);
  const start = at + MAKING_BYTES;
  return {
    ticket: detail.readDoubleLE(at),
    createdAt: detail.readDoubleLE(at + 8),
    freshUntil: nullIfNaN(detail.readDoubleLE(at + 16)),
    madeBy: nullIfNaN(detail.readDoubleLE(at + 24)),
    validator: length === 0 ? null : detail.toString('utf8', start, start + length - 1),
  };
}

function nullIfNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** Counts the set bits of 32. */
function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
