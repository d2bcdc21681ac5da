import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type {
  MarkEffect,
  OpenMark,
  Store,
  StoreChange,
  StoredTile,
  StoreFacets,
  SweepingStatistics,
  Ticket,
  TileEdit,
  TileEntry,
  TilePlace,
  TileWrite,
} from './store.ts';

export * from './store.ts';

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

/** A block of at most 128 × 128 tiles, or what a rectangle has of one, that has tiles. */
export interface TilePart extends StoreChange {
  /** Its counts are those of the pages that this touches. */
  readonly rect: TileRect;
}

/** Raises of places that a store distinguishes for each layer. */
export const MARKS_KEPT = 256;

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
export interface DriverStore extends Partial<QuickerMethods>, OldFacets {
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
export interface OldFacets extends StoreFacets {
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

/** A store as callers know it: the methods of `Store`, and those that it replaces. */
export type TileStore = DriverStore & QuickerMethods & DerivedMethods & Store;
