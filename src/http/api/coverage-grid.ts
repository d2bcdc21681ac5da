import { coverageAt } from '../../domain/grid-subset.ts';
import { PAGE_SIZE } from '../../domain/tile-key.ts';
import { blockAt, intersectRects, sizeOfRect, type TileRect } from '../../domain/tile-rect.ts';
import { isFresh } from '../../pipeline/freshness.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';

/** Cells per side; a cell is one tile if that many are enough. */
const MAX_CELLS = 128;

/** Seconds: upper limits of the age classes; one more class holds older tiles. */
export const AGE_STEPS = [3600, 86_400, 7 * 86_400, 30 * 86_400] as const;

/**
 * `age`: 0 missing, 1 old … 5 younger than an hour. `share`: percentage of cached tiles. `state`: 0 missing, 1 all stale,
 * 2 some stale, 3 none stale.
 */
export const COVERAGE_KINDS = ['age', 'share', 'state'] as const;
type CoverageKind = (typeof COVERAGE_KINDS)[number];

/** Cells from the top left, row by row. */
export interface CoverageGrid {
  readonly rect: TileRect;
  /** Tiles along a side of a cell. */
  readonly cell: number;
  readonly columns: number;
  readonly rows: number;
  readonly values: Uint8Array;
}

export interface CellPlan {
  readonly rect: TileRect;
  readonly cell: number;
  readonly shows: CoverageKind;
  readonly now: number;
}

export function cellSizeFor({ minX, minY, maxX, maxY }: TileRect): number {
  const fits = (size: number) =>
    Math.floor(maxX / size) - Math.floor(minX / size) < MAX_CELLS &&
    Math.floor(maxY / size) - Math.floor(minY / size) < MAX_CELLS;
  if (maxX - minX < MAX_CELLS && maxY - minY < MAX_CELLS) return 1;
  let size = PAGE_SIZE;
  while (!fits(size)) size *= 2;
  return size;
}

/** Single tiles. Lists the index of the store, and reads no tile. */
export async function* tileParts(
  tiles: ResolvedTileSet,
  z: number,
  { rect, now }: CellPlan,
): AsyncGenerator<readonly CountedPart[]> {
  const { store } = tiles.bound;
  for await (const entries of store.list(tiles.set, z, rect)) {
    const shown = entries.filter(({ hidden }) => !hidden);
    yield shown.map((tile) => {
      const stale = isFresh(tiles, z, tile, now) ? 0 : 1;
      return { x: tile.x, y: tile.y, tiles: 1, stale, changedAt: tile.createdAt };
    });
  }
}

/** From the oldest. */
function agesSince(now: number): readonly { readonly since: number; readonly value: number }[] {
  const moments = [0, ...AGE_STEPS.map((seconds) => now - seconds * 1000).reverse()];
  return moments.map((since, step) => ({ since, value: step + 1 }));
}

/** Tiles of one page or block, or a single one, by the place of the first. */
export interface CountedPart {
  readonly x: number;
  readonly y: number;
  readonly tiles: number;
  /** How many of them; of a page or block all or none, by its last change. */
  readonly stale: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** The share of cached tiles in each cell, the age of the last change, or whether they are stale. */
export async function gridOf(
  { subset }: ResolvedTileSet,
  z: number,
  { rect, cell, shows, now }: CellPlan,
  parts: AsyncIterable<readonly CountedPart[]>,
): Promise<CoverageGrid> {
  const [left, top] = [Math.floor(rect.minX / cell), Math.floor(rect.minY / cell)];
  const columns = Math.floor(rect.maxX / cell) - left + 1;
  const rows = Math.floor(rect.maxY / cell) - top + 1;
  const tiles = new Float64Array(columns * rows);
  const stale = new Float64Array(columns * rows);
  const changes = new Float64Array(columns * rows);
  for await (const some of parts) {
    for (const part of some) {
      const column = Math.floor(part.x / cell) - left;
      const row = Math.floor(part.y / cell) - top;
      if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
      const place = row * columns + column;
      tiles[place] = (tiles[place] ?? 0) + part.tiles;
      stale[place] = (stale[place] ?? 0) + part.stale;
      changes[place] = Math.max(changes[place] ?? 0, part.changedAt);
    }
  }
  const ages = agesSince(now);
  const ageOf = (change: number) => ages.findLast(({ since }) => change >= since)?.value ?? 0;
  const offered = coverageAt(subset, z) ?? rect;
  const values = Uint8Array.from(tiles, (count, place) => {
    if (count === 0) return 0;
    if (shows === 'age') return ageOf(changes[place] ?? 0);
    if (shows === 'state') return stateOf(count, stale[place] ?? 0);
    const [column, row] = [left + (place % columns), top + Math.floor(place / columns)];
    const shared = intersectRects(blockAt(column, row, cell), offered);
    return percent(count, shared ? sizeOfRect(shared) : 0);
  });
  return { rect, cell, columns, rows, values };
}

function stateOf(count: number, stale: number): number {
  if (stale === 0) return 3;
  return stale < count ? 2 : 1;
}

/** Run-length encoding: value, count, value, count, … */
export function runsOf(values: Uint8Array): number[] {
  const runs: number[] = [];
  for (const value of values) {
    const last = runs.length - 2;
    if (last >= 0 && runs[last] === value) runs[last + 1] = (runs[last + 1] ?? 0) + 1;
    else runs.push(value, 1);
  }
  return runs;
}

/** 0 and 100 are exact: none and all. */
function percent(count: number, of: number): number {
  if (count <= 0) return 0;
  return count >= of ? 100 : Math.min(99, Math.max(1, Math.round((count / of) * 100)));
}
