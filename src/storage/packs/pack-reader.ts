import { type TileIndex, type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { rectOfTile } from '../../domain/tile-rect.ts';
import { createKeyedSingleFlight } from '../../lib/keyed-single-flight.ts';
import type { Logger } from '../../lib/logger.ts';
import { type PackObject, readPackObject } from '../pack-object.ts';
import type { Outage, StoredTile } from '../tile-store.ts';
import type { DiskTier, TileCopy } from './disk-tier.ts';
import type { ObjectStore } from './object-store.ts';
import { packKey } from './pack-detail.ts';
import { askSoon, type PackIndex, type PackRow, type SetRow } from './pack-index.ts';
import { type PlacedTile, tilesOf } from './plan-pack-change.ts';

interface PackReaderOptions {
  readonly index: PackIndex;
  readonly bucket: ObjectStore;
  readonly prefix: string;
  readonly log: Logger;
  /** Copies on this machine; null: none. */
  readonly tier: DiskTier | null;
  readonly outage: Outage;
  /** Takes a tile out of the index whose bytes are not there. Throws when the object store is not the one it should be. */
  readonly discard: (set: TileSetKey, z: number, tile: PlacedTile) => Promise<void>;
}

interface FoundTile {
  readonly setRow: SetRow;
  readonly row: PackRow;
  /** The disk tier's moment, read before the index. */
  readonly moment: number;
  readonly target: PlacedTile;
  readonly others: readonly PlacedTile[];
}

/** Reads tiles: a query of the index, and one request to the object store for all readers of a pack. */
export class PackReader {
  readonly #options: PackReaderOptions;
  readonly #flights = createKeyedSingleFlight<PackObject | null>();

  constructor(options: PackReaderOptions) {
    this.#options = options;
  }

  async read(
    set: TileSetKey,
    tile: TileIndex,
    beside: (tile: TileIndex, stored: StoredTile) => void,
  ): Promise<StoredTile | null> {
    const { outage } = this.#options;
    // No request waits for a database that is known to be away.
    if (outage.isAway()) return this.#copyOf(set, tile);
    const first = await this.#find(set, tile).catch(async (error: unknown) => {
      const unasked = await this.#copyOf(set, tile);
      if (unasked) return unasked;
      throw error;
    });
    if (!first || 'bytes' in first) return first;
    const stored = await this.#fetch(set, tile, first, beside);
    if (stored) return stored;
    // A missing object was replaced and removed since the index was read.
    const second = await this.#find(set, tile);
    if (!second) return null;
    const again = await this.#fetch(set, tile, second, beside);
    return again ?? this.#discard(set, tile.z, second);
  }

  async #find(set: TileSetKey, tile: TileIndex): Promise<FoundTile | null> {
    const moment = this.#options.tier?.moment ?? 0;
    const answer = await askSoon(() => this.#options.index.within(set, tile.z, rectOfTile(tile)));
    const row = answer?.rows[0];
    if (!answer || !row) return null;
    const tiles = tilesOf(answer.setRow, row).flatMap(
      (one) => answer.marks.shown(set, { ...one, z: tile.z }, one, one.ticket) ?? [],
    );
    const target = tiles.find((one) => one.x === tile.x && one.y === tile.y);
    if (!target) return null;
    const others = tiles.filter((one) => one !== target && one.object === target.object);
    return { setRow: answer.setRow, row, moment, target, others };
  }

  async #fetch(
    set: TileSetKey,
    { z }: TileIndex,
    { setRow, row, moment, target, others }: FoundTile,
    beside: (tile: TileIndex, stored: StoredTile) => void,
  ): Promise<StoredTile | null> {
    const { bucket, prefix, tier } = this.#options;
    const copy = await tier?.get(set, z, target);
    if (copy) return storedTile(target, copy);
    const key = packKey(prefix, { id: setRow.id, set }, { z, x: row.x, y: row.y }, target.object);
    const pack = await this.#flights.run(key, async () => {
      const bytes = await bucket.get(key);
      const read = bytes && objectOf(set, z, row, bytes);
      if (read) tier?.keep(set, z, copiesOf([target, ...others], read), moment);
      return read;
    });
    if (!pack) return null;
    const bytesOf = new Map(pack.tiles.map((tile) => [tile.slot, tile]));
    for (const other of others) {
      const stored = storedTile(other, bytesOf.get(other.slot));
      if (stored) beside({ z, x: other.x, y: other.y }, stored);
    }
    return storedTile(target, bytesOf.get(target.slot));
  }

  async #copyOf(set: TileSetKey, { z, x, y }: TileIndex): Promise<StoredTile | null> {
    const { tier, outage } = this.#options;
    return tier && (await outage.mayShow()) ? tier.getUnasked(set, z, x, y) : null;
  }

  async #discard(set: TileSetKey, z: number, { target }: FoundTile): Promise<null> {
    const { log, discard } = this.#options;
    await discard(set, z, target);
    log.warn(
      { layer: set.layer, z, x: target.x, y: target.y },
      'a stored tile is missing or damaged; it will be created again',
    );
    return null;
  }
}

/** Null when it is damaged, or the object of another place. */
function objectOf(set: TileSetKey, z: number, { x, y }: PackRow, bytes: Buffer): PackObject | null {
  const read = readPackObject(bytes);
  const isHere = read?.z === z && read.x === x && read.y === y && tileSetId(read.set) === tileSetId(set);
  return isHere ? read : null;
}

function copiesOf(tiles: readonly PlacedTile[], { tiles: inside }: PackObject): TileCopy[] {
  const bytesOf = new Map(inside.map(({ slot, bytes }) => [slot, bytes]));
  return tiles.flatMap((tile) => {
    const bytes = bytesOf.get(tile.slot);
    return bytes?.length === tile.length ? [{ tile, bytes }] : [];
  });
}

/** Mutable fields come from the index; the bytes and their checksum from the object. */
function storedTile(
  { length, createdAt, freshUntil, madeBy }: PlacedTile,
  inside: { readonly bytes: Buffer; readonly checksum: number } | undefined,
): StoredTile | null {
  if (!inside || inside.bytes.length !== length) return null;
  return { bytes: inside.bytes, checksum: inside.checksum, createdAt, freshUntil, madeBy };
}
