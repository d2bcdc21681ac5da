import type { Catalog } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/shortened.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { MapComposer } from '../../../pipeline/map-composer.ts';
import { createNoticePainter } from '../../../pipeline/notice-painter.ts';
import type { Answer } from '../../answer.ts';
import type { LayerScreen } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Route } from '../../route.ts';
import { type Kvp, kvpRoutes } from '../kvp.ts';
import type { DocumentAnswerer, LayerDocument } from '../layer-documents.ts';
import type { TileAnswerer } from '../tile-answer.ts';
import { withWmsExceptions } from './exception-answer.ts';
import { createWmsCapabilities } from './get-capabilities.ts';
import { createGetFeatureInfo } from './get-feature-info.ts';
import { createGetLegendGraphic } from './get-legend-graphic.ts';
import { createGetMap } from './get-map.ts';
import { WmsException } from './wms-exception.ts';
import { readWmsQuery, required } from './wms-parameters.ts';

export interface WmsDeps {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly documentOf: (document: LayerDocument) => DocumentAnswerer;
  readonly composer: MapComposer;
  readonly answerTile: TileAnswerer;
  readonly screen: LayerScreen;
  readonly clock: Clock;
  readonly log: Logger;
}

type Operation = (exchange: Exchange, asked: Kvp) => Promise<Answer>;

/** WMS 1.1.1 and 1.3.0, at GeoWebCache's address. */
export function wmsRoutes({
  catalog,
  composer,
  answerTile,
  documentOf,
  screen,
  clock,
  log,
}: WmsDeps): readonly Route[] {
  const getMap = createGetMap({ catalog, answerTile, composer, clock });
  const getCapabilities = createWmsCapabilities(catalog, documentOf);
  const operations = new Map<string, Operation>([
    ['getmap', getMap],
    ['map', getMap],
    ['getcapabilities', getCapabilities],
    ['capabilities', getCapabilities],
    ['getfeatureinfo', createGetFeatureInfo(catalog)],
    ['feature_info', createGetFeatureInfo(catalog)],
    ['getlegendgraphic', createGetLegendGraphic(catalog)],
  ]);
  const answer = screen(async (exchange) => {
    const asked = readWmsQuery(exchange);
    return operationAsked(operations, asked)(exchange, asked);
  });
  return kvpRoutes('/service/wms', withWmsExceptions(answer, createNoticePainter(), log));
}

function operationAsked(operations: ReadonlyMap<string, Operation>, asked: Kvp): Operation {
  const service = asked('SERVICE');
  if (service !== null && service.toUpperCase() !== 'WMS') {
    throw new WmsException(
      'InvalidParameterValue',
      'SERVICE',
      `This is a WMS, not a ${shortened(service)}; leave SERVICE out or say SERVICE=WMS.`,
    );
  }
  const name = required(asked, 'REQUEST');
  const operation = operations.get(name.toLowerCase());
  if (operation) return operation;
  throw new WmsException(
    'OperationNotSupported',
    'REQUEST',
    `There is no request ${shortened(name)}; there are GetMap, GetCapabilities, GetFeatureInfo and GetLegendGraphic.`,
  );
}
