import { randomUUID } from 'node:crypto';
import { TilewardenError } from '../../domain/errors.ts';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { rectAround, type TileRect } from '../../domain/tile-rect.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { type BytePlace, type Bytes, type PutBytes, putNoted } from '../bytes.ts';
import { type IndexedTile, packOf, slotOf } from '../index/directory.ts';
import { blockingly } from '../index/index-failure.ts';
import { durably, type IndexFile } from '../index/index-file.ts';
import { IndexReader, type PackCursor } from '../index/index-reader.ts';
import { changeMarks, SQLITE_MARKS } from '../index/marks.ts';
import { type ChangeSums, preparePackChanges } from '../index/pack-changes.ts';
import { prepareUses } from '../index/pages.ts';
import { prepareScripts } from '../index/script.ts';
import { editTiles, merged } from '../index/tile-edits.ts';
import type { PackObject } from '../pack-object.ts';
import { type PackedTiles, placedTiles, recordsOf } from '../pack-tiles.ts';
import { type MarkChange, NO_CHANGE, type StoreChange, type StoreEdit, sumOfChanges } from '../store.ts';
import { SegmentBytes } from './segment-bytes.ts';
import { openSegmentIndex, Reserve } from './segment-files.ts';
import { SegmentUpkeep } from './segment-upkeep.ts';

/** Packs that a transaction edits: some milliseconds. */
const PACKS_IN_A_SLICE = 256;

interface WritingParts {
  readonly bytes: Bytes;
  /** Background work. `wake`: there may be some. `step` does a part and returns the milliseconds until the next step. */
  readonly upkeep: { wake(): void; step(): number };
  /** Space for changes that a full disk must not prevent. */
  readonly reserve: { use<T>(work: () => T): T; refill(): void };
}

type PutResult = StoreChange | TilewardenError;

/** Records that are put into a tile set together. */
interface PutOfSet {
  readonly set: TileSetKey;
  readonly records: PackObject[];
  /** Bytes that were put before the transaction; null: they are put within it. */
  early: { readonly id: number; readonly put: PutBytes } | null;
}

/** The tiles of each record as entries of the index, and the number of their tile set. */
interface PlacedTiles {
  readonly id: number;
  readonly of: ReadonlyMap<PackObject, readonly IndexedTile[]>;
}

/** The writing half of a local store: runs commands one at a time. A store of segments runs it in a separate thread. */
export class SegmentWriting {
  readonly #db: IndexFile;
  readonly #running;
  readonly #reader: IndexReader;
  readonly #bytes: Bytes;
  readonly #changes;
  readonly #uses;
  readonly #runScript;
  readonly #upkeep: WritingParts['upkeep'];
  readonly #reserve: WritingParts['reserve'];

  constructor(db: IndexFile, { bytes, upkeep, reserve }: WritingParts) {
    this.#db = db;
    this.#running = db.transaction((work: () => unknown) => work());
    this.#reader = new IndexReader(db);
    this.#bytes = bytes;
    this.#changes = preparePackChanges(db);
    this.#uses = prepareUses(db);
    this.#runScript = prepareScripts(db);
    this.#upkeep = upkeep;
    this.#reserve = reserve;
  }

  put(command: PutCommand): StoreChange {
    const [result = NO_CHANGE] = this.putTogether([command]);
    if (result instanceof TilewardenError) throw result;
    return result;
  }

  /** Puts in one transaction. Those with an outdated ticket are refused; the others are stored. */
  putTogether(commands: readonly PutCommand[]): readonly PutResult[] {
    const bySet = new Map<string, PutOfSet>();
    const puts = commands.map((command) => {
      const { set } = command;
      const ofSet = getOrCreate(bySet, tileSetId(set), () => ({ set, records: [], early: null }));
      const records = recordsOf(command);
      ofSet.records.push(...records);
      return { command, records, ofSet };
    });
    // Before the transaction, so that other processes do not wait for it.
    for (const ofSet of bySet.values()) ofSet.early = this.#putEarly(ofSet);
    return this.#transaction(() => {
      const placed = new Map<PutOfSet, PlacedTiles>();
      const live = new Map<number, number>();
      const results = puts.map(({ command, records, ofSet }) => {
        const { set, z, ticket, slots } = command;
        const rect = rectAround(slots);
        const refusal = rect && this.#refusal(set, z, rect, ticket);
        if (refusal) return refusal;
        const tiles = getOrCreate(placed, ofSet, () => this.#place(ofSet));
        const sums: ChangeSums = { live, writtenAt: command.at, changedAt: command.at };
        return sumOfChanges(records.map((record) => this.#name(record, tiles, sums)));
      });
      if (this.#changes.finish(live)) this.#upkeep.wake();
      return results;
    });
  }

  /** Does the next slice of an edit, and returns where to continue. */
  edit({ set, z, rect, edit, after, at }: EditCommand): EditResult {
    return this.#reserve.use(() =>
      this.#transaction(() => {
        const id = this.#reader.setRow(set);
        if (id === null) return { ...NO_CHANGE, next: null };
        if (edit.type === 'use') return { tiles: this.#uses(id, z, edit.pages), bytes: 0, next: null };
        const refusal = edit.type === 'confirm' ? this.#refusal(set, z, rect, edit.ticket) : null;
        if (refusal) throw refusal;
        const { rows, next } = this.#reader.packsWithin(id, z, rect, after, PACKS_IN_A_SLICE);
        const sums: ChangeSums = { live: new Map(), writtenAt: null, changedAt: at };
        const done = rows.map((row) => {
          const position = { set: id, z, x: row.x, y: row.y };
          let selected = NO_CHANGE;
          this.#changes.change(
            position,
            row,
            (tiles) => {
              const result = editTiles(tiles, row, rect, edit);
              selected = result.selected;
              return result.tiles;
            },
            sums,
          );
          return selected;
        });
        if (this.#changes.finish(sums.live)) this.#upkeep.wake();
        return { ...sumOfChanges(done), next };
      }),
    );
  }

  /** Removes a tile with damaged bytes, unless it was replaced in the meantime. */
  discard(set: TileSetKey, z: number, x: number, y: number, place: BytePlace): StoreChange {
    return this.#transaction(() => {
      const id = this.#reader.setRow(set);
      if (id === null) return NO_CHANGE;
      const position = { set: id, z, x: packOf(x), y: packOf(y) };
      const sums: ChangeSums = { live: new Map(), writtenAt: null, changedAt: 0 };
      const slot = slotOf(x, y);
      const isDamaged = (tile: IndexedTile) => tile.slot === slot && isSamePlace(tile, place);
      const drop = (tiles: readonly IndexedTile[]) =>
        tiles.some(isDamaged) ? tiles.filter((tile) => !isDamaged(tile)) : tiles;
      const change = this.#changes.change(position, this.#changes.rowOf(position), drop, sums);
      this.#changes.finish(sums.live);
      return change;
    });
  }

  /** Hides tile sets, durably when it returns; upkeep frees their space. */
  drop(layer: string, set: TileSetKey | null, now: number): void {
    const only = set ? 'AND identity = ?' : '';
    const drop = this.#db.prepare<unknown[]>(
      `UPDATE tile_sets SET dropped_at = ? WHERE layer = ? AND dropped_at IS NULL ${only}`,
    );
    const parameters = [now, JSON.stringify(layer), ...(set ? [tileSetId(set)] : [])];
    this.#reserve.use(() => durably(this.#db, () => this.#transaction(() => drop.run(...parameters))));
    this.#upkeep.wake();
  }

  /** Raised marks are durable when it returns. */
  mark(change: MarkChange): readonly number[] {
    const work = () => this.#transaction(() => this.#runScript(changeMarks(SQLITE_MARKS, change)));
    return this.#reserve.use(() => (change.type === 'close' ? work() : durably(this.#db, work)));
  }

  /** One step of background work. Returns the milliseconds until the next. */
  upkeep(): number {
    this.#reserve.refill();
    return blockingly(() => this.#upkeep.step());
  }

  close(): void {
    try {
      this.#bytes.close();
    } finally {
      this.#db.close();
    }
  }

  #transaction<T>(work: () => T): T {
    return blockingly(() => this.#running.immediate(work) as T);
  }

  /** Puts bytes before the transaction; null if the set is not in the index yet. */
  #putEarly({ set, records }: PutOfSet): PutOfSet['early'] {
    const id = blockingly(() => this.#reader.setRow(set));
    return id === null ? null : { id, put: this.#bytes.put(id, records) };
  }

  /** Puts the records again if the set was dropped in the meantime, or another process has taken the segment. */
  #place({ set, records, early }: PutOfSet): PlacedTiles {
    const id = this.#setFor(set);
    const isThere = early?.id === id && early.put.note();
    const { places } = isThere ? early.put : putNoted(this.#bytes, id, records);
    return { id, of: new Map(records.map((record, at) => [record, placedTiles(record, places[at] ?? [])])) };
  }

  #name(record: PackObject, { id, of }: PlacedTiles, sums: ChangeSums): StoreChange {
    const position = { set: id, z: record.z, x: record.x, y: record.y };
    const tiles = of.get(record) ?? [];
    return this.#changes.change(
      position,
      this.#changes.rowOf(position),
      (before) => merged(before, tiles),
      sums,
    );
  }

  /** The number of the tile set, which is added to the index if missing. */
  #setFor(set: TileSetKey): number {
    const known = this.#reader.setRow(set);
    if (known !== null) return known;
    const create = this.#db.prepare<[string, string]>(
      'INSERT INTO tile_sets (layer, identity) VALUES (?, ?)',
    );
    return Number(create.run(JSON.stringify(set.layer), tileSetId(set)).lastInsertRowid);
  }

  #refusal(set: TileSetKey, z: number, rect: TileRect, ticket: number): TilewardenError | null {
    if (!this.#reader.isOutdated(set, z, rect, ticket)) return null;
    return new TilewardenError(
      'generation-stale',
      `Layer ${set.layer} was truncated since this was fetched.`,
    );
  }
}

function isSamePlace(a: BytePlace, b: BytePlace): boolean {
  return a.segment === b.segment && a.offset === b.offset && a.length === b.length;
}

export interface PutCommand extends PackedTiles {
  readonly set: TileSetKey;
  readonly z: number;
  readonly ticket: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface EditCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
  readonly edit: StoreEdit;
  readonly after: PackCursor;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface EditResult extends StoreChange {
  /** Where to continue; null after the last. */
  readonly next: PackCursor | null;
}

export interface WriterData {
  readonly root: string;
  readonly sweepBytesPerSecond: number;
  readonly segmentBytes?: number;
}

/** Pages of the index's log (16 MiB) after which the writer copies them into the file. */
const CHECKPOINT_PAGES = 4000;

export function openSegmentWriting({ root, sweepBytesPerSecond, segmentBytes }: WriterData): SegmentWriting {
  const reserve = new Reserve(root);
  const open = () => openSegmentIndex(root, { timeoutMs: 0, checkpointPages: CHECKPOINT_PAGES });
  const db = blockingly(() => reserve.use(open));
  reserve.refill();
  const writer = randomUUID();
  const bytes = new SegmentBytes(db, root, writer, Date.now, segmentBytes);
  const changes = preparePackChanges(db);
  const upkeep = new SegmentUpkeep({ db, root, writer, bytes, changes, sweepBytesPerSecond });
  return new SegmentWriting(db, { bytes, upkeep, reserve });
}
