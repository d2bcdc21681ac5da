import { boundsOfTile, type GridSet } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { MatrixSetLink, TileMatrix, TileMatrixSet } from './wmts-capabilities.ts';

/** The server's name for a tile of ours. */
export interface MatchedTile {
  readonly matrixSet: string;
  readonly matrix: string;
  readonly column: number;
  readonly row: number;
  /** False: the server says itself that it has no such tile. */
  readonly offered: boolean;
}

/** OGC 07-057r7, 6.1: metres that a pixel is taken to measure. */
const PIXEL_SIZE = 0.00028;
/** So far, in pixels, may the edges of a tile of theirs be from ours. */
const TOLERANCE = 0.5;
const DEGREES = 4326;

/** The first of the sets that has exactly this tile of ours; null when none does. */
export function matchTile(
  links: readonly MatrixSetLink[],
  gridSet: GridSet,
  tile: TileIndex,
): MatchedTile | null {
  for (const { set, limits } of links) {
    if (!hasSrs(set, gridSet)) continue;
    const found = matchInSet(set, gridSet, tile);
    if (!found) continue;
    const { matrix, column, row } = found;
    const within = limits.get(matrix.id) ?? {
      minRow: 0,
      maxRow: matrix.rows - 1,
      minColumn: 0,
      maxColumn: matrix.columns - 1,
    };
    const offered =
      row >= within.minRow &&
      row <= within.maxRow &&
      column >= within.minColumn &&
      column <= within.maxColumn;
    return { matrixSet: set.id, matrix: matrix.id, column, row, offered };
  }
  return null;
}

/** `urn:ogc:def:crs:EPSG::3857`, `EPSG:3857`, `…/EPSG/0/3857`, `urn:ogc:def:crs:OGC:1.3:CRS84`. */
export function srsOfCrs(crs: string): number | null {
  if (/CRS:?84$/i.test(crs)) return DEGREES;
  const code = /EPSG.*?(\d+)$/i.exec(crs)?.[1];
  return code === undefined ? null : Number(code);
}

function hasSrs({ crs }: TileMatrixSet, gridSet: GridSet): boolean {
  const srs = srsOfCrs(crs);
  return srs !== null && sameSrs(srs, gridSet.srs);
}

interface FoundTile {
  readonly matrix: TileMatrix;
  readonly column: number;
  readonly row: number;
}

function matchInSet(set: TileMatrixSet, gridSet: GridSet, tile: TileIndex): FoundTile | null {
  for (const matrix of set.matrices) {
    const [first, second] = matrix.topLeftCorner;
    // OGC 07-057r7, 6.1: in the order of the CRS's axes; servers do not agree on what that is.
    const corners: readonly (readonly [number, number])[] = [
      [first, second],
      [second, first],
    ];
    const order = yComesFirst(set.crs, gridSet) ? [...corners].reverse() : corners;
    for (const [left, top] of order) {
      const found = matchInMatrix(matrix, left, top, gridSet, tile);
      if (found) return { matrix, ...found };
    }
  }
  return null;
}

function yComesFirst(crs: string, gridSet: GridSet): boolean {
  return gridSet.yCoordinateFirst && !/CRS:?84$/i.test(crs);
}

function matchInMatrix(
  matrix: TileMatrix,
  left: number,
  top: number,
  gridSet: GridSet,
  { z, x, y }: TileIndex,
): { readonly column: number; readonly row: number } | null {
  if (matrix.tileWidth !== gridSet.tileWidth || matrix.tileHeight !== gridSet.tileHeight) return null;
  const resolution = (matrix.scaleDenominator * PIXEL_SIZE) / gridSet.metersPerUnit;
  const ours = boundsOfTile(gridSet, z, x, y);
  const spanX = resolution * matrix.tileWidth;
  const spanY = resolution * matrix.tileHeight;
  const column = Math.round((ours.minX - left) / spanX);
  const row = Math.round((top - ours.maxY) / spanY);
  const gaps = [
    left + column * spanX - ours.minX,
    left + (column + 1) * spanX - ours.maxX,
    top - row * spanY - ours.maxY,
    top - (row + 1) * spanY - ours.minY,
  ];
  return gaps.every((gap) => Math.abs(gap) <= TOLERANCE * resolution) ? { column, row } : null;
}
