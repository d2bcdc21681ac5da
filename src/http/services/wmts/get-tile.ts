import type { BoundLayer, Catalog } from '../../../catalog/catalog.ts';
import { shortened, TilewardenError } from '../../../domain/errors.ts';
import { formatOf } from '../../../domain/format.ts';
import { coverageAt, createGridSubset, type GridSubset } from '../../../domain/grid-subset.ts';
import { everySubset, formatOfLayer, gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import type { ParameterFilter } from '../../../domain/parameter-filter.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { isOpenTo, requireVisible } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import { HttpProblem } from '../../problems.ts';
import type { Kvp } from '../kvp.ts';
import { DEFAULT, type Dimension, dimensionsOf, isStyleFilter } from '../layer-facts.ts';
import type { Operation } from '../open-services.ts';
import { badValue, blaming, readPairs, required, ServiceException } from '../service-exception.ts';

/** One tile has one address: no leading zeros, no plus sign. A tile outside the limits is `TileOutOfRange`, however far. */
const WHOLE_NUMBER = /^(?:0|-?[1-9]\d*)$/;

export const getTile: Operation = async (context, kvp, { catalog, answerTile }) => {
  const bound = requestedLayer(catalog, kvp);
  if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
  const tiles = wmtsTileSet(bound, kvp);
  return answerTile(context, tiles, requestedIndex(tilesAnswered(tiles), kvp));
};

/** With transparent tiles outside the layer, the whole grid has tiles. */
function tilesAnswered({ bound, subset }: ResolvedTileSet): GridSubset {
  return bound.layer.outside === 'transparent' ? createGridSubset(subset.gridSet) : subset;
}

export function requestedLayer(catalog: Pick<Catalog, 'layer'>, kvp: Kvp): BoundLayer {
  const name = required(kvp, 'LAYER');
  const bound = catalog.layer(name);
  if (bound) return bound;
  const message = `LAYER ${shortened(name)} is not known.`;
  const cause = new TilewardenError('layer-unknown', message);
  throw new ServiceException('InvalidParameterValue', 'LAYER', message, { cause });
}

/** `format` of the tile; null: the requested one. */
export function wmtsTileSet(bound: BoundLayer, kvp: Kvp, format: string | null = null): ResolvedTileSet {
  const { layer } = bound;
  const parameters = filterValues(layer.parameters, kvp);
  const mediaType = format ?? wmtsFormat(layer, required(kvp, 'FORMAT'));
  const gridSet = required(kvp, 'TILEMATRIXSET');
  blaming('InvalidParameterValue', 'TILEMATRIXSET', () => gridSubsetOf(layer, gridSet));
  return resolveTileSet(bound, { gridSet, format: mediaType, parameters });
}

function wmtsFormat(layer: Layer, name: string): string {
  if (formatOf(name))
    return blaming('InvalidParameterValue', 'FORMAT', () => formatOfLayer(layer, name)).mediaType;
  throw badValue('FORMAT', `Unable to determine requested FORMAT, ${shortened(name)}`);
}

/** Values other than the defaults. */
function filterValues(filters: readonly ParameterFilter[], kvp: Kvp): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const filter of filters) {
    const name = isStyleFilter(filter) ? styleName(kvp) : filter.name;
    const value = kvp(name) ?? '';
    if (value === DEFAULT && !filter.values?.includes(DEFAULT)) continue;
    const applied = blaming('InvalidParameterValue', name, () => filter.apply(value));
    if (applied !== filter.defaultValue) values.set(filter.name, value);
  }
  return values;
}

/** STYLE in WMTS; the WMS name is accepted too. */
function styleName(kvp: Kvp): string {
  return kvp('STYLE') === null && kvp('STYLES') !== null ? 'STYLES' : 'STYLE';
}

export function requestedIndex(subset: GridSubset, kvp: Kvp): TileIndex {
  const z = zoomNamed(subset, required(kvp, 'TILEMATRIX'), required(kvp, 'TILEMATRIXSET'));
  const y = integer(kvp, 'TILEROW');
  const x = integer(kvp, 'TILECOL');
  const coverage = coverageAt(subset, z);
  if (coverage) {
    checkRange('Column', 'TILECOL', x, coverage.minX, coverage.maxX);
    checkRange('Row', 'TILEROW', y, coverage.minY, coverage.maxY);
  }
  return { z, x, y };
}

/** Levels may use the alias of their grid set: `EPSG:3857:5` of `EPSG:3857`. */
function zoomNamed(subset: GridSubset, name: string, gridSetName: string): number {
  const { levels } = subset.gridSet;
  const named = levels.findIndex((level) => level.name === name);
  const z = named >= 0 ? named : levels.findIndex((_, level) => `${gridSetName}:${level}` === name);
  if (coverageAt(subset, z)) return z;
  throw badValue('TILEMATRIX', `Unknown TILEMATRIX ${shortened(name)}`);
}

export function integer(kvp: Kvp, name: string): number {
  const text = required(kvp, name);
  if (WHOLE_NUMBER.test(text)) return Number(text);
  throw badValue(name, `${name} must be a whole number such as 0 or 12, not ${shortened(text)}.`);
}

function checkRange(what: string, locator: string, value: number, min: number, max: number): void {
  if (value >= min && value <= max) return;
  throw new ServiceException(
    'TileOutOfRange',
    locator,
    `${what} ${value} is out of range, min: ${min} max:${max}`,
  );
}

/**
 * Addresses of WMTS by path: `layer/style/DIMENSION…/gridSet/matrix/row/column`, with `/j/i` behind it for feature information.
 * Style and dimensions may be left out; then dimensions may be in the query, as GeoWebCache has them. Layers with more
 * dimensions than these have them in the query.
 */
const MAX_IN_PATH = 4;
export const PLACE = ['TILEMATRIXSET', 'TILEMATRIX', 'TILEROW', 'TILECOL'];
const PIXEL = ['J', 'I'];
/** Numbers of segments with dimensions or a pixel. Which of them, the layer decides. */
const SEGMENTS = Array.from({ length: MAX_IN_PATH + 2 }, (_, index) => PLACE.length + 3 + index);

/** One path for each number of segments, all of them variables. */
export const LONG_PATHS: readonly string[] = SEGMENTS.map((count) =>
  Array.from({ length: count }, (_, index) => `{segment${index}}`).join('/'),
);

/** The dimensions in the path, in their order; empty: they are in the query. */
export function pathDimensions(layer: Layer): readonly Dimension[] {
  const all = dimensionsOf(layer);
  return all.length > MAX_IN_PATH ? [] : all;
}

/** The parts of an address of a tile or of feature information. Callers must be allowed to see the layer. */
export function readLongPath(context: Context, layer: Layer): Kvp {
  const segments = Object.values(context.params);
  const names = namesFor(segments, layer);
  if (!names) throw new HttpProblem('path-unknown', 'There is nothing at this address.');
  const inPath = new Map(names.map((name, index) => [name, segments[index] ?? '']));
  const inQuery = readPairs(context);
  return (name) => inPath.get(name) ?? inQuery(name);
}

function namesFor(segments: readonly string[], layer: Layer): readonly string[] | null {
  const dimensions = pathDimensions(layer).map(({ name }) => name);
  const heads = [['LAYER', 'STYLE', ...dimensions], ['LAYER', 'STYLE'], ['LAYER']];
  const ends = [PLACE, [...PLACE, ...PIXEL]];
  const forms = heads.flatMap((head) => ends.map((end) => ({ head, names: [...head, ...end] })));
  const fitting = forms.filter(({ names }) => names.length === segments.length);
  const isGridSet = (name = '') =>
    everySubset(layer).some(({ gridSet }) => gridSet.name === name || gridSet.aliases.includes(name));
  return (fitting.find(({ head }) => isGridSet(segments[head.length])) ?? fitting.at(-1))?.names ?? null;
}
