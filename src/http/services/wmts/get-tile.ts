import type { BoundLayer, Catalog } from '../../../catalog/catalog.ts';
import { shortened, TilewardenError } from '../../../domain/errors.ts';
import { formatOf } from '../../../domain/format.ts';
import { coverageAt, createGridSubset, type GridSubset } from '../../../domain/grid-subset.ts';
import { formatOfLayer, gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import type { ParameterFilter } from '../../../domain/parameter-filter.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { isOpenTo, requireVisible } from '../../auth/layer-visibility.ts';
import type { Kvp } from '../kvp.ts';
import { DEFAULT, isStyleFilter } from '../layer-facts.ts';
import type { Operation } from '../open-services.ts';
import { badValue, blaming, required, ServiceException } from '../service-exception.ts';

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
  const mediaType = format ?? requestedFormat(layer, required(kvp, 'FORMAT'));
  const gridSet = required(kvp, 'TILEMATRIXSET');
  blaming('InvalidParameterValue', 'TILEMATRIXSET', () => gridSubsetOf(layer, gridSet));
  return resolveTileSet(bound, { gridSet, format: mediaType, parameters });
}

function requestedFormat(layer: Layer, name: string): string {
  if (formatOf(name))
    return blaming('InvalidParameterValue', 'FORMAT', () => formatOfLayer(layer, name)).mediaType;
  throw badValue('FORMAT', `Unable to determine requested FORMAT, ${shortened(name)}`);
}

/** Values other than the defaults. */
function filterValues(filters: readonly ParameterFilter[], kvp: Kvp): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const filter of filters) {
    const name = isStyleFilter(filter) ? styleName(kvp) : filter.name;
    const value = kvp(name) ?? '';
    if (value === DEFAULT && !filter.values?.includes(DEFAULT)) continue;
    const applied = blaming('InvalidParameterValue', name, () => filter.apply(value));
    if (applied !== filter.defaultValue) found.set(filter.name, value);
  }
  return found;
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
