import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { rectAround } from '../../domain/tile-rect.ts';
import type { Clock } from '../../lib/clock.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { BytePlace } from '../bytes.ts';
import { Directory, type IndexedTile, type PackEdit } from '../index/directory.ts';
import type { ChangedPack, Conditions, Orphan, PackIndex, SeenPack } from '../index/postgres/pack-index.ts';
import { merged } from '../index/tile-edits.ts';
import type { PackObject } from '../pack-object.ts';
import { packTiles, placedTiles, recordsOf } from '../pack-tiles.ts';
import { NO_CHANGE, negated, type StoreChange, sumOfChanges, type TileWrite } from '../store.ts';
import type { ObjectBytes } from './object-bytes.ts';
import { MAX_WRITE } from './pack-sweeper.ts';

interface PackWriterOptions {
  readonly index: PackIndex;
  readonly bytes: Pick<ObjectBytes, 'put'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

/** An object that was written, and its tiles for the index. */
interface NewPack extends Orphan {
  readonly tiles: readonly IndexedTile[];
}

export interface EditConditions extends Conditions {
  /** Does not list objects for removal that no row names afterwards: they may not exist. */
  readonly leavesObjects?: true;
}

export const UNCONDITIONAL: EditConditions = { writtenAt: null, changedAt: 0, lease: null, fence: null };
/** Limit of tile sets whose number is cached. */
const MAX_SETS = 10_000;
/** Bytes of cached rows that this process has written, because the next metatile is often in the same pack. */
const MAX_ROWS = 8 * 2 ** 20;
/** Attempts of a write that other writers overtake. */
const MAX_ATTEMPTS = 1000;

/** Changes the index with optimistic locking, and writes objects before the index names them. */
export class PackWriter {
  readonly #options: PackWriterOptions;
  readonly #sets = new RecentMap<string, number>(MAX_SETS);
  readonly #rows = new RecentMap<string, Buffer>(MAX_ROWS);

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
    const records = recordsOf({ set, z, ticket, ...packTiles(tiles) });
    for (;;) {
      const id = await this.#setFor(set);
      const now = this.#options.clock.now();
      const conditions = { lease, fence: { ticket, rect }, writtenAt: now, changedAt: now };
      const change = await this.#putInto(id, records, conditions);
      if (change) return change;
      this.#sets.delete(tileSetId(set));
    }
  }

  /** Repeats the edit until no other writer was faster. Null if the tile set was dropped. */
  async change(
    { id, set, z }: { readonly id: number; readonly set: TileSetKey; readonly z: number },
    seen: readonly SeenPack[],
    edit: PackEdit,
    { leavesObjects, ...conditions }: EditConditions,
  ): Promise<StoreChange | null> {
    let rows = seen;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { packs, orphans, change } = planChange(id, z, rows, edit);
      if (packs.length === 0) return NO_CHANGE;
      const planned = { packs, orphans: leavesObjects ? [] : orphans };
      const outcome = await this.#options.index.change({ set, id, z, ...planned, ...conditions });
      if (outcome.type === 'done') this.#remember(id, z, packs);
      if (outcome.type === 'done') return change;
      if (outcome.type === 'set-gone') return null;
      if (outcome.type !== 'changed') throw refused(outcome.type, set.layer);
      rows = outcome.rows;
    }
    throw new TilewardenError('store-failed', 'Others keep changing the same tiles.');
  }

  #remember(id: number, z: number, packs: readonly ChangedPack[]): void {
    for (const { x, y, next } of packs) {
      if (next) this.#rows.set(`${id} ${z} ${x} ${y}`, next, next.length);
      else this.#rows.delete(`${id} ${z} ${x} ${y}`);
    }
  }

  async #setFor(set: TileSetKey): Promise<number> {
    const known = this.#sets.get(tileSetId(set));
    if (known !== null) return known;
    const { index } = this.#options;
    for (;;) {
      const id = await index.find(set);
      if (id !== null) this.#sets.set(tileSetId(set), id, 1);
      if (id !== null) return id;
      await index.create(set);
    }
  }

  /** Null if the tile set was dropped. */
  async #putInto(
    id: number,
    records: readonly PackObject[],
    conditions: Conditions,
  ): Promise<StoreChange | null> {
    const [first] = records;
    if (!first) return NO_CHANGE;
    const { set, z } = first;
    const packs = await this.#write(id, records);
    const named = new Set<number>();
    const edit: PackEdit = (before, { x, y }) => {
      const pack = packs.find((one) => one.x === x && one.y === y);
      if (!pack) return before;
      const after = merged(before, pack.tiles);
      if (after.some(({ segment }) => segment === pack.object)) named.add(pack.object);
      else named.delete(pack.object);
      return after;
    };
    // Without a response the statement may have taken effect, so no object is listed for removal; the sweeper's audit
    // finds those that no row names.
    let isKnown = false;
    try {
      const seen = packs.map(({ x, y }) => ({ x, y, detail: this.#rows.get(`${id} ${z} ${x} ${y}`) }));
      const change = await this.change({ id, set, z }, seen, edit, conditions);
      isKnown = true;
      if (!change) named.clear();
      return change;
    } catch (error) {
      isKnown = isTilewardenError(error, 'lease-lost', 'generation-stale');
      named.clear();
      throw error;
    } finally {
      if (isKnown)
        await this.#abandon(
          id,
          z,
          packs.filter(({ object }) => !named.has(object)),
        );
    }
  }

  async #abandon(id: number, z: number, unused: readonly Orphan[]): Promise<void> {
    if (unused.length > 0) await this.#options.index.abandon(id, z, unused).catch(() => {});
  }

  /** Writes all objects; after a failure, lists the written ones for removal. */
  async #write(id: number, records: readonly PackObject[]): Promise<readonly NewPack[]> {
    const { bytes, clock } = this.#options;
    const begun = clock.monotonic();
    const ends = await Promise.allSettled(
      records.map(async (record) => newPack(record, await bytes.put(id, record))),
    );
    const written = ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
    const failure = ends.find((end) => end.status === 'rejected');
    const isLate = clock.monotonic() - begun > MAX_WRITE / 2;
    if (!failure && !isLate) return written;
    await this.#abandon(id, records[0]?.z ?? 0, written);
    throw (
      failure?.reason ?? new TilewardenError('store-failed', 'Writing to the object store took too long.')
    );
  }
}

function newPack({ x, y, tiles }: PackObject, places: readonly BytePlace[]): NewPack {
  const named = placedTiles({ tiles }, places);
  return { x, y, object: places[0]?.segment ?? 0, bytes: sumOf(named).bytes, tiles: named };
}

/** The changes that an edit of these packs makes to the index, and the objects that are unused afterwards. */
function planChange(id: number, z: number, rows: readonly SeenPack[], edit: PackEdit) {
  const packs: ChangedPack[] = [];
  const orphans: Orphan[] = [];
  const changes: StoreChange[] = [];
  for (const row of rows) {
    const { x, y, detail: seen } = row;
    const position = { set: id, z, x, y };
    const before = (seen && Directory.read(seen, position)?.tiles()) ?? [];
    const after = edit(before, position);
    if (after === before) continue;
    const next = after.length === 0 ? null : Directory.write(after, position);
    // The pack has no row before and after.
    if (!seen && !next) continue;
    const kept = new Set(after);
    packs.push({ x, y, seen, next, ...sumOf(after), renewed: !before.every((tile) => kept.has(tile)) });
    orphans.push(...orphansOf(row, before, after));
    changes.push(sumOf(after), negated(sumOf(before)));
  }
  return { packs, orphans, change: sumOfChanges(changes) };
}

function sumOf(tiles: readonly IndexedTile[]): StoreChange {
  return { tiles: tiles.length, bytes: tiles.reduce((sum, { length }) => sum + length, 0) };
}

function orphansOf(
  { x, y }: SeenPack,
  before: readonly IndexedTile[],
  after: readonly IndexedTile[],
): Orphan[] {
  const needed = new Set(after.map(({ segment }) => segment));
  const sizes = new Map<number, number>();
  for (const { segment, length } of before) {
    if (!needed.has(segment)) sizes.set(segment, (sizes.get(segment) ?? 0) + length);
  }
  return [...sizes].map(([object, bytes]) => ({ x, y, object, bytes }));
}

function refused(code: 'lease-lost' | 'generation-stale', layer: string): TilewardenError {
  const why =
    code === 'lease-lost'
      ? 'The lease that tiles were made under is lost'
      : 'It was truncated since this was fetched';
  return new TilewardenError(code, `Layer ${layer}: ${why}.`);
}
