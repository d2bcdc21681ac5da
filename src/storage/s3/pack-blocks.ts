import type { TileSetKey } from '../../domain/tile-key.ts';
import type { BlockChanges, PageStatistics, StoreBlock } from '../tile-store.ts';
import { type BlockName, type PageIndex, type PageRow, tileSetOf } from './page-index.ts';

/** What a tile takes besides its bytes: its line in front of the pack, rounded up. */
const OVERHEAD = 64;

/** See `TileStore.blocks`. A block is eight by eight pages. */
export async function readPackBlocks(pages: PageIndex, since: number | null): Promise<BlockChanges> {
  const cursor = await pages.cursor();
  // A database that was restored from a backup counts its transactions anew.
  const dropped = since === null || since > cursor ? null : await pages.droppedSince(since);
  if (since === null || dropped === null) {
    return { blocks: blocksOf(pages.pages(null)), complete: true, cursor };
  }
  const changed = await pages.changedSince(since);
  return { blocks: changes(changed, dropped), complete: false, cursor };
}

async function* changes(
  changed: readonly PageRow[],
  dropped: readonly BlockName[],
): AsyncGenerator<StoreBlock> {
  for (const { set, z, x, y } of dropped) yield { id: blockId(set, z, x, y), content: null };
  yield* blocksOf(changed);
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

function idOf({ set, z, x, y }: PageRow): string {
  return blockId(set, z, x >> 3, y >> 3);
}

function blockId(set: number, z: number, x: number, y: number): string {
  return `${set}/${z}/${x}_${y}`;
}
