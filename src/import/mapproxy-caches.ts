import { omitUndefined } from '../lib/omit-undefined.ts';
import { nameBucket } from './bucket-names.ts';
import type { MapProxyGrid } from './mapproxy-grids.ts';
import { secondsOf } from './mapproxy-tables.ts';
import type { TrackedTable } from './tracked-table.ts';

/** Pixels; MapProxy's default. */
const DEFAULT_BUFFER = 80;

export interface CachePlaces {
  /** The absolute path of the folder of the configuration. */
  readonly folder: string;
  /** The absolute path of caches without a path of their own. */
  readonly base: string;
  /** Makes an absolute path of one that is relative to a folder. */
  readonly resolve: (folder: string, path: string) => string;
  readonly isThere: (path: string) => boolean;
  /** `cache` of the globals. */
  readonly globals: TrackedTable;
  /** Buckets of the caches, by name. */
  readonly buckets: Map<string, object>;
}

interface Cache {
  readonly name: string;
  /** Its field `cache`: how tiles are stored. */
  readonly how: TrackedTable;
  /** `cache_dir` of the cache, or `base_dir` of all caches. */
  readonly base: string;
  readonly grids: readonly MapProxyGrid[];
  /** All grids of the cache, even those that are not imported; null: the grid cannot be read. */
  readonly declared: readonly (MapProxyGrid | null)[];
  /** Dimensions of the layer that are passed to its source. */
  readonly dimensions: readonly string[];
  readonly places: CachePlaces;
}

type Adoption = Readonly<
  Record<'layout', string> &
    Partial<Record<'file' | 'folder' | 'paths' | 'table', string>> & { dimensions?: readonly string[] }
>;

/** The adoptions of the layer, or why there are none. */
type Adopted = readonly object[] | string;

const PATHS = ['tc', 'mp', 'tms', 'reverse_tms', 'quadkey', 'arcgis'];
const READERS: Readonly<Record<string, (cache: Cache) => Adopted>> = {
  file: folders,
  mbtiles: mbtilesFile,
  sqlite: levelFiles,
  geopackage: geopackages,
  compact: bundles,
  s3: s3Objects,
  azureblob: azureObjects,
};
const MIXED_FILE = 'one file has the tiles of several grids, which cannot be distinguished';

/** Where MapProxy stores the tiles of a cache, by the rules of its config/loader.py. */
export function adoptedCaches(
  name: string,
  cache: TrackedTable,
  used: Pick<Cache, 'grids' | 'declared' | 'dimensions'>,
  places: CachePlaces,
): Adopted {
  const { folder, resolve } = places;
  const how = cache.table('cache');
  const type = how.text('type') ?? 'file';
  const own = cache.text('cache_dir');
  const base = own === undefined ? places.base : resolve(folder, own);
  const read = READERS[type];
  if (!read) return `caches of type ${type} cannot be adopted`;
  if (used.dimensions.length > 0 && type !== 'file')
    return 'only caches of type file keep the values of dimensions apart';
  const adopted = read({ name, how, base, ...used, places });
  if (typeof adopted === 'string' || adopted.length > 0) return adopted;
  return 'there are no tiles where it keeps them';
}

function folders(cache: Cache): Adopted {
  const { name, how, base, declared, dimensions, places } = cache;
  const { folder, resolve } = places;
  const paths = how.text('directory_layout') ?? 'tc';
  const directory = how.text('directory');
  const byGrid = how.flag('use_grid_names') === true;
  if (!PATHS.includes(paths)) return `the directory_layout ${paths} cannot be adopted`;
  const srsTwice = declared.some((one, at) => declared.some((other, i) => i < at && !differ(one, other)));
  if (!byGrid && directory === undefined && srsTwice)
    return 'one folder has the tiles of several grids in one SRS, which cannot be distinguished';
  return existing(cache, ({ nameThere, srsThere }) => {
    const own = byGrid ? `${name}/${nameThere}` : `${name}_${srsThere}`;
    const place = directory === undefined ? resolve(base, own) : resolve(folder, directory);
    return { layout: 'mapproxy', folder: place, paths, ...(dimensions.length > 0 && { dimensions }) };
  });
}

/** The adoptions whose file or folder exists. */
function existing({ grids, places }: Cache, adoptionOf: (grid: MapProxyGrid) => Adoption): Adopted {
  return grids.flatMap((grid) => {
    const adoption = adoptionOf(grid);
    const isThere = places.isThere(adoption.file ?? adoption.folder ?? '');
    return isThere ? [{ ...adoption, gridSet: grid.name, origin: grid.origin }] : [];
  });
}

/** Whether their folders have different names. */
function differ(a: MapProxyGrid | null, b: MapProxyGrid | null): boolean {
  return a !== null && b !== null && a.srsThere !== b.srsThere;
}

function mbtilesFile(cache: Cache): Adopted {
  const file = fileOf(cache, 'mbtiles');
  if (cache.declared.length > 1) return MIXED_FILE;
  return existing(cache, () => ({ layout: 'mbtiles', file }));
}

/** Relative to the configuration if it begins with `./`, otherwise to the folder of caches. */
function fileOf({ name, how, base, places: { folder, resolve } }: Cache, extension: string): string {
  const filename = how.text('filename') ?? `${name}.${extension}`;
  return resolve(filename.startsWith('./') ? folder : base, filename);
}

/** The folder of each grid, in the cache's own or below that of all caches. */
function gridFolder({ name, how, base, places: { folder, resolve } }: Cache, grid: MapProxyGrid): string {
  const directory = how.text('directory');
  return directory === undefined
    ? resolve(base, `${name}/${grid.nameThere}`)
    : resolve(resolve(folder, directory), grid.nameThere);
}

function levelFiles(cache: Cache): Adopted {
  return existing(cache, (grid) => ({ layout: 'mapproxy-sqlite', folder: gridFolder(cache, grid) }));
}

/** Each grid has a table of its own, unless the cache names one. */
function geopackages(cache: Cache): Adopted {
  const named = cache.how.text('table_name');
  if (named !== undefined && cache.declared.length > 1) return MIXED_FILE;
  const levels = cache.how.flag('levels') === true;
  return existing(cache, (grid) => ({
    layout: 'geopackage',
    ...(levels ? { folder: gridFolder(cache, grid) } : { file: fileOf(cache, 'gpkg') }),
    table: named ?? `${cache.name}_${grid.nameThere}`,
  }));
}

/** ArcGIS compact caches; the version is recognised by the files. */
function bundles(cache: Cache): Adopted {
  const { folder, resolve } = cache.places;
  const directory = cache.how.text('directory');
  cache.how.number('version');
  return existing(cache, (grid) => ({
    layout: 'arcgis-compact',
    folder: directory === undefined ? gridFolder(cache, grid) : resolve(folder, directory),
  }));
}

/** Keys and profiles are not imported: the AWS SDK finds them where MapProxy's does. */
function s3Objects(cache: Cache): Adopted {
  const text = globalText(cache, 's3');
  const [bucket, endpoint, region] = [text('bucket_name'), text('endpoint_url'), text('region_name')];
  if (bucket === undefined) return 'it names no bucket';
  const own = endpoint === undefined ? {} : { endpoint, pathStyle: true };
  return objects(cache, bucket, omitUndefined({ type: 's3', bucket, region, ...own }));
}

function azureObjects(cache: Cache): Adopted {
  const text = globalText(cache, 'azureblob');
  const container = text('container_name');
  if (container === undefined) return 'it names no container';
  const connectionString = text('connection_string') ?? { env: 'AZURE_STORAGE_CONNECTION_STRING' };
  return objects(cache, container, { type: 'azure', container, connectionString });
}

function globalText({ how, places }: Cache, type: string): (key: string) => string | undefined {
  const all = places.globals.table(type);
  return (key) => how.text(key) ?? all.text(key);
}

function objects({ name, how, grids, declared, places }: Cache, named: string, bucket: object): Adopted {
  const paths = how.text('directory_layout') ?? 'tms';
  const directory = how.text('directory');
  const byGrid = directory === undefined || how.flag('include_grid_name') === true;
  if (!PATHS.includes(paths)) return `the directory_layout ${paths} cannot be adopted`;
  if (!byGrid && declared.length > 1)
    return 'one directory has the tiles of several grids, which cannot be distinguished';
  const known = nameBucket(places.buckets, named, bucket);
  return grids.map((grid) => {
    const folder = byGrid ? `${directory ?? name}/${grid.nameThere}` : directory;
    return { layout: 'mapproxy', bucket: known, folder, paths, gridSet: grid.name, origin: grid.origin };
  });
}

/** Fields of the layer for how tiles are made and cached. */
export function cachingFields(cache: TrackedTable, globals: TrackedTable): object {
  const all = globals.table('cache');
  const age = cache.take('refresh_before', secondsOf, 'a time span in seconds to weeks');
  const hours = globals.table('tiles').number('expires_hours');
  const isUncached = cache.flag('disable_storage') === true;
  return {
    metatile: cache.pair('meta_size') ?? all.pair('meta_size'),
    gutter: cache.number('meta_buffer') ?? all.number('meta_buffer') ?? DEFAULT_BUFFER,
    expireCache: isUncached ? -1 : age,
    expireClients: hours === undefined ? undefined : Math.round(hours * 3600),
  };
}
