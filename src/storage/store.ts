import type { Readable } from 'node:stream';
import type { TileIndex, TileMaker, TileSetKey } from '../domain/tile-key.ts';
import type { PackedRects, TilePlace, TileRect } from '../domain/tile-rect.ts';
import type { Count } from '../lib/counters.ts';

export type { TilePlace };

/**
 * Stores tiles and keeps their order: an index of the tiles, and their bytes. A tile is shown if the index names it and
 * its checksum fits; see docs/right-tiles.md. Every change is one transaction of the index, so sums are exact, and each
 * reader, in any process, sees tiles and marks of one moment.
 *
 * Tickets and generations are numbers of one order. A writer takes a ticket before it queries its source; of two
 * writers of one tile the one with the later ticket wins, and `put` throws `generation-stale` where a mark has a later
 * number. A removal raises a mark, which is durable and in force when `mark` returns, then removes what has an earlier
 * ticket, and closes the mark. Ticket 0 is earlier than every ticket of a writer.
 *
 * Failures are `store-failed`, or `store-full` when the disk has no room. A damaged tile is absent, never returned.
 */
export interface Store extends StoreFacets {
  /** Synchronous when reading from this machine. `beside` first receives other tiles that were read with this one. */
  get(set: TileSetKey, tile: TileIndex, beside?: BesideTile): StoredTile | null | Promise<StoredTile | null>;
  /**
   * All tiles or none, of one zoom of one tile set. A tile with a later ticket stays. `lease` is the token of the lease
   * that the tiles were made under: a store that several machines share throws `lease-lost` once it is not held.
   */
  put(
    set: TileSetKey,
    z: number,
    tiles: readonly TileWrite[],
    ticket: number,
    lease?: number | null,
  ): Promise<StoreChange>;
  /** The tiles in `rect`, without their bytes, some hundred together; in any order. */
  list(set: TileSetKey, z: number, rect?: TileRect): AsyncIterable<readonly TileEntry[]>;
  /**
   * Stops between slices when the signal aborts, with its reason. Returns how many tiles the edit selected, and the
   * bytes of removed ones.
   */
  edit(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: StoreEdit,
    signal?: AbortSignal,
  ): Promise<StoreChange>;
  /** Drops one of the layer's tile sets, or all: durably hidden when this returns. Space is freed in the background. */
  drop(layer: string, set: TileSetKey | null): Promise<void>;
  /** For a writer of this place; without one the generation is the latest of any place of the layer. */
  ticket(layer: string, place?: TilePlace): Promise<Ticket>;
  /** Raises marks, all or none, or closes them. Returns the numbers of raised ones. */
  mark(change: MarkChange): Promise<readonly number[]>;
  /**
   * At most `MARKS_AT_ONCE` of the open marks with a later number than `after`, the earliest first; and the latest
   * number of any mark of a layer, or of a place of it.
   */
  marks(after?: number): Promise<readonly OpenMark[]>;
  marks(layer: string, place?: TilePlace): Promise<number>;
  /** Usage of all layers, or of one. */
  usage(layer?: string): Promise<StoreUsage>;
  /** Pages with tiles, some at a time. */
  usage(pages: PageFilter | EvictionOrder): AsyncIterable<readonly PageUsage[]>;
  close(): Promise<void>;
}

/** Limit of marks in one call; each takes about ten microseconds. */
export const MARKS_AT_ONCE = 256;

export type BesideTile = (tile: TileIndex, stored: StoredTile) => void;

export type StoreEdit =
  | TileEdit
  /** Adds to the uses of these pages, some hundred at most, and counts those with tiles. `rect` surrounds them. */
  | { readonly type: 'use'; readonly pages: readonly UsedPage[] };

export interface UsedPage {
  readonly pageX: number;
  readonly pageY: number;
  readonly hits: number;
  /** The latest request. Milliseconds since 1970. */
  readonly usedAt: number;
  /** Rank of these hits: see `domain/page-rank.ts`. */
  readonly rank: number;
}

export type MarkChange =
  | { readonly type: 'raise'; readonly raises: readonly Raise[] }
  | { readonly type: 'close'; readonly numbers: readonly number[] };

/** Late writers are refused at these places; with an effect, readers obey it until it is closed. */
export interface Raise {
  readonly layer: string;
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
  readonly effect: MarkEffect | null;
}

export interface StoreUsage {
  readonly levels: readonly LevelUsage[];
  /** Dropped data that still takes space. */
  readonly sweeping: SweepingStatistics;
}

/** A tile set at one zoom. */
export interface LevelUsage extends StoreChange {
  readonly set: TileSetKey;
  readonly z: number;
  readonly pages: number;
  /** When its tiles last changed. Milliseconds since 1970. */
  readonly changedAt: number;
}

export interface PageFilter {
  readonly set?: TileSetKey;
  readonly z?: number;
  readonly rect?: TileRect;
}

/** In the order of eviction: by `touchedAt` and then `usedAt`, or by `rank` and then `touchedAt`. */
export interface EvictionOrder {
  readonly first: 'LRU' | 'LFU';
  /** Left out: those of all layers. */
  readonly layer?: string;
}

export interface PageUsage extends StoreChange, UsedPage {
  readonly set: TileSetKey;
  readonly z: number;
  /** When a tile was last put into it. Milliseconds since 1970. */
  readonly writtenAt: number;
  /** When it was last written or requested, to within ten seconds. */
  readonly touchedAt: number;
}

/** Abilities of some stores. */
export interface StoreFacets {
  /** `get` reads from this machine, in microseconds and without a promise. */
  readonly isLocal?: boolean;
  /**
   * Only for drivers whose tiles other machines change. Returns what any process, this one included, has truncated,
   * replaced, removed or marked stale since an earlier call gave the cursor `since`; null: from now on. Nothing is
   * omitted, however late it became visible; changes that become visible during a call may be reported twice. A tile
   * that was stored in an empty place is not reported. Only truncations are announced on the channel `TILE_CHANGES`
   * when they are visible, so a process with copies calls again before they expire.
   */
  changesSince?(
    since: string | null,
  ): Promise<{ readonly changes: readonly TileChange[]; readonly cursor: string }>;
  /** Only for drivers with tiles on another server: requests since the last call, by `operation`. */
  takeRequests?(): readonly Count[];
  /** Only for drivers whose stores several machines share. */
  readonly files?: StoreFiles;
  /** Absent for drivers without a disk; null while it is unknown. */
  room?(): Promise<StoreRoom | null>;
}

export interface StoredTile {
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** CRC-32 of `bytes`, checked on read; also a tile's validator towards clients. */
  readonly checksum: number;
  /** Milliseconds since 1970: from then on it is stale; null: its age alone decides. Negative: see `outdatedSince`. */
  readonly freshUntil: number | null;
  readonly madeBy: TileMaker;
}

export interface TileWrite {
  readonly x: number;
  readonly y: number;
  readonly bytes: Buffer;
  readonly createdAt: number;
  /** As in `StoredTile`; null when left out. */
  readonly freshUntil?: number | null;
  /** The validator of this version at its server; default null. */
  readonly validator?: string | null;
  /** Null when left out. */
  readonly madeBy?: TileMaker;
}

/**
 * `freshUntil` of a tile whose picture lacks a change that was made at `at`. Negative, so that it differs from the end
 * of a time to live: such a tile is shown only while its source fails.
 */
export function outdatedSince(freshUntil: number | null, at: number): number {
  if (freshUntil !== null && freshUntil < 0) return freshUntil;
  return -Math.max(1, Math.min(freshUntil ?? at, at));
}

/** After minus before, so a deletion's figures are negative. Bytes are the sum of the tiles' lengths. */
export interface StoreChange {
  readonly tiles: number;
  readonly bytes: number;
}

export const NO_CHANGE: StoreChange = { tiles: 0, bytes: 0 };

export function sumOfChanges(changes: Iterable<StoreChange | null | undefined>): StoreChange {
  const sum = { tiles: 0, bytes: 0 };
  for (const change of changes) {
    sum.tiles += change?.tiles ?? 0;
    sum.bytes += change?.bytes ?? 0;
  }
  return sum;
}

/** Without a negative zero, which callers would see in an equality. */
export function negated({ tiles, bytes }: StoreChange): StoreChange {
  return { tiles: 0 - tiles, bytes: 0 - bytes };
}

export interface SweepingStatistics {
  readonly files: number;
  readonly bytes: number;
}

/** The state of an unreachable database, for holders of copies of its tiles. */
export interface Outage {
  /** The latest query failed. */
  isAway(): boolean;
  /** Whether copies may be shown without a query. */
  mayShow(): Promise<boolean>;
}

/** Free space of a store's disk. */
export interface StoreRoom {
  readonly folder: string;
  readonly freeBytes: number;
  /** Free percentage of bytes or inodes of the disk, whichever is less. */
  readonly freePercent: number;
  /** Below this nothing is stored. */
  readonly minFreePercent: number;
  /** False: tiles are served but not stored, because the disk is nearly full or refused one just now. */
  readonly storing: boolean;
}

/** Whole files by name, beside the tiles. */
export interface StoreFiles {
  /** Stores a file of this machine; no reader sees a part of it. */
  put(name: string, path: string, signal: AbortSignal): Promise<void>;
  /** From the first byte to the last, both included; null: no such file. */
  read(name: string, start: number, end: number): Promise<Readable | null>;
  /** Some of the names, if there are any; unfinished files are included. */
  names(): Promise<readonly string[]>;
  remove(names: readonly string[]): Promise<void>;
}

/** A tile without its picture. */
export interface TileEntry extends TileIndex, Pick<StoredTile, 'createdAt'> {
  /** Number of bytes. */
  readonly bytes: number;
  /** As readers see it, with open marks applied. */
  readonly freshUntil: number | null;
  readonly validator: string | null;
  /** An open mark keeps it from readers. */
  readonly hidden: boolean;
}

/**
 * The meaning of a raised generation for readers, until the tiles that it concerns have been removed or marked. `hide`:
 * they are absent. `outdate`: they count as marked stale.
 */
export interface MarkEffect extends Pick<TileLimits, 'createdBefore'> {
  readonly type: 'hide' | 'outdate';
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Left out: all. */
  readonly formats?: readonly string[];
  /** Null: the default combination; left out: all. */
  readonly parametersId?: string | null;
  /** A task removes the tiles. The mark ends with it. */
  readonly byTask?: true;
}

/** A raised generation that readers obey because the tiles concerned may still be stored. */
export interface OpenMark {
  readonly layer: string;
  /** The generation. */
  readonly number: number;
  readonly effect: MarkEffect;
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
}

/** The place of a writer in the order of a store. It is taken before the source is queried. */
export interface Ticket {
  /** Greater than every ticket and every generation that the store gave out before, in any process or node. */
  readonly number: number;
  /** The generation of the place: a tile with an earlier ticket is outdated there. */
  readonly generation: number;
}

/** A selection within a rectangle; an omitted field selects all. */
export interface TileLimits {
  /** Milliseconds since 1970. */
  readonly createdBefore?: number | undefined;
  /** Only tiles with an earlier ticket: those stored since that generation was raised stay. */
  readonly before?: number | undefined;
  /** Only tiles in one of these parts of the rectangle; they may overlap. */
  readonly within?: PackedRects | undefined;
}

/** A change of tiles in a rectangle. */
export type TileEdit =
  | ({ readonly type: 'remove' } & TileLimits)
  /** They are outdated since `at`: see `outdatedSince`. */
  | ({ readonly type: 'outdate'; readonly at: number } & TileLimits)
  /** They count as made at `createdAt` by `madeBy`; `ticket` as in `put`. */
  | ({ readonly type: 'confirm'; readonly ticket: number } & Pick<
      StoredTile,
      'createdAt' | 'freshUntil' | 'madeBy'
    >);

/** Changes by other machines to the tiles of a store, for holders of copies. */
export type TileChange =
  /** The changes since are unknown: all copies are invalid. */
  | { readonly kind: 'everything' }
  | { readonly kind: 'layer'; readonly layer: string }
  | { readonly kind: 'place'; readonly layer: string; readonly place: TilePlace }
  | { readonly kind: 'tiles'; readonly set: TileSetKey; readonly z: number; readonly rect: TileRect };

/** The database channel that announces truncations; see `Store.changesSince`. */
export const TILE_CHANGES = 'tile-changes';
