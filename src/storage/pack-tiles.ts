import { crc32 } from 'node:zlib';
import type { TileSetKey } from '../domain/tile-key.ts';
import { type IndexedTile, type Making, PACK_SIZE, packOf, slotOf } from './index/directory.ts';
import type { PackHead, PackObject } from './pack-object.ts';
import { outdatedSince, type TileWrite } from './store.ts';

/** Longer validators are not kept. */
const MAX_VALIDATOR = 1000;

/** A tile of a put; its bytes are in `PackedTiles.bytes`, after those of the tile before it. */
export interface TileSlot extends Required<Omit<TileWrite, 'bytes'>> {
  readonly length: number;
}

export interface PackedTiles {
  readonly slots: readonly TileSlot[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface TilesOfSet extends PackedTiles {
  readonly set: TileSetKey;
  readonly z: number;
  readonly ticket: number;
}

/** One buffer of its own for all tiles, so that it can be handed to another thread without a further copy. */
export function packTiles(tiles: readonly TileWrite[]): PackedTiles {
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
export function recordsOf({ set, z, ticket, slots, bytes }: TilesOfSet): readonly PackObject[] {
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

/**
 * The tiles of a record as an index names them that is made again. Which of them were removed was in the index that is lost:
 * all are outdated, and without a validator, so that they are made again and not confirmed. `offset` is where their bytes begin.
 */
export function relistedTiles(
  { tiles }: PackHead,
  segment: number,
  offset: number,
  now: number,
): readonly IndexedTile[] {
  let next = offset;
  return tiles.map(({ slot, length, checksum, ...making }) => {
    const at = next;
    next += length;
    const freshUntil = outdatedSince(making.freshUntil, now);
    return {
      slot,
      segment,
      offset: at,
      length,
      checksum,
      making: { ...making, freshUntil, validator: null },
    };
  });
}
