import { crc32 } from 'node:zlib';
import type { TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import { type Making, PACK_SIZE, packOf, slotOf } from '../index/directory.ts';
import type { PackCursor } from '../index/index-reader.ts';
import type { PackObject } from '../pack-object.ts';
import type { StoreChange, StoreEdit, TileWrite } from '../store.ts';

/** Longer validators are not kept. */
const MAX_VALIDATOR = 1000;

/** A tile of a put; its bytes are in the command's `bytes`, after those of the tile before it. */
interface TileSlot extends Required<Omit<TileWrite, 'bytes'>> {
  readonly length: number;
}

export interface PutCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly ticket: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly slots: readonly TileSlot[];
  readonly bytes: Uint8Array;
}

export interface EditCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
  readonly edit: StoreEdit;
  readonly after: PackCursor;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface EditResult extends StoreChange {
  /** Where to go on; null: all of it is done. */
  readonly next: PackCursor | null;
}

/** One buffer of its own for all tiles, so that it can be handed to another thread without a further copy. */
export function packTiles(tiles: readonly TileWrite[]): {
  slots: TileSlot[];
  bytes: Uint8Array<ArrayBuffer>;
} {
  const slots = tiles.map(
    ({ x, y, createdAt, freshUntil = null, validator = null, madeBy = null, bytes }) => ({
      x,
      y,
      createdAt,
      freshUntil,
      validator: (validator?.length ?? 0) > MAX_VALIDATOR ? null : validator,
      madeBy,
      length: bytes.length,
    }),
  );
  const bytes = new Uint8Array(slots.reduce((total, slot) => total + slot.length, 0));
  let at = 0;
  for (const tile of tiles) {
    bytes.set(tile.bytes, at);
    at += tile.bytes.length;
  }
  return { slots, bytes };
}

/** The tiles of a put by packs. Of two tiles for one place the last is kept. */
export function recordsOf({ set, z, ticket, slots, bytes }: PutCommand): readonly PackObject[] {
  const packs = new Map<
    string,
    Omit<PackObject, 'tiles'> & { tiles: Map<number, PackObject['tiles'][number]> }
  >();
  let at = 0;
  for (const { x, y, length, ...times } of slots) {
    const [packX, packY] = [packOf(x), packOf(y)];
    const name = `${packX} ${packY}`;
    const shape = { columns: PACK_SIZE, rows: PACK_SIZE };
    const pack = packs.get(name) ?? { set, ...shape, z, x: packX, y: packY, tiles: new Map() };
    packs.set(name, pack);
    const part = Buffer.from(bytes.buffer, bytes.byteOffset + at, length);
    const slot = slotOf(x, y);
    pack.tiles.set(slot, { slot, bytes: part, checksum: crc32(part), ticket, ...times });
    at += length;
  }
  return Array.from(packs.values(), ({ tiles, ...pack }) => ({ ...pack, tiles: [...tiles.values()] }));
}

export function makingOf(tile: PackObject['tiles'][number]): Making {
  const { ticket, createdAt, freshUntil, madeBy, validator } = tile;
  return { ticket, createdAt, freshUntil, madeBy, validator };
}
