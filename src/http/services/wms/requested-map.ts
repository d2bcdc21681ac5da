import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import type { Bounds, MapPicture } from '../../../domain/bounds.ts';
import { shortened } from '../../../domain/errors.ts';
import { type Format, formatOf } from '../../../domain/format.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import { formatOfLayer } from '../../../domain/layer.ts';
import { checkMapSize } from '../../../pipeline/map-composer.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import type { Kvp } from '../kvp.ts';
import { badValue, blaming, required, ServiceException } from '../service-exception.ts';
import {
  type AskedCrs,
  isYFirst,
  parametersAsked,
  subsetsIn,
  type WmsVersion,
  wholeNumber,
} from './wms-parameters.ts';

/** A layer of the requested map, with its style and its grid sets in the map's CRS. */
export interface AskedLayer {
  readonly bound: BoundLayer;
  readonly style: string;
  readonly subsets: readonly [GridSubset, ...GridSubset[]];
}

/** In one map. */
export const MAX_LAYERS = 20;

/** A name may hold commas; a text that is no layer's name is a list of names. */
export function requestedLayers(
  catalog: Pick<Catalog, 'layer'>,
  asked: Kvp,
  parameter: string,
): readonly BoundLayer[] {
  const text = required(asked, parameter);
  const single = catalog.layer(text);
  if (single) return [single];
  const names = text.split(',');
  if (names.length > MAX_LAYERS) {
    throw badValue(parameter, `A map has at most ${MAX_LAYERS} layers.`);
  }
  return names.map((name) => blaming('LayerNotDefined', parameter, () => boundLayer(catalog, name)));
}

/** WMS 1.3.0, 7.3.3.4: as many styles as layers, or none at all. */
export function stylesAsked(asked: Kvp, count: number): readonly string[] {
  const text = asked('STYLES') ?? '';
  if (text === '') return Array.from({ length: count }, () => '');
  const styles = count === 1 ? [text] : text.split(',');
  if (styles.length === count) return styles;
  throw new ServiceException(
    'StyleNotDefined',
    'STYLES',
    `There are ${count} layers and ${styles.length} styles; name one for each layer, or none.`,
  );
}

export function withSubsets(
  bounds: readonly BoundLayer[],
  styles: readonly string[],
  crs: AskedCrs,
  version: WmsVersion,
): readonly AskedLayer[] {
  return bounds.map((bound, index) => ({
    bound,
    style: styles[index] ?? '',
    subsets: subsetsIn(bound.layer, crs, version),
  }));
}

export function formatAsked(bound: BoundLayer, asked: Kvp): Format {
  const name = required(asked, 'FORMAT');
  if (!formatOf(name)) {
    throw new ServiceException('InvalidFormat', 'FORMAT', `There is no format ${shortened(name)}.`);
  }
  return blaming('InvalidFormat', 'FORMAT', () => formatOfLayer(bound.layer, name));
}

export function placeAsked(
  asked: Kvp,
  { gridSet }: GridSubset,
  crs: AskedCrs,
  version: WmsVersion,
): MapPicture {
  const bounds = boundsAsked(required(asked, 'BBOX'), isYFirst(gridSet, crs, version));
  const width = wholeNumber(asked, 'WIDTH');
  const height = wholeNumber(asked, 'HEIGHT');
  blaming('InvalidParameterValue', width >= height ? 'WIDTH' : 'HEIGHT', () => checkMapSize(width, height));
  return { bounds, width, height };
}

export function tileSetOf(
  { bound, style }: AskedLayer,
  subset: GridSubset,
  format: Format,
  asked: Kvp,
): ResolvedTileSet {
  return resolveTileSet(bound, {
    gridSet: subset.gridSet.name,
    format: format.mediaType,
    parameters: parametersAsked(bound.layer, asked, style),
  });
}

function boundsAsked(text: string, yFirst: boolean): Bounds {
  const parts = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [a = Number.NaN, b = Number.NaN, c = Number.NaN, d = Number.NaN] = parts;
  const bounds = yFirst ? { minX: b, minY: a, maxX: d, maxY: c } : { minX: a, minY: b, maxX: c, maxY: d };
  const order = yFirst ? 'minY,minX,maxY,maxX' : 'minX,minY,maxX,maxY';
  const isBox = parts.length === 4 && parts.every(Number.isFinite);
  if (isBox && bounds.minX < bounds.maxX && bounds.minY < bounds.maxY) return bounds;
  throw badValue(
    'BBOX',
    `BBOX must be four numbers ${order}, the lower before the higher; it is ${shortened(text)}.`,
  );
}
