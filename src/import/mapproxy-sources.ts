import { formatOf } from '../domain/format.ts';
import { sameSrs } from '../domain/srs.ts';
import { ALWAYS_BY_FORM } from '../geowebcache/read-layer.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import { type Address, credentialsOf, headersIn, parsedAddress, timeoutIn } from './http-source.ts';
import { type Coverage, READABLE_COVERAGE, readCoverage, subsetInCoverage } from './mapproxy-coverage.ts';
import { DEFAULT_GRID, type MapProxyGrid, type MapProxyGrids, type OfferedGrid } from './mapproxy-grids.ts';
import { allZooms, emptySource, type ImportedSource, partOptionsIn } from './mapproxy-parts.ts';
import { mediaTypeOf } from './mapproxy-tables.ts';
import { variableProblem, withVariables } from './mapproxy-variables.ts';
import { levelsInCommon } from './matching-grid.ts';
import type { Table, TrackedTable } from './tracked-table.ts';

export interface SourceContext {
  /** The table `http` of `globals`. */
  readonly http: TrackedTable;
  readonly allGrids: MapProxyGrids;
  readonly grids: readonly MapProxyGrid[];
  /** The format of requests to the source, e.g. `png`; undefined: that of the tiles. */
  readonly requestFormat: string | undefined;
  /** The format of stored tiles, e.g. `image/png`. */
  readonly format: string;
  /** Layers of a WMS that the name of a tagged source selects, e.g. `roads,rails`; null: those of the source. */
  readonly selected: string | null;
  readonly readText: (file: string) => string | null;
  /** The name of the area with this shape. */
  readonly areaOf: (coverage: Coverage) => string;
  /** Reports a variable of the environment. */
  readonly readVariable: (name: string) => void;
  readonly leaveOutGrid: (why: string) => void;
  readonly changeFormat: (what: string) => void;
}

type ReadSource = (
  source: TrackedTable,
  context: SourceContext,
) => Omit<ImportedSource, 'coverage' | 'within' | 'forwarded' | 'options'> | string;

const READERS: Readonly<Record<string, ReadSource>> = {
  wms: wmsSource,
  tile: tileSource,
  arcgis: arcgisSource,
  ogcapitiles: ogcApiTilesSource,
};
/** MapProxy's placeholders in addresses of tiles, and ours. */
const PLACES: Readonly<Record<string, string>> = {
  z: '{z}',
  x: '{x}',
  y: '{y}',
  quadkey: '{quadkey}',
  tms_path: '{z}/{x}/{y}',
  tc_path: '{tilecache}',
  arcgiscache_path: '{arcgis}',
};
/** Placeholders whose rows can count from the bottom too. */
const ROWS = /\{(y|tilecache|arcgis)\}/g;

/** A source of `mapproxy.yaml` in our form, or why it cannot be imported. */
export function importMapProxySource(source: TrackedTable, context: SourceContext): ImportedSource | string {
  const type = source.text('type') ?? 'nothing';
  const read = READERS[type];
  const other = type === 'ogcapimaps' ? ': publish its maps as WMS, or its tiles by OGC API Tiles' : '';
  if (!read) return `is of type ${type}; ${Object.keys(READERS).join(', ')} are supported${other}`;
  const coverage = coverageIn(source, context.readText);
  if (coverage === undefined) return `has a coverage that cannot be read: it must be ${READABLE_COVERAGE}`;
  if (coverage && context.grids.every((grid) => grid.gridSet && !subsetInCoverage(grid.gridSet, coverage))) {
    source.change('coverage', 'is in none of its grids: the source is never asked, and shows nothing');
    return emptySource(context.grids);
  }
  const imported = read(source, context);
  if (typeof imported === 'string') return variableProblem(source.allText()) ?? imported;
  const fields = withVariables(imported.source, context.readVariable);
  const problem = variableProblem(JSON.stringify(fields));
  if (problem !== null) return problem;
  const within = coverage && context.areaOf(coverage);
  if (coverage) {
    const whole = !coverage.clip && (type === 'tile' || !coverage.isBox);
    const there = whole ? '; MapProxy shows tiles across its edge as a whole' : '';
    source.change('coverage', `is the area ${within}, and the outside is cut away${there}`);
  }
  const forwarded = source.texts('forward_req_params').map((name) => name.toUpperCase());
  const options = partOptionsIn(source);
  return typeof options === 'string'
    ? options
    : { ...imported, source: fields, coverage, within, forwarded, options };
}

/** Null: there is none. Undefined: it cannot be read. */
export function coverageIn(
  table: TrackedTable,
  readText: SourceContext['readText'],
): Coverage | null | undefined {
  if (!table.has('coverage')) return null;
  return table.take('coverage', (value) => readCoverage(value, readText), READABLE_COVERAGE);
}

function wmsSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const request = source.table('req');
  const options = source.table('wms_opts');
  const address = parsedAddress(request.text('url') ?? '');
  if (!address) return 'has no address in req.url';
  const ownParameters = vendorParametersIn(request, context);
  if (typeof ownParameters === 'string') return ownParameters;
  const hasSld = Object.keys(ownParameters ?? {}).some((name) => /^sld/i.test(name));
  const namesNone = context.selected === null && !request.has('layers');
  const layers = layersOf(request, context) ?? (namesNone ? '' : undefined);
  if (layers === undefined) return `has no layers ${context.selected} in req.layers`;
  // An empty LAYERS is not sent, as in MapProxy.
  const vendorParameters = namesNone && !hasSld ? { ...ownParameters, LAYERS: '' } : ownParameters;
  const grids = requestedGrids(source, context);
  if (typeof grids === 'string') return grids;
  if (options.flag('map') === false) return 'draws no maps: wms_opts.map is false';
  const requestFormat = requestFormatOf(request.text('format') ?? context.requestFormat, context);
  const queryable = options.flag('featureinfo') === true;
  const legend = options.flag('legendgraphic') === true;
  const imported = omitUndefined({
    type: 'wms',
    url: address.url,
    layers,
    styles: request.text('styles'),
    version: versionIn(options),
    transparent: request.flag('transparent') === true ? true : undefined,
    requestFormat: requestFormat === context.format ? undefined : requestFormat,
    srs: mercatorNames(grids),
    concurrency: concurrencyIn(source),
    maxUrlLength: maxUrlLengthIn(source, context),
    ...httpFields(source, context, address),
    vendorParameters,
  });
  return {
    source: imported,
    grids,
    layer: { ...offline(source), ...(queryable && { queryable }), ...(legend && { legends: [{}] }) },
  };
}

function arcgisSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const request = source.table('req');
  const options = source.table('opts');
  const address = parsedAddress(request.text('url') ?? '');
  const service = address?.url.replace(/\/export(?:Image)?\/?$/, '') ?? '';
  if (!address || !/\/(?:MapServer|ImageServer)\/?$/.test(service))
    return 'has no address in req.url that ends with MapServer or ImageServer';
  const grids = requestedGrids(source, context);
  if (typeof grids === 'string') return grids;
  if (options.flag('map') === false) return 'draws no maps: opts.map is false';
  const parameters = vendorParametersIn(request, context);
  if (typeof parameters === 'string') return parameters;
  return {
    source: omitUndefined({
      type: 'arcgis',
      url: service,
      layers: request.text('layers'),
      transparent: request.flag('transparent') === true ? true : undefined,
      ...httpFields(source, context, address),
      parameters,
    }),
    grids,
    layer: { ...offline(source), ...(options.flag('featureinfo') === true && ARCGIS_INFO) },
  };
}

const ARCGIS_INFO = { queryable: true, infoFormats: ['application/json', 'text/html'] };

/** MapProxy requests the tile matrix set with the tiles of its grid, as our source does. */
function ogcApiTilesSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const address = parsedAddress(source.text('landingpage_url') ?? '');
  if (!address) return 'has no address in landingpage_url';
  return {
    source: omitUndefined({
      type: 'ogcapi-tiles',
      url: address.url,
      collection: source.text('collection'),
      tileMatrixSet: source.text('tile_matrix_set_id'),
      ...httpFields(source, context, address),
    }),
    grids: context.grids.map(allZooms),
    layer: offline(source),
  };
}

/** A name `wms:roads,rails` selects layers of the source `wms`; if it lists layers, they must be among these. */
function layersOf(request: TrackedTable, { selected }: SourceContext): string | undefined {
  const listed = request.text('layers');
  if (selected === null || listed === undefined) return selected ?? listed;
  const known = listed.split(',');
  return selected.split(',').every((layer) => known.includes(layer)) ? selected : undefined;
}

interface RequestedGrid extends OfferedGrid {
  /** The name of its SRS in requests, e.g. `EPSG:900913`. */
  readonly crs: string;
}

/** Grids whose SRS the source supports, under any name; or why there are none. */
function requestedGrids(source: TrackedTable, context: SourceContext): readonly RequestedGrid[] | string {
  const supported = source.texts('supported_srs');
  const grids = context.grids.flatMap((grid) => {
    const own = grid.srsThere.replace(/^EPSG/, 'EPSG:');
    if (supported.length === 0 || supported.includes(own)) return [{ ...allZooms(grid), crs: own }];
    const crs = supported.find((name) => sameSrs(srsOfCrs(name) ?? -1, grid.gridSet?.srs ?? -2));
    if (crs !== undefined) return [{ ...allZooms(grid), crs }];
    context.leaveOutGrid(
      `the source does not support the SRS of ${grid.nameThere}, and maps are not reprojected`,
    );
    return [];
  });
  if (grids.length > 0) return grids;
  return 'has none of the SRS of its grids in supported_srs: maps are not reprojected';
}

/** Web mercator has several names, of which a server may support only one. */
function mercatorNames(grids: readonly RequestedGrid[]): Readonly<Record<string, string>> | undefined {
  const named = grids.flatMap(({ grid, crs }) =>
    sameSrs(grid.gridSet?.srs ?? -1, 3857) && crs !== 'EPSG:3857' ? [[String(grid.gridSet?.srs), crs]] : [],
  );
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** The format to request: that of the tiles instead of one that cannot be read here. */
function requestFormatOf(requestedName: string | undefined, { format, changeFormat }: SourceContext): string {
  const mediaType = mediaTypeOf(requestedName ?? format);
  if (formatOf(mediaType)?.kind === 'raster') return mediaType;
  changeFormat(`${mediaType} cannot be read here: the source is asked for ${format}`);
  return format;
}

/** For `seed_only`: MapProxy never queries such a source for a client. */
function offline(source: TrackedTable): Table {
  if (source.flag('seed_only') !== true) return {};
  source.change('seed_only', 'is onMiss: not-found; MapProxy sends an empty picture instead of 404');
  return { onMiss: 'not-found' };
}

/** Parameters of the request without an option of ours, or why they cannot be imported. `sld` may name a file. */
function vendorParametersIn(
  request: TrackedTable,
  { readText }: SourceContext,
): Readonly<Record<string, string>> | string | undefined {
  const own = ['url', 'layers', 'styles', 'transparent', 'format'];
  const others = request.keys().filter((key) => !own.includes(key));
  const entries = others.flatMap((key) => {
    const value = request.text(key);
    return value === undefined ? [] : [[key, value] as const];
  });
  const file = request.text('sld')?.match(/^file:\/\/(.+)$/)?.[1];
  if (file !== undefined) {
    const style = readText(file);
    if (style === null) return `has its style in ${file}, which is not there`;
    return { ...Object.fromEntries(entries.filter(([key]) => key !== 'sld')), sld_body: style };
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function versionIn(options: TrackedTable): string | undefined {
  const version = options.text('version');
  if (version === undefined || version === '1.3.0') return version;
  if (version !== '1.1.1') options.change('version', `is ${version}; the source is asked by version 1.1.1`);
  return undefined;
}

function concurrencyIn(source: TrackedTable): number | undefined {
  const most = source.number('concurrent_requests');
  if (most === undefined || most > 0) return most;
  source.change('concurrent_requests', `is ${most}: they are not limited`);
  return undefined;
}

/** `globals` have the values that a source lacks. */
function httpFields(source: TrackedTable, { http }: SourceContext, address: Address): object {
  const own = source.table('http');
  return {
    timeoutSeconds: timeoutIn(own, 'client_timeout') ?? timeoutIn(http, 'client_timeout'),
    headers: headersIn(own.table('headers')) ?? headersIn(http.table('headers')),
    ...credentialsOf(address),
  };
}

function maxUrlLengthIn(source: TrackedTable, { http }: SourceContext): number | undefined {
  const method = [source.table('http'), http].map((table) => table.text('method'));
  return method.find((text) => text !== undefined)?.toUpperCase() === 'POST' ? ALWAYS_BY_FORM : undefined;
}

function tileSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const extension = (context.requestFormat ?? context.format).replace(/^.*\//, '');
  const places: Readonly<Record<string, string>> = { ...PLACES, format: extension };
  const template = (source.text('url') ?? '').replaceAll(
    /%\((\w+)\)[sd]/g,
    (whole, word: string) => places[word] ?? whole,
  );
  const isSame = !template.includes('{');
  if (isSame) source.change('url', 'is the same for every tile, which all show the same picture, as there');
  const unknown = /%\(\w+\)/.exec(template)?.[0];
  if (unknown !== undefined) return `has ${unknown} in its address, which has no counterpart`;
  // The option needs placeholders; a fragment is not sent.
  const address = parsedAddress(isSame ? `${template}#{z}/{x}/{y}` : template);
  if (!address) return 'has no address in url';
  const name = source.text('grid') ?? DEFAULT_GRID;
  const grid = context.allGrids.of(name);
  if (!grid) return `has the grid ${name}, which cannot be used`;
  const spelled = decodeURI(address.url);
  if (grid.origin === 'sw' && /\{quadkey\}/.test(spelled))
    return `has quadkeys in the grid ${name}, whose rows count from the bottom`;
  const grids = gridsInCommon(grid, context);
  if (grids.length === 0) return `has tiles in the grid ${name} only, and the cache in others`;
  const named = grids.map((one) => one.grid.name);
  return {
    source: omitUndefined({
      type: 'xyz',
      url: grid.origin === 'sw' ? spelled.replaceAll(ROWS, '{-$1}') : spelled,
      gridSets: named.every((one) => one === 'EPSG:900913')
        ? undefined
        : Object.fromEntries(named.map((one) => [one, {}])),
      ...httpFields(source, context, address),
    }),
    grids,
    layer: offline(source),
  };
}

/** Grids of the cache whose tiles are those of the source. MapProxy refuses others too. */
function gridsInCommon(sourceGrid: MapProxyGrid, context: SourceContext): readonly OfferedGrid[] {
  return context.grids.flatMap((grid) => {
    const levels = sharedLevels(sourceGrid, grid);
    if (levels === 0) {
      context.leaveOutGrid(
        `the tiles of ${grid.nameThere} are not those of the source's grid ${sourceGrid.nameThere}`,
      );
      return [];
    }
    const last = Math.min(levels - 1, grid.zoomStop ?? levels, sourceGrid.zoomStop ?? levels);
    const all = grid.gridSet?.levels.length ?? 0;
    return [{ grid, zoomStop: last < all - 1 ? last : null }];
  });
}

function sharedLevels(a: MapProxyGrid, b: MapProxyGrid): number {
  return a.gridSet && b.gridSet ? levelsInCommon(a.gridSet, b.gridSet) : 0;
}
