import { crc32 } from 'node:zlib';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { BytePlace } from './bytes.ts';
import { type IndexedTile, packOf, slotOf } from './index/directory.ts';
import { shareMakings } from './index/tile-edits.ts';
import type { PackHead, PackObject } from './pack-object.ts';
import { outdatedSince, type TileWrite } from './store.ts';

/** Longer validators are not stored. */
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

/** One new buffer for all tiles, so that it can be transferred to another thread without a further copy. */
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

/** The tiles of a put as records, one for each pack. Of several tiles for a place, the last is used. */
export function recordsOf({ set, z, ticket, slots, bytes }: TilesOfSet): readonly PackObject[] {
  const packs = new Map<
    string,
    Omit<PackObject, 'tiles'> & { tiles: Map<number, PackObject['tiles'][number]> }
  >();
  let at = 0;
  const shared = shareMakings();
  for (const { x, y, length, createdAt, freshUntil, madeBy, validator } of slots) {
    const [packX, packY] = [packOf(x), packOf(y)];
    const name = `${packX} ${packY}`;
    const pack = packs.get(name) ?? { set, z, x: packX, y: packY, tiles: new Map() };
    packs.set(name, pack);
    const part = Buffer.from(bytes.buffer, bytes.byteOffset + at, length);
    const slot = slotOf(x, y);
    const making = shared({ ticket, createdAt, freshUntil, madeBy, validator });
    pack.tiles.set(slot, { slot, bytes: part, checksum: crc32(part), making });
    at += length;
  }
  return Array.from(packs.values(), ({ tiles, ...pack }) => ({ ...pack, tiles: [...tiles.values()] }));
}

/** The places of consecutive tiles of these lengths. */
export function placesFrom(segment: number, start: number, lengths: readonly number[]): readonly BytePlace[] {
  let offset = start;
  return lengths.map((length) => {
    offset += length;
    return { segment, offset: offset - length, length };
  });
}

/** The tiles of a record as entries of an index. */
export function placedTiles(
  { tiles }: { readonly tiles: readonly Pick<IndexedTile, 'slot' | 'checksum' | 'making'>[] },
  places: readonly BytePlace[],
): readonly IndexedTile[] {
  return tiles.map(({ slot, checksum, making }, at) => {
    const { segment, offset, length } = places[at] as BytePlace;
    return { slot, segment, offset, length, checksum, making };
  });
}

/**
 * As `placedTiles`, for a rebuilt index. Removals were recorded in the lost index only, so all tiles count as outdated and
 * lose their validator, so that they are fetched in full. `start`: the offset of their bytes.
 */
export function relistedTiles(
  { tiles }: PackHead,
  segment: number,
  start: number,
  now: number,
): readonly IndexedTile[] {
  const outdated = tiles.map(({ making, ...tile }) => {
    const freshUntil = outdatedSince(making.freshUntil, now);
    return { ...tile, making: { ...making, freshUntil, validator: null } };
  });
  const lengths = tiles.map(({ length }) => length);
  return placedTiles({ tiles: outdated }, placesFrom(segment, start, lengths));
}
