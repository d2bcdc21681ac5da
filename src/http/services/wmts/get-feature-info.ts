import type { Catalog } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/errors.ts';
import { boundsOfTile } from '../../../domain/grid-set.ts';
import type { Layer } from '../../../domain/layer.ts';
import { askFeatureInfo } from '../../../pipeline/feature-info.ts';
import type { Answer } from '../../answer.ts';
import { isOpen, refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { infoAnswer } from '../info-answer.ts';
import type { Kvp } from '../kvp.ts';
import { OwsException } from '../ows-exception.ts';
import { indexAsked, layerAsked, numberAsked, required, tileSetAsked } from './get-tile.ts';

const FEATURE_COUNT = 10;

/** OGC 07-057r7, 7.3: what lies at a pixel of a tile, as the layer's source tells it. */
export function createWmtsFeatureInfo(catalog: Pick<Catalog, 'layer'>) {
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const bound = layerAsked(catalog, asked);
    const { layer } = bound;
    if (!isOpen(layer)) await refuseStrangers(exchange, layer);
    const infoFormat = infoFormatAsked(layer, asked);
    const format = asked('FORMAT') === null ? layer.formats[0].mediaType : null;
    const tiles = tileSetAsked(bound, asked, format);
    const { gridSet } = tiles.subset;
    const { z, x, y } = indexAsked(tiles.subset, asked);
    const info = await askFeatureInfo(tiles, {
      bounds: boundsOfTile(gridSet, z, x, y),
      width: gridSet.tileWidth,
      height: gridSet.tileHeight,
      i: pixelAsked(asked, 'I', gridSet.tileWidth),
      j: pixelAsked(asked, 'J', gridSet.tileHeight),
      infoFormat,
      featureCount: FEATURE_COUNT,
      signal: exchange.signal,
    });
    return infoAnswer(info, layer);
  };
}

function infoFormatAsked({ name, infoFormats }: Layer, asked: Kvp): string {
  if (infoFormats.length === 0) {
    throw new OwsException(
      'OperationNotSupported',
      'GetFeatureInfo',
      `Layer ${name} cannot be asked what lies there.`,
    );
  }
  const wanted = required(asked, 'INFOFORMAT');
  if (infoFormats.includes(wanted)) return wanted;
  throw new OwsException(
    'InvalidParameterValue',
    'INFOFORMAT',
    `Layer ${name} does not answer in ${shortened(wanted)}; it does in ${infoFormats.join(', ')}.`,
  );
}

function pixelAsked(asked: Kvp, name: 'I' | 'J', limit: number): number {
  const value = numberAsked(asked, name);
  if (value >= 0 && value < limit) return value;
  throw new OwsException(
    'PointIJOutOfRange',
    name,
    `${name} must lie between 0 and ${limit - 1}, not ${value}.`,
  );
}
