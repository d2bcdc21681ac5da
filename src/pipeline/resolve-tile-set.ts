import { type BoundLayer, tileSetIn } from '../catalog/catalog.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import { coverageAt, type GridSubset } from '../domain/grid-subset.ts';
import { formatOfLayer, gridSubsetOf } from '../domain/layer.ts';
import { type Metatile, type MetatileSize, metatileAt, metatileOf } from '../domain/metatile.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { intersectRects, rectContains, type TileRect } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

/** How a client names a tile set. Null: the layer's default. */
interface TileSetNames {
  /** The grid set's name or one of its aliases. */
  readonly gridSet: string | null;
  /** Media type or file extension. */
  readonly format: string | null;
  /** As received: names in any case; names that the layer has no filter for are ignored. */
  readonly parameters: ReadonlyMap<string, string>;
}

export const SINGLE_TILE: MetatileSize = { columns: 1, rows: 1 };

type PlainTileSets = Map<GridSubset, Map<Format, ResolvedTileSet>>;

/** Tile sets with default parameters, cached per layer because most requests are for them. */
const plainTileSets = new WeakMap<BoundLayer, PlainTileSets>();

/** Throws `grid-set-unknown`, `format-unknown` or `parameter-refused`; the message names the allowed values. */
export function resolveTileSet(bound: BoundLayer, names: TileSetNames): ResolvedTileSet {
  const { layer } = bound;
  const subset = names.gridSet === null ? layer.gridSubsets[0] : gridSubsetOf(layer, names.gridSet);
  const format = names.format === null ? layer.formats[0] : formatOfLayer(layer, names.format);
  const plain = layer.parameters.length === 0 || (names.parameters.size === 0 && !isTimed(layer));
  return plain ? plainTileSet(bound, subset, format) : makeTileSet(bound, subset, format, names.parameters);
}

/** Whether the layer's default tile set may change with time. */
function isTimed({ parameters }: BoundLayer['layer']): boolean {
  return parameters.some(({ times }) => times !== undefined);
}

/** Throws `tile-outside`, which names the allowed range, for a tile outside the grid subset. */
export function checkTile(tiles: ResolvedTileSet, { z, x, y }: TileIndex): void {
  const { subset } = tiles;
  const coverage = coverageAt(subset, z);
  if (!coverage) {
    throw outside(tiles, `zoom ${z}; it has zooms ${subset.zoomStart} to ${subset.zoomStop}`);
  }
  if (Number.isInteger(x) && Number.isInteger(y) && rectContains(coverage, x, y)) return;
  const { minX, maxX, minY, maxY } = coverage;
  throw outside(
    tiles,
    `tile ${x},${y} at zoom ${z}; columns are ${minX} to ${maxX}, rows ${minY} to ${maxY}`,
  );
}

/** Size of the block that is fetched together: the layer's metatile, within the limit of its source. */
export function metatileSizeOf(tiles: ResolvedTileSet): MetatileSize {
  if (tiles.format.kind === 'opaque') return SINGLE_TILE;
  const metatile = layerMetatile(tiles);
  const { maxMetatile } = tiles.bound.source();
  if (!maxMetatile) return metatile;
  return {
    columns: Math.min(metatile.columns, maxMetatile.columns),
    rows: Math.min(metatile.rows, maxMetatile.rows),
  };
}

/** The metatile that contains the tile. Throws `tile-outside`. */
export function metatileWith(
  tiles: ResolvedTileSet,
  { z, x, y }: TileIndex,
  size: MetatileSize = metatileSizeOf(tiles),
): Metatile {
  const metatile = metatileOf(tiles.subset, size, z, x, y);
  if (metatile) return metatile;
  throw outside(tiles, `tile ${x},${y} at zoom ${z}`);
}

/** The metatiles that overlap a rectangle of tiles, and the part of each that is within. */
export function* metatilesIn(tiles: ResolvedTileSet, z: number, rect: TileRect) {
  const size = metatileSizeOf(tiles);
  const lastRow = Math.floor(rect.maxY / size.rows);
  const lastColumn = Math.floor(rect.maxX / size.columns);
  for (let row = Math.floor(rect.minY / size.rows); row <= lastRow; row++) {
    for (let column = Math.floor(rect.minX / size.columns); column <= lastColumn; column++) {
      const metatile = metatileAt(tiles.subset, size, z, column, row);
      const within = metatile && intersectRects(metatile.rect, rect);
      if (metatile && within) yield { metatile, within };
    }
  }
}

/** For tiles of double density, half as many each way, so that the source draws as many pixels as for plain tiles. */
function layerMetatile({ bound, subset }: ResolvedTileSet): MetatileSize {
  const { metatile } = bound.layer;
  const { pixelRatio } = subset.gridSet;
  if (pixelRatio === 1) return metatile;
  return {
    columns: Math.max(1, Math.floor(metatile.columns / pixelRatio)),
    rows: Math.max(1, Math.floor(metatile.rows / pixelRatio)),
  };
}

/** In pixels; 0 for a source of ready-made single tiles, which cannot draw beyond their edges. */
export function gutterOf(tiles: ResolvedTileSet): number {
  if (tiles.format.kind === 'opaque') return 0;
  const { maxMetatile } = tiles.bound.source();
  const readyMade = maxMetatile?.columns === 1 && maxMetatile.rows === 1;
  return readyMade ? 0 : tiles.bound.layer.gutter;
}

function plainTileSet(bound: BoundLayer, subset: GridSubset, format: Format): ResolvedTileSet {
  const ofLayer = getOrCreate(plainTileSets, bound, (): PlainTileSets => new Map());
  const ofSubset = getOrCreate(ofLayer, subset, () => new Map<Format, ResolvedTileSet>());
  return getOrCreate(ofSubset, format, () => makeTileSet(bound, subset, format, new Map()));
}

function makeTileSet(
  bound: BoundLayer,
  subset: GridSubset,
  format: Format,
  parameters: ReadonlyMap<string, string>,
): ResolvedTileSet {
  const { layer } = bound;
  const selection = selectParameters(layer.parameters, parameters);
  const names = {
    layer: layer.name,
    gridSet: subset.gridSet.name,
    format: format.mediaType,
    parametersId: selection.id,
  };
  const set = tileSetIn(bound, names);
  return { bound, subset, format, selection, set: set ?? names, ...(!set && { bypass: true }) };
}

/** Whether a client's request may query the source; tasks always may. */
export function mayAskSource({ bound: { layer }, bypass }: ResolvedTileSet): boolean {
  return layer.onMiss === 'source' || (bypass === true && layer.cacheBypass);
}

export function notCached({ set }: ResolvedTileSet, { z, x, y }: TileIndex): TilewardenError {
  return new TilewardenError(
    'tile-not-cached',
    `Tile ${x},${y} at zoom ${z} of layer ${set.layer} is not cached, and only cached tiles are served.`,
  );
}

function outside({ set }: ResolvedTileSet, what: string): TilewardenError {
  return new TilewardenError('tile-outside', `Layer ${set.layer} in ${set.gridSet} has no ${what}.`);
}
