import type { TileIndex, TileSetKey } from '../../domain/tile-key.ts';
import { rectOfTile } from '../../domain/tile-rect.ts';
import { createKeyedSingleFlight } from '../../lib/keyed-single-flight.ts';
import type { Logger } from '../../lib/logger.ts';
import { Directory, packOf, slotOf, tileInPack } from '../index/directory.ts';
import { FIRST_PACK } from '../index/index-reader.ts';
import { shownBy } from '../index/mark-rows.ts';
import { askSoon } from '../index/postgres/ask-index.ts';
import type { PackIndex } from '../index/postgres/pack-index.ts';
import type { ObjectTile, PackObject } from '../pack-object.ts';
import type { BesideTile, Outage, StoredTile } from '../store.ts';
import type { DiskTier, ShownTile } from './disk-tier.ts';
import type { ObjectBytes } from './object-bytes.ts';

interface PackReaderOptions {
  readonly index: PackIndex;
  readonly bytes: Pick<ObjectBytes, 'get' | 'key'>;
  readonly log: Logger;
  /** Copies on this machine; null if the store has none. */
  readonly tier: DiskTier | null;
  readonly outage: Outage;
  /** Removes a tile without bytes from the index. Throws if the object store is the wrong one. */
  readonly discard: (set: TileSetKey, tile: TileIndex, object: number) => Promise<void>;
}

interface FoundTile {
  /** The number of the tile set. */
  readonly id: number;
  /** The disk tier's moment, read before the index. */
  readonly moment: number;
  readonly target: ShownTile;
  /** Other tiles of the same object. */
  readonly others: readonly ShownTile[];
}

/** Reads tiles: queries the index, then the object store once for all concurrent readers of an object. */
export function createPackReader({ index, bytes, log, tier, outage, discard }: PackReaderOptions) {
  const flights = createKeyedSingleFlight<PackObject | null>();

  async function read(set: TileSetKey, tile: TileIndex, beside: BesideTile): Promise<StoredTile | null> {
    // A request does not wait for a database that is known to be unreachable.
    if (outage.isAway()) return copyOf(set, tile);
    const first = await find(set, tile).catch(async (error: unknown) => {
      const unchecked = await copyOf(set, tile);
      if (unchecked) return unchecked;
      throw error;
    });
    if (!first || 'bytes' in first) return first;
    const stored = await fetchTile(set, tile, first, beside);
    if (stored) return stored;
    // The object may have been replaced and removed since the index was read.
    const second = await find(set, tile);
    if (!second) return null;
    const again = await fetchTile(set, tile, second, beside);
    if (again) return again;
    await discard(set, tile, second.target.segment);
    log.warn({ layer: set.layer, ...tile }, 'a stored tile is missing or damaged; it will be created again');
    return null;
  }

  async function find(set: TileSetKey, tile: TileIndex): Promise<FoundTile | null> {
    const moment = tier?.moment ?? 0;
    const { set: id, rows } = await askSoon(() => index.slice(set, tile.z, rectOfTile(tile), FIRST_PACK, 1));
    const [row] = rows;
    if (id === null || !row?.detail) return null;
    const directory = Directory.read(row.detail, { set: id, z: tile.z, x: row.x, y: row.y });
    const segment = directory?.find(slotOf(tile.x, tile.y))?.segment;
    if (!directory || segment === undefined) return null;
    const shown = directory.tiles().flatMap((one): ShownTile[] => {
      if (one.segment !== segment) return [];
      const place = tileInPack(row, one.slot);
      const making = shownBy(row.marks, one.making, place.x, place.y);
      return making ? [{ ...one, ...place, making }] : [];
    });
    const target = shown.find(({ x, y }) => x === tile.x && y === tile.y);
    return target ? { id, moment, target, others: shown.filter((one) => one !== target) } : null;
  }

  async function fetchTile(
    set: TileSetKey,
    { z }: TileIndex,
    { id, moment, target, others }: FoundTile,
    beside: BesideTile,
  ): Promise<StoredTile | null> {
    const copy = await tier?.get(set, z, target);
    if (copy) return storedTile(target, copy);
    const place = { z, x: packOf(target.x), y: packOf(target.y), object: target.segment };
    const pack = await flights.run(bytes.key({ id, set }, place), async () => {
      const read = await bytes.get({ id, set }, place);
      if (read) tier?.keep(set, z, copiesOf([target, ...others], read), moment);
      return read;
    });
    const inside = new Map(pack?.tiles.map((tile) => [tile.slot, tile]));
    for (const other of others) {
      const stored = storedTile(other, inside.get(other.slot));
      if (stored) beside({ z, x: other.x, y: other.y }, stored);
    }
    return storedTile(target, inside.get(target.slot));
  }

  async function copyOf(set: TileSetKey, { z, x, y }: TileIndex): Promise<StoredTile | null> {
    return tier && (await outage.mayShow()) ? tier.getWithoutIndex(set, z, x, y) : null;
  }

  return read;
}

function copiesOf(tiles: readonly ShownTile[], { tiles: inside }: PackObject) {
  return tiles.flatMap((tile) => {
    const bytes = inside.find(
      ({ slot, checksum }) => slot === tile.slot && checksum === tile.checksum,
    )?.bytes;
    return bytes ? [{ tile, bytes }] : [];
  });
}

/** A tile with the times of the index and the bytes of the object; null unless these are the ones that the index names. */
function storedTile(
  { length, checksum, making }: ShownTile,
  inside: Pick<ObjectTile, 'bytes' | 'checksum'> | undefined,
): StoredTile | null {
  if (inside?.checksum !== checksum || inside.bytes.length !== length) return null;
  const { createdAt, freshUntil, madeBy } = making;
  return { bytes: inside.bytes, checksum, createdAt, freshUntil, madeBy };
}
