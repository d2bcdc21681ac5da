import type { Readable } from 'node:stream';
import type { TileIndex, TileMaker, TileSetKey } from '../domain/tile-key.ts';
import type { PackedRects, TileRect } from '../domain/tile-rect.ts';
import type { Count } from '../lib/counters.ts';

export interface StoredTile {
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** CRC-32 of `bytes`, checked on read; also a tile's validator towards clients. */
  readonly checksum: number;
  /** Milliseconds since 1970 from which it counts as stale; null: its age alone decides. Negative: see `outdatedSince`. */
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
 * `freshUntil` of a tile whose picture lacks a change that was made at `at`. Negative, so that it differs from the end of a
 * time to live: such a tile is shown only while its source fails.
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

export interface PageStatistics {
  readonly set: TileSetKey;
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
  readonly tiles: number;
  readonly bytes: number;
  /** When a tile was last put into it. Milliseconds since 1970. */
  readonly writtenAt: number;
}

/** Eight by eight pages of one zoom of one tile set: the unit on disk, for instance a bundle. */
export interface StoreBlock {
  /** Names the block in its store, the same as long as it is there. */
  readonly id: string;
  /** Null: it was removed. */
  readonly content: BlockContent | null;
}

export interface BlockChanges {
  /** Beginnings of ids: known blocks with one of them were removed, and are to be forgotten before `blocks` is read. */
  readonly gone?: readonly string[];
  readonly blocks: AsyncIterable<StoreBlock>;
  /** Whether `blocks` is complete, so that any other block was removed. */
  readonly complete: boolean;
  /** For the next call, when all of `blocks` has been read. */
  readonly cursor: number;
}

export interface BlockContent {
  readonly set: TileSetKey;
  readonly z: number;
  /** In blocks of the zoom. */
  readonly x: number;
  readonly y: number;
  /** Which of its pages have tiles: see `page-mask.ts`. */
  readonly mask: bigint;
  readonly tiles: number;
  /** The sum of the tiles' lengths. */
  readonly bytes: number;
  /** Its size on disk, or its size as soon as it has no writer. */
  readonly diskBytes: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

export interface SweepingStatistics {
  readonly files: number;
  readonly bytes: number;
}

/** The state of an unreachable database, for holders of copies of its tiles. */
export interface Outage {
  /** The latest query failed. */
  isAway(): boolean;
  /** Whether copies may be shown without asking it. */
  mayShow(): Promise<boolean>;
}

/** How a store's disk is off. */
export interface StoreRoom {
  readonly folder: string;
  readonly freeBytes: number;
  /** Of the disk's room or of its inodes, whichever is less. */
  readonly freePercent: number;
  /** Below this nothing is stored. */
  readonly minFreePercent: number;
  /** False: tiles are served but not stored, because the disk is nearly full or refused one a moment ago. */
  readonly storing: boolean;
}

/** Whole files by name, beside the tiles. */
export interface StoreFiles {
  /** Takes over a file of this machine; no reader sees a part of it. */
  put(name: string, path: string, signal: AbortSignal): Promise<void>;
  /** From the first byte to the last one named; null: there is no such file. */
  read(name: string, start: number, end: number): Promise<Readable | null>;
  /** At least some of all, and of the unfinished ones. */
  names(): Promise<readonly string[]>;
  remove(names: readonly string[]): Promise<void>;
}

/** A tile without its picture. */
export interface TileEntry extends TileIndex, Pick<StoredTile, 'createdAt'> {
  /** Their number. */
  readonly bytes: number;
  /** As readers see it: see `OpenMark`. */
  readonly freshUntil: number | null;
  readonly validator: string | null;
  /** An open mark keeps it from readers. */
  readonly hidden: boolean;
}

/** A block of at most 128 × 128 tiles, or what a rectangle has of one, that has tiles. */
export interface TilePart extends StoreChange {
  /** Its counts are those of the pages that this touches. */
  readonly rect: TileRect;
}

/** Raises of places that a store distinguishes for each layer. */
export const MARKS_KEPT = 256;

/**
 * What a raised generation means to readers until the tiles that it concerns have been removed or marked. `hide`: they
 * are not there. `outdate`: they count as marked stale.
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
  /** They count as made at `createdAt` by `madeBy`; `ticket` as in `putMany`. */
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

/** The database channel that announces truncations; see `TileStore.changesSince`. */
export const TILE_NEWS = 'tile-news';

/** A block of a zoom, in every format and for all parameters. */
export interface TilePlace {
  readonly gridSet: string;
  readonly z: number;
  readonly rect: TileRect;
  /** For readers only these parts of `rect` are meant; left out: all of it. Some hundred at most. */
  readonly parts?: PackedRects;
}

/**
 * The contract of a driver: stores tiles, and keeps their order. `derive.ts` makes of it the store that callers use. Every driver
 * passes the behaviours in `test/contracts/tile-store.ts`.
 *
 * Tickets and generations are numbers of one order that the store gives out. A writer takes a ticket before it queries its
 * source, and hands it to `putMany`, which keeps it with the tile: of two writers of one tile the one with the later
 * ticket wins. `raiseGeneration` gives a layer, or places of it, a generation that is durable before it returns;
 * `putMany` stores nothing and throws `generation-stale` when a tile's place has a later one than its ticket. A
 * truncation raises the generation first, and then removes what has an earlier ticket, so that neither a slow fetch nor
 * a slow removal does harm. With an effect, readers of every process obey it when `raiseGeneration` returns, whatever has
 * been removed by then, until `closeMark` says that all of it has. Of the places of a layer the latest 256 raises are
 * distinguished; earlier tickets count as outdated. An eviction only removes. Ticket 0 is earlier than all
 * that are given out.
 *
 * Failures are `store-failed`, or `store-full` when the disk has no room. A damaged tile is absent, never returned.
 */
export interface DriverStore extends Partial<QuickerMethods>, StoreFacets {
  /** `beside` receives other tiles that were read along with it, before this returns. */
  get(
    set: TileSetKey,
    tile: TileIndex,
    beside?: (tile: TileIndex, stored: StoredTile) => void,
  ): Promise<StoredTile | null>;
  /**
   * All tiles or none, as far as any reader of this machine's running processes can tell; when a crash cuts the
   * write in two, each tile that is there is whole and the statistics count exactly those. One zoom of one tile set.
   * A tile with a later ticket than the one handed in stays, whatever the clocks. `lease` is the token of the lease
   * that the tiles were made under: a store that several machines share keeps nothing and throws `lease-lost` once no
   * lease with that token is held.
   */
  putMany(
    set: TileSetKey,
    z: number,
    tiles: readonly TileWrite[],
    ticket: number,
    lease?: number | null,
  ): Promise<StoreChange>;
  /** All stored tiles, or those in `rect`; in any order, some hundred together. */
  list(set: TileSetKey, z: number, rect?: TileRect): AsyncIterable<readonly TileEntry[]>;
  /**
   * Visits only what exists. Stops between blocks when the signal aborts, with the signal's reason. Returns how many tiles
   * were meant, and the sum of the lengths of removed ones.
   */
  edit(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: TileEdit,
    signal?: AbortSignal,
  ): Promise<StoreChange>;
  /** Those of a layer, or of all layers, that have tiles, whether or not the layer is still declared. */
  tileSets(layer: string | null): AsyncIterable<TileSetKey>;
  /** For a writer of this place; without one its generation is the latest of any place of the layer. */
  ticket(layer: string, place?: TilePlace): Promise<Ticket>;
  /** For the whole layer, or for these places. */
  raiseGeneration(layer: string, places?: readonly TilePlace[] | null, effect?: MarkEffect): Promise<number>;
  /** Marks that are not closed, the earliest first; few. */
  openMarks(): Promise<readonly OpenMark[]>;
  /** No tile is left that an open mark concerns. */
  closeMark(layer: string, number: number): Promise<void>;
  close(): Promise<void>;
}

/** Derivable from the other methods, only slower: a driver implements those that it can do faster. */
export interface QuickerMethods {
  /** Of the layer, or of a place in it, without taking a ticket; 0: it was never raised. */
  generation(layer: string, place?: TilePlace): Promise<number>;
  /**
   * One of the layer's tile sets, or all of them. The tiles are gone for every reader when this returns; freeing their
   * space may go on behind it. The tiles are not counted: that would take longer than dropping them.
   */
  drop(layer: string, set: TileSetKey | null): Promise<void>;
  /** Dropped data that still takes space. */
  sweeping(): Promise<SweepingStatistics>;
  /** Every whole tile of the page that holds this one, row by row. */
  pageWith(set: TileSetKey, tile: TileIndex): Promise<readonly (TileIndex & StoredTile)[]>;
  /** Where in `rect` there are tiles, in parts that do not overlap. */
  parts(set: TileSetKey, z: number, rect: TileRect): AsyncIterable<TilePart>;
  /** The stored tiles in `rect`, optionally only those created before a time. */
  count(set: TileSetKey, z: number, rect: TileRect, createdBefore?: number): Promise<StoreChange>;
  pages(set: TileSetKey): AsyncIterable<PageStatistics>;
  /**
   * Blocks that may have changed since an earlier call gave the cursor `since`, whichever process wrote them; null:
   * all of them. The counts of a block are those of one moment, and exactly of the tiles it had then.
   */
  blocks(since: number | null): Promise<BlockChanges>;
  /** The pages with tiles of these blocks, as they are now; none of a block that is gone. Some hundred ids at most. */
  pagesIn(ids: readonly string[]): Promise<ReadonlyMap<string, readonly PageStatistics[]>>;
}

/** Abilities of some stores. */
export interface StoreFacets {
  /**
   * As `get`, but synchronous and without a failure. Undefined: it takes longer; use `get`. Only drivers have it
   * that read from this machine in microseconds.
   */
  getNow?(set: TileSetKey, tile: TileIndex): StoredTile | null | undefined;
  /** Of many whole layers, all or none, where a driver does that quicker than one after the other; the first of their numbers. */
  raiseGenerations?(layers: readonly string[]): Promise<number>;
  /**
   * Counts a block's tiles one by one and mends its statistics; returns how wrong they were, which is zero but for
   * a bug. Drivers that keep no statistics have none to mend.
   */
  recount?(id: string): Promise<StoreChange>;
  /**
   * Only drivers whose tiles other machines change have it. What was truncated, replaced, removed or marked stale since
   * an earlier call gave the cursor `since`, by whatever process, this one included; null: from now on. Nothing is left
   * out however late it became visible; what becomes visible during a call may be reported twice. A tile that was stored
   * where there was none is not reported. Truncations are announced on the channel `TILE_NEWS` when they are visible; nothing
   * else is, so a process that has copies calls again before they expire.
   */
  changesSince?(
    since: string | null,
  ): Promise<{ readonly changes: readonly TileChange[]; readonly cursor: string }>;
  /** Only drivers that keep tiles on another server have it: requests since the last call, by `operation`. */
  takeRequests?(): readonly Count[];
  /** Only drivers have it whose stores several machines share. */
  readonly files?: StoreFiles;
  /** Absent for drivers without a disk; null while it is unknown. */
  room?(): Promise<StoreRoom | null>;
}

/** For callers; made from the methods of a driver. */
export interface DerivedMethods {
  layers(): AsyncIterable<string>;
  /**
   * The tiles of `rect` that are there and were created at `createdSince` or later, row by row; with `freshAt` only
   * those whose `freshUntil` is later. `rect` is at most 128 × 128 tiles.
   */
  present(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    createdSince: number,
    freshAt?: number,
  ): Promise<readonly TileIndex[]>;
  /** The validator that all tiles of `rect` have; null when one is missing or has another. */
  validatorOf(set: TileSetKey, z: number, rect: TileRect): Promise<string | null>;
  dropTileSet(set: TileSetKey): Promise<void>;
  dropLayer(layer: string): Promise<void>;
}

/** A store as callers know it. */
export type TileStore = DriverStore & QuickerMethods & DerivedMethods;
