import { hash } from 'node:crypto';
import type { GridSet } from './grid-set.ts';
import { pageOf, type TileIndex, type TileSetKey } from './tile-key.ts';
import type { TileRect } from './tile-rect.ts';

/** Headers with surrogate keys, by CDN. */
export const KEY_HEADERS = ['Surrogate-Key', 'Cache-Tag', 'xkey'] as const;
export type KeyHeader = (typeof KEY_HEADERS)[number];

/** Names that may be read in a key as they are; others are hashed. */
const READABLE = /^[\w.:-]{1,64}$/;
/** 96 bits in 16 characters: keys of two pages differ, and a purge of many is short. */
const HASH_LENGTH = 16;

export function joinKeys(keys: readonly string[], header: KeyHeader | null): string {
  return keys.join(header === 'Cache-Tag' ? ',' : ' ');
}

/** On every tile of the layer. Without space or comma, as all keys. */
export function layerKey(layer: string): string {
  return `layer-${READABLE.test(layer) ? layer : hashOf(layer)}`;
}

/** On every tile of one page of a tile set, for all declarations. */
export function pageKey(set: TileSetKey, z: number, pageX: number, pageY: number): string {
  const { layer, gridSet, format, parametersId } = set;
  return `page-${hashOf(JSON.stringify([layer, gridSet, format, parametersId, z, pageX, pageY]))}`;
}

/** All keys of a tile: of its layer, of its page, and of the cells that it is in. */
export function keysOfTile(set: TileSetKey, gridSet: GridSet, tile: TileIndex): readonly string[] {
  const { z, x, y } = tile;
  const rect = { minX: x, minY: y, maxX: x, maxY: y };
  const cells = cellZoomsOf(gridSet, z).flatMap((zoom) => {
    const { minX, minY } = cellsIn(gridSet, zoom, z, rect) ?? rect;
    return cellKey(set, zoom, minX, minY);
  });
  return [layerKey(set.layer), pageKey(set, z, pageOf(x), pageOf(y)), ...cells];
}

/**
 * Tiles of these zooms are cells. A deeper tile, in any format and with any parameters, carries the keys of
 * the cells that its middle is in, so that few keys name an area at all deep zooms.
 */
const CELL_ZOOMS = [24, 18, 12, 6];

/** Zooms of the cells around tiles of a zoom, the smallest cells first. */
export function cellZoomsOf({ levels }: Pick<GridSet, 'levels'>, z: number): readonly number[] {
  return CELL_ZOOMS.filter((zoom) => zoom < z && zoom < levels.length);
}

export function cellKey(
  { layer, gridSet }: Pick<TileSetKey, 'layer' | 'gridSet'>,
  cellZoom: number,
  x: number,
  y: number,
): string {
  return `cell-${hashOf(JSON.stringify([layer, gridSet, cellZoom, x, y]))}`;
}

/** The cells that tiles of a rectangle are in; null: the grid set has no such zoom. */
export function cellsIn({ levels }: GridSet, cellZoom: number, z: number, rect: TileRect): TileRect | null {
  const [cells, level] = [levels[cellZoom], levels[z]];
  if (!cells || !level) return null;
  const column = (x: number) => Math.floor(((x + 0.5) * level.tileSpanX) / cells.tileSpanX);
  const row = (y: number) =>
    Math.floor((cells.top - level.top + (y + 0.5) * level.tileSpanY) / cells.tileSpanY);
  return { minX: column(rect.minX), minY: row(rect.minY), maxX: column(rect.maxX), maxY: row(rect.maxY) };
}

function hashOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, HASH_LENGTH);
}
