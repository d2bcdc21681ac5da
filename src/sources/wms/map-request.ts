import { z } from 'zod';
import type { Bounds } from '../../domain/bounds.ts';
import { formatOf } from '../../domain/format.ts';
import { flag, text, texts, whole } from '../../lib/schemas.ts';
import { httpAddress, httpOptions, plainNumber, withQuery } from '../http-options.ts';
import type { InfoRequest, LegendRequest, SourceRequest } from '../tile-source.ts';

const list = z
  .union([z.string(), texts])
  .transform((value) => (typeof value === 'string' ? value : value.join(',')));
const layerList = list.refine((names) => names.trim() !== '', 'must name a layer');
const parameterName = z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be a plain parameter name');

export const wmsSourceOptions = z
  .strictObject({
    type: z.literal('wms'),
    url: z
      .union([httpAddress, z.array(httpAddress).min(1)])
      .transform((value) => (typeof value === 'string' ? [value] : value))
      .describe('Address of the service, query included; with several, the next is asked when one fails'),
    layers: list.describe(
      'Layers to draw, first at the bottom; empty with SLD, SLD_BODY or an empty LAYERS in vendorParameters',
    ),
    styles: list
      .default('')
      .describe('Styles in the order of layers; a STYLES parameter filter goes before it'),
    queryLayers: layerList.optional().describe('Layers that GetFeatureInfo asks; all of layers when absent'),
    version: z.enum(['1.1.1', '1.3.0']).default('1.1.1'),
    transparent: flag.describe('Ask for a transparent background where the format has one'),
    bgColor: z
      .string()
      .regex(/^(0x|#)[0-9A-Fa-f]{6}$/, 'must be a colour like #FFFFFF')
      .transform((colour) => colour.replace('#', '0x'))
      .optional()
      .describe('Background, e.g. #FFFFFF'),
    requestFormat: text
      .optional()
      .describe('Format to ask for whatever the tiles are stored as; must keep what they need'),
    srs: z
      .record(z.string().regex(/^[0-9]+$/, 'must be an EPSG number'), text)
      .default({})
      .describe('Names by which the server knows an SRS number, e.g. 900913: EPSG:900913'),
    vendorParameters: z
      .record(parameterName, z.union([z.string(), z.number(), z.boolean()]).transform(String))
      .default({})
      .describe('Sent with every request'),
    concurrency: whole(1, 1024)
      .optional()
      .describe(
        'Concurrent requests for this layer, in each process; see upstreams for all layers of a host',
      ),
    maxUrlLength: whole(200, 1_000_000).default(4000).describe('A longer request is sent by POST, as a form'),
    ...httpOptions,
  })
  .superRefine(({ layers, vendorParameters }, context) => {
    const isNamed = Object.keys(vendorParameters).some((name) => /^(?:sld|sld_body|layers)$/i.test(name));
    if (layers.trim() === '' && !isNamed)
      context.addIssue({ code: 'custom', message: 'must name a layer', path: ['layers'], input: layers });
  });

export type WmsSourceOptions = z.output<typeof wmsSourceOptions>;

/** Formats that every WMS has; other image formats are made from PNG. */
const COMMON_FORMATS: ReadonlySet<string> = new Set(['image/png', 'image/jpeg']);
const GOOGLE_MERCATOR = 900913;

type MapRequest = Pick<SourceRequest, 'gridSet' | 'bounds' | 'width' | 'height' | 'format' | 'parameters'>;

/** The GetMap address. Our own parameters override those of the request, those override the options, and those the URL's. */
export function mapRequestUrl(base: string, options: WmsSourceOptions, request: MapRequest): URL {
  return requestUrl(base, options, request, ownParameters(options, request));
}

export function infoRequestUrl(base: string, options: WmsSourceOptions, request: InfoRequest): URL {
  const newer = options.version === '1.3.0';
  return requestUrl(base, options, request, [
    ...ownParameters(options, request),
    ['REQUEST', 'GetFeatureInfo'],
    ['QUERY_LAYERS', options.queryLayers ?? options.layers],
    ['INFO_FORMAT', request.infoFormat],
    ['FEATURE_COUNT', String(request.featureCount)],
    [newer ? 'I' : 'X', String(request.i)],
    [newer ? 'J' : 'Y', String(request.j)],
  ]);
}

/** The GetLegendGraphic address (OGC 05-078r4, 12), for the first of several layers. */
export function legendRequestUrl(base: string, options: WmsSourceOptions, request: LegendRequest): URL {
  const own = {
    ...options.vendorParameters,
    SERVICE: 'WMS',
    VERSION: options.version,
    REQUEST: 'GetLegendGraphic',
    ...(options.version === '1.3.0' && { SLD_VERSION: '1.1.0' }),
    LAYER: options.layers.split(',')[0] ?? '',
    STYLE: request.style || (options.styles.split(',')[0] ?? ''),
    FORMAT: request.format,
    ...(request.width !== null && { WIDTH: String(request.width) }),
    ...(request.height !== null && { HEIGHT: String(request.height) }),
    ...(request.scale !== null && { SCALE: request.scale }),
  };
  return withQuery(base, Object.entries(own));
}

export function capabilitiesUrl(base: string, { vendorParameters, version }: WmsSourceOptions): URL {
  const own = { ...vendorParameters, SERVICE: 'WMS', VERSION: version, REQUEST: 'GetCapabilities' };
  return withQuery(base, Object.entries(own));
}

function requestUrl(
  base: string,
  options: WmsSourceOptions,
  request: MapRequest,
  own: readonly [string, string][],
): URL {
  const url = withQuery(base, [...declaredParameters(options, request), ...request.parameters, ...own]);
  for (const [name, value] of [...url.searchParams]) {
    if (value === '' && name.toUpperCase() !== 'STYLES') url.searchParams.delete(name);
  }
  return url;
}

/** By GET, unless the address is longer than the server accepts: then by POST, as a form. */
export function mapRequest(base: string, options: WmsSourceOptions, request: MapRequest) {
  const url = mapRequestUrl(base, options, request);
  if (url.href.length <= options.maxUrlLength) return { url };
  // Parameters of the declared URL select the service and stay.
  return { url: new URL(base), form: url.searchParams };
}

export function requestFormat(options: WmsSourceOptions, { format }: Pick<MapRequest, 'format'>): string {
  if (options.requestFormat) return options.requestFormat;
  if (format.kind === 'opaque' || COMMON_FORMATS.has(format.mediaType)) return format.mediaType;
  return 'image/png';
}

function declaredParameters(options: WmsSourceOptions, request: MapRequest): readonly [string, string][] {
  const alpha = formatOf(requestFormat(options, request))?.alpha ?? true;
  return [
    ['LAYERS', options.layers],
    ['STYLES', options.styles],
    ['TRANSPARENT', options.transparent && alpha && request.format.alpha ? 'TRUE' : 'FALSE'],
    ['BGCOLOR', options.bgColor ?? ''],
    ...densityParameters(request),
    ...Object.entries(options.vendorParameters),
  ];
}

/**
 * Without these, servers draw lines and letters with the usual number of pixels, which is half the size on a dense
 * screen. GeoServer reads the first, MapServer the second, QGIS Server the third; each with its own number for a plain
 * screen times the ratio. Servers ignore the parameters of others.
 */
function densityParameters({ gridSet: { pixelRatio } }: MapRequest): readonly [string, string][] {
  if (pixelRatio === 1) return [];
  return [
    ['FORMAT_OPTIONS', `dpi:${Math.round(90 * pixelRatio)}`],
    ['MAP_RESOLUTION', String(72 * pixelRatio)],
    ['DPI', String(96 * pixelRatio)],
  ];
}

function ownParameters(options: WmsSourceOptions, request: MapRequest): readonly [string, string][] {
  const newer = options.version === '1.3.0';
  const crs = requestCrs(options, request);
  return [
    ['SERVICE', 'WMS'],
    ['VERSION', options.version],
    ['REQUEST', 'GetMap'],
    ['EXCEPTIONS', newer ? 'XML' : 'application/vnd.ogc.se_xml'],
    [newer ? 'CRS' : 'SRS', crs],
    ['BBOX', printBounds(request.bounds, newer && request.gridSet.yCoordinateFirst && crs !== 'CRS:84')],
    ['WIDTH', String(request.width)],
    ['HEIGHT', String(request.height)],
    ['FORMAT', requestFormat(options, request)],
  ];
}

function requestCrs(options: WmsSourceOptions, { gridSet }: MapRequest): string {
  const declared = options.srs[String(gridSet.srs)];
  if (declared !== undefined) return declared;
  if (gridSet.srs === GOOGLE_MERCATOR) return 'EPSG:3857';
  // WMS 1.3.0, annex B: EPSG:4326 has latitude first; CRS:84 is the same with longitude first.
  if (options.version === '1.3.0' && gridSet.srs === 4326 && !gridSet.yCoordinateFirst) return 'CRS:84';
  return `EPSG:${gridSet.srs}`;
}

/** WMS 1.3.0, 6.7.2: in the order of the CRS's axes. In 1.1.1 x always comes first. */
function printBounds({ minX, minY, maxX, maxY }: Bounds, yFirst: boolean): string {
  const numbers = yFirst ? [minY, minX, maxY, maxX] : [minX, minY, maxX, maxY];
  return numbers.map(plainNumber).join(',');
}
