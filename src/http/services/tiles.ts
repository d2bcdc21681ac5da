import type { BoundLayer } from '../../catalog/bound-layer.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened, TilewardenError } from '../../domain/errors.ts';
import { gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { RETINA_SUFFIX } from '../../domain/retina.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { type Answer, withHeaders } from '../answer.ts';
import { isOpen, refuseStrangers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import type { Handler } from '../route.ts';
import { formatAccepted } from './accept.ts';
import type { Services } from './open-services.ts';
import { parametersOf } from './query-parameters.ts';
import { formatNamed, indexOf, readTileName, type TileName } from './tile-address.ts';
import { webMercatorSubset } from './web-mercator.ts';

/** `/tiles/{layer}[/{gridSet}]/{z}/{x}/{tile}` */
export function createTileService(deps: Services): Handler {
  const { catalog, answerTile, answerAccepted, remembering } = deps;

  return remembering(function tile(exchange) {
    const name = readTileName(exchange.param('tile'));
    const index: TileIndex = {
      z: indexOf('zoom', exchange.param('z')),
      x: indexOf('column', exchange.param('x')),
      y: indexOf('row', name.row),
    };
    const bound = boundLayer(catalog, exchange.param('layer'));
    if (isOpen(bound.layer)) return answer(exchange, bound, name, index);
    return refuseStrangers(exchange, bound.layer).then(() => answer(exchange, bound, name, index));
  });

  function answer(
    exchange: Exchange,
    bound: BoundLayer,
    name: TileName,
    index: TileIndex,
  ): Answer | Promise<Answer> {
    if (name.extension === null) return answerNegotiated(exchange, bound, name, index);
    const { mediaType } = formatNamed(bound.layer, name.extension);
    return answerTile(exchange, serveTileSet(exchange, bound, name, mediaType), index);
  }

  async function answerNegotiated(
    exchange: Exchange,
    bound: BoundLayer,
    name: TileName,
    index: TileIndex,
  ): Promise<Answer> {
    const { mediaType } = formatAccepted(exchange, bound.layer.formats);
    const given = await answerAccepted(exchange, serveTileSet(exchange, bound, name, mediaType), index);
    return withHeaders(given, ['Vary', 'Accept']);
  }
}

export function boundLayer(catalog: Pick<Catalog, 'layer'>, name: string): BoundLayer {
  const bound = catalog.layer(name);
  if (bound) return bound;
  throw new TilewardenError('layer-unknown', `There is no layer ${shortened(name)}.`);
}

function serveTileSet(
  exchange: Exchange,
  bound: BoundLayer,
  { retina }: TileName,
  format: string,
): ResolvedTileSet {
  const { layer } = bound;
  const { gridSet = webMercatorSubset(layer).gridSet.name } = exchange.params;
  return resolveTileSet(bound, {
    gridSet: retina ? retinaName(layer, gridSet) : gridSet,
    format,
    parameters: parametersOf(exchange.query, layer.parameters),
  });
}

function retinaName(layer: Layer, gridSet: string): string {
  if (layer.retinaSubsets.length > 0) return `${gridSubsetOf(layer, gridSet).gridSet.name}${RETINA_SUFFIX}`;
  throw invalid(`Layer ${layer.name} has no ${RETINA_SUFFIX} tiles.`);
}
