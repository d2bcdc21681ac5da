import { boundLayer } from '../../../catalog/catalog.ts';
import { isTilewardenError, shortened } from '../../../domain/errors.ts';
import { contentTypeOf, formatOf } from '../../../domain/format.ts';
import type { Logger } from '../../../lib/logger.ts';
import { element, writeXml } from '../../../lib/xml/write-xml.ts';
import { checkMapSize } from '../../../pipeline/map-composer.ts';
import { createNoticePainter, type NoticePainter } from '../../../pipeline/notice-painter.ts';
import { cacheControlOf, requireVisible } from '../../auth/layer-visibility.ts';
import { CallerGone } from '../../context.ts';
import { contentResponse, type Response } from '../../response.ts';
import type { Handler, Route } from '../../route.ts';
import { wmsFeatureInfo } from '../feature-info.ts';
import { type Kvp, kvpRoutes } from '../kvp.ts';
import type { Operation, Services } from '../open-services.ts';
import {
  badValue,
  blaming,
  checkService,
  type ExceptionReport,
  readPairs,
  required,
  ServiceException,
  withExceptions,
} from '../service-exception.ts';
import { getMap } from './get-map.ts';
import {
  backgroundColour,
  isTrue,
  negotiatedVersion,
  requestedLayers,
  versionOf,
  type WmsVersion,
  wantsTileSets,
  wholeNumber,
} from './map-request.ts';
import { createWmsCapabilitiesWriter } from './wms-capabilities.ts';

const GET_MAP = /(?:^|&)request=getmap(?:&|$)/i;

/** WMS 1.1.1 and 1.3.0, at GeoWebCache's address. */
export function wmsRoutes(services: Services): readonly Route[] {
  const { screen, log } = services;
  const getCapabilities = createWmsCapabilities(services);
  const operations = new Map<string, Operation>([
    ['getmap', getMap],
    ['map', getMap],
    ['getcapabilities', getCapabilities],
    ['capabilities', getCapabilities],
    ['getfeatureinfo', wmsFeatureInfo],
    ['feature_info', wmsFeatureInfo],
    ['getlegendgraphic', getLegendGraphic],
  ]);
  const answer = screen(async (context) => {
    const kvp = readPairs(context);
    return requestedOperation(operations, kvp)(context, kvp, services);
  });
  return kvpRoutes('/service/wms', withWmsExceptions(answer, createNoticePainter(), log), GET_MAP);
}

function requestedOperation<Known>(operations: ReadonlyMap<string, Known>, kvp: Kvp): Known {
  checkService(kvp, 'WMS');
  const name = required(kvp, 'REQUEST');
  const operation = operations.get(name.toLowerCase());
  if (operation) return operation;
  throw new ServiceException(
    'OperationNotSupported',
    'REQUEST',
    `There is no request ${shortened(name)}; there are GetMap, GetCapabilities, GetFeatureInfo and GetLegendGraphic.`,
  );
}

const MAX_SIDE = 4096;
const FORMATS = ['image/png', 'image/jpeg', 'image/gif'];

/** OGC 05-078r4, 12: passed to the layer's source. */
const getLegendGraphic: Operation = async (context, kvp, { catalog, queries }) => {
  const name = required(kvp, 'LAYER');
  const bound = blaming('LayerNotDefined', 'LAYER', () => boundLayer(catalog, name));
  await requireVisible(context, bound.layer);
  const request = {
    style: kvp('STYLE') ?? '',
    format: legendFormat(kvp),
    width: legendSide(kvp, 'WIDTH'),
    height: legendSide(kvp, 'HEIGHT'),
    scale: kvp('SCALE'),
    signal: context.signal,
  };
  const legend = await queries.askLegend(bound, request);
  return contentResponse(legend.mediaType, legend.bytes, cacheControlOf(bound.layer));
};

function legendFormat(kvp: Kvp): string {
  const format = kvp('FORMAT') ?? 'image/png';
  if (FORMATS.includes(format)) return format;
  throw new ServiceException('InvalidFormat', 'FORMAT', `FORMAT must be ${FORMATS.join(', ')}.`);
}

function legendSide(kvp: Kvp, name: 'WIDTH' | 'HEIGHT'): number | null {
  if (kvp(name) === null) return null;
  const side = wholeNumber(kvp, name);
  if (side >= 1 && side <= MAX_SIDE) return side;
  throw badValue(name, `${name} must lie between 1 and ${MAX_SIDE}.`);
}

/** WMS 1.1.1, 6.2: the document has its own type. */
const TYPES: Readonly<Record<WmsVersion, string>> = {
  '1.1.1': 'application/vnd.ogc.wms_xml; charset=utf-8',
  '1.3.0': 'text/xml; charset=utf-8',
};

/** All layers visible to the caller, or those in `LAYERS`; naming an invisible one is an error. */
function createWmsCapabilities({ documentOf, groups }: Services): Operation {
  const document = (version: WmsVersion, tileSets: boolean) =>
    documentOf({
      write: createWmsCapabilitiesWriter(version, tileSets, groups),
      contentType: TYPES[version],
      fileName: 'wms-getcapabilities.xml',
    });
  const documents = {
    '1.1.1': document('1.1.1', false),
    tiled: document('1.1.1', true),
    '1.3.0': document('1.3.0', false),
  };
  return async (context, kvp, { catalog }) => {
    const version = negotiatedVersion(kvp);
    const kind = version === '1.1.1' && wantsTileSets(kvp) ? 'tiled' : version;
    if (kvp('LAYERS') === null) return documents[kind].aboutAll(context);
    const layers = requestedLayers(catalog, kvp, 'LAYERS').map(({ layer }) => layer);
    for (const layer of layers) await requireVisible(context, layer);
    return documents[kind].about(context, layers);
  };
}

type ExceptionForm = 'xml' | 'inimage' | 'blank';

const FORMS: Readonly<Record<string, ExceptionForm>> = {
  'application/vnd.ogc.se_inimage': 'inimage',
  inimage: 'inimage',
  'application/vnd.ogc.se_blank': 'blank',
  blank: 'blank',
};

/** Version 1.1.1 has no locators; attributes missing in its DTD are declared here. */
const DOCTYPE =
  '<!DOCTYPE ServiceExceptionReport SYSTEM "http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd" [<!ATTLIST ServiceException locator CDATA #IMPLIED>]>';

/** Failures of `handler` are written in the requested exception format. */
function withWmsExceptions(handler: Handler, paint: NoticePainter, log: Logger): Handler {
  return withExceptions(handler, log, async (report, context) => {
    const kvp = readPairs(context);
    const picture = await pictureOf(report, kvp, paint, context.signal);
    return picture ?? exceptionDocument(report, versionOfReport(kvp));
  });
}

/** WMS 1.3.0, 7.3.3.11. Null: a document is requested, or no picture can be made. */
async function pictureOf(
  report: ExceptionReport,
  kvp: Kvp,
  paint: NoticePainter,
  signal: AbortSignal,
): Promise<Response | null> {
  const form = quietly(() => FORMS[kvp('EXCEPTIONS')?.toLowerCase() ?? '']) ?? 'xml';
  const frame = form === 'xml' ? null : frameOf(kvp);
  if (!frame) return null;
  const text = form === 'inimage' ? report.message : '';
  const body = await paint({ ...frame, text }, signal).catch(unlessBusy);
  if (!body) return null;
  // Shown in place of the map: clients do not show a picture with an error status.
  return contentResponse(contentTypeOf(frame.format, body), body, report.headers);
}

function unlessBusy(error: unknown): null {
  if (isTilewardenError(error, 'source-busy')) return null;
  throw error;
}

function frameOf(kvp: Kvp) {
  return quietly(() => {
    const format = formatOf(kvp('FORMAT') ?? 'image/png');
    const [width, height] = [wholeNumber(kvp, 'WIDTH'), wholeNumber(kvp, 'HEIGHT')];
    checkMapSize(width, height);
    if (format?.kind !== 'raster') return null;
    const background = format.alpha && isTrue(kvp, 'TRANSPARENT') ? null : backgroundColour(kvp);
    return { width, height, format, background };
  });
}

/** A second error must not hide the first. */
function quietly<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof CallerGone) throw error;
    return null;
  }
}

function versionOfReport(kvp: Kvp): WmsVersion {
  return quietly(() => versionOf(kvp)) ?? quietly(() => negotiatedVersion(kvp)) ?? '1.3.0';
}

/** WMS 1.3.0, annex E.2, and WMS 1.1.1, annex A.3. */
function exceptionDocument(
  { status, code, locator, message, headers }: ExceptionReport,
  version: WmsVersion,
): Response {
  const exception = element('ServiceException', message, {
    ...(code !== null && { code }),
    ...(locator !== null && { locator }),
  });
  const newer = version === '1.3.0';
  const report = element('ServiceExceptionReport', [exception], {
    version,
    ...(newer && { xmlns: 'http://www.opengis.net/ogc' }),
  });
  const start = ['<?xml version="1.0" encoding="UTF-8"?>', ...(newer ? [] : [DOCTYPE])].join('\n');
  const type = newer ? 'text/xml; charset=utf-8' : 'application/vnd.ogc.se_xml; charset=utf-8';
  return { status, headers: ['Content-Type', type, ...headers], body: `${start}\n${writeXml(report)}\n` };
}
