import { packedTouch, rectOfTile } from '../domain/tile-rect.ts';
import { outdatedSince, type StoredTile, type TileEdit } from './store.ts';

interface EditedTile extends Pick<StoredTile, 'createdAt' | 'freshUntil' | 'madeBy'> {
  readonly x: number;
  readonly y: number;
  readonly ticket: number;
}

/** Whether an edit means this tile of its rectangle. */
export function isMeant({ x, y, createdAt, ticket }: EditedTile, edit: TileEdit): boolean {
  if (edit.type === 'confirm') return ticket <= edit.ticket;
  const { createdBefore = Infinity, before = Infinity, within } = edit;
  if (createdAt >= createdBefore || ticket >= before) return false;
  return !within || packedTouch(within, rectOfTile({ x, y }));
}

/** The edited tile, or the same if nothing changes; null: removed. */
export function edited<Tile extends EditedTile>(tile: Tile, edit: TileEdit): Tile | null {
  if (edit.type === 'remove') return null;
  if (edit.type === 'outdate') {
    const freshUntil = outdatedSince(tile.freshUntil, edit.at);
    return freshUntil === tile.freshUntil ? tile : { ...tile, freshUntil };
  }
  const { createdAt, freshUntil, madeBy, ticket } = edit;
  return { ...tile, createdAt, freshUntil, madeBy, ticket };
}
