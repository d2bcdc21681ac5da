import { crc32 } from 'node:zlib';
import type { TileMaker, TileSetKey } from '../domain/tile-key.ts';

/** The place of a pack, a block of 8 × 8 tiles. `x` and `y` count packs. */
export interface PackPlace {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** The origin of a tile: ticket, times, maker and validator. Tiles of one put usually share it. */
export interface Making {
  readonly ticket: number;
  readonly createdAt: number;
  readonly freshUntil: number | null;
  readonly madeBy: TileMaker;
  readonly validator: string | null;
}

interface TileHead {
  /** The tile's position in the pack, row by row. */
  readonly slot: number;
  readonly checksum: number;
  readonly making: Making;
}

export interface ObjectTile extends TileHead {
  readonly bytes: Buffer;
}

/** The content of an object, or of a segment's record: tiles of a pack, with all data to rebuild an index from. */
export interface PackObject extends PackPlace {
  readonly set: TileSetKey;
  readonly tiles: readonly ObjectTile[];
}

/** Enough bytes for the head of nearly every pack. */
export const HEAD_BYTES = 16_384;

export interface PackHead extends Omit<PackObject, 'tiles'> {
  readonly tiles: readonly (TileHead & { readonly length: number })[];
}

/** The written form of a `PackHead`. */
interface Head extends Omit<PackObject, 'tiles'> {
  readonly tiles: readonly (readonly [
    slot: number,
    length: number,
    checksum: number,
    createdAt: number,
    freshUntil: number | null,
    madeBy: TileMaker,
    validator: string | null,
    ticket: number,
  ])[];
}

/** Packs of version 0.2 begin with other bytes, and are not read. */
const MAGIC = Buffer.from('TWPACK2\n');
/** Magic, length of the head, checksum of the head. */
const FIXED = MAGIC.length + 8;

/** Writes the head, which is followed by the bytes of the tiles in the same order. */
export function writePackHead({ tiles, ...about }: PackObject): Buffer {
  const head: Head = {
    ...about,
    tiles: tiles.map(({ slot, bytes, checksum, making }) => {
      const { createdAt, freshUntil, madeBy, validator, ticket } = making;
      return [slot, bytes.length, checksum, createdAt, freshUntil, madeBy, validator, ticket];
    }),
  };
  const text = Buffer.from(JSON.stringify(head));
  const fixed = Buffer.alloc(FIXED);
  MAGIC.copy(fixed);
  fixed.writeUInt32BE(text.length, MAGIC.length);
  fixed.writeUInt32BE(crc32(text), MAGIC.length + 4);
  return Buffer.concat([fixed, text]);
}

/** The head of an object that begins with `start`; null if that is not a pack, or the head is damaged or longer. */
export function readPackHead(start: Buffer): PackHead | null {
  const length = headLength(start);
  if (length === null) return null;
  const text = start.subarray(FIXED, length);
  if (crc32(text) !== start.readUInt32BE(MAGIC.length + 4)) return null;
  const { tiles, ...about } = JSON.parse(text.toString()) as Head;
  const listed = tiles.map(([slot, length, checksum, createdAt, freshUntil, madeBy, validator, ticket]) => {
    return { slot, length, checksum, making: { ticket, createdAt, freshUntil, madeBy, validator } };
  });
  return { ...about, tiles: listed };
}

/** The offset of the tiles' bytes; null if `start` does not begin a pack. */
export function headLength(start: Buffer): number | null {
  if (start.length < FIXED || !start.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  return FIXED + start.readUInt32BE(MAGIC.length);
}

export interface PackRecord {
  readonly head: PackHead;
  /** Offset of the tiles' bytes. */
  readonly bytesAt: number;
  /** Offset of the next record. */
  readonly end: number;
}

/** The record at `offset` of a segment, where records follow one another. */
export function readRecord(
  read: (offset: number, length: number) => Buffer,
  offset: number,
): PackRecord | 'end' | 'damaged' {
  let start = read(offset, HEAD_BYTES);
  if (start.length === 0) return 'end';
  const length = headLength(start);
  if (length === null) return 'damaged';
  if (length > start.length) start = read(offset, length);
  const head = readPackHead(start);
  if (!head) return 'damaged';
  const bytesAt = offset + length;
  return { head, bytesAt, end: head.tiles.reduce((sum, tile) => sum + tile.length, bytesAt) };
}

/** Null if it is not a pack or its head is damaged. Tiles with a wrong checksum are left out. */
export function readPackObject(object: Buffer): PackObject | null {
  const head = readPackHead(object);
  if (!head) return null;
  let at = headLength(object) ?? 0;
  const tiles = head.tiles.flatMap(({ length, ...tile }) => {
    const part = object.subarray(at, at + length);
    at += length;
    const isWhole = part.length === length && crc32(part) === tile.checksum;
    return isWhole ? [{ ...tile, bytes: copyOf(part) }] : [];
  });
  return { ...head, tiles };
}

/** The tiles of an object share one buffer; a copy keeps a single tile from holding all of it. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
