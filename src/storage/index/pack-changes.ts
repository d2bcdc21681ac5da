import { PAGE_SIZE } from '../../domain/tile-key.ts';
import { NO_CHANGE, negated, type StoreChange, sumOfChanges } from '../store.ts';
import { Directory, type IndexedTile, PACK_SIZE, type PackEdit, type PackPosition } from './directory.ts';
import type { IndexFile } from './index-file.ts';
import { bandOf, type PackRow } from './index-reader.ts';
import { bandOfPage, touchedAt } from './pages.ts';

const PACKS_IN_PAGE = PAGE_SIZE / PACK_SIZE;

type StoredPack = Pick<PackRow, 'id' | 'detail'>;

/** Times and sums of a change of one or more packs. */
export interface ChangeSums {
  /** Bytes of tiles that each segment gained or lost. */
  readonly live: Map<number, number>;
  /** If tiles were put, when, in milliseconds since 1970; null for other changes. */
  readonly writtenAt: number | null;
  /** Milliseconds since 1970; 0 if readers see no difference. */
  readonly changedAt: number;
}

/** Changes rows of packs, and the sums of pages, tile sets and segments, within the caller's transaction. */
export function preparePackChanges(db: IndexFile) {
  const find = db.prepare<[number, number, number, number, number], StoredPack>(
    'SELECT id, detail FROM packs WHERE tile_set = ? AND z = ? AND band = ? AND x = ? AND y = ?',
  );
  const insert = db.prepare<[number, number, number, number, number, Buffer]>(
    'INSERT INTO packs (tile_set, z, band, x, y, detail) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const update = db.prepare<[Buffer, number]>('UPDATE packs SET detail = ? WHERE id = ?');
  const remove = db.prepare<[number]>('DELETE FROM packs WHERE id = ?');
  const addToPage = db.prepare<number[], { readonly id: number; readonly tiles: number }>(
    `INSERT INTO pages (tile_set, z, band, x, y, tiles, bytes, written_at, touched_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tile_set, z, band, x, y) DO UPDATE SET tiles = tiles + excluded.tiles, bytes = bytes + excluded.bytes,
       written_at = max(written_at, excluded.written_at), touched_at = max(touched_at, excluded.touched_at)
     RETURNING id, tiles`,
  );
  const pageSums = db.prepare<number[], StoreChange>(
    'SELECT tiles, bytes FROM pages WHERE tile_set = ? AND z = ? AND band = ? AND x = ? AND y = ?',
  );
  const removePage = db.prepare<[number]>('DELETE FROM pages WHERE id = ?');
  const addToUsage = db.prepare<number[]>(
    `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tile_set, z) DO UPDATE SET tiles = tiles + excluded.tiles,
       bytes = bytes + excluded.bytes, pages = pages + excluded.pages, changed_at = max(changed_at, excluded.changed_at)`,
  );
  const addLive = db.prepare<[number, number]>('UPDATE segments SET live = live + ? WHERE id = ?');

  /** Returns how many pages this added: 1, 0 or -1. */
  function changePage(
    { set, z, x, y }: PackPosition,
    { tiles, bytes }: StoreChange,
    writtenAt: number,
  ): number {
    const [pageX, pageY] = [Math.floor(x / PACKS_IN_PAGE), Math.floor(y / PACKS_IN_PAGE)];
    const place = [set, z, bandOfPage(pageY), pageX, pageY];
    const page = addToPage.get(...place, tiles, bytes, writtenAt, touchedAt(writtenAt));
    if (page && page.tiles <= 0) {
      removePage.run(page.id);
      return -1;
    }
    return page?.tiles === tiles ? 1 : 0;
  }

  /** The row of a pack, for `change`. */
  const rowOf = ({ set, z, x, y }: PackPosition): StoredPack | null =>
    find.get(set, z, bandOf(y), x, y) ?? null;

  /** Returns the tiles and bytes added. A damaged row counts as empty, and is always replaced or removed. */
  function change(
    position: PackPosition,
    row: StoredPack | null,
    edit: PackEdit,
    sums: ChangeSums,
  ): StoreChange {
    const { set, z, x, y } = position;
    const directory = row && Directory.read(row.detail, position);
    const before = directory?.tiles() ?? [];
    const after = edit(before, position);
    const isDamaged = row !== null && !directory;
    const isSame = after === before || (row === null && after.length === 0);
    if (isSame && !isDamaged) return NO_CHANGE;
    if (row && after.length === 0) remove.run(row.id);
    else if (row) update.run(Directory.write(after, position), row.id);
    else insert.run(set, z, bandOf(y), x, y, Directory.write(after, position));
    const added = difference(before, after, sums.live);
    const lost = isDamaged ? uncounted(position, added) : NO_CHANGE;
    count(position, sumOfChanges([added, lost]), sums);
    return added;
  }

  function count(position: PackPosition, added: StoreChange, { writtenAt, changedAt }: ChangeSums): void {
    const isSame = added.tiles === 0 && added.bytes === 0 && writtenAt === null;
    const pages = isSame ? 0 : changePage(position, added, writtenAt ?? 0);
    addToUsage.run(position.set, position.z, added.tiles, added.bytes, pages, changedAt);
  }

  /** What to add to the page's sums, which still contain the tiles of a damaged row. */
  function uncounted({ set, z, x, y }: PackPosition, added: StoreChange): StoreChange {
    const [left, top] = [x - (x % PACKS_IN_PAGE), y - (y % PACKS_IN_PAGE)];
    let real: StoreChange = NO_CHANGE;
    for (let at = 0; at < PACKS_IN_PAGE ** 2; at++) {
      const there = { set, z, x: left + (at % PACKS_IN_PAGE), y: top + Math.floor(at / PACKS_IN_PAGE) };
      const row = rowOf(there);
      const tiles = (row && Directory.read(row.detail, there)?.tiles()) ?? [];
      real = sumOfChanges([real, ...tiles.map(({ length }) => ({ tiles: 1, bytes: length }))]);
    }
    const pageY = top / PACKS_IN_PAGE;
    const page = pageSums.get(set, z, bandOfPage(pageY), left / PACKS_IN_PAGE, pageY);
    return sumOfChanges([real, negated(sumOfChanges([page, added]))]);
  }

  /** Adds `live` to the segments. Returns whether a segment has lost bytes. */
  function finish(live: ChangeSums['live']): boolean {
    for (const [segment, bytes] of live) if (bytes !== 0) addLive.run(bytes, segment);
    return [...live.values()].some((bytes) => bytes < 0);
  }

  return { rowOf, change, finish };
}

function difference(
  before: readonly IndexedTile[],
  after: readonly IndexedTile[],
  live: Map<number, number>,
): StoreChange {
  const add = ({ segment }: IndexedTile, bytes: number) =>
    live.set(segment, (live.get(segment) ?? 0) + bytes);
  for (const tile of before) add(tile, -tile.length);
  for (const tile of after) add(tile, tile.length);
  const sum = (tiles: readonly IndexedTile[], sign: number) =>
    sumOfChanges(tiles.map(({ length }) => ({ tiles: sign, bytes: sign * length })));
  return sumOfChanges([sum(after, 1), sum(before, -1)]);
}
