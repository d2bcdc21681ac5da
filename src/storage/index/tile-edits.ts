import { packedTouch, rectContains, rectOfTile, type TileRect } from '../../domain/tile-rect.ts';
import type { Making } from '../pack-object.ts';
import { outdatedSince, type StoreChange, type TileEdit } from '../store.ts';
import { type IndexedTile, tileInPack } from './directory.ts';

/**
 * The tiles of a pack after a put: for each place, the one with the later ticket. When an index is rebuilt (`isRelisted`),
 * records are read in any order: of two with the same ticket, the one created later is kept.
 */
export function merged(
  before: readonly IndexedTile[],
  put: readonly IndexedTile[],
  isRelisted = false,
): readonly IndexedTile[] {
  const after = new Map(before.map((tile) => [tile.slot, tile]));
  for (const tile of put) {
    const { ticket, createdAt } = tile.making;
    const present = after.get(tile.slot)?.making ?? tile.making;
    const order = ticket - present.ticket || (isRelisted ? createdAt - present.createdAt : 0);
    if (order >= 0) after.set(tile.slot, tile);
  }
  return [...after.values()];
}

/** The tiles after an edit, the same array if nothing changes; and the sums of the selected tiles. */
export function editTiles(
  tiles: readonly IndexedTile[],
  pack: { readonly x: number; readonly y: number },
  rect: TileRect,
  edit: TileEdit,
): { readonly tiles: readonly IndexedTile[]; readonly selected: StoreChange } {
  const shared = shareMakings();
  const selected = { tiles: 0, bytes: 0 };
  const after = tiles.flatMap((tile) => {
    const { x, y } = tileInPack(pack, tile.slot);
    if (!rectContains(rect, x, y) || !isSelected(tile.making, x, y, edit)) return tile;
    selected.tiles += 1;
    if (edit.type === 'remove') {
      selected.bytes += tile.length;
      return [];
    }
    const making = edited(tile.making, edit);
    return making === tile.making ? tile : { ...tile, making: shared(making) };
  });
  const isSame = after.length === tiles.length && after.every((tile, at) => tile === tiles[at]);
  return { tiles: isSame ? tiles : after, selected };
}

/** Whether an edit selects this tile of its rectangle. */
function isSelected({ createdAt, ticket }: Making, x: number, y: number, edit: TileEdit): boolean {
  if (edit.type === 'confirm') return ticket <= edit.ticket;
  const { createdBefore = Infinity, before = Infinity, within } = edit;
  if (createdAt >= createdBefore || ticket >= before) return false;
  return !within || packedTouch(within, rectOfTile({ x, y }));
}

/** The making after an edit; the same object if nothing changes. */
function edited(making: Making, edit: Exclude<TileEdit, { readonly type: 'remove' }>): Making {
  if (edit.type === 'outdate') {
    const freshUntil = outdatedSince(making.freshUntil, edit.at);
    return freshUntil === making.freshUntil ? making : { ...making, freshUntil };
  }
  const { createdAt, freshUntil, madeBy, ticket } = edit;
  return { ...making, createdAt, freshUntil, madeBy, ticket };
}

/** Reuses the previous object if the values are equal, because tiles made together follow each other. */
export function shareMakings(): (making: Making) => Making {
  let last: Making | null = null;
  return (making) => {
    if (!last || !isSameMaking(last, making)) last = making;
    return last;
  };
}

function isSameMaking(a: Making, b: Making): boolean {
  const isSameTime = a.createdAt === b.createdAt && a.freshUntil === b.freshUntil;
  return isSameTime && a.ticket === b.ticket && a.madeBy === b.madeBy && a.validator === b.validator;
}
