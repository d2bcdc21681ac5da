import { ALWAYS_BY_FORM } from '../geowebcache/read-layer.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { addressOf, credentialsOf, headersIn, timeoutIn } from './http-source.ts';
import { type CoverageBox, coverageBox } from './mapproxy-coverage.ts';
import { DEFAULT_GRID, type MapProxyGrid, type MapProxyGrids } from './mapproxy-grids.ts';
import { levelsInCommon } from './matching-grid.ts';
import type { TrackedTable } from './tracked-table.ts';

/** A grid of a cache that its source has tiles in, or draws. */
export interface OfferedGrid {
  readonly grid: MapProxyGrid;
  /** The last zoom that there are tiles of; null: all. */
  readonly zoomStop: number | null;
}

export interface ImportedSource {
  readonly source: object;
  readonly grids: readonly OfferedGrid[];
  readonly coverage: CoverageBox | null;
  /** Fields of the layer that the source decides. */
  readonly layer: object;
}

export interface SourceContext {
  /** The table `http` of `globals`. */
  readonly http: TrackedTable;
  readonly allGrids: MapProxyGrids;
  readonly grids: readonly MapProxyGrid[];
  /** Of the cache: in what the source is asked, e.g. `png`; undefined: as tiles are stored. */
  readonly requestFormat: string | undefined;
  /** In what tiles are stored, e.g. `image/png`. */
  readonly format: string;
  readonly readText: (file: string) => string | null;
  readonly leaveOutGrid: (why: string) => void;
}

type ReadSource = (source: TrackedTable, context: SourceContext) => Omit<ImportedSource, 'coverage'> | string;

const READERS: Readonly<Record<string, ReadSource>> = { wms: wmsSource, tile: tileSource };
const COVERAGE = 'a bbox, or polygons in a file of WKT or GeoJSON, in an SRS with an EPSG code';
/** MapProxy's words in addresses of tiles. */
const PLACES: Readonly<Record<string, string>> = {
  z: '{z}',
  x: '{x}',
  y: '{y}',
  quadkey: '{quadkey}',
  tms_path: '{z}/{x}/{y}',
};

/** A source of `mapproxy.yaml` as one of ours, or why there is none. */
export function importMapProxySource(source: TrackedTable, context: SourceContext): ImportedSource | string {
  const type = source.text('type') ?? 'nothing';
  const read = READERS[type];
  if (!read) return `is of type ${type}; ${Object.keys(READERS).join(' and ')} are supported`;
  const imported = read(source, context);
  if (typeof imported === 'string') return imported;
  const coverage = source.take('coverage', (given) => coverageBox(given, context.readText), COVERAGE) ?? null;
  if (coverage) {
    const fits = coverage.exact ? 'it is' : 'the box around it is';
    source.change('coverage', `${fits} the extent of the layer's grid sets`);
  }
  return { ...imported, coverage };
}

function wmsSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const request = source.table('req');
  const options = source.table('wms_opts');
  const address = addressOf(request.text('url') ?? '');
  const layers = request.text('layers');
  if (!address) return 'has no address in req.url';
  if (layers === undefined) return 'has no layers in req.layers';
  if (options.flag('map') === false) return 'draws no maps: wms_opts.map is false';
  const requestFormat = mediaTypeOf(request.text('format') ?? context.requestFormat ?? context.format);
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
    concurrency: concurrencyIn(source),
    ...httpFields(source, context),
    ...credentialsOf(address),
    vendorParameters: vendorParametersIn(request),
  });
  return {
    source: imported,
    grids: context.grids.map((grid) => ({ grid, zoomStop: grid.zoomStop })),
    layer: { ...(queryable && { queryable }), ...(legend && { legends: [{}] }) },
  };
}

/** Parameters of the request that are not options of ours. */
function vendorParametersIn(request: TrackedTable): Readonly<Record<string, string>> | undefined {
  const own = ['url', 'layers', 'styles', 'transparent', 'format'];
  const others = request.keys().filter((key) => !own.includes(key));
  const entries = others.flatMap((key) => {
    const value = request.text(key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function versionIn(options: TrackedTable): string | undefined {
  const version = options.text('version');
  if (version === undefined || version === '1.3.0') return version;
  if (version !== '1.1.1') options.change('version', `is ${version}; the source is asked by version 1.1.1`);
  return undefined;
}

export function mediaTypeOf(format: string): string {
  return format.includes('/') ? format : `image/${format}`;
}

function concurrencyIn(source: TrackedTable): number | undefined {
  const most = source.number('concurrent_requests');
  if (most === undefined || most > 0) return most;
  source.change('concurrent_requests', `is ${most}: they are not limited`);
  return undefined;
}

/** `globals` have the values that a source leaves out. */
function httpFields(source: TrackedTable, { http }: SourceContext): object {
  const own = source.table('http');
  const method = [own, http].map((table) => table.text('method')).find((text) => text !== undefined);
  return {
    timeoutSeconds: timeoutIn(own, 'client_timeout') ?? timeoutIn(http, 'client_timeout'),
    headers: headersIn(own.table('headers')) ?? headersIn(http.table('headers')),
    maxUrlLength: method?.toUpperCase() === 'POST' ? ALWAYS_BY_FORM : undefined,
  };
}

function tileSource(source: TrackedTable, context: SourceContext): ReturnType<ReadSource> {
  const extension = (context.requestFormat ?? context.format).replace(/^.*\//, '');
  const places: Readonly<Record<string, string>> = { ...PLACES, format: extension };
  const template = (source.text('url') ?? '').replaceAll(
    /%\((\w+)\)[sd]/g,
    (whole, word: string) => places[word] ?? whole,
  );
  const unknown = /%\(\w+\)/.exec(template)?.[0];
  if (unknown !== undefined) return `has ${unknown} in its address, which has no counterpart`;
  const address = addressOf(template);
  if (!address) return 'has no address in url';
  const name = source.text('grid') ?? DEFAULT_GRID;
  const grid = context.allGrids.of(name);
  if (!grid) return `has the grid ${name}, which cannot be used`;
  const spelled = decodeURI(address.url);
  if (grid.origin === 'sw' && spelled.includes('{quadkey}'))
    return `has quadkeys in the grid ${name}, whose rows count from the bottom`;
  const grids = gridsInCommon(grid, context);
  if (grids.length === 0) return `has tiles in the grid ${name} only, and the cache in others`;
  const named = grids.map((one) => one.grid.name);
  const { maxUrlLength, ...http } = httpFields(source, context) as { maxUrlLength?: number };
  return {
    source: omitUndefined({
      type: 'xyz',
      url: grid.origin === 'sw' ? spelled.replace('{y}', '{-y}') : spelled,
      gridSets: named.every((one) => one === 'EPSG:900913')
        ? undefined
        : Object.fromEntries(named.map((one) => [one, {}])),
      ...http,
      ...credentialsOf(address),
    }),
    grids,
    layer: {},
  };
}

/** Grids of the cache whose tiles are those of the source. MapProxy refuses others too. */
function gridsInCommon(sourceGrid: MapProxyGrid, context: SourceContext): readonly OfferedGrid[] {
  return context.grids.flatMap((grid) => {
    const levels = levelsOf(sourceGrid, grid);
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

function levelsOf(a: MapProxyGrid, b: MapProxyGrid): number {
  return a.gridSet && b.gridSet ? levelsInCommon(a.gridSet, b.gridSet) : 0;
}
