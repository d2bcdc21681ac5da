import type { MapPicture } from '../../../domain/bounds.ts';
import { type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';

export interface MatchedTile {
  readonly subset: GridSubset;
  /** May lie outside what the layer offers, and outside the grid. */
  readonly index: TileIndex;
  readonly offered: boolean;
  /** In tiles. */
  readonly error: number;
}

/** The tile that a box means, if it is off by no more than `tolerance` tiles; of several grid sets the best. */
export function matchTile(
  subsets: readonly GridSubset[],
  place: MapPicture,
  tolerance: number,
): MatchedTile | null {
  const matches = subsets
    .flatMap((subset) => matchesIn(subset, place))
    .filter(({ error }) => error <= tolerance);
  const [best] = matches.sort((a, b) => Number(b.offered) - Number(a.offered) || a.error - b.error);
  return best ?? null;
}

function matchesIn(subset: GridSubset, { bounds, width, height }: MapPicture): readonly MatchedTile[] {
  const { gridSet } = subset;
  if (width !== gridSet.tileWidth || height !== gridSet.tileHeight) return [];
  return gridSet.levels.map((level, z): MatchedTile => {
    const across = (bounds.maxX - bounds.minX) / level.tileSpanX;
    const down = (bounds.maxY - bounds.minY) / level.tileSpanY;
    const column = (bounds.minX - gridSet.extent.minX) / level.tileSpanX;
    const row = (level.top - bounds.maxY) / level.tileSpanY;
    const [x, y] = [Math.round(column), Math.round(row)];
    const error = Math.max(Math.abs(across - 1), Math.abs(down - 1), Math.abs(column - x), Math.abs(row - y));
    return { subset, index: { z, x, y }, offered: subsetContains(subset, z, x, y), error };
  });
}
