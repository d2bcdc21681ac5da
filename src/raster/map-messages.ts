import { messageKind } from '../lib/channel.ts';
import type { MapDrawing } from './draw-map.ts';

export const DRAW_MAP = messageKind<
  { readonly map: number; readonly drawing: MapDrawing },
  { readonly bytes: Uint8Array; readonly digest: string }
>('draw-map');

/** Nobody wants this map any more. */
export const LEAVE_MAP = messageKind<number>('leave-map');

/** Asked by the thread. */
export const READ_TILE_ROW = messageKind<
  { readonly map: number; readonly layer: number; readonly row: number },
  PackedTiles
>('read-tile-row');

/** Tiles one behind the other: each by itself would take along all the memory that it lies in. */
export interface PackedTiles {
  readonly bytes: Uint8Array;
  readonly lengths: readonly number[];
}

export function packTiles(tiles: readonly Buffer[]): PackedTiles {
  const lengths = tiles.map(({ length }) => length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const tile of tiles) {
    bytes.set(tile, at);
    at += tile.length;
  }
  return { bytes, lengths };
}

export function unpackTiles({ bytes, lengths }: PackedTiles): readonly Buffer[] {
  let at = bytes.byteOffset;
  return lengths.map((length) => {
    at += length;
    return Buffer.from(bytes.buffer, at - length, length);
  });
}
