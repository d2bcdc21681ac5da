import { crc32 } from 'node:zlib';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { MetatileSize } from '../../domain/metatile.ts';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { rectAround } from '../../domain/tile-rect.ts';
import type { Clock } from '../../lib/clock.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import { type ObjectTile, writePackObject } from '../pack-object.ts';
import { NO_CHANGE, type StoreChange, type TileWrite } from '../tile-store.ts';
import type { ObjectStore } from './object-store.ts';
import { type PackedTile, packKey } from './pack-detail.ts';
import type { PackChange, PackIndex, PackRow, SetRow } from './pack-index.ts';
import { MAX_WRITE } from './pack-sweeper.ts';
import { type PackEdit, planPackChange, slotOf } from './plan-pack-change.ts';

export interface PackWriterOptions {
  readonly index: PackIndex;
  readonly bucket: ObjectStore;
  readonly prefix: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The random part of a key. */
  readonly randomObject: () => number;
  /** How the tiles of a new tile set are packed. */
  readonly shapeOf: (set: TileSetKey) => MetatileSize;
}

/** A pack that is written: its place, its object and its tiles. */
interface NewPack {
  readonly x: number;
  readonly y: number;
  readonly object: number;
  readonly tiles: Map<number, ObjectTile>;
}

export interface Conditions extends Pick<PackChange, 'writtenAt' | 'lease' | 'fence'> {
  /** Objects that no row names afterwards are not listed for removal: whether they are there is in doubt. */
  readonly leavesObjects?: true;
}

export const UNCONDITIONAL: Conditions = { writtenAt: null, lease: null, fence: null };
/** Tile sets whose number is remembered. */
const MAX_SETS = 10_000;
/** A write that is overtaken so often at the same place gives up. */
const MAX_ATTEMPTS = 1000;

/** Changes the index, and writes objects before the index names them. */
export class PackWriter {
  readonly #options: PackWriterOptions;
  readonly #sets = new RecentMap<string, SetRow>(MAX_SETS);

  constructor(options: PackWriterOptions) {
    this.#options = options;
  }

  async put(
    set: TileSetKey,
    z: number,
    tiles: readonly TileWrite[],
    ticket: number,
    lease: number | null,
  ): Promise<StoreChange> {
    const rect = rectAround(tiles);
    if (!rect) return NO_CHANGE;
    for (;;) {
      const setRow = await this.#setFor(set);
      const change = await this.#putInto(set, setRow, z, tiles, { lease, fence: { ticket, rect } });
      if (change) return change;
      this.#sets.delete(tileSetId(set));
    }
  }

  /** Reads and replaces until no other writer was faster. Null: the tile set has been dropped. */
  async change(
    set: TileSetKey,
    setRow: SetRow,
    z: number,
    seen: readonly PackRow[],
    edit: PackEdit,
    { leavesObjects, ...conditions }: Conditions,
  ): Promise<StoreChange | null> {
    let rows = seen;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { change, ...plan } = planPackChange(setRow, rows, edit);
      const planned = leavesObjects ? { ...plan, orphans: [] } : plan;
      if (planned.packs.length === 0 && planned.orphans.length === 0) return NO_CHANGE;
      const outcome = await this.#options.index.change({ set, setRow, z, ...planned, ...conditions });
      if (outcome.type === 'done') return change;
      if (outcome.type === 'set-gone') return null;
      if (outcome.type !== 'changed') throw refused(outcome.type, set.layer);
      rows = outcome.rows;
    }
    throw new TilewardenError('store-failed', 'Others keep changing the same tiles.');
  }

  async #setFor(set: TileSetKey): Promise<SetRow> {
    const known = this.#sets.get(tileSetId(set));
    if (known) return known;
    const { index, shapeOf } = this.#options;
    for (;;) {
      const setRow = await index.find(set);
      if (setRow) {
        this.#sets.set(tileSetId(set), setRow, 1);
        return setRow;
      }
      await index.create(set, shapeOf(set));
    }
  }

  /** Null: the tile set has been dropped. */
  async #putInto(
    set: TileSetKey,
    setRow: SetRow,
    z: number,
    tiles: readonly TileWrite[],
    conditions: Pick<Conditions, 'lease'> & { readonly fence: NonNullable<Conditions['fence']> },
  ): Promise<StoreChange | null> {
    const { index, clock } = this.#options;
    const packs = this.#packsOf(setRow, tiles, conditions.fence.ticket);
    const written = [...packs.values()].map(({ x, y, object, tiles: inside }) => ({
      x,
      y,
      object,
      bytes: [...inside.values()].reduce((sum, { bytes }) => sum + bytes.length, 0),
    }));
    const named = new Set<number>();
    // A statement whose answer is lost may have taken effect: then nothing is listed for removal. The audit finds objects
    // that no row names.
    let isKnown = true;
    try {
      const begun = clock.monotonic();
      await this.#write(set, setRow, z, [...packs.values()]);
      if (clock.monotonic() - begun > MAX_WRITE / 2)
        throw new TilewardenError('store-failed', 'Writing to the object store took too long.');
      const seen = written.map(({ x, y }) => ({ x, y, detail: null }));
      const edit = this.#edit(packs, named);
      isKnown = false;
      const change = await this.change(set, setRow, z, seen, edit, { ...conditions, writtenAt: clock.now() });
      isKnown = true;
      if (!change) named.clear();
      return change;
    } catch (error) {
      isKnown ||= isTilewardenError(error, 'lease-lost', 'generation-stale');
      named.clear();
      throw error;
    } finally {
      const unused = isKnown ? written.filter(({ object }) => !named.has(object)) : [];
      if (unused.length > 0) await index.abandon(setRow, z, unused).catch(() => {});
    }
  }

  #packsOf(setRow: SetRow, tiles: readonly TileWrite[], ticket: number): Map<string, NewPack> {
    const packs = new Map<string, NewPack>();
    for (const tile of tiles) {
      const [x, y] = [Math.floor(tile.x / setRow.columns), Math.floor(tile.y / setRow.rows)];
      const pack = packs.get(`${x} ${y}`) ?? { x, y, object: this.#options.randomObject(), tiles: new Map() };
      packs.set(`${x} ${y}`, pack);
      const slot = slotOf(setRow, tile.x, tile.y);
      const { bytes, createdAt, freshUntil = null, madeBy = null, validator = null } = tile;
      const making = { createdAt, freshUntil, madeBy, validator, ticket };
      pack.tiles.set(slot, { slot, bytes, checksum: crc32(bytes), ...making });
    }
    return packs;
  }

  async #write(
    set: TileSetKey,
    { id, columns, rows }: SetRow,
    z: number,
    packs: readonly NewPack[],
  ): Promise<void> {
    const { bucket, prefix } = this.#options;
    const written = await Promise.allSettled(
      packs.map(({ x, y, object, tiles }) => {
        const bytes = writePackObject({ set, columns, rows, z, x, y, tiles: [...tiles.values()] });
        return bucket.put(packKey(prefix, { id, set }, { z, x, y }, object), bytes);
      }),
    );
    for (const one of written) if (one.status === 'rejected') throw one.reason;
  }

  /** Puts the tiles in, except where one with a later ticket is. `named` are the objects that rows then name. */
  #edit(packs: ReadonlyMap<string, NewPack>, named: Set<number>): PackEdit {
    return ({ x, y }, before) => {
      const pack = packs.get(`${x} ${y}`);
      if (!pack) return before;
      named.delete(pack.object);
      const after = new Map<number, PackedTile>(before.map((tile) => [tile.slot, tile]));
      for (const { slot, bytes, checksum: _, ...making } of pack.tiles.values()) {
        const present = after.get(slot);
        if (present && present.ticket > making.ticket) continue;
        named.add(pack.object);
        after.set(slot, { slot, object: pack.object, length: bytes.length, ...making });
      }
      return [...after.values()];
    };
  }
}

function refused(code: 'lease-lost' | 'generation-stale', layer: string): TilewardenError {
  const why =
    code === 'lease-lost'
      ? 'The lease that tiles were made under is lost'
      : 'It was truncated since this was fetched';
  return new TilewardenError(code, `Layer ${layer}: ${why}.`);
}
