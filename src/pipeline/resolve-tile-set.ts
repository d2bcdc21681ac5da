import type { BoundLayer } from '../catalog/bound-layer.ts';
import { TilewardenError } from '../domain/errors.ts';
import { coverageAt } from '../domain/grid-subset.ts';
import { formatOfLayer, gridSubsetOf } from '../domain/layer.ts';
import type { MetatileSize } from '../domain/metatile.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { rectContains } from '../domain/tile-rect.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

/** How a client names a tile set. Null stands for the layer's default. */
export interface TileSetNames {
  /** The grid set's name or one of its aliases. */
  readonly gridSet: string | null;
  /** Media type or file extension. */
  readonly format: string | null;
  /** As they came; names in any case, those that no filter knows are ignored. */
  readonly parameters: ReadonlyMap<string, string>;
}

const SINGLE_TILE: MetatileSize = { columns: 1, rows: 1 };

/** Tile sets with default parameters are made once for each layer: most requests ask for them. */
const plainTileSets = new WeakMap<BoundLayer, Map<string | null, Map<string | null, ResolvedTileSet>>>();

/** Throws `grid-set-unknown`, `format-unknown` or `parameter-refused`, with what is allowed in the message. */
export function resolveTileSet(bound: BoundLayer, names: TileSetNames): ResolvedTileSet {
  const plain = names.parameters.size === 0 || bound.layer.parameters.length === 0;
  if (!plain) return makeTileSet(bound, names);
  const known = plainTileSets.get(bound)?.get(names.gridSet)?.get(names.format);
  return known ?? rememberPlain(bound, names, makeTileSet(bound, names));
}

/** Throws `tile-outside` and says what is inside. */
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

/** What is fetched at once: the layer's metatile, but no more than its source can answer. */
export function metatileSizeOf(tiles: ResolvedTileSet): MetatileSize {
  if (tiles.format.kind === 'opaque') return SINGLE_TILE;
  const { metatile } = tiles.bound.layer;
  const { maxMetatile } = tiles.bound.source();
  if (!maxMetatile) return metatile;
  return {
    columns: Math.min(metatile.columns, maxMetatile.columns),
    rows: Math.min(metatile.rows, maxMetatile.rows),
  };
}

/** In pixels. A source that answers single tiles has them ready-made: it cannot draw around them. */
export function gutterOf(tiles: ResolvedTileSet): number {
  if (tiles.format.kind === 'opaque') return 0;
  const { maxMetatile } = tiles.bound.source();
  const readyMade = maxMetatile?.columns === 1 && maxMetatile.rows === 1;
  return readyMade ? 0 : tiles.bound.layer.gutter;
}

function makeTileSet(bound: BoundLayer, names: TileSetNames): ResolvedTileSet {
  const { layer } = bound;
  const subset = names.gridSet === null ? layer.gridSubsets[0] : gridSubsetOf(layer, names.gridSet);
  const format = names.format === null ? layer.formats[0] : formatOfLayer(layer, names.format);
  const selection = selectParameters(layer.parameters, names.parameters);
  const set = {
    layer: layer.name,
    gridSet: subset.gridSet.name,
    format: format.mediaType,
    parametersId: selection.id,
  };
  return { bound, subset, format, selection, set };
}

function rememberPlain(bound: BoundLayer, names: TileSetNames, tiles: ResolvedTileSet): ResolvedTileSet {
  const ofLayer = plainTileSets.get(bound) ?? new Map<string | null, Map<string | null, ResolvedTileSet>>();
  const ofGridSet = ofLayer.get(names.gridSet) ?? new Map<string | null, ResolvedTileSet>();
  plainTileSets.set(bound, ofLayer.set(names.gridSet, ofGridSet.set(names.format, tiles)));
  return tiles;
}

function outside({ set }: ResolvedTileSet, what: string): TilewardenError {
  return new TilewardenError('tile-outside', `Layer ${set.layer} in ${set.gridSet} has no ${what}.`);
}
