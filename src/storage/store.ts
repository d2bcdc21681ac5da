import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type {
  MarkEffect,
  OpenMark,
  StoreChange,
  StoredTile,
  StoreFacets,
  SweepingStatistics,
  Ticket,
  TileEdit,
  TileEntry,
  TilePlace,
  TileWrite,
} from './tile-store.ts';

/**
 * Stores tiles and keeps their order: an index that says what is there, and bytes. A tile is shown if the index names it and
 * its checksum fits; see docs/right-tiles.md. Every change is one transaction of the index, so sums are exact, and each
 * reader, in any process, sees tiles and marks of one moment.
 *
 * Tickets and generations are numbers of one order. A writer takes a ticket before it queries its source; of two writers
 * of one tile the one with the later ticket wins, and `put` throws `generation-stale` where a mark has a later number. A
 * removal raises a mark, which is durable and in force when `mark` returns, then removes what has an earlier ticket, and
 * closes the mark. Ticket 0 is earlier than all that are given out.
 *
 * Failures are `store-failed`, or `store-full` when the disk has no room. A damaged tile is absent, never returned.
 */
export interface Store extends Omit<StoreFacets, 'getNow' | 'raiseGenerations' | 'recount'> {
  /** Synchronous where it reads from this machine. `beside` receives other tiles that were read along with it, before this returns. */
  get(set: TileSetKey, tile: TileIndex, beside?: BesideTile): StoredTile | null | Promise<StoredTile | null>;
  /**
   * All tiles or none, of one zoom of one tile set. A tile with a later ticket stays. `lease` is the token of the lease that
   * the tiles were made under: a store that several machines share throws `lease-lost` once it is not held.
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
   * Stops between slices when the signal aborts, with its reason. Returns how many tiles were meant, and the bytes of removed
   * ones.
   */
  edit(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: StoreEdit,
    signal?: AbortSignal,
  ): Promise<StoreChange>;
  /** One of the layer's tile sets, or all: gone for every reader, durably, when this returns. Their space is freed behind it. */
  drop(layer: string, set: TileSetKey | null): Promise<void>;
  /** For a writer of this place; without one the generation is the latest of any place of the layer. */
  ticket(layer: string, place?: TilePlace): Promise<Ticket>;
  /** Raises marks, all or none, or closes them. Returns the numbers of raised ones. */
  mark(change: MarkChange): Promise<readonly number[]>;
  /** Open marks, the earliest first; and the latest number of any mark of a layer, or of a place of it. */
  marks(): Promise<readonly OpenMark[]>;
  marks(layer: string, place?: TilePlace): Promise<number>;
  usage(): Promise<StoreUsage>;
  /** Pages with tiles, some at a time. */
  usage(pages: PageFilter | EvictionOrder): AsyncIterable<readonly PageUsage[]>;
  close(): Promise<void>;
}

export type BesideTile = (tile: TileIndex, stored: StoredTile) => void;

export type StoreEdit =
  | TileEdit
  /** These pages were requested; `rect` surrounds them. Adds to what is known, and counts those with tiles. Some hundred at most. */
  | { readonly type: 'use'; readonly pages: readonly UsedPage[] };

export interface UsedPage {
  readonly pageX: number;
  readonly pageY: number;
  readonly hits: number;
  /** The latest of them. Milliseconds since 1970. */
  readonly usedAt: number;
  /** Of these hits: see `domain/page-rank.ts`. */
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

/** In the order in which pages go: by `touchedAt`, or by `rank` and then `touchedAt`. */
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
