import type { Generated } from 'kysely';

/** A text of JSON. */
export type Json = string;
/** Milliseconds since 1970. */
export type Time = number;

/** Tile sets of stores that keep packs, one after the other: a set that is dropped and filled again has a new row. */
export interface TileSetsTable {
  id: Generated<number>;
  /** The store's name as it is declared. */
  store: string;
  layer: Json;
  /** As `tileSetId` writes it. */
  identity: string;
  /** Tiles of a pack, across and down. */
  columns: number;
  rows: number;
  /** Milliseconds since 1970; null: it is in use. */
  dropped_at: number | null;
  /** Number of the transaction that dropped it. */
  dropped: number | null;
  /** Nothing of it is left. */
  swept: Generated<boolean>;
}

/** Where tiles lie: a row for each block of tiles that has any. */
export interface PacksTable {
  tile_set: number;
  /** 32 rows of packs: `y` without its last five bits. What lies close together is close together in the index. */
  band: number;
  /** In packs, not in tiles. */
  x: number;
  y: number;
  z: number;
  /** As `storage/s3/pack-detail.ts` writes it. */
  detail: Buffer;
}

/** What the tiles of a page add up to, changed in the same transaction as its packs. Emptied pages stay, at nought. */
export interface PackPagesTable {
  tile_set: number;
  /** Eight rows of pages: `y` without its last three bits. */
  band: number;
  x: number;
  y: number;
  z: number;
  tiles: number;
  bytes: number;
  written_at: Time;
  /** Number of the transaction that changed it last. */
  changed: number;
  /** Number of the last transaction that replaced, removed or aged tiles of it. */
  renewed: number;
}

/** Objects that no row names any more. */
export interface PackOrphansTable {
  id: Generated<number>;
  /** The random part of its key; the rest follows from its place. */
  object: number;
  tile_set: number;
  x: number;
  y: number;
  z: number;
  bytes: number;
}

export interface TileGenerationsTable {
  store: string;
  layer: Json;
  number: number;
}

/** Where generations were raised. */
export interface TileMarksTable {
  store: string;
  layer: string;
  number: number;
  /** JSON; null: the whole layer. */
  grid_set: string | null;
  z: number | null;
  min_x: number | null;
  min_y: number | null;
  max_x: number | null;
  max_y: number | null;
  /** Number of the transaction that raised it. */
  changed: number;
}
