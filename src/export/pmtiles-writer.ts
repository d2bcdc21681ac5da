import { hash as digestOf } from 'node:crypto';
import { closeSync, fsyncSync, ftruncateSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { zxyToTileId } from 'pmtiles';
import { tilesOfRect } from '../domain/tile-rect.ts';
import {
  type ArchiveContent,
  type ArchiveWriter,
  archiveFormat,
  archiveMetadata,
  boundsInDegrees,
  type ExportedTile,
} from './archive-metadata.ts';
import { openStaging, type Purpose, removeStaging } from './staging.ts';
import { createLayerNotes, describedLayers } from './vector-layers.ts';

/** PMTiles 3: header and root directory are in the first 16 KiB; tiles follow. */
const TILES_AT = 16_384;
const HEADER_BYTES = 127;
/** This many entries always fit into the root directory. */
const MAX_IN_ROOT = 1500;
const MIN_LEAF_ENTRIES = 4096;
/** Entries that are counted in one turn of the event loop: the lease of the task is renewed in between. */
const ENTRIES_PER_TURN = 20_000;
const CLUSTERED = 1;
const GZIP = 2;
const PLAIN = 1;
const TILE_TYPES: Readonly<Record<string, number>> = { pbf: 1, png: 2, jpg: 3, webp: 4 };

/**
 * PMTiles 3, clustered (tiles are in the order of their ids), with equal tiles stored once. The places of tiles are
 * collected in a database beside the file: the directories need all of them.
 */
export function openPmtilesWriter(target: string, content: ArchiveContent, purpose: Purpose): ArchiveWriter {
  const type = TILE_TYPES[archiveFormat(content)] ?? 0;
  const staging = openStaging(target, purpose, (db) =>
    db.exec(`CREATE TABLE contents (hash BLOB PRIMARY KEY, offset INTEGER, length INTEGER) WITHOUT ROWID;
      CREATE TABLE places (tile_id INTEGER PRIMARY KEY, offset INTEGER, length INTEGER);`),
  );
  const { db, resumed } = staging;
  const dataPath = `${target}.partial-tiles`;
  const file = openSync(dataPath, 'a+');
  closeSync(file);
  const data = openSync(dataPath, 'r+');
  const find = db.prepare('SELECT 1 FROM places WHERE tile_id = ?');
  const placeByHash = db.prepare<[Buffer], { offset: number; length: number }>(
    'SELECT offset, length FROM contents WHERE hash = ?',
  );
  const keep = db.prepare('INSERT INTO contents VALUES (?, ?, ?)');
  const place = db.prepare('INSERT OR REPLACE INTO places VALUES (?, ?, ?)');
  const layers = createLayerNotes(db);
  const endOfTiles = db.prepare<[], number | null>('SELECT max(offset + length) FROM contents').pluck();
  const lastPlace = db.prepare<[], number | null>('SELECT max(tile_id) FROM places').pluck();
  let end = endOfTiles.get() ?? 0;
  let lastId = lastPlace.get() ?? -1;
  // A crash lost the places of tiles that were written after the last transaction.
  ftruncateSync(data, TILES_AT + end);

  /**
   * Removes the tiles from this id on, which must be put again after a tile that was missing, or has changed. Their
   * bytes are after all bytes that other tiles use.
   */
  function rewind(tileId: number): void {
    db.transaction(() => {
      db.prepare('DELETE FROM places WHERE tile_id >= ?').run(tileId);
      db.exec('DELETE FROM contents WHERE offset >= (SELECT coalesce(max(offset + length), 0) FROM places)');
    })();
    // The removal must be on the disk before the bytes are overwritten.
    db.pragma('wal_checkpoint(TRUNCATE)');
    end = endOfTiles.get() ?? 0;
    lastId = lastPlace.get() ?? -1;
    ftruncateSync(data, TILES_AT + end);
  }

  function keepBytes(bytes: Buffer): { readonly offset: number; readonly length: number } {
    const hash = digestOf('sha1', bytes, 'buffer');
    const known = placeByHash.get(hash);
    if (known) return known;
    const slot = { offset: end, length: bytes.length };
    writeSync(data, bytes, 0, bytes.length, TILES_AT + end);
    end += bytes.length;
    keep.run(hash, slot.offset, slot.length);
    return slot;
  }

  const putInOrder = db.transaction((tiles: readonly (ExportedTile & { readonly id: number })[]) => {
    for (const { id, bytes } of tiles) {
      const { offset, length } = keepBytes(bytes);
      place.run(id, offset, length);
      lastId = id;
    }
    layers.add(tiles);
    fsyncSync(data);
  });

  function put(tiles: readonly ExportedTile[]): void {
    const sorted = tiles
      .map((tile) => ({ ...tile, id: zxyToTileId(tile.z, tile.x, tile.y) }))
      .sort((a, b) => a.id - b.id);
    const first = sorted[0]?.id ?? 0;
    if (first <= lastId) rewind(first);
    putInOrder(sorted);
  }

  const entries = () =>
    joinRuns(
      db
        .prepare<[], StoredTilePlace>('SELECT tile_id, offset, length FROM places ORDER BY tile_id')
        .iterate(),
    );

  function append(bytes: Buffer): { readonly offset: number; readonly length: number } {
    const offset = TILES_AT + end;
    writeSync(data, bytes, 0, bytes.length, offset);
    end += bytes.length;
    return { offset, length: bytes.length };
  }

  /** One directory if it fits into the beginning of the file, otherwise a root over leaves. */
  async function writeDirectories(count: number) {
    const leavesAt = TILES_AT + end;
    if (count <= MAX_IN_ROOT) return { root: writeDirectory([...entries()]), leavesAt, leavesLength: 0 };
    const root: DirectoryEntry[] = [];
    for (const group of inGroups(entries(), Math.max(MIN_LEAF_ENTRIES, Math.ceil(count / MAX_IN_ROOT)))) {
      await nextTurn();
      const { offset, length } = append(writeDirectory(group));
      root.push({ tileId: group[0]?.tileId ?? 0, offset: offset - leavesAt, length, runLength: 0 });
    }
    return { root: writeDirectory(root), leavesAt, leavesLength: TILES_AT + end - leavesAt };
  }

  async function countEntries() {
    let [addressed, runs] = [0, 0];
    for (const { runLength } of entries()) {
      addressed += runLength;
      if (++runs % ENTRIES_PER_TURN === 0) await nextTurn();
    }
    const contents = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM contents').get()?.n ?? 0;
    return { addressed, entries: runs, contents };
  }

  return {
    has: ({ z, x, y }) => resumed && find.get(zxyToTileId(z, x, y)) !== undefined,
    put,
    forget(z, rect) {
      rewind(Math.min(...tilesOfRect(z, rect).map(({ x, y }) => zxyToTileId(z, x, y))));
      return true;
    },
    count: () => db.prepare<[], number>('SELECT count(*) FROM places').pluck().get() ?? 0,
    async finish(described) {
      const tilesLength = end;
      const counts = await countEntries();
      const { root, leavesAt, leavesLength } = await writeDirectories(counts.entries);
      const { format, bounds, center, minzoom, maxzoom, ...metadata } = archiveMetadata(content);
      const vector = type === TILE_TYPES.pbf && { vector_layers: describedLayers(described, layers) };
      const json = append(gzipSync(JSON.stringify({ ...metadata, ...vector })));
      const header = pmtilesHeader(content, type, [
        ...[
          HEADER_BYTES,
          root.length,
          json.offset,
          json.length,
          leavesAt,
          leavesLength,
          TILES_AT,
          tilesLength,
        ],
        ...[counts.addressed, counts.entries, counts.contents],
      ]);
      writeSync(data, Buffer.concat([header, root]), 0, HEADER_BYTES + root.length, 0);
      fsyncSync(data);
      closeSync(data);
      renameSync(dataPath, target);
      removeStaging(staging);
      return statSync(target).size;
    },
    close() {
      closeSync(data);
      db.close();
    },
  };
}

/** PMTiles 3, section 3. */
function pmtilesHeader(content: ArchiveContent, type: number, numbers: readonly number[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('PMTiles', 0, 'latin1');
  header[7] = 3;
  for (const [index, value] of numbers.entries()) header.writeBigUInt64LE(BigInt(value), 8 + 8 * index);
  header[96] = CLUSTERED;
  header[97] = GZIP;
  header[98] = type === TILE_TYPES.pbf ? GZIP : PLAIN;
  header[99] = type;
  header[100] = content.zoomStart;
  header[101] = content.zoomStop;
  const { minX, minY, maxX, maxY } = boundsInDegrees(content);
  const places = [minX, minY, maxX, maxY].map(tenMillionths);
  for (const [index, value] of places.entries()) header.writeInt32LE(value, 102 + 4 * index);
  header[118] = content.zoomStart;
  header.writeInt32LE(tenMillionths((minX + maxX) / 2), 119);
  header.writeInt32LE(tenMillionths((minY + maxY) / 2), 123);
  return header;
}

function tenMillionths(degrees: number): number {
  return Math.round(degrees * 1e7);
}

/** PMTiles 3, section 4: `runLength` 0 points at a leaf directory. */
interface DirectoryEntry {
  readonly tileId: number;
  readonly offset: number;
  readonly length: number;
  readonly runLength: number;
}

/** PMTiles 3, section 4.2: columns of variable-length numbers, gzip-compressed. */
function writeDirectory(entries: readonly DirectoryEntry[]): Buffer {
  const numbers = [
    entries.length,
    ...entries.map(({ tileId }, index) => tileId - (entries[index - 1]?.tileId ?? 0)),
    ...entries.map(({ runLength }) => runLength),
    ...entries.map(({ length }) => length),
    // 0: directly after the previous entry's bytes; otherwise the offset plus 1.
    ...entries.map((entry, index) => (follows(entries[index - 1], entry) ? 0 : entry.offset + 1)),
  ];
  return gzipSync(Buffer.from(numbers.flatMap(varint)));
}

function follows(before: DirectoryEntry | undefined, { offset }: DirectoryEntry): boolean {
  return before !== undefined && offset === before.offset + before.length;
}

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}

interface StoredTilePlace {
  readonly tile_id: number;
  readonly offset: number;
  readonly length: number;
}

/** Equal tiles that follow each other become one entry. */
function* joinRuns(places: Iterable<StoredTilePlace>): Generator<DirectoryEntry> {
  let run: DirectoryEntry | null = null as DirectoryEntry | null;
  for (const { tile_id: tileId, offset, length } of places) {
    if (run && run.offset === offset && run.tileId + run.runLength === tileId) {
      run = { ...run, runLength: run.runLength + 1 };
      continue;
    }
    if (run) yield run;
    run = { tileId, offset, length, runLength: 1 };
  }
  if (run) yield run;
}

function* inGroups<T>(items: Iterable<T>, size: number): Generator<readonly T[]> {
  let group: T[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
