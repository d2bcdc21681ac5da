import type { Catalog } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/errors.ts';
import { askLegend } from '../../../pipeline/feature-info.ts';
import { createNoticePainter } from '../../../pipeline/notice-painter.ts';
import type { Answer } from '../../answer.ts';
import { isOpen, refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Route } from '../../route.ts';
import { type Kvp, kvpRoutes } from '../kvp.ts';
import type { DocumentAnswerer, LayerDocument } from '../layer-documents.ts';
import { withWmsExceptions } from './exception-answer.ts';
import { createGetFeatureInfo } from './get-feature-info.ts';
import { createGetMap, type MapServices } from './get-map.ts';
import { layersAsked } from './map-asked.ts';
import { createWmsCapabilitiesWriter } from './wms-capabilities.ts';
import { WmsException } from './wms-exception.ts';
import { readWmsQuery, required, wholeNumber } from './wms-parameters.ts';
import { asksForTileSets, negotiatedVersion, type WmsVersion } from './wms-version.ts';

type Operation = (exchange: Exchange, asked: Kvp) => Promise<Answer>;

/** WMS 1.1.1 and 1.3.0, at GeoWebCache's address. */
export function wmsRoutes(services: MapServices): readonly Route[] {
  const { catalog, documentOf, screen, log } = services;
  const getMap = createGetMap(services);
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

const MAX_SIDE = 4096;
const FORMATS = ['image/png', 'image/jpeg', 'image/gif'];

/** OGC 05-078r4, 12: passed to the layer's source. */
function createGetLegendGraphic(catalog: Pick<Catalog, 'layer'>) {
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

/** WMS 1.1.1, 6.2: its document has a type of its own. */
const TYPES: Readonly<Record<WmsVersion, string>> = {
  '1.1.1': 'application/vnd.ogc.wms_xml; charset=utf-8',
  '1.3.0': 'text/xml; charset=utf-8',
};

/** All layers that the caller may see, or those in `LAYERS`; who names one that they may not see is told. */
function createWmsCapabilities(
  catalog: Pick<Catalog, 'layer'>,
  documentOf: (document: LayerDocument) => DocumentAnswerer,
) {
  const document = (version: WmsVersion, tileSets: boolean) =>
    documentOf({
      write: createWmsCapabilitiesWriter(version, tileSets),
      contentType: TYPES[version],
      fileName: 'wms-getcapabilities.xml',
    });
  const documents = {
    '1.1.1': document('1.1.1', false),
    tiled: document('1.1.1', true),
    '1.3.0': document('1.3.0', false),
  };
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const version = negotiatedVersion(asked);
    const kind = version === '1.1.1' && asksForTileSets(asked) ? 'tiled' : version;
    if (asked('LAYERS') === null) return documents[kind].aboutAll(exchange);
    const layers = layersAsked(catalog, asked, 'LAYERS').map(({ layer }) => layer);
    for (const layer of layers) await refuseStrangers(exchange, layer);
    return documents[kind].about(exchange, layers);
  };
}
