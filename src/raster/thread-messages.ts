/** Messages between a process and its threads that cut metatiles and draw maps. */
import { messageKind } from '../lib/channel.ts';
import type { MapDrawing } from './draw-map.ts';
import type { CutJob, CutTile } from './tile-cutter.ts';
import type { TilePosition } from './warp-layer.ts';

/** Pixels of our own sources are also in `bytes`, which is transferred without a copy; encoded responses are small. */
export const CUT = messageKind<{ readonly job: CutJob; readonly bytes: Uint8Array | null }, PackedMetatile>(
  'cut',
);

export const DRAW_MAP = messageKind<
  { readonly map: number; readonly drawing: MapDrawing },
  { readonly bytes: Uint8Array; readonly digest: string }
>('draw-map');

export const LEAVE_MAP = messageKind<number>('leave-map');

export const READ_TILES = messageKind<
  { readonly map: number; readonly layer: number; readonly tiles: readonly TilePosition[] },
  PackedTiles
>('read-tiles');

/** Tiles in one buffer: sending each by itself would copy the whole buffer that it is a view of. */
interface PackedTiles {
  readonly bytes: Uint8Array;
  readonly lengths: readonly number[];
}

interface PackedMetatile extends PackedTiles {
  readonly tiles: readonly Omit<CutTile, 'bytes'>[];
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

/** The tiles share one buffer: a tile that is kept for long is to be copied. */
export function unpackTiles({ bytes, lengths }: PackedTiles): readonly Buffer[] {
  let at = bytes.byteOffset;
  return lengths.map((length) => {
    at += length;
    return Buffer.from(bytes.buffer, at - length, length);
  });
}

export function packMetatile(tiles: readonly CutTile[]): PackedMetatile {
  const rest = tiles.map(({ colour, checksum }) => ({ colour, checksum }));
  return { ...packTiles(tiles.map(({ bytes }) => bytes)), tiles: rest };
}

export function unpackMetatile({ tiles, ...packed }: PackedMetatile): readonly CutTile[] {
  const all = unpackTiles(packed);
  return tiles.map((tile, i) => ({ ...tile, bytes: all[i] ?? Buffer.alloc(0) }));
}
