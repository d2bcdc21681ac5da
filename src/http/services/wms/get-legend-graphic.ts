import type { Catalog } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/errors.ts';
import { askLegend } from '../../../pipeline/legend.ts';
import type { Answer } from '../../answer.ts';
import { isOpen, refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Kvp } from '../kvp.ts';
import { WmsException } from './wms-exception.ts';
import { required, wholeNumber } from './wms-parameters.ts';

const MAX_SIDE = 4096;
const FORMATS = ['image/png', 'image/jpeg', 'image/gif'];

/** OGC 05-078r4, 12: passed to the layer's source. */
export function createGetLegendGraphic(catalog: Pick<Catalog, 'layer'>) {
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const name = required(asked, 'LAYER');
    const bound = catalog.layer(name);
    if (!bound) throw new WmsException('LayerNotDefined', 'LAYER', `There is no layer ${shortened(name)}.`);
    await refuseStrangers(exchange, bound.layer);
    const request = {
      style: asked('STYLE') ?? '',
      format: formatAsked(asked),
      width: sideAsked(asked, 'WIDTH'),
      height: sideAsked(asked, 'HEIGHT'),
      scale: asked('SCALE'),
      signal: exchange.signal,
    };
    const legend = await askLegend(bound, request);
    const lifetime = isOpen(bound.layer) ? 'no-cache' : 'private, no-cache';
    const headers = ['Content-Type', legend.mediaType, 'Cache-Control', lifetime];
    return { status: 200, headers, body: legend.bytes };
  };
}

function formatAsked(asked: Kvp): string {
  const format = asked('FORMAT') ?? 'image/png';
  if (FORMATS.includes(format)) return format;
  throw new WmsException('InvalidFormat', 'FORMAT', `FORMAT must be ${FORMATS.join(', ')}.`);
}

function sideAsked(asked: Kvp, name: 'WIDTH' | 'HEIGHT'): number | null {
  if (asked(name) === null) return null;
  const side = wholeNumber(asked, name);
  if (side >= 1 && side <= MAX_SIDE) return side;
  throw new WmsException('InvalidParameterValue', name, `${name} must lie between 1 and ${MAX_SIDE}.`);
}
