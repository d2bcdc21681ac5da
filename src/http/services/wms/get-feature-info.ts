import type { BoundLayer } from '../../../catalog/bound-layer.ts';
import type { Catalog } from '../../../catalog/catalog.ts';
import type { MapPicture } from '../../../domain/bounds.ts';
import { shortened } from '../../../domain/errors.ts';
import type { Layer } from '../../../domain/layer.ts';
import { askFeatureInfo } from '../../../pipeline/feature-info.ts';
import type { Answer } from '../../answer.ts';
import { isOpen, refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { infoAnswer } from '../info-answer.ts';
import type { Kvp } from '../kvp.ts';
import {
  type AskedLayer,
  crsOf,
  formatAsked,
  layersAsked,
  placeAsked,
  stylesAsked,
  tileSetOf,
  withSubsets,
} from './map-asked.ts';
import { WmsException } from './wms-exception.ts';
import { wholeNumber } from './wms-parameters.ts';
import { versionOf, type WmsVersion } from './wms-version.ts';

const MAX_FEATURES = 100;

/** Passed to the layer's source, one layer at a time. */
export function createGetFeatureInfo(catalog: Pick<Catalog, 'layer'>) {
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const version = versionOf(asked);
    const layer = await layerQueried(catalog, exchange, asked, version);
    const { bound, subsets } = layer;
    const infoFormat = infoFormatAsked(bound.layer, asked);
    const place = placeAsked(asked, subsets[0], crsOf(asked, version), version);
    const format = asked('FORMAT') === null ? bound.layer.formats[0] : formatAsked(bound, asked);
    const info = await askFeatureInfo(tileSetOf(layer, subsets[0], format, asked), {
      ...place,
      ...pointAsked(asked, place, version),
      infoFormat,
      featureCount: featureCountAsked(asked),
      signal: exchange.signal,
    });
    return infoAnswer(info, bound.layer);
  };
}

async function layerQueried(
  catalog: Pick<Catalog, 'layer'>,
  exchange: Exchange,
  asked: Kvp,
  version: WmsVersion,
): Promise<AskedLayer> {
  const shown = layersAsked(catalog, asked, 'LAYERS');
  const queried = layersAsked(catalog, asked, 'QUERY_LAYERS');
  for (const { layer } of [...shown, ...queried]) {
    if (!isOpen(layer)) await refuseStrangers(exchange, layer);
  }
  const bound = queryable(shown, queried);
  const style = stylesAsked(asked, shown.length)[shown.indexOf(bound)] ?? '';
  const [layer] = withSubsets([bound], [style], crsOf(asked, version), version);
  if (layer) return layer;
  throw new WmsException('LayerNotDefined', 'QUERY_LAYERS', 'No layer is named.');
}

function queryable(shown: readonly BoundLayer[], queried: readonly BoundLayer[]): BoundLayer {
  const [bound, ...others] = queried;
  if (!bound || others.length > 0) {
    throw new WmsException('InvalidParameterValue', 'QUERY_LAYERS', 'One layer is asked at a time.');
  }
  const { name, infoFormats } = bound.layer;
  if (!shown.includes(bound)) {
    throw new WmsException('LayerNotDefined', 'QUERY_LAYERS', `Layer ${name} is not among LAYERS.`);
  }
  if (infoFormats.length > 0) return bound;
  throw new WmsException(
    'LayerNotQueryable',
    'QUERY_LAYERS',
    `Layer ${name} cannot be asked what lies there.`,
  );
}

function infoFormatAsked({ name, infoFormats }: Layer, asked: Kvp): string {
  const wanted = asked('INFO_FORMAT') ?? infoFormats[0] ?? '';
  if (infoFormats.includes(wanted)) return wanted;
  throw new WmsException(
    'InvalidFormat',
    'INFO_FORMAT',
    `Layer ${name} does not answer in ${shortened(wanted)}; it does in ${infoFormats.join(', ')}.`,
  );
}

/** 1.1.1 calls them X and Y; who mixes them up is understood. */
function pointAsked(asked: Kvp, { width, height }: MapPicture, version: WmsVersion) {
  const [usual, other] = version === '1.3.0' ? ['IJ', 'XY'] : ['XY', 'IJ'];
  const coordinate = (axis: 0 | 1, limit: number) => {
    const [name = '', second = ''] = [usual?.[axis], other?.[axis]];
    const used = asked(name) === null && asked(second) !== null ? second : name;
    const value = wholeNumber(asked, used, 'InvalidPoint');
    if (value < limit) return value;
    throw new WmsException(
      'InvalidPoint',
      used,
      `${used} must lie between 0 and ${limit - 1}, not ${value}.`,
    );
  };
  return { i: coordinate(0, width), j: coordinate(1, height) };
}

function featureCountAsked(asked: Kvp): number {
  if (asked('FEATURE_COUNT') === null) return 1;
  const count = wholeNumber(asked, 'FEATURE_COUNT');
  if (count >= 1 && count <= MAX_FEATURES) return count;
  throw new WmsException(
    'InvalidParameterValue',
    'FEATURE_COUNT',
    `FEATURE_COUNT must lie between 1 and ${MAX_FEATURES}, not ${count}.`,
  );
}
