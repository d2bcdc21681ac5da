import type { Readable } from 'node:stream';
import type { TileIndex, TileMaker, TileSetKey } from '../domain/tile-key.ts';
import type { PackedRects, TilePlace, TileRect } from '../domain/tile-rect.ts';
import type { Count } from '../lib/counters.ts';

export type { TilePlace };

/**
 * Stores tiles: an index of the tiles, and their bytes. A reader sees a tile if the index names it and its checksum is
 * right; see docs/right-tiles.md. Every change is one transaction of the index, so that sums are exact, and each reader,
 * in any process, sees tiles and marks of the same moment.
 *
 * Tickets and generations are numbers of the same sequence. A writer takes a ticket before it queries its source. Of two
 * writers of a tile, the one with the later ticket wins; `put` throws `generation-stale` where a mark has a later number.
 * A removal raises a mark, which is durable and in force when `mark` returns, then removes tiles with earlier tickets, and
 * closes the mark. Ticket 0 is earlier than every ticket of a writer.
 *
 * Failures are `store-failed`, or `store-full` if the disk has no room. A damaged tile counts as absent.
 */
export interface Store extends StoreFacets {
  /** Synchronous if read from this machine. `beside` is called first, for other tiles that were read with this one. */
  get(set: TileSetKey, tile: TileIndex, beside?: BesideTile): StoredTile | null | Promise<StoredTile | null>;
  /**
   * Stores all of the tiles or none; stored ones with a later ticket are kept. `lease` is the token of the lease that the
   * tiles were made under: a shared store throws `lease-lost` once that is lost.
   */
  put(
    set: TileSetKey,
    z: number,
    tiles: readonly TileWrite[],
    ticket: number,
    lease?: number | null,
  ): Promise<StoreChange>;
  /** The tiles in `rect`, without their bytes, in slices of some hundred and in any order. */
  list(set: TileSetKey, z: number, rect?: TileRect): AsyncIterable<readonly TileEntry[]>;
  /** Returns how many tiles the edit selected, and the bytes of removed ones. An abort stops it between two slices. */
  edit(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: StoreEdit,
    signal?: AbortSignal,
  ): Promise<StoreChange>;
  /** Drops one of the layer's tile sets, or all: durably hidden when it returns. Space is freed in the background. */
  drop(layer: string, set: TileSetKey | null): Promise<void>;
  /** A ticket for a writer of this place, or of any place of the layer. */
  ticket(layer: string, place?: TilePlace): Promise<Ticket>;
  /** Raises marks, all or none, or closes marks. Returns the numbers of raised ones. */
  mark(change: MarkChange): Promise<readonly number[]>;
  /** Open marks with a later number than `after`, the earliest first, at most `MARKS_AT_ONCE`. */
  marks(after?: number): Promise<readonly OpenMark[]>;
  /** The latest number of any mark, open or closed, of a layer or of a place of it. */
  marks(layer: string, place?: TilePlace): Promise<number>;
  /** Usage of all layers, or of one. */
  usage(layer?: string): Promise<StoreUsage>;
  /** Pages with tiles, in slices. */
  usage(pages: PageFilter | EvictionOrder): AsyncIterable<readonly PageUsage[]>;
  close(): Promise<void>;
}

/** Limit of marks in one call; each takes about ten microseconds, and in PostgreSQL a lock for its layer. */
export const MARKS_AT_ONCE = 256;

export type BesideTile = (tile: TileIndex, stored: StoredTile) => void;

export type StoreEdit =
  | TileEdit
  /** Adds to the uses of these pages, some hundred at most, and counts those with tiles. `rect` must contain them. */
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

/** Refuses writers with earlier tickets at these places. An effect applies to readers until the mark is closed. */
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
  /** Absent: pages of all layers. */
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
  /** Whether `get` reads from this machine, in microseconds and without a promise. */
  readonly isLocal?: boolean;
  /**
   * Only in shared stores. Returns what any process, this one included, has truncated, replaced, removed or marked stale
   * since the cursor `since` of an earlier call (null: from now on). It omits no change, however late that became
   * visible, and may report one twice. A tile stored in an empty place is not reported. Only truncations are announced on
   * the channel `TILE_CHANGES`, so a process with copies calls again before they expire.
   */
  changesSince?(
    since: string | null,
  ): Promise<{ readonly changes: readonly TileChange[]; readonly cursor: string }>;
  /** Only in stores on another server: requests since the last call, by `operation`. */
  takeRequests?(): readonly Count[];
  /** Only in shared stores. */
  readonly files?: StoreFiles;
  /** Only in stores on a disk of this machine. Null while unknown. */
  room?(): Promise<StoreRoom | null>;
}

export interface StoredTile {
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** CRC-32 of `bytes`, checked on read; also a tile's validator towards clients. */
  readonly checksum: number;
  /** When it becomes stale, in milliseconds since 1970; null: by its age alone. Negative: see `outdatedSince`. */
  readonly freshUntil: number | null;
  readonly madeBy: TileMaker;
}

export interface TileWrite {
  readonly x: number;
  readonly y: number;
  readonly bytes: Buffer;
  readonly createdAt: number;
  /** As in `StoredTile`; default null. */
  readonly freshUntil?: number | null;
  /** The source's validator of this version, e.g. an `ETag`; default null. */
  readonly validator?: string | null;
  /** Default null. */
  readonly madeBy?: TileMaker;
}

/**
 * `freshUntil` of a tile whose picture lacks a change made at `at`. Negative, to distinguish it from the end of a time to
 * live: such a tile is served only while its source fails.
 */
export function outdatedSince(freshUntil: number | null, at: number): number {
  if (freshUntil !== null && freshUntil < 0) return freshUntil;
  return -Math.max(1, Math.min(freshUntil ?? at, at));
}

/** Sums of tiles and of their lengths, or the difference of sums: negative after a removal. */
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

/** Avoids negative zero, which is not equal to zero in assertions. */
export function negated({ tiles, bytes }: StoreChange): StoreChange {
  return { tiles: 0 - tiles, bytes: 0 - bytes };
}

export interface SweepingStatistics {
  readonly files: number;
  readonly bytes: number;
}

/** Whether the database is unreachable, for stores with copies of the tiles that it lists. */
export interface Outage {
  /** Whether the latest query failed. */
  isAway(): boolean;
  /** Whether copies may be shown without a query. */
  mayShow(): Promise<boolean>;
}

/** Free space of a store's disk. */
export interface StoreRoom {
  readonly folder: string;
  readonly freeBytes: number;
  /** Free percentage of the disk's bytes or inodes, whichever is less. */
  readonly freePercent: number;
  /** Below this nothing is stored. */
  readonly minFreePercent: number;
  /** False if tiles are served but not stored, because the disk is nearly full or has just refused a write. */
  readonly storing: boolean;
}

/** Files by name in a shared store, such as exports. */
export interface StoreFiles {
  /** Moves a file of this machine into the store; readers see it once it is complete. */
  put(name: string, path: string, signal: AbortSignal): Promise<void>;
  /** The bytes from `start` to `end`, both inclusive; null if there is no such file. */
  read(name: string, start: number, end: number): Promise<Readable | null>;
  /** Some of the names, including those of unfinished files; empty if there are none. */
  names(): Promise<readonly string[]>;
  remove(names: readonly string[]): Promise<void>;
}

/** A tile without its picture. */
export interface TileEntry extends TileIndex, Pick<StoredTile, 'createdAt'> {
  /** Length of the picture. */
  readonly bytes: number;
  /** As readers see it, with open marks applied. */
  readonly freshUntil: number | null;
  readonly validator: string | null;
  /** Whether an open mark hides it from readers. */
  readonly hidden: boolean;
}

/**
 * The effect of an open mark on readers, until its tiles have been removed or outdated in the index. `hide`: the tiles
 * count as absent. `outdate`: see `outdatedSince`.
 */
export interface MarkEffect extends Pick<TileLimits, 'createdBefore'> {
  readonly type: 'hide' | 'outdate';
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Absent: all. */
  readonly formats?: readonly string[];
  /** Null: the default combination; absent: all. */
  readonly parametersId?: string | null;
  /** A task removes the tiles; the mark is closed when it ends. */
  readonly byTask?: true;
}

/** A mark that readers obey, because its tiles may still be stored. */
export interface OpenMark {
  readonly layer: string;
  /** The generation that it raised. */
  readonly number: number;
  readonly effect: MarkEffect;
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
}

/** A number that orders the writers of a store. A writer takes it before it queries its source. */
export interface Ticket {
  /** Greater than every earlier ticket and generation of the store, in any process or node. */
  readonly number: number;
  /** The latest generation of the place: tiles with an earlier ticket are outdated there. */
  readonly generation: number;
}

/** Limits of a selection of tiles; an absent field does not limit it. */
export interface TileLimits {
  /** Milliseconds since 1970. */
  readonly createdBefore?: number | undefined;
  /** Only tiles with an earlier ticket, not those made since that generation was raised. */
  readonly before?: number | undefined;
  /** Only tiles in one of these parts of the rectangle; they may overlap. */
  readonly within?: PackedRects | undefined;
}

/** A change of tiles in a rectangle. */
export type TileEdit =
  | ({ readonly type: 'remove' } & TileLimits)
  /** Outdates the tiles: see `outdatedSince`. */
  | ({ readonly type: 'outdate'; readonly at: number } & TileLimits)
  /** The tiles now count as made at `createdAt` by `madeBy`; `ticket` as in `put`. */
  | ({ readonly type: 'confirm'; readonly ticket: number } & Pick<
      StoredTile,
      'createdAt' | 'freshUntil' | 'madeBy'
    >);

/** A change to the tiles of a store, for processes with copies of them. */
export type TileChange =
  /** The changes since are unknown: all copies are invalid. */
  | { readonly kind: 'everything' }
  | { readonly kind: 'layer'; readonly layer: string }
  | { readonly kind: 'place'; readonly layer: string; readonly place: TilePlace }
  | { readonly kind: 'tiles'; readonly set: TileSetKey; readonly z: number; readonly rect: TileRect };

/** The database channel that announces truncations; see `Store.changesSince`. */
export const TILE_CHANGES = 'tile-changes';
