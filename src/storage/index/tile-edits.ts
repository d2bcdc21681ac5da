import { rectContains, type TileRect } from '../../domain/tile-rect.ts';
import { edited, isMeant } from '../edit-tile.ts';
import type { StoreChange, TileEdit } from '../store.ts';
import { type IndexedTile, type Making, tileInPack } from './directory.ts';

/** With the tiles that were put, except where one with a later ticket is. */
export function merged(
  before: readonly IndexedTile[],
  put: readonly IndexedTile[],
  ticket: number,
): readonly IndexedTile[] {
  const after = new Map(before.map((tile) => [tile.slot, tile]));
  for (const tile of put) {
    const present = after.get(tile.slot);
    if (!present || present.making.ticket <= ticket) after.set(tile.slot, tile);
  }
  return [...after.values()];
}

/** Of two records of a place the one that was requested later. */
export function newest(
  before: readonly IndexedTile[],
  listed: readonly IndexedTile[],
): readonly IndexedTile[] {
  const after = new Map(before.map((tile) => [tile.slot, tile]));
  for (const tile of listed) {
    const present = after.get(tile.slot)?.making;
    const { ticket, createdAt } = tile.making;
    const order = present ? ticket - present.ticket || createdAt - present.createdAt : 0;
    if (order >= 0) after.set(tile.slot, tile);
  }
  return [...after.values()];
}

export function editTiles(
  tiles: readonly IndexedTile[],
  pack: { readonly x: number; readonly y: number },
  rect: TileRect,
  edit: TileEdit,
): { readonly tiles: readonly IndexedTile[]; readonly meant: StoreChange } {
  const shared = shareMakings();
  const meant = { tiles: 0, bytes: 0 };
  let isChanged = false;
  const after = tiles.flatMap((tile) => {
    const place = tileInPack(pack, tile.slot);
    const whole = { ...tile.making, ...place };
    if (!rectContains(rect, place.x, place.y) || !isMeant(whole, edit)) return tile;
    meant.tiles += 1;
    const next = edited(whole, edit);
    if (next === whole) return tile;
    isChanged = true;
    if (!next) meant.bytes += tile.length;
    if (!next) return [];
    const { ticket, createdAt, freshUntil, madeBy, validator } = next;
    return { ...tile, making: shared({ ticket, createdAt, freshUntil, madeBy, validator }) };
  });
  return { tiles: isChanged ? after : tiles, meant };
}

/** The same object for the same values, which tiles that were made together have in a row. */
export function shareMakings(): (making: Making) => Making {
  let last: Making | null = null;
  return (making) => {
    if (last && isSameMaking(last, making)) return last;
    last = making;
    return making;
  };
}

function isSameMaking(a: Making, b: Making): boolean {
  const isSameTime = a.createdAt === b.createdAt && a.freshUntil === b.freshUntil;
  return isSameTime && a.ticket === b.ticket && a.madeBy === b.madeBy && a.validator === b.validator;
}
