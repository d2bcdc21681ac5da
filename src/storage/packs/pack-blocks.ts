import { setImmediate as nextTurn } from 'node:timers/promises';
import { pageOf, type TileSetKey, tileSetOf } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import {
  type BlockChanges,
  NO_CHANGE,
  type PageStatistics,
  type StoreBlock,
  type StoreChange,
  sumOfChanges,
} from '../tile-store.ts';
import type { PackIndex, PageChange } from './pack-index.ts';
import type { BlockContents, BlockName, BlockRow, PageIndex } from './page-index.ts';
import { tilesOf } from './plan-pack-change.ts';

/** A tile's overhead: its entry in the pack's header, rounded up. */
const OVERHEAD = 64;
const BLOCKS_IN_A_TURN = 1000;

/** See `TileStore.blocks`. A block is eight by eight pages. */
export async function readPackBlocks(pages: PageIndex, since: number | null): Promise<BlockChanges> {
  const cursor = await pages.cursor();
  // A database that was restored from a backup counts its transactions again.
  if (since === null || since > cursor) {
    return { blocks: blocksOf(pages.blocks()), complete: true, cursor };
  }
  const gone = (await pages.droppedSince(since)).map((set) => `${set}/`);
  return { gone, blocks: blocksOf([await pages.blocksChangedSince(since)]), complete: false, cursor };
}

/** See `TileStore.pagesIn`. */
export async function readPackPages(
  pages: PageIndex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly PageStatistics[]>> {
  const setOf = tileSetsByNumber();
  const found = new Map<string, PageStatistics[]>();
  for (const row of await pages.pagesIn(ids.map(blockNamed))) {
    const { z, x, y, tiles, bytes, writtenAt } = row;
    const id = blockId({ set: row.set, z, x: x >> 3, y: y >> 3 });
    const page = { set: setOf(row), z, pageX: x, pageY: y, tiles, bytes, writtenAt };
    getOrCreate(found, id, () => []).push(page);
  }
  return found;
}

async function* blocksOf(
  slices: AsyncIterable<readonly BlockRow[]> | Iterable<readonly BlockRow[]>,
): AsyncGenerator<StoreBlock> {
  const setOf = tileSetsByNumber();
  let yielded = 0;
  for await (const rows of slices) {
    for (const row of rows) {
      if (++yielded % BLOCKS_IN_A_TURN === 0) await nextTurn();
      yield blockOf(row, setOf);
    }
  }
}

function blockOf(row: BlockRow, setOf: (row: BlockRow) => TileSetKey): StoreBlock {
  const { set, z, x, y, tiles, bytes, writtenAt: changedAt } = row;
  const id = blockId({ set, z, x, y });
  const mask = BigInt(`0x${row.mask}`);
  if (mask === 0n) return { id, content: null };
  const diskBytes = bytes + tiles * OVERHEAD;
  return { id, content: { set: setOf(row), z, x, y, mask, tiles, bytes, diskBytes, changedAt } };
}

function tileSetsByNumber() {
  const sets = new Map<number, TileSetKey>();
  return ({ set, identity }: Pick<BlockRow, 'set' | 'identity'>) =>
    getOrCreate(sets, set, () => tileSetOf(identity));
}

/** See `TileStore.recount`. Writes between the count and the correction add to both. */
export async function recountBlock(index: PackIndex, pages: PageIndex, id: string): Promise<StoreChange> {
  const { set, z, x, y } = blockNamed(id);
  const contents = await pages.contents({ set, z, x, y });
  if (!contents) return NO_CHANGE;
  const wrong = wrongPages(contents, { x, y });
  if (wrong.length > 0) {
    const setRow = { id: set, columns: contents.columns, rows: contents.rows };
    const unchanged = { packs: [], orphans: [], writtenAt: null, lease: null, fence: null };
    await index.change({ set: tileSetOf(contents.identity), setRow, z, pages: wrong, ...unchanged });
  }
  return sumOfChanges(wrong);
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
    sums.set(`${x} ${y}`, { ...known, ...sumOfChanges([known, { tiles, bytes }]) });
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

function blockId({ set, z, x, y }: BlockName): string {
  return `${set}/${z}/${x}_${y}`;
}

function blockNamed(id: string): BlockName {
  const [set = 0, z = 0, x = 0, y = 0] = id.split(/[/_]/).map(Number);
  return { set, z, x, y };
}
