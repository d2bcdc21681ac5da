/**
 * Addresses of WMTS by path: `layer/style/DIMENSION…/gridSet/matrix/row/column`, with `/j/i` behind it for feature information.
 * Style and dimensions may be left out; then dimensions may be in the query, as GeoWebCache has them.
 */
import type { Catalog } from '../../../catalog/catalog.ts';
import { everySubset, type Layer } from '../../../domain/layer.ts';
import type { Context } from '../../context.ts';
import type { Kvp } from '../kvp.ts';
import { type Dimension, dimensionsOf } from '../layer-facts.ts';
import { readPairs } from '../service-exception.ts';

/** Layers with more have them in the query. */
const MAX_IN_PATH = 4;
const PLACE = ['TILEMATRIXSET', 'TILEMATRIX', 'TILEROW', 'TILECOL'];
const PIXEL = ['J', 'I'];
/** With dimensions, or without a style and with a pixel: the layer decides. */
const SEGMENTS = Array.from({ length: MAX_IN_PATH + 2 }, (_, index) => PLACE.length + 3 + index);

/** One for each number of segments, all of them variables. */
export const LONG_PATHS: readonly string[] = SEGMENTS.map((count) =>
  Array.from({ length: count }, (_, index) => `{${segmentName(index)}}`).join('/'),
);

/** In their order; empty: they are in the query. */
export function pathDimensions(layer: Layer): readonly Dimension[] {
  const all = dimensionsOf(layer);
  return all.length > MAX_IN_PATH ? [] : all;
}

/** Null: it is not the address of a tile or of feature information. */
export function readLongPath(context: Context, catalog: Pick<Catalog, 'layer'>): Kvp | null {
  const segments = segmentsOf(context);
  const layer = catalog.layer(segments[0] ?? '')?.layer;
  const names = namesFor(segments, layer);
  if (!names) return null;
  const inPath = new Map(names.map((name, index) => [name, segments[index] ?? '']));
  const inQuery = readPairs(context);
  return (name) => inPath.get(name) ?? inQuery(name);
}

function namesFor(segments: readonly string[], layer: Layer | undefined): readonly string[] | null {
  const dimensions = layer ? pathDimensions(layer).map(({ name }) => name) : [];
  const heads = [['LAYER', 'STYLE', ...dimensions], ['LAYER', 'STYLE'], ['LAYER']];
  const ends = [PLACE, [...PLACE, ...PIXEL]];
  const forms = heads.flatMap((head) => ends.map((end) => ({ head, names: [...head, ...end] })));
  const fitting = forms.filter(({ names }) => names.length === segments.length);
  const isGridSet = (name = '') =>
    layer !== undefined &&
    everySubset(layer).some(({ gridSet }) => gridSet.name === name || gridSet.aliases.includes(name));
  return (fitting.find(({ head }) => isGridSet(segments[head.length])) ?? fitting.at(-1))?.names ?? null;
}

function segmentsOf({ params }: Context): readonly string[] {
  const found: string[] = [];
  for (let index = 0; ; index++) {
    const segment = params[segmentName(index)];
    if (segment === undefined) return found;
    found.push(segment);
  }
}

function segmentName(index: number): string {
  return `segment${index}`;
}
