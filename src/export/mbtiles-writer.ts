import { hash as digestOf } from 'node:crypto';
import type Database from 'better-sqlite3';
import {
  type ArchiveContent,
  type ArchiveWriter,
  archiveFormat,
  archiveMetadata,
  type ExportedTile,
} from './archive-metadata.ts';
import { openStaging, type Purpose, publishStaging } from './staging.ts';
import { createLayerNotes, describedLayers } from './vector-layers.ts';

/** Bytes between saves: each save writes all pages of the hashes again. */
const SAVED_BYTES = 32 * 2 ** 20;

/**
 * MBTiles 1.3 that stores equal tiles once: `tiles` is a view, as the specification allows. Pictures are appended under
 * numbers: a table by hash would be written in random places.
 */
export function openMbtilesWriter(target: string, content: ArchiveContent, purpose: Purpose): ArchiveWriter {
  const staging = openStaging(target, purpose, (db) => prepare(db, content));
  const { db, resumed } = staging;
  const find = db.prepare('SELECT 1 FROM map WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?');
  const known = db.prepare<[Buffer], { tile_id: number }>('SELECT tile_id FROM hashes WHERE hash = ?');
  const note = db.prepare('INSERT INTO hashes VALUES (?, ?)');
  const keep = db.prepare('INSERT INTO images (tile_data) VALUES (?)');
  const place = db.prepare('INSERT OR REPLACE INTO map VALUES (?, ?, ?, ?)');

  function storePicture(bytes: Buffer): number | bigint {
    const hash = digestOf('sha1', bytes, 'buffer');
    const row = known.get(hash);
    if (row) return row.tile_id;
    const { lastInsertRowid } = keep.run(bytes);
    note.run(hash, lastInsertRowid);
    return lastInsertRowid;
  }

  const forget = db.prepare(
    'DELETE FROM map WHERE zoom_level = ? AND tile_column BETWEEN ? AND ? AND tile_row BETWEEN ? AND ?',
  );
  let hasForgotten = false;
  const layers = createLayerNotes(db);
  let unsaved = 0;
  function save(): void {
    if (db.inTransaction) db.exec('COMMIT');
    unsaved = 0;
  }

  function put(tiles: readonly ExportedTile[]): void {
    if (!db.inTransaction) db.exec('BEGIN');
    for (const { z, x, y, bytes } of tiles) {
      place.run(z, x, rowFromBelow(z, y), storePicture(bytes));
      unsaved += bytes.length;
    }
    layers.add(tiles);
    if (unsaved >= SAVED_BYTES) save();
  }

  return {
    has: ({ z, x, y }) => resumed && find.get(z, x, rowFromBelow(z, y)) !== undefined,
    put,
    forget(z, { minX, minY, maxX, maxY }) {
      forget.run(z, minX, maxX, rowFromBelow(z, maxY), rowFromBelow(z, minY));
      hasForgotten = true;
      return false;
    },
    count: () => db.prepare<[], number>('SELECT count(*) FROM map').pluck().get() ?? 0,
    async finish(described) {
      save();
      if (hasForgotten) db.exec('DELETE FROM images WHERE tile_id NOT IN (SELECT tile_id FROM map)');
      if (archiveFormat(content) === 'pbf') writeLayers(db, describedLayers(described, layers));
      db.exec('DROP TABLE hashes');
      return publishStaging(staging, target);
    },
    close() {
      try {
        save();
      } finally {
        db.close();
      }
    },
  };
}

/** MBTiles 1.3 counts rows as TMS does. */
function rowFromBelow(z: number, y: number): number {
  return 2 ** z - 1 - y;
}

function prepare(db: Database.Database, content: ArchiveContent): void {
  db.exec(`
    CREATE TABLE metadata (name TEXT NOT NULL, value TEXT);
    CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB NOT NULL);
    CREATE TABLE hashes (hash BLOB PRIMARY KEY, tile_id INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id INTEGER NOT NULL,
      PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID;
    CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);
    PRAGMA application_id = ${0x4d504258};
  `);
  const insert = db.prepare('INSERT INTO metadata VALUES (?, ?)');
  for (const [name, value] of Object.entries(archiveMetadata(content))) insert.run(name, String(value));
}

/** MBTiles 1.3: vector tiles require the row `json`. */
function writeLayers(db: Database.Database, layers: readonly object[]): void {
  db.exec("DELETE FROM metadata WHERE name = 'json'");
  db.prepare("INSERT INTO metadata VALUES ('json', ?)").run(JSON.stringify({ vector_layers: layers }));
}
