import { getOrCreate } from '../lib/get-or-create.ts';
import { misconfigured } from './errors.ts';
import { type GridSet, MAX_TILE_SIZE } from './grid-set.ts';
import type { GridSubset } from './grid-subset.ts';

/** The suffix of grid sets for dense screens. */
export const RETINA_SUFFIX = '@2x';
const DENSITY = 2;

/** `EPSG:900913` → `EPSG:900913@2x`; a name that ends so has no denser one. */
export function denseNameOf(gridSet: string): string | null {
  return gridSet.endsWith(RETINA_SUFFIX) ? null : `${gridSet}${RETINA_SUFFIX}`;
}

/** One for each grid set, so that layers share it. */
const siblings = new WeakMap<GridSet, GridSet>();

/**
 * The same tiles in the same places with twice the pixels along each side: `EPSG:900913@2x` of `EPSG:900913`. To
 * stores, tasks and the quota it is a grid set like any other. Throws `config-invalid` when its tiles get too large.
 */
export function retinaSubset(subset: GridSubset): GridSubset {
  return { ...subset, gridSet: getOrCreate(siblings, subset.gridSet, () => denserGridSet(subset.gridSet)) };
}

function denserGridSet(gridSet: GridSet): GridSet {
  checkTileSize(gridSet);
  return {
    ...gridSet,
    name: `${gridSet.name}${RETINA_SUFFIX}`,
    aliases: gridSet.aliases.map((alias) => `${alias}${RETINA_SUFFIX}`),
    tileWidth: gridSet.tileWidth * DENSITY,
    tileHeight: gridSet.tileHeight * DENSITY,
    pixelRatio: DENSITY,
    levels: gridSet.levels.map((level, z) => ({
      ...level,
      name: `${gridSet.name}${RETINA_SUFFIX}:${z}`,
      resolution: level.resolution / DENSITY,
      scaleDenominator: level.scaleDenominator / DENSITY,
    })),
  };
}

function checkTileSize({ name, tileWidth, tileHeight }: GridSet): void {
  const most = MAX_TILE_SIZE / DENSITY;
  if (Math.max(tileWidth, tileHeight) <= most) return;
  throw misconfigured(
    `Grid set ${name} has tiles of ${tileWidth}×${tileHeight} pixels; retina doubles them, so they may have ${most} at most.`,
  );
}
