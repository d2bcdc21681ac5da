import { type Format, isMixed } from '../../domain/format.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import { geoWebCacheIdOf } from '../../domain/parameter-filter.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { isCalled, type OldTileRequest, tileThere } from '../old-cache.ts';
import { byQuadkey, digits, inHexadecimal, inThousands, type TilePath } from '../tile-paths.ts';
import type { AdoptOptions, FolderAdoptOptions } from './adopt-options.ts';

/**
 * Possible paths of a tile below the adopted folder, the likeliest first; none if the folder lacks its grid set or
 * parameters, or if a name in the path would lead out of the folder.
 */
export function oldTilePaths(
  options: FolderAdoptOptions,
  request: OldTileRequest,
  layer: string,
  firstGridSet: string,
): readonly string[] {
  const paths = pathsOf(options, request, layer, firstGridSet);
  return paths.filter((path) => path.every(isOneName)).map((path) => path.join('/'));
}

function pathsOf(
  options: FolderAdoptOptions,
  request: OldTileRequest,
  layer: string,
  firstGridSet: string,
): readonly TilePath[] {
  const { layout } = options;
  const { tile, format, gridSet } = request;
  if (layout === 'geowebcache') return geoWebCachePaths(options, request, options.name ?? layer);
  const wanted = options.gridSet ?? (layout === 'mapcache' ? gridSet.name : firstGridSet);
  const dimensions = dimensionsThere('dimensions' in options ? options.dimensions : [], request);
  if (!dimensions) return [];
  const usual = { origin: layout === 'xyz' ? 'nw' : 'sw', zoomOffset: 0 } as const;
  const there = tileThere({ ...request, parameters: null }, { ...usual, ...options, gridSet: wanted });
  if (!there) return [];
  if (layout === 'tms' || layout === 'xyz') return withExtensions(plainly(there), usualExtensions(format));
  if (layout === 'mapcache') {
    const folders = [options.name ?? layer, nameThere(options, gridSet)] as const;
    const extensions = mapCacheExtensions(format);
    const { template } = options;
    if (template !== undefined)
      return extensions.map((ext) => byTemplate(template, folders, there, { ext, request, dimensions }));
    const path = options.paths === 'arcgis' ? inHexadecimal(there) : inThousands(there);
    const values = dimensions.toReversed().map(([, value]) => value.replaceAll(/[/.]/g, '#'));
    return withExtensions([...folders, ...values, ...path], extensions);
  }
  if (options.paths === 'quadkey' && !hasQuadkeys(gridSet, tile.z, there.z)) return [];
  // ArcGIS itself writes such folders too, with other extensions.
  const extensions = options.paths === 'arcgis' ? usualExtensions(format) : mapProxyExtensions(format);
  const path = MAPPROXY_PATHS[options.paths](there);
  return withExtensions([...mapProxyDimensions(dimensions), ...path], extensions);
}

const MAPPROXY_PATHS = {
  tc: inThousands,
  mp: inTenThousands,
  tms: plainly,
  reverse_tms: (tile: TileIndex) => plainly(tile).toReversed(),
  quadkey: byQuadkey,
  arcgis: inHexadecimal,
} as const;

type Dimensions = readonly (readonly [name: string, value: string])[];

/** Null: the tile has a parameter that is unknown to the other program. */
export function dimensionsThere(
  names: readonly string[],
  { parameters, values }: OldTileRequest,
): Dimensions | null {
  const known = names.map((name) => name.toUpperCase());
  if (parameters && [...parameters.keys()].some((name) => !known.includes(name.toUpperCase()))) return null;
  return names.map((name) => [name, values.get(name.toUpperCase()) ?? ''] as const);
}

/** Folders of dimensions: sorted by name, custom ones (`dim_…`) last. */
function mapProxyDimensions(dimensions: Dimensions): TilePath {
  const named = dimensions.map(([name, value]) => [name.toLowerCase(), value] as const);
  const rank = (name: string) => (name.startsWith('dim_') ? '1' : '0') + name;
  const sorted = named.toSorted(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  return sorted.map(([name, value]) => `${name}-${value}`);
}

/** Replaces MapCache's placeholders. Unknown ones stay, so that no file matches. */
function byTemplate(
  template: string,
  [tileset, grid]: readonly [string, string],
  { z, x, y }: TileIndex,
  {
    ext,
    request,
    dimensions,
  }: { readonly ext: string; readonly request: OldTileRequest; readonly dimensions: Dimensions },
): TilePath {
  const { columns = 0, rows = 0 } = request.gridSet.levels[request.tile.z] ?? {};
  const values = dimensions.map(([name, value]) => [name, value.replaceAll('/', '#')] as const);
  const dim = values.toReversed().map(([name, value]) => `#${name}#${value}`);
  const single = values.map(([name, value]) => [`dim:${name}`, value]);
  const words = {
    ...Object.fromEntries(single),
    dim: dim.join(''),
    tileset,
    grid,
    ext,
    z,
    x,
    y,
    inv_x: columns - 1 - x,
    inv_y: rows - 1 - y,
  };
  const named: Readonly<Record<string, string | number>> = words;
  return template
    .split('/')
    .map((part) => part.replaceAll(/\{([\w:]+)\}/g, (whole, word: string) => String(named[word] ?? whole)));
}

/** The file of GeoWebCache's MBTiles blob store that has the tile, whose row is counted from the bottom. */
export function geoWebCacheFile(
  options: Extract<AdoptOptions, { readonly layout: 'geowebcache-mbtiles' }>,
  { gridSet, format, parameters, values }: OldTileRequest,
  { z, x, y }: TileIndex,
  layer: string,
): string {
  const { template, columns, rows } = options;
  const words: Readonly<Record<string, string | number>> = {
    layer: options.name ?? layer,
    grid: nameThere(options, gridSet),
    format: format.mediaType,
    params: parameters ? geoWebCacheIdOf(parameters) : 'null',
    z,
    x: x - (x % columns),
    y: y - (y % rows),
  };
  return template.replaceAll(/\{(\w+)\}/g, (_, word: string) => {
    const value = words[word.toLowerCase()] ?? values.get(word.toUpperCase()) ?? 'null';
    return String(value).replaceAll(/[\\/:]|\s+/g, '_');
  });
}

/** The grid set's name in the other program. The option `gridSets` may use an alias of the grid set. */
export function nameThere(
  { gridSets }: { gridSets: Readonly<Record<string, string>> },
  gridSet: GridSet,
): string {
  const named = Object.entries(gridSets).find(([here]) => isCalled(gridSet, here));
  return named?.[1] ?? gridSet.name;
}

/** GeoWebCache counts rows from the bottom of the grid. */
export function fromBelow({ gridSet, tile }: OldTileRequest): TileIndex {
  return { ...tile, y: (gridSet.levels[tile.z]?.rows ?? 0) - 1 - tile.y };
}

function geoWebCachePaths(
  options: Extract<FolderAdoptOptions, { readonly layout: 'geowebcache' }>,
  request: OldTileRequest,
  layer: string,
): readonly TilePath[] {
  const { gridSet, format, tile, parameters } = request;
  const gridSetFolder = geoWebCacheFolder(nameThere(options, gridSet));
  const suffix = parameters ? `_${geoWebCacheIdOf(parameters)}` : '';
  const below = fromBelow(request);
  const extensions = format.mediaType === 'image/png24' ? ['png24', 'png_24'] : [format.extensions[0]];
  if (options.bucket !== undefined && options.paths === 'default') {
    const folders = [options.name ?? layer, nameThere(options, gridSet)];
    const id = parameters ? geoWebCacheIdOf(parameters) : 'default';
    return extensions.map((kind) => [...folders, kind, id, ...keyEnd(below, format)]);
  }
  if (options.paths !== 'default') {
    const counted = options.paths === 'tms' ? below : tile;
    return withExtensions(
      [geoWebCacheFolder(layer), `${gridSetFolder}${suffix}`, ...plainly(counted)],
      extensions,
    );
  }
  const levelFolder = `${gridSetFolder}_${padded(tile.z, 2)}${suffix}`;
  return withExtensions([geoWebCacheFolder(layer), levelFolder, ...inHalves(below)], extensions);
}

/** In object stores the folder has the name of the format, and the object the extension of its file type. */
function keyEnd({ z, x, y }: TileIndex, { contentType, kind, extensions }: Format): TilePath {
  const named = contentType === 'image/png' ? 'png' : extensions[0];
  return [String(z), String(x), `${y}.${kind === 'opaque' ? 'mapbox-vectortile' : named}`];
}

/** GeoWebCache's folder name for a layer or grid set. */
export function geoWebCacheFolder(name: string): string {
  return name.replaceAll(/[: ]/g, '_');
}

/** A folder has a square of tiles, whose side is about the square root of the level's width in tiles. */
function inHalves({ z, x, y }: TileIndex): TilePath {
  const half = 2 * 2 ** Math.floor(z / 2);
  const digits = half > 10 ? Math.floor(Math.log10(half)) + 1 : 1;
  const folder = `${padded(Math.floor(x / half), digits)}_${padded(Math.floor(y / half), digits)}`;
  return [folder, `${padded(x, 2 * digits)}_${padded(y, 2 * digits)}`];
}

/** GeoWebCache's own count of digits: a power of ten, and a number just above a large one, get one more zero. */
function padded(number: number, width: number): string {
  const length = number > 11 ? Math.ceil(Math.log10(number) - 0.001) : String(number).length;
  return '0'.repeat(Math.max(0, width - length)) + number;
}

function plainly({ z, x, y }: TileIndex): TilePath {
  return [z, x, y].map(String);
}

function inTenThousands({ z, x, y }: TileIndex): TilePath {
  return [digits(z, 2), ...[x, y].flatMap((n) => [n / 1e4, n % 1e4].map((n) => digits(n, 4)))];
}

/** MapProxy overwrote tiles where a level has more tiles across than quadkeys can distinguish. */
function hasQuadkeys({ levels }: OldTileRequest['gridSet'], zoom: number, digits: number): boolean {
  const { columns = 0, rows = 0 } = levels[zoom] ?? {};
  return Math.max(columns, rows) <= 2 ** digits;
}

function withExtensions(path: TilePath, extensions: readonly string[]): readonly TilePath[] {
  const file = path.at(-1) ?? '';
  return extensions.map((extension) => [...path.slice(0, -1), `${file}.${extension}`]);
}

/** PNG of any depth may have the extension `png`. */
function usualExtensions({ extensions, contentType }: Format): readonly string[] {
  return contentType === 'image/png' ? [...new Set([...extensions, 'png'])] : extensions;
}

function mapProxyExtensions({ mediaType, contentType, extensions, kind }: Format): readonly string[] {
  if (isMixed(mediaType)) return ['mixed'];
  return kind === 'raster' ? [contentType.replace('image/', '')] : extensions;
}

function mapCacheExtensions(format: Format): readonly string[] {
  if (isMixed(format.mediaType)) return ['xxx'];
  return format.contentType === 'image/jpeg' ? ['jpg', 'jpeg'] : mapProxyExtensions(format);
}

function isOneName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
}
