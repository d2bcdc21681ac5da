import { pageOf } from '../../domain/tile-key.ts';
import { type StoreChange, sumOfChanges } from '../tile-store.ts';
import { type PackedTile, readPackDetail, writePackDetail } from './pack-detail.ts';
import type { PackChange, PackRow, PageChange, SetRow } from './pack-index.ts';

/** A tile of a pack with its place in the zoom. */
export interface PlacedTile extends PackedTile {
  readonly x: number;
  readonly y: number;
}

/** What becomes of the tiles of a pack; tiles that stay as they are are handed back themselves. */
export type PackEdit = (
  pack: { readonly x: number; readonly y: number },
  tiles: readonly PlacedTile[],
) => readonly PackedTile[];

export type PlannedChange = Pick<PackChange, 'packs' | 'pages' | 'orphans'> & {
  readonly change: StoreChange;
};

export function slotOf({ columns, rows }: SetRow, x: number, y: number): number {
  return (y % rows) * columns + (x % columns);
}

export function tilesOf(setRow: SetRow, { x, y, detail }: PackRow): PlacedTile[] {
  if (!detail) return [];
  const { columns, rows } = setRow;
  return readPackDetail(detail, columns * rows).map((tile) => ({
    ...tile,
    x: x * columns + (tile.slot % columns),
    y: y * rows + Math.floor(tile.slot / columns),
  }));
}

/** What an edit of these packs does to the index, to the statistics and to the objects. */
export function planPackChange(setRow: SetRow, rows: readonly PackRow[], edit: PackEdit): PlannedChange {
  const packs: PackChange['packs'][number][] = [];
  const orphans: PackChange['orphans'][number][] = [];
  const pages = new Map<string, PageChange>();
  for (const row of rows) {
    const before = tilesOf(setRow, row);
    const after = edit(row, before);
    orphans.push(...orphansOf(row, before, after));
    if (isSame(before, after)) continue;
    packs.push({
      ...row,
      next: after.length === 0 ? null : writePackDetail(after, setRow.columns * setRow.rows),
    });
    addPages(pages, setRow, row, before, after);
  }
  return { packs, pages: [...pages.values()], orphans, change: sumOfChanges(pages.values()) };
}

function isSame(before: readonly PackedTile[], after: readonly PackedTile[]): boolean {
  return before.length === after.length && after.every((tile) => before.includes(tile as PlacedTile));
}

function orphansOf({ x, y }: PackRow, before: readonly PackedTile[], after: readonly PackedTile[]) {
  const needed = new Set(after.map(({ object }) => object));
  const sizes = new Map<number, number>();
  for (const { object, length } of before) {
    if (!needed.has(object)) sizes.set(object, (sizes.get(object) ?? 0) + length);
  }
  return [...sizes].map(([object, bytes]) => ({ x, y, object, bytes }));
}

function addPages(
  pages: Map<string, PageChange>,
  { columns, rows }: SetRow,
  pack: PackRow,
  before: readonly PackedTile[],
  after: readonly PackedTile[],
): void {
  const [former, present] = [bySlot(before), bySlot(after)];
  for (const slot of new Set([...former.keys(), ...present.keys()])) {
    const [old, now] = [former.get(slot), present.get(slot)];
    if (old === now) continue;
    const x = pageOf(pack.x * columns + (slot % columns));
    const y = pageOf(pack.y * rows + Math.floor(slot / columns));
    const known = pages.get(`${x} ${y}`) ?? { x, y, tiles: 0, bytes: 0, renewed: false };
    pages.set(`${x} ${y}`, {
      x,
      y,
      tiles: known.tiles + (now ? 1 : 0) - (old ? 1 : 0),
      bytes: known.bytes + (now?.length ?? 0) - (old?.length ?? 0),
      renewed: known.renewed || old !== undefined,
    });
  }
}

function bySlot(tiles: readonly PackedTile[]): Map<number, PackedTile> {
  return new Map(tiles.map((tile) => [tile.slot, tile]));
}
