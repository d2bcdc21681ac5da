import { pageOf, type TileSetKey, tileSetOf } from '../../domain/tile-key.ts';
import type { BlockChanges, PageStatistics, StoreBlock, StoreChange } from '../tile-store.ts';
import type { PackIndex, PageChange } from './pack-index.ts';
import { NOTHING } from './pack-writer.ts';
import type { BlockContents, PageIndex, PageRow } from './page-index.ts';
import { tilesOf } from './plan-pack-change.ts';

/** What a tile takes besides its bytes: its line in front of the pack, rounded up. */
const OVERHEAD = 64;

/** See `TileStore.blocks`. A block is eight by eight pages. */
export async function readPackBlocks(pages: PageIndex, since: number | null): Promise<BlockChanges> {
  const cursor = await pages.cursor();
  // A database that was restored from a backup counts its transactions anew.
  if (since === null || since > cursor) {
    return { blocks: blocksOf(pages.pages(null)), complete: true, cursor };
  }
  const gone = (await pages.droppedSince(since)).map((set) => `${set}/`);
  return { gone, blocks: blocksOf(await pages.changedSince(since)), complete: false, cursor };
}

/** Rows of one block follow each other. */
async function* blocksOf(rows: AsyncIterable<PageRow> | Iterable<PageRow>): AsyncGenerator<StoreBlock> {
  const sets = new Map<number, TileSetKey>();
  let block: PageRow[] = [];
  for await (const row of rows) {
    const [first] = block;
    if (first && idOf(first) !== idOf(row)) {
      yield blockOf(block, sets);
      block = [];
    }
    block.push(row);
  }
  if (block.length > 0) yield blockOf(block, sets);
}

function blockOf(rows: readonly PageRow[], sets: Map<number, TileSetKey>): StoreBlock {
  const filled = rows.filter(({ tiles }) => tiles > 0);
  const [first] = rows;
  const id = first ? idOf(first) : '';
  if (!first || filled.length === 0) return { id, content: null };
  const set = sets.get(first.set) ?? tileSetOf(first.identity);
  sets.set(first.set, set);
  const statistics = filled.map(
    ({ z, x, y, tiles, bytes, writtenAt }): PageStatistics => ({
      set,
      z,
      pageX: x,
      pageY: y,
      tiles,
      bytes,
      writtenAt,
    }),
  );
  const diskBytes = filled.reduce((sum, { tiles, bytes }) => sum + bytes + tiles * OVERHEAD, 0);
  const changedAt = filled.reduce((latest, { writtenAt }) => Math.max(latest, writtenAt), 0);
  const tiles = filled.reduce((sum, page) => sum + page.tiles, 0);
  const counts = { diskBytes, changedAt, tiles, pageCount: filled.length };
  return { id, content: { set, z: first.z, ...counts, pages: statistics } };
}

/** See `TileStore.recount`. What is written between the look and the correction adds to both. */
export async function recountBlock(index: PackIndex, pages: PageIndex, id: string): Promise<StoreChange> {
  const [set = 0, z = 0, x = 0, y = 0] = id.split(/[/_]/).map(Number);
  const contents = await pages.contents({ set, z, x, y });
  if (!contents) return NOTHING;
  const wrong = wrongPages(contents, { x, y });
  const drift = wrong.reduce(
    (sum, page) => ({ tiles: sum.tiles + page.tiles, bytes: sum.bytes + page.bytes }),
    NOTHING,
  );
  if (wrong.length > 0) {
    const found = { id: set, columns: contents.columns, rows: contents.rows };
    const unchanged = { packs: [], orphans: [], writtenAt: null, lease: null, fence: null };
    await index.change({ set: tileSetOf(contents.identity), found, z, pages: wrong, ...unchanged });
  }
  return drift;
}

/** What must be added to the statistics of a block to make them right. */
function wrongPages(
  contents: BlockContents,
  block: { readonly x: number; readonly y: number },
): PageChange[] {
  const { columns, rows } = contents;
  const sums = new Map<string, PageChange>();
  const add = (x: number, y: number, tiles: number, bytes: number) => {
    const known = sums.get(`${x} ${y}`) ?? { x, y, tiles: 0, bytes: 0, renewed: false };
    sums.set(`${x} ${y}`, { ...known, tiles: known.tiles + tiles, bytes: known.bytes + bytes });
  };
  for (const { x, y, tiles, bytes } of contents.pages) add(x, y, 0 - tiles, 0 - bytes);
  for (const pack of contents.packs) {
    const row = { ...pack, detail: Buffer.from(pack.detail, 'base64') };
    for (const tile of tilesOf({ id: 0, columns, rows }, row)) {
      const [x, y] = [pageOf(tile.x), pageOf(tile.y)];
      if (x >> 3 === block.x && y >> 3 === block.y) add(x, y, 1, tile.length);
    }
  }
  return [...sums.values()].filter(({ tiles, bytes }) => tiles !== 0 || bytes !== 0);
}

function idOf({ set, z, x, y }: PageRow): string {
  return blockId(set, z, x >> 3, y >> 3);
}

function blockId(set: number, z: number, x: number, y: number): string {
  return `${set}/${z}/${x}_${y}`;
}
