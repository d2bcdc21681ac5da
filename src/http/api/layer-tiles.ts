import type { Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { refuseOthers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import { parametersOf } from '../services/query-parameters.ts';
import { boundLayer } from '../services/tiles.ts';

const INTEGER = /^(?:0|[1-9]\d{0,9})$/;

/** The tile set of `/…/{layer}/…/{gridSet}?format=…` and the layer's parameters by name, for a caller who may see it. */
export async function requestedTileSet(
  exchange: Exchange,
  catalog: Pick<Catalog, 'layer'>,
): Promise<ResolvedTileSet> {
  const bound = boundLayer(catalog, exchange.param('layer'));
  await refuseOthers(exchange, bound.layer);
  return resolveTileSet(bound, {
    gridSet: exchange.param('gridSet'),
    format: new URLSearchParams(exchange.query).get('format'),
    parameters: parametersOf(exchange.query, bound.layer.parameters),
  });
}

/** A number in the path, e.g. a zoom. */
export function integerParam(exchange: Exchange, name: string): number {
  const text = exchange.param(name);
  if (INTEGER.test(text)) return Number(text);
  throw invalid(`${name} must be a whole number such as 0 or 12, not ${shortened(text)}.`);
}
