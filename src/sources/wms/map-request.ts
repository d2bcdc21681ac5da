import type { Bounds } from '../../domain/bounds.ts';
import { formatOf } from '../../domain/format.ts';
import { plainNumber, withQuery } from '../request-manners.ts';
import type { InfoRequest, LegendRequest, SourceRequest } from '../tile-source.ts';
import type { WmsSourceOptions } from './wms-source-options.ts';

/** Formats that every WMS has; other image formats are made from PNG. */
const COMMON_FORMATS: ReadonlySet<string> = new Set(['image/png', 'image/jpeg']);
const GOOGLE_MERCATOR = 900913;

type MapRequest = Pick<SourceRequest, 'gridSet' | 'bounds' | 'width' | 'height' | 'format' | 'parameters'>;

/** The GetMap address. Our own parameters override those of the request, those the options, those the URL's. */
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

/** The GetLegendGraphic address, OGC 05-078r4, 12. Of several layers the first one's. */
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
 * Without a word of theirs servers draw lines and letters as many pixels large as ever, which is half the size on a
 * dense screen. GeoServer reads the first, MapServer the second, QGIS Server the third; each with the number that
 * it takes for a plain screen times the ratio. Servers ignore the parameters of others.
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
  const crs = crsOf(options, request);
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

function crsOf(options: WmsSourceOptions, { gridSet }: MapRequest): string {
  const declared = options.srs[String(gridSet.srs)];
  if (declared !== undefined) return declared;
  if (gridSet.srs === GOOGLE_MERCATOR) return 'EPSG:3857';
  // WMS 1.3.0, annex B: EPSG:4326 has latitude first; CRS:84 is the same with longitude first.
  if (options.version === '1.3.0' && gridSet.srs === 4326 && !gridSet.yCoordinateFirst) return 'CRS:84';
  return `EPSG:${gridSet.srs}`;
}

/** WMS 1.3.0, 6.7.2: in the order of the CRS's axes. In 1.1.1 x comes first whatever the CRS says. */
function printBounds({ minX, minY, maxX, maxY }: Bounds, yFirst: boolean): string {
  const numbers = yFirst ? [minY, minX, maxY, maxX] : [minX, minY, maxX, maxY];
  return numbers.map(plainNumber).join(',');
}
