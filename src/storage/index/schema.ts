/** Raised when the schema changes. */
export const INDEX_VERSION = 1;

/** Rows of packs, or of pages, that a band has: a rectangle is read band by band. */
export const PACKS_IN_BAND = 32;
export const PAGES_IN_BAND = 16;

/** Places of a mark at most: each has the number of the mark, times this, and its own. */
export const MAX_PLACES = 2 ** 20;

/**
 * The tables of an index. A key with an integer of its own and a unique index reads and writes several times as fast as a
 * composite key without a rowid. `mark_places` is found by place: `level` is a hash of layer, grid set and zoom, compared
 * with those of the mark itself.
 */
export const SCHEMA = `
  PRAGMA page_size = 4096;
  PRAGMA journal_mode = WAL;
  PRAGMA user_version = ${INDEX_VERSION};

  CREATE TABLE tickets (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL);
  INSERT INTO tickets VALUES (1, 0);

  CREATE TABLE tile_sets (id INTEGER PRIMARY KEY AUTOINCREMENT, layer TEXT NOT NULL, identity TEXT NOT NULL, dropped_at INTEGER);
  CREATE UNIQUE INDEX tile_sets_in_use ON tile_sets (identity) WHERE dropped_at IS NULL;
  CREATE INDEX tile_sets_of_layer ON tile_sets (layer) WHERE dropped_at IS NULL;
  CREATE INDEX tile_sets_dropped ON tile_sets (id) WHERE dropped_at IS NOT NULL;

  CREATE TABLE packs (id INTEGER PRIMARY KEY, tile_set INTEGER NOT NULL, z INTEGER NOT NULL, band INTEGER NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL, detail BLOB NOT NULL);
  CREATE UNIQUE INDEX packs_by_place ON packs (tile_set, z, band, x, y);

  CREATE TABLE pages (id INTEGER PRIMARY KEY, tile_set INTEGER NOT NULL, z INTEGER NOT NULL, band INTEGER NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL, tiles INTEGER NOT NULL, bytes INTEGER NOT NULL,
    written_at INTEGER NOT NULL, touched_at INTEGER NOT NULL, hits INTEGER NOT NULL DEFAULT 0, used_at INTEGER NOT NULL DEFAULT 0,
    rank REAL NOT NULL DEFAULT 0);
  CREATE UNIQUE INDEX pages_by_place ON pages (tile_set, z, band, x, y);
  CREATE INDEX pages_lru ON pages (tile_set, touched_at, used_at, id);
  CREATE INDEX pages_lfu ON pages (tile_set, rank, touched_at, id);

  CREATE TABLE usage (tile_set INTEGER NOT NULL, z INTEGER NOT NULL, tiles INTEGER NOT NULL, bytes INTEGER NOT NULL,
    pages INTEGER NOT NULL, changed_at INTEGER NOT NULL, PRIMARY KEY (tile_set, z)) WITHOUT ROWID;

  CREATE TABLE marks (id INTEGER PRIMARY KEY, layer TEXT NOT NULL, number INTEGER NOT NULL, hides INTEGER NOT NULL,
    open INTEGER NOT NULL, effect TEXT, places TEXT, key TEXT NOT NULL);
  CREATE INDEX marks_of_layer ON marks (layer, open, number);
  CREATE INDEX marks_alike ON marks (layer, key, open);
  CREATE TABLE raises (number INTEGER PRIMARY KEY, mark INTEGER NOT NULL, effect TEXT NOT NULL);
  CREATE INDEX raises_of_mark ON raises (mark);
  CREATE VIRTUAL TABLE mark_places USING rtree_i32 (id, min_level, max_level, min_x, max_x, min_y, max_y,
    +mark INTEGER, +grid_set TEXT, +z INTEGER, +parts TEXT);
  CREATE TRIGGER marks_deleted AFTER DELETE ON marks BEGIN
    DELETE FROM mark_places WHERE id IN (SELECT OLD.id * ${MAX_PLACES} + key FROM json_each(OLD.places)); END;

  CREATE TABLE segments (id INTEGER PRIMARY KEY AUTOINCREMENT, tile_set INTEGER NOT NULL, writer TEXT, size INTEGER NOT NULL,
    filled INTEGER NOT NULL, live INTEGER NOT NULL, written_at INTEGER NOT NULL);
  CREATE INDEX segments_of_set ON segments (tile_set);
`;
