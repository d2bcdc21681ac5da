import type { MapProxyGrid } from './mapproxy-grids.ts';
import type { TrackedTable } from './tracked-table.ts';

export interface CachePlaces {
  /** Where the configuration is, absolute. */
  readonly folder: string;
  /** Where caches are that do not say it themselves, absolute. */
  readonly base: string;
  /** Makes an absolute path of one that is relative to a folder. */
  readonly resolve: (folder: string, path: string) => string;
  readonly isThere: (path: string) => boolean;
}

interface Cache {
  readonly name: string;
  readonly how: TrackedTable;
  /** `cache_dir` of the cache, or that of all. */
  readonly base: string;
  readonly grids: readonly MapProxyGrid[];
  readonly places: CachePlaces;
}

/** What `adopt` of the layer says, or why it says nothing. */
type Adopted = readonly object[] | string;

const PATHS = ['tc', 'mp', 'tms'];
const READERS: Readonly<Record<string, (cache: Cache) => Adopted>> = { file: folders, mbtiles: mbtilesFile };

/** Where MapProxy has its tiles, as config/loader.py has it. */
export function adoptedCaches(
  name: string,
  cache: TrackedTable,
  grids: readonly MapProxyGrid[],
  places: CachePlaces,
): Adopted {
  const { folder, resolve } = places;
  const how = cache.table('cache');
  const type = how.text('type') ?? 'file';
  const own = cache.text('cache_dir');
  const base = own === undefined ? places.base : resolve(folder, own);
  const read = READERS[type];
  if (!read) return `caches of type ${type} cannot be adopted`;
  const adopted = read({ name, how, base, grids, places });
  if (typeof adopted === 'string' || adopted.length > 0) return adopted;
  return 'there are no tiles where it keeps them';
}

function folders({ name, how, base, grids, places }: Cache): Adopted {
  const { folder, resolve, isThere } = places;
  const paths = how.text('directory_layout') ?? 'tc';
  const directory = how.text('directory');
  const byGrid = how.flag('use_grid_names') === true;
  if (!PATHS.includes(paths)) return `the directory_layout ${paths} cannot be adopted`;
  return grids.flatMap((grid) => {
    const own = byGrid ? `${name}/${grid.nameThere}` : `${name}_${grid.srsThere}`;
    const place = directory === undefined ? resolve(base, own) : resolve(folder, directory);
    return isThere(place)
      ? [{ layout: 'mapproxy', folder: place, gridSet: grid.name, paths, origin: grid.origin }]
      : [];
  });
}

function mbtilesFile({ name, how, base, grids, places }: Cache): Adopted {
  const { folder, resolve, isThere } = places;
  const filename = how.text('filename') ?? `${name}.mbtiles`;
  const file = resolve(filename.startsWith('./') ? folder : base, filename);
  const [grid, ...others] = grids;
  if (others.length > 0) return 'one file has the tiles of several grids, which cannot be told apart';
  return grid && isThere(file) ? [{ layout: 'mbtiles', file, gridSet: grid.name, origin: grid.origin }] : [];
}
