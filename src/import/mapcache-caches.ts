import { childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { TEXT, type TrackedTable } from './tracked-table.ts';

/** A grid of MapCache, and the name of our grid set. */
export interface CachedGrid {
  readonly name: string;
  readonly nameThere: string;
  readonly origin: 'sw' | 'nw';
}

export interface MapCachePlaces {
  readonly isThere: (path: string) => boolean;
  /** The cache of that name, tracked for the layer. */
  readonly cache: (name: string) => TrackedTable | undefined;
  /** Dimensions of the tileset. */
  readonly dimensions: TrackedTable;
  readonly tilesets: () => Iterable<XmlElement>;
}

/** The layer's adoptions, or why there are none. */
type Adopted = readonly object[] | string;

interface Tileset {
  readonly name: string;
  readonly cache: TrackedTable;
  readonly grids: readonly CachedGrid[];
  readonly places: MapCachePlaces;
  /** Names, in the order of its file. */
  readonly dimensions: readonly string[];
  readonly depth: number;
}

const READERS: Readonly<Record<string, (tileset: Tileset) => Adopted>> = {
  disk: folders,
  sqlite3: databases,
  mbtiles: mbtilesFile,
  multitier: several,
  fallback: several,
  composite: several,
};
/** Caches that name others; more are a cycle. */
const MAX_DEPTH = 5;
const MAX_ZOOM = 30;
const DATABASE_KEYS = ['{tileset}', '{grid}', '{z}'];
const TEMPLATE_KEYS = [...DATABASE_KEYS, '{x}', '{y}', '{inv_x}', '{inv_y}', '{ext}'];

/** Where MapCache stores the tiles of a tileset. Rows count from the origin of each grid. */
export function mapCacheAdoptions(
  name: string,
  cacheName: string | undefined,
  grids: readonly CachedGrid[],
  places: MapCachePlaces,
  depth = 0,
): Adopted {
  const cache = cacheName === undefined || depth > MAX_DEPTH ? undefined : places.cache(cacheName);
  if (!cache) return 'it names no cache that is declared';
  const type = cache.text('@type') ?? '';
  const dimensions = places.dimensions
    .tables('dimension')
    .flatMap((dimension) => dimension.text('@name') ?? []);
  return (
    READERS[type]?.({ name, cache, grids, places, dimensions, depth }) ??
    `caches of type ${type} cannot be adopted`
  );
}

/** The parts of a cache that can be adopted. */
function several({ name, cache, grids, places, depth }: Tileset): Adopted {
  const all = cache
    .tables('cache')
    .map((part) => mapCacheAdoptions(name, part.text(TEXT), grids, places, depth + 1));
  const adopted = all.flatMap((one) => (typeof one === 'string' ? [] : one));
  return adopted.length > 0 ? adopted : all.filter((one) => typeof one === 'string').join('; ');
}

function folders({ name, cache, grids, dimensions, places: { isThere } }: Tileset): Adopted {
  const layout = cache.text('@layout') ?? 'tilecache';
  const place = layout === 'template' ? templatePlace(cache, dimensions) : basePlace(cache, layout);
  if (typeof place === 'string') return place;
  const own = place.template === undefined ? `${place.folder.replace(/\/$/, '')}/${name}` : place.folder;
  if (!isThere(own)) return `there are no tiles of it in ${place.folder}`;
  return grids.map((grid) => ({ layout: 'mapcache', ...place, ...named(grid, dimensions) }));
}

interface FolderPlace {
  readonly folder: string;
  readonly paths?: string;
  readonly template?: string;
}

function basePlace(cache: TrackedTable, layout: string): FolderPlace | string {
  if (layout !== 'tilecache' && layout !== 'arcgis') return `the layout ${layout} cannot be adopted`;
  const folder = cache.text('base') ?? '';
  if (!folder.startsWith('/')) return 'its base is not an absolute path';
  return { folder, ...(layout === 'arcgis' && { paths: layout }) };
}

function templatePlace(cache: TrackedTable, dimensions: readonly string[]): FolderPlace | string {
  const text = cache.text('template') ?? '';
  const { folder, rest } = splitPath(text);
  if (!text.startsWith('/')) return 'its template is not an absolute path';
  const words = dimensions.map((dimension) => `{dim:${dimension}}`);
  const isApart = text.includes('{dim}') || words.every((word) => text.includes(word));
  if (!isApart) return 'its template does not keep the values of dimensions apart';
  const unknown = unknownKey(text, [...TEMPLATE_KEYS, ...(words.length > 0 ? ['{dim}', ...words] : [])]);
  return unknown === undefined ? { folder, template: rest } : `${unknown} in its template cannot be adopted`;
}

/** A file, or one for each zoom, that may have the tiles of all tilesets. */
function databases({ name, cache, grids, dimensions, places: { isThere } }: Tileset): Adopted {
  const text = cache.text('dbfile') ?? '';
  if (!text.startsWith('/')) return 'its dbfile is not an absolute path';
  if (cache.has('queries')) return 'it has queries of its own';
  const unknown = unknownKey(text, DATABASE_KEYS);
  if (unknown !== undefined) return `${unknown} in its dbfile cannot be adopted`;
  const adopted = grids.flatMap((grid) => {
    const file = text.replaceAll('{tileset}', name).replaceAll('{grid}', grid.nameThere);
    const levels = Array.from({ length: MAX_ZOOM }, (_, z) => file.replaceAll('{z}', String(z)));
    if (!levels.some(isThere)) return [];
    const { folder, rest: database } = splitPath(file);
    return [{ layout: 'mapcache-sqlite', folder, database, ...named(grid, dimensions) }];
  });
  return adopted.length > 0 ? adopted : `there is no file ${text}`;
}

function mbtilesFile({ cache, grids: [grid], dimensions, places: { isThere, tilesets } }: Tileset): Adopted {
  const file = cache.text('dbfile') ?? '';
  const users = [...tilesets()].filter((tileset) => textIn(tileset, 'cache') === cache.text('@name'));
  const sets = users.flatMap((tileset) => childrenOf(tileset, 'grid'));
  if (!file.startsWith('/') || file.includes('{')) return 'its dbfile is not the absolute path of one file';
  if (!grid || sets.length > 1) return 'one file has the tiles of several grids or tilesets';
  if (dimensions.length > 0) return 'its file does not keep the values of dimensions apart';
  if (!isThere(file)) return `there is no file ${file}`;
  return [{ layout: 'mbtiles', file, gridSet: grid.name, origin: grid.origin }];
}

function unknownKey(text: string, known: readonly string[]): string | undefined {
  return text.match(/\{[^{}]*\}/g)?.find((word) => !known.includes(word));
}

function named({ name, nameThere, origin }: CachedGrid, dimensions: readonly string[]): object {
  return {
    gridSet: name,
    ...(name !== nameThere && { gridSets: { [name]: nameThere } }),
    ...(dimensions.length > 0 && { dimensions }),
    origin,
  };
}

/** Divides a path at the folder of the first name with a placeholder, or of the file. */
function splitPath(path: string): { readonly folder: string; readonly rest: string } {
  const upTo = path.includes('{') ? path.slice(0, path.indexOf('{')) : path;
  const end = upTo.lastIndexOf('/');
  return { folder: path.slice(0, end) || '/', rest: path.slice(end + 1) };
}
