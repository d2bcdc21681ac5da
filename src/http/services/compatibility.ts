import type { Catalog } from '../../catalog/catalog.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf, formatOfExtension } from '../../domain/format.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { CompatibleProgram } from '../../domain/service-description.ts';
import { isWebMercator, sameSrs } from '../../domain/srs.ts';
import { decodeUriPart } from '../../lib/decode-uri.ts';
import type { Rewrite } from '../hits/hits.ts';

type Layers = Pick<Catalog, 'layer'>;
/** The variable parts of an address of another program, by name, not decoded. */
type Words = Readonly<Record<string, string | undefined>>;
/** Our address, with `{name}` in place of words, or a function that returns it. Null: the row does not match. */
type To = string | ((words: Words, query: string, layers: Layers, isLast?: boolean) => string | null);
type Row = readonly [pattern: string, to: To];

const CAPABILITIES = '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&';
/** The document of the whole layer, whose links lead to the rest. */
const KML = '/service/kml/{layer}.kml';
const WMTS: readonly Row[] = [
  ['/wmts', wmtsByQuery],
  ['/wmts/1.0.0/WMTSCapabilities.xml', CAPABILITIES],
];

/** Rows are tried in this order. `{rest*}` matches any number of folders. */
const ROWS: Readonly<Record<CompatibleProgram, readonly Row[]>> = {
  mapproxy: [
    ['/wms', '/service/wms'],
    ['/service', byService],
    ['/ows', byService],
    ...WMTS,
    ['/wmts/{layer}/{grid}/{z}/{x}/{y}.{ext}', tile('nw')],
    // MapProxy's restful_template may begin with a name.
    ['/wmts/{folder}/{layer}/{grid}/{z}/{x}/{y}.{ext}', tile('nw')],
    ['/wmts/{folder}/1.0.0/WMTSCapabilities.xml', CAPABILITIES],
    ['/tms', '/service/tms'],
    ['/tms/1.0.0', '/service/tms/1.0.0'],
    ['/tms/1.0.0/{layer}', tileMap],
    ['/tms/1.0.0/{layer}/{grid}', tileMap],
    ['/tms/1.0.0/{layer}/{grid}/{z}/{x}/{y}.{ext}', tile('sw', profileZoom)],
    ['/tms/1.0.0/{layer}/{z}/{x}/{y}.{ext}', tile('sw', profileZoom)],
    ['/tiles/1.0.0/{layer}/{grid}/{z}/{x}/{y}.{ext}', tileByOrigin],
    ['/tiles/1.0.0/{layer}/{z}/{x}/{y}.{ext}', tileByOrigin],
    ['/tiles/{layer}/{grid}/{z}/{x}/{y}.{ext}', tileByOrigin],
    ['/tiles/{layer}/{z}/{x}/{y}.{ext}', tileByOrigin],
    ['/kml/{layer}', KML],
    ['/kml/{layer}/{grid}', KML],
    ['/kml/{layer}/{grid}/{z}/{x}/{y}.kml', KML],
    ['/kml/{layer}/{z}/{x}/{y}.kml', KML],
    ['/kml/{layer}/{grid}/{z}/{x}/{y}.{ext}', tile('sw')],
    ['/kml/{layer}/{z}/{x}/{y}.{ext}', tile('sw')],
  ],
  mapcache: ['', '/mapcache'].flatMap((folder): readonly Row[] =>
    [
      ['/wms', '/service/wms'] as const,
      ...WMTS,
      ['/wmts/1.0.0/{layer}/{style}/{grid}/{z}/{y}/{x}.{ext}', tile('nw')] as const,
      ['/tms/1.0.0', '/service/tms/1.0.0'] as const,
      ['/tms/1.0.0/{layer}@{grid}/{z}/{x}/{y}.{ext}', tile('sw')] as const,
      ['/gmaps/{layer}@{grid}/{z}/{x}/{y}.{ext}', tile('nw')] as const,
      ['/kml/{layer}@{grid}.kml', '/service/kml/{layer}.kml'] as const,
    ].map(([pattern, to]) => [`${folder}${pattern}`, to]),
  ),
  geoserver: [
    ['/geoserver/wms', '/service/wms'],
    ['/geoserver/ows', byService],
    ['/geoserver/gwc/service/{rest*}', '/service/{rest*}'],
    ['/geoserver/{workspace}/wms', qualified('/service/wms')],
    ['/geoserver/{workspace}/gwc/service/{rest*}', qualified('/service/{rest*}')],
  ],
};

const REST = 'rest*';
const NUMBERS = ['z', 'x', 'y'];
const NUMBER = /^\d{1,10}$/;

/** Built-in grids of other programs, and that of MapProxy's configuration template, with ours of the same tiles. */
const GRIDS: Readonly<Record<string, string>> = {
  GLOBAL_MERCATOR: 'EPSG:900913',
  GLOBAL_WEBMERCATOR: 'EPSG:900913',
  GoogleMapsCompatible: 'EPSG:900913',
  webmercator: 'EPSG:900913',
  g: 'EPSG:900913',
  WGS84: 'EPSG:4326',
};

/** Where rows begin in addresses of MapProxy that do not name the origin; our rows count from the top. */
const ORIGINS: Readonly<Record<string, 'sw' | 'nw'>> = {
  GLOBAL_MERCATOR: 'sw',
  GLOBAL_WEBMERCATOR: 'nw',
  webmercator: 'nw',
};

/** Null: no other program's addresses are offered. */
export function createRewrite(programs: readonly CompatibleProgram[], layers: Layers): Rewrite | null {
  const rows = programs
    .flatMap((program) => ROWS[program])
    .map(([pattern, to]) => ({ pattern: compiled(pattern), to }));
  if (rows.length === 0) return null;
  return (path, query) => {
    const segments = (path.endsWith('/') ? path.slice(0, -1) : path).split('/');
    // At last a closed layer without a match is treated like an unknown one, as which its route shows it.
    for (const isLast of [false, true]) {
      for (const { pattern, to } of rows) {
        const words = pattern(segments);
        const address = words && ourAddress(to, words, query, layers, isLast);
        if (address) return address;
      }
    }
    return null;
  };
}

/** Pattern of a segment: text, or one or two words with text around them. */
type Segment = readonly [before: string, first?: string, between?: string, second?: string, after?: string];

function compiled(pattern: string): (path: readonly string[]) => Words | null {
  const segments = pattern.split('/').map((text) => text.split(/[{}]/) as unknown as Segment);
  const hasRest = pattern.endsWith(`{${REST}}`);
  const count = hasRest ? segments.length - 1 : segments.length;
  return (given) => {
    if (hasRest ? given.length <= count : given.length !== count) return null;
    const words: Record<string, string> = hasRest ? { [REST]: given.slice(count).join('/') } : {};
    const fits = segments.slice(0, count).every((segment, i) => readSegment(segment, given[i] ?? '', words));
    return fits ? words : null;
  };
}

function readSegment(
  [before, first, between = '', second, after = '']: Segment,
  given: string,
  words: Record<string, string>,
): boolean {
  if (first === undefined) return given === before;
  const end = second === undefined ? between : after;
  if (!given.startsWith(before) || !given.endsWith(end)) return false;
  const inner = given.slice(before.length, given.length - end.length);
  if (second === undefined) return readWord(first, inner, words);
  const at = inner.lastIndexOf(between);
  const [left, right] = [inner.slice(0, Math.max(at, 0)), inner.slice(at + between.length)];
  return readWord(first, left, words) && readWord(second, right, words);
}

function readWord(name: string, value: string, words: Record<string, string>): boolean {
  words[name] = value;
  return NUMBERS.includes(name) ? NUMBER.test(value) : value !== '';
}

function ourAddress(to: To, words: Words, query: string, layers: Layers, isLast = false): string | null {
  if (typeof to !== 'string') return to(words, query, layers, isLast);
  return withQuery(
    to.replaceAll(/\{(\w+\*?)\}/g, (_, name: string) => words[name] ?? ''),
    query,
  );
}

function withQuery(address: string, query: string): string {
  if (query === '') return address;
  return `${address}${address.includes('?') ? '' : '?'}${query}`;
}

/** One address for several services; WMS is the default. */
function byService(words: Words, query: string, layers: Layers): string | null {
  const service = pairOf(query, 'service')?.toUpperCase();
  return service === 'WMTS' ? wmtsByQuery(words, query, layers) : withQuery('/service/wms', query);
}

/** Requests for tiles use the other program's names of grids and zooms: they are translated to our tile addresses. */
function wmtsByQuery(_: Words, query: string, layers: Layers): string | null {
  const request = pairOf(query, 'request')?.toLowerCase();
  if (request === 'getfeatureinfo') return infoByQuery(query, layers);
  if (request !== 'gettile') return withQuery('/service/wmts', query);
  const encoded = (name: string) => encodeURIComponent(pairOf(query, name) ?? '');
  const matrix = pairOf(query, 'tilematrix') ?? '';
  const [x, y] = [pairOf(query, 'tilecol'), pairOf(query, 'tilerow')];
  const format = pairOf(query, 'format') ?? '';
  const ext = (formatOf(format) ?? formatOfExtension(format))?.extensions[0];
  const z = matrix.slice(matrix.lastIndexOf(':') + 1);
  const words = { layer: encoded('layer'), grid: encoded('tilematrixset'), z, x, y, ext };
  const isWhole = Object.values(words).every((word) => word) && [z, x, y].every((n = '') => NUMBER.test(n));
  return (isWhole && tile('nw')(words, query, layers, true)) || withQuery('/service/wmts', query);
}

const INFO_PLACE = ['format', 'tilematrixset', 'tilematrix'];

/** Translates grid and zoom to our names, and drops FORMAT: it is the tile's, which is not requested. */
function infoByQuery(query: string, layers: Layers): string {
  const subsets = layers.layer(pairOf(query, 'layer') ?? '')?.layer.gridSubsets ?? [];
  const gridSet = subsetNamed(subsets, encodeURIComponent(pairOf(query, 'tilematrixset') ?? ''))?.gridSet;
  const matrix = pairOf(query, 'tilematrix') ?? '';
  const level = gridSet?.levels[Number(matrix.slice(matrix.lastIndexOf(':') + 1))];
  if (!gridSet || !level) return withQuery('/service/wmts', query);
  const others = [...new URLSearchParams(query)].filter(([key]) => !INFO_PLACE.includes(key.toLowerCase()));
  const place = { TILEMATRIXSET: gridSet.name, TILEMATRIX: level.name };
  return `/service/wmts?${new URLSearchParams([...others, ...Object.entries(place)])}`;
}

function pairOf(query: string, name: string): string | undefined {
  for (const [key, value] of new URLSearchParams(query)) if (key.toLowerCase() === name) return value;
  return undefined;
}

/** The origin of rows is that in the query, else that of a known grid. Null, without either: the address is ours. */
function tileByOrigin(words: Words, query: string, layers: Layers, isLast?: boolean): string | null {
  const origin = pairOf(query, 'origin') ?? ORIGINS[words.grid ?? ''];
  return origin === 'sw' || origin === 'nw' ? tile(origin)(words, query, layers, isLast) : null;
}

/** Our address of a tile, by the origin of rows in theirs. `isLast`: if the layer may be a closed one, in any case. */
function tile(origin: 'sw' | 'nw', zoomOf = (zoom: number, _: GridSet) => zoom) {
  return (words: Words, query: string, layers: Layers, isLast = false): string | null => {
    const address = (grid: string, z: number, row: number) =>
      withQuery(`/tiles/${words.layer}/${grid}/${z}/${Number(words.x)}/${row}.${words.ext}`, query);
    const layer = layers.layer(decodeUriPart(words.layer ?? '', ''))?.layer;
    const gridSet = subsetNamed(layer?.gridSubsets ?? [], words.grid)?.gridSet;
    const z = gridSet ? zoomOf(Number(words.z), gridSet) : Number(words.z);
    const rows = gridSet?.levels[z]?.rows ?? 0;
    const row = origin === 'nw' ? Number(words.y) : rows - 1 - Number(words.y);
    if (gridSet && rows > 0 && row >= 0) return address(encodeURIComponent(gridSet.name), z, row);
    const untranslated = address(words.grid ?? '-', Number(words.z), Number(words.y));
    return isLast && layer?.access !== 'public' ? untranslated : null;
  };
}

/** Our TileMap document of a layer in a grid set, which has our addresses of its tiles. `isLast` as above. */
function tileMap({ layer: name, grid }: Words, query: string, layers: Layers, isLast = false): string | null {
  const layer = layers.layer(decodeUriPart(name ?? '', ''))?.layer;
  const subset = subsetNamed(layer?.gridSubsets ?? [], grid);
  if (!subset && (!isLast || layer?.access === 'public')) return null;
  const gridSet = subset ? encodeURIComponent(subset.gridSet.name) : (grid ?? '-');
  const extension = layer?.formats[0].extensions[0] ?? 'png';
  return withQuery(`/service/tms/1.0.0/${name}@${gridSet}@${extension}`, query);
}

/** By name or SRS (`EPSG900913`), else the only subset, or the only one of a built-in grid set. Without a name, the first. */
function subsetNamed(subsets: readonly GridSubset[], named: string | undefined): GridSubset | undefined {
  if (named === undefined) return subsets[0];
  const name = GRIDS[decodeUriPart(named, '')] ?? decodeUriPart(named, '');
  const exact = subsets.find(({ gridSet }) => [gridSet.name, ...gridSet.aliases].includes(name));
  const srs = Number(/^EPSG:?(\d+)$/.exec(name)?.[1] ?? Number.NaN);
  const bySrs = subsets.find(({ gridSet }) => sameSrs(gridSet.srs, srs));
  if (exact || bySrs || !Number.isNaN(srs)) return exact ?? bySrs;
  const isBuiltIn = ({ gridSet }: GridSubset) => builtInGridSets().some((one) => one.name === gridSet.name);
  const renamed = subsets.length === 1 ? subsets : subsets.filter(isBuiltIn);
  return renamed.length === 1 ? renamed[0] : undefined;
}

/** MapProxy's TMS skips the first zoom of grids of the whole world, and every other one if resolutions differ by √2. */
function profileZoom(zoom: number, gridSet: GridSet): number {
  const [first, second] = gridSet.levels;
  const isWorld =
    (isWebMercator(gridSet) || gridSet.srs === 4326) && first?.columns === 1 && first.rows === 1;
  const isDense = first && second && Math.abs(first.resolution / second.resolution - Math.SQRT2) < 1e-9;
  return (zoom + (isWorld ? 1 : 0)) * (isDense ? 2 : 1);
}

/** Adds the workspace of the address to names of layers without one. */
function qualified(to: string): To {
  return (words, query, layers) => {
    const pairs = [...new URLSearchParams(query)].map(([name, value]): [string, string] => {
      if (!/^(?:query_)?layers?$/i.test(name)) return [name, value];
      const names = value
        .split(',')
        .map((one) => (one.includes(':') ? one : `${decodeUriPart(words.workspace ?? '', '')}:${one}`));
      return [name, names.join(',')];
    });
    return ourAddress(to, words, new URLSearchParams(pairs).toString(), layers);
  };
}
