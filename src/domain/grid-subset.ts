import { getOrCreate, remembered } from '../lib/get-or-create.ts';
import { type Bounds, coordsOf, intersectBounds } from './bounds.ts';
import { misconfigured } from './errors.ts';
import { fittingZoom } from './fitting-zoom.ts';
import {
  type GridSet,
  isWithinScales,
  levelOf,
  MAX_TILE_SIZE,
  type Scales,
  scaleAt,
  tilesOfBounds,
} from './grid-set.ts';
import { sameSrs } from './srs.ts';
import type { TileIndex } from './tile-key.ts';
import { intersectRects, rectContains, type TileRect } from './tile-rect.ts';

export interface GridSubset {
  readonly gridSet: GridSet;
  readonly extent: Bounds;
  readonly zoomStart: number;
  readonly zoomStop: number;
  /** Tiles of other zooms are served, but not stored. */
  readonly cachedStart: number;
  readonly cachedStop: number;
  /** Scales at which clients see the layer; null: all. */
  readonly scales: Scales | null;
  /** Zooms of those scales: tiles of others are empty for clients. */
  readonly shownStart: number;
  readonly shownStop: number;
  /** The range of each zoom from `zoomStart` on, computed once: every request needs it. */
  readonly coverages: readonly (TileRect | null)[];
}

interface GridSubsetOptions {
  readonly extent?: Bounds;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  /** The default is all zooms that are offered. */
  readonly minCachedLevel?: number;
  readonly maxCachedLevel?: number;
  readonly scales?: Scales | null;
}

/** Subsets without an extent of their own, by their zooms: thousands of layers have a handful between them. */
const whole = new WeakMap<GridSet, Map<string, GridSubset>>();

/** A `zoomStop` beyond the last level means the last level. Throws `config-invalid`. */
export function createGridSubset(gridSet: GridSet, options: GridSubsetOptions = {}): GridSubset {
  if (options.extent) return makeGridSubset(gridSet, options);
  const ofGridSet = getOrCreate(whole, gridSet, () => new Map<string, GridSubset>());
  const { zoomStart, zoomStop, minCachedLevel, maxCachedLevel, scales } = options;
  const key = [zoomStart, zoomStop, minCachedLevel, maxCachedLevel, scales].join(' ');
  return getOrCreate(ofGridSet, key, () => makeGridSubset(gridSet, options));
}

function makeGridSubset(gridSet: GridSet, options: GridSubsetOptions): GridSubset {
  const maxZoom = gridSet.levels.length - 1;
  const zoomStart = options.zoomStart ?? 0;
  const zoomStop = Math.min(options.zoomStop ?? maxZoom, maxZoom);
  if (![zoomStart, zoomStop].every(Number.isInteger) || zoomStart < 0 || zoomStart > zoomStop) {
    throw misconfigured(
      `zoomStart ${zoomStart} of grid set ${gridSet.name} must lie between 0 and zoomStop ${zoomStop}.`,
    );
  }
  const extent = options.extent ? intersectBounds(options.extent, gridSet.extent) : gridSet.extent;
  if (!extent) {
    throw misconfigured(`The extent is outside grid set ${gridSet.name}.`);
  }
  const coverages = gridSet.levels
    .slice(zoomStart, zoomStop + 1)
    .map((_, offset) => tilesOfBounds(gridSet, zoomStart + offset, extent));
  const cachedStart = Math.max(zoomStart, options.minCachedLevel ?? zoomStart);
  const cachedStop = Math.min(zoomStop, options.maxCachedLevel ?? zoomStop);
  const scales = options.scales ?? null;
  const shown = scales ? zoomsWithin(scales, gridSet, zoomStart, zoomStop) : [zoomStart, zoomStop];
  const [shownStart = zoomStart, shownStop = shownStart] = [shown[0], shown.at(-1)];
  return {
    gridSet,
    extent,
    zoomStart,
    zoomStop,
    cachedStart,
    cachedStop,
    scales,
    shownStart,
    shownStop,
    coverages,
  };
}

function zoomsWithin(scales: Scales, gridSet: GridSet, zoomStart: number, zoomStop: number): number[] {
  const zooms = [...gridSet.levels.keys()].slice(zoomStart, zoomStop + 1);
  const shown = zooms.filter((z) => isWithinScales(scales, scaleAt(gridSet, z)));
  if (shown.length > 0) return shown;
  const [first, last] = [scaleAt(gridSet, zoomStart), scaleAt(gridSet, zoomStop)].map(Math.round);
  throw misconfigured(
    `minScale ${scales[0]} and maxScale ${scales[1]} show no zoom of grid set ${gridSet.name}; its scales here are ${last} to ${first}.`,
  );
}

/** Whether tiles of that zoom are empty for clients, because of its scale. */
export function isHidden({ scales, shownStart, shownStop }: GridSubset, z: number): boolean {
  return scales !== null && (z < shownStart || z > shownStop);
}

/** All tiles the layer offers at a zoom; null when the zoom is not offered. */
export function coverageAt(subset: GridSubset, z: number): TileRect | null {
  return subset.coverages[z - subset.zoomStart] ?? null;
}

/** The tile in the middle of the extent, at the zoom that fits it: the one that shows most of the layer. */
export function middleTileOf(subset: GridSubset): TileIndex {
  const { gridSet, extent, zoomStart, zoomStop } = subset;
  const z = fittingZoom({
    extent: coordsOf(extent),
    resolutions: gridSet.levels.map(({ resolution }) => resolution),
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    zoomStart,
    zoomStop,
  });
  const { tileSpanX, tileSpanY, top } = levelOf(gridSet, z);
  const x = Math.floor(((extent.minX + extent.maxX) / 2 - gridSet.extent.minX) / tileSpanX);
  const y = Math.floor((top - (extent.minY + extent.maxY) / 2) / tileSpanY);
  return { z, x, y };
}

export function subsetContains(subset: GridSubset, z: number, x: number, y: number): boolean {
  const coverage = coverageAt(subset, z);
  return coverage !== null && Number.isInteger(x) && Number.isInteger(y) && rectContains(coverage, x, y);
}

/**
 * Whether a tile is outside the circle around the middle of the layer's coverage, by GeoWebCache's arithmetic: whole
 * tiles, rows from the bottom, a quarter of the longer side and one more as radius.
 */
export function isBeyondCircle(subset: GridSubset, { z, x, y }: TileIndex): boolean {
  const coverage = coverageAt(subset, z);
  if (!coverage) return false;
  const width = coverage.maxX - coverage.minX;
  const height = coverage.maxY - coverage.minY;
  const radius = Math.floor(Math.max(width, height) / 4) + 1;
  const last = levelOf(subset.gridSet, z).rows - 1;
  const fromMiddleX = coverage.minX + Math.floor(width / 2) - x;
  const fromMiddleY = last - coverage.maxY + Math.floor(height / 2) - (last - y);
  return Math.round(Math.hypot(fromMiddleX, fromMiddleY)) > radius;
}

/** Tiles of consecutive zooms, a rectangle at each: O(zoom levels) to hold and to count, for any number of tiles. */
export interface TileRange {
  readonly levels: readonly TileRangeLevel[];
}

export interface TileRangeLevel {
  readonly z: number;
  readonly rect: TileRect;
}

/** The tiles within `bounds` (all when null) from `zoomStart` to `zoomStop`, clipped to the subset. */
export function tileRangeOf(
  subset: GridSubset,
  zoomStart: number,
  zoomStop: number,
  bounds: Bounds | null,
): TileRange {
  const levels: TileRangeLevel[] = [];
  const first = Math.max(zoomStart, subset.zoomStart);
  const last = Math.min(zoomStop, subset.zoomStop);
  for (let z = first; z <= last; z++) {
    const rect = rectAt(subset, z, bounds);
    if (rect) levels.push({ z, rect });
  }
  return { levels };
}

function rectAt(subset: GridSubset, z: number, bounds: Bounds | null): TileRect | null {
  const coverage = coverageAt(subset, z);
  if (!coverage || !bounds) return coverage;
  const wanted = tilesOfBounds(subset.gridSet, z, bounds);
  return wanted && intersectRects(wanted, coverage);
}

/** The subset to draw another layer from: that named `wanted`; by default one in the same CRS, else the first. */
export function subsetToDrawFrom(
  subsets: readonly GridSubset[],
  wanted: string | undefined,
  target: Pick<GridSet, 'srs'>,
): GridSubset | null {
  if (wanted !== undefined) {
    return subsets.find(({ gridSet }) => [gridSet.name, ...gridSet.aliases].includes(wanted)) ?? null;
  }
  return subsets.find(({ gridSet }) => sameSrs(gridSet.srs, target.srs)) ?? subsets[0] ?? null;
}

/** The suffix of grid sets for dense screens. */
export const RETINA_SUFFIX = '@2x';
const DENSITY = 2;

/** `EPSG:900913` → `EPSG:900913@2x`; a name that ends so has no denser one. */
export function denseNameOf(gridSet: string): string | null {
  return gridSet.endsWith(RETINA_SUFFIX) ? null : `${gridSet}${RETINA_SUFFIX}`;
}

/**
 * The same tiles in the same places with twice the pixels along each side: `EPSG:900913@2x` of `EPSG:900913`. To
 * stores, tasks and the quota it is a grid set like any other. Throws `config-invalid` when its tiles get too large.
 */
export function retinaSubset(subset: GridSubset): GridSubset {
  return { ...subset, gridSet: denserGridSet(subset.gridSet) };
}

/** The dense form of a grid set, created once and shared by layers. */
const denserGridSet = remembered((gridSet: GridSet): GridSet => {
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
});

function checkTileSize({ name, tileWidth, tileHeight }: GridSet): void {
  const most = MAX_TILE_SIZE / DENSITY;
  if (Math.max(tileWidth, tileHeight) <= most) return;
  throw misconfigured(
    `Grid set ${name} has tiles of ${tileWidth}×${tileHeight} pixels; retina doubles them, so they may have ${most} at most.`,
  );
}
