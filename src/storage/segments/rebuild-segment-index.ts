import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { misconfigured } from '../../domain/errors.ts';
import { tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { isDamage, storeFailure } from '../index/index-failure.ts';
import { type IndexFile, newIndex, removeIndex, replaceIndex } from '../index/index-file.ts';
import { preparePackChanges } from '../index/pack-changes.ts';
import { merged } from '../index/tile-edits.ts';
import { type PackRecord, readRecord } from '../pack-object.ts';
import { relistedTiles } from '../pack-tiles.ts';
import { type RebuildResult, type RebuildTools, TICKETS_ASIDE } from '../store-driver.ts';
import { openSegmentIndex, type SegmentFile, SegmentReader, segmentFiles } from './segment-files.ts';

type Tools = Pick<RebuildTools, 'name' | 'root' | 'clock' | 'signal' | 'onProgress'>;

/**
 * Rebuilds the index of a store from its segments, while no process has the store open. The index is put in place when
 * complete; after an interruption, the rebuild starts from the beginning. Of several tiles of a place, the latest is
 * listed. Removed tiles whose bytes still exist come back; all tiles count as outdated.
 */
export async function rebuildSegmentIndex(tools: Tools): Promise<RebuildResult> {
  const { root, name } = tools;
  const files = segmentFiles(root);
  if (files.length === 0)
    throw misconfigured(`There are no segments in ${root}: remove this folder, and start again.`);
  if (isUsable(root)) throw misconfigured(`The index of the store ${name} is not damaged.`);
  const made = join(root, 'rebuilding.sqlite');
  removeIndex(made);
  try {
    const db = newIndex(made);
    const result = await listFiles(db, files, tools).finally(() => db.close());
    replaceIndex(root, made);
    return result;
  } catch (error) {
    throw storeFailure(error, root);
  } finally {
    removeIndex(made);
  }
}

function isUsable(root: string): boolean {
  try {
    const db = openSegmentIndex(root, { timeoutMs: 0, checkpointPages: 0 });
    try {
      const isListed = db.prepare('SELECT 1 FROM tile_sets').get() !== undefined;
      return isListed && db.pragma('integrity_check(1)', { simple: true }) === 'ok';
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

async function listFiles(
  db: IndexFile,
  files: readonly SegmentFile[],
  { root, clock, signal, onProgress }: Tools,
): Promise<RebuildResult> {
  const reader = new SegmentReader(root, 1);
  try {
    const identities = identitiesOf(reader, files);
    /** A tile set gets a new number after a drop, so only tiles of its greatest number can be in use. */
    const latest = new Map<string, number>();
    for (const [set, identity] of identities) latest.set(identity, Math.max(set, latest.get(identity) ?? 0));
    const list = prepareListing(db, reader, clock.now());
    let leftOut = 0;
    for (const [at, file] of files.entries()) {
      signal.throwIfAborted();
      const identity = identities.get(file.set);
      const isLatest = identity !== undefined && latest.get(identity) === file.set;
      if (!isLatest || list(file, identity) === 0) leftOut++;
      onProgress({ files: at + 1, expected: files.length });
      await nextTurn();
    }
    return { ...finish(db, files, [...latest]), leftOut };
  } finally {
    reader.close();
  }
}

/** Identities of tile sets by number, as far as they have a readable record. */
function identitiesOf(reader: SegmentReader, files: readonly SegmentFile[]): ReadonlyMap<number, string> {
  const identities = new Map<number, string>();
  for (const file of files) {
    const [first] = recordsIn(reader, file);
    if (first) getOrCreate(identities, file.set, () => tileSetId(first.head.set));
  }
  return identities;
}

/** The records up to the first damaged one, which is the last: the next write would have overwritten it. */
function* recordsIn(reader: SegmentReader, { set, segment }: SegmentFile): Generator<PackRecord> {
  const read = (offset: number, length: number) => reader.readSome(set, segment, offset, length);
  for (let offset = 0; ; ) {
    const record = readRecord(read, offset);
    if (typeof record === 'string') return;
    yield record;
    offset = record.end;
  }
}

/** Returns a function that lists the tiles of a file in one transaction and returns their count. */
function prepareListing(db: IndexFile, reader: SegmentReader, now: number) {
  const changes = preparePackChanges(db);
  const insert = db.prepare<[number, number]>('INSERT INTO segments VALUES (?, ?, NULL, 0, 0, 0, 0)');
  const remove = db.prepare<[number]>('DELETE FROM segments WHERE id = ?');
  const fill = db.prepare<number[]>('UPDATE segments SET size = ?, filled = ?, written_at = ? WHERE id = ?');
  const raiseTicket = db.prepare<[number]>('UPDATE tickets SET last = max(last, ?)');
  return db.transaction((file: SegmentFile, identity: string): number => {
    const { set, segment } = file;
    const live = new Map<number, number>();
    const sums = { size: 0, filled: 0, tiles: 0, ticket: 0, writtenAt: 0 };
    insert.run(segment, set);
    for (const { head, bytesAt, end } of recordsIn(reader, file)) {
      sums.size = end;
      if (tileSetId(head.set) !== identity || head.tiles.length === 0) continue;
      const tiles = relistedTiles(head, segment, bytesAt, now);
      const position = { set, z: head.z, x: head.x, y: head.y };
      const writtenAt = Math.max(...tiles.map(({ making }) => making.createdAt));
      const change = { live, writtenAt, changedAt: now };
      changes.change(position, changes.rowOf(position), (before) => merged(before, tiles, true), change);
      sums.filled += end - bytesAt;
      sums.tiles += tiles.length;
      sums.ticket = Math.max(sums.ticket, ...tiles.map(({ making }) => making.ticket));
      sums.writtenAt = Math.max(sums.writtenAt, writtenAt);
    }
    if (sums.tiles === 0) remove.run(segment);
    changes.finish(live);
    fill.run(sums.size, sums.filled, sums.writtenAt, segment);
    raiseTicket.run(sums.ticket);
    return sums.tiles;
  });
}

/** Adds the tile sets, and sets the next numbers of tickets, tile sets and segments so that no number is reused. */
function finish(db: IndexFile, files: readonly SegmentFile[], sets: readonly (readonly [string, number])[]) {
  const insertSet = db.prepare<[number, string, string]>(
    'INSERT INTO tile_sets (id, layer, identity) VALUES (?, ?, ?)',
  );
  const forgetNumbers = db.prepare<[]>('DELETE FROM sqlite_sequence');
  const startNumbers = db.prepare<[string, number]>('INSERT INTO sqlite_sequence VALUES (?, ?)');
  const greatest = (numbers: readonly number[]) =>
    numbers.reduce((most, number) => Math.max(most, number), 0);
  return db.transaction(() => {
    for (const [identity, set] of sets)
      insertSet.run(set, JSON.stringify(tileSetOf(identity).layer), identity);
    forgetNumbers.run();
    startNumbers.run('tile_sets', greatest(files.map(({ set }) => set)));
    startNumbers.run('segments', greatest(files.map(({ segment }) => segment)));
    db.prepare<[number]>('UPDATE tickets SET last = last + ?').run(TICKETS_ASIDE);
    const counts = db
      .prepare<[], { readonly packs: number; readonly tiles: number }>(
        'SELECT (SELECT count(*) FROM packs) AS packs, (SELECT ifnull(sum(tiles), 0) FROM usage) AS tiles',
      )
      .get();
    return { packs: 0, tiles: 0, ...counts, sets: sets.map(([identity]) => tileSetOf(identity)) };
  })();
}
