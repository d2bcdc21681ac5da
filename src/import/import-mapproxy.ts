import { invalid } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import { isRecord } from '../lib/value-path.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import {
  type Imported,
  type ImportedDocument,
  ImportReport,
  type SubjectReport,
  withoutTwins,
} from './import-report.ts';
import {
  listOf,
  type MapProxyGrid,
  MapProxyGrids,
  numberOf,
  pairOf,
  type Table,
  tableIn,
} from './mapproxy-grids.ts';

interface MapProxyImport {
  /** Where the configuration lies, absolute. */
  readonly folder: string;
  /** Makes an absolute path of one that is relative to a folder. */
  readonly resolve: (folder: string, path: string) => string;
  readonly isThere: (path: string) => boolean;
}

const DEFAULT_GRIDS = ['GLOBAL_WEBMERCATOR'];
const LAYOUTS = ['tc', 'mp', 'tms'];

/** `mapproxy.yaml`. Throws `request-invalid` for another document. */
export function importMapProxy(tree: unknown, options: MapProxyImport): Imported {
  if (!isRecord(tree) || !('caches' in tree) || !('layers' in tree)) {
    throw invalid('This is not a MapProxy configuration with layers and caches.');
  }
  const report = new ImportReport();
  const about = report.about('mapproxy.yaml');
  for (const section of Object.keys(tree)) {
    if (['layers', 'caches', 'sources', 'grids'].includes(section)) about.taken(section);
    else if (section === 'globals')
      about.changed(section, 'only base_dir, meta_size and meta_buffer of its cache are used');
    else if (section === 'services') about.leftOut(section, 'every service is offered for every layer');
    else about.leftOut(section, 'is not known here');
  }
  const reader = new MapProxyReader(tree, options, report);
  const layers = namedLayers(tree.layers).flatMap((layer) => reader.layer(layer) ?? []);
  return { gridSets: reader.declared(), layers: withoutTwins(layers, report), report };
}

class MapProxyReader {
  readonly #tree: Table;
  readonly #options: MapProxyImport;
  readonly #report: ImportReport;
  readonly #grids: MapProxyGrids;

  constructor(tree: Table, options: MapProxyImport, report: ImportReport) {
    this.#tree = tree;
    this.#options = options;
    this.#report = report;
    this.#grids = new MapProxyGrids(tableIn(tree, 'grids'), report);
  }

  declared(): readonly ImportedDocument[] {
    return this.#grids.documents();
  }

  layer(layer: Table): ImportedDocument | null {
    const name = String(layer.name);
    const about = this.#report.about(`layer ${name}`);
    const refuse = (what: string) => about.leftOut('all of it', what);
    const [cacheName, ...others] = listOf(layer.tile_sources ?? layer.sources).map(String);
    const caches = tableIn(this.#tree, 'caches');
    if (cacheName === undefined || others.length > 0)
      return refuse('it is put together from several sources');
    if (!Object.hasOwn(caches, cacheName))
      return refuse(`${cacheName} is not one of the caches: its maps are not cached there`);
    const cache = tableIn(caches, cacheName);
    const grids = listOf(cache.grids ?? DEFAULT_GRIDS).flatMap((grid) => this.#grids.of(String(grid)) ?? []);
    if (grids.length === 0) return refuse('none of its grids can be used');
    const [sourceName, ...more] = listOf(cache.sources).map(String);
    if (sourceName === undefined || more.length > 0)
      return refuse(`cache ${cacheName} does not have exactly one source`);
    const source = importMapProxySource(tableIn(tableIn(this.#tree, 'sources'), sourceName), grids, about);
    if (!source) return refuse(`source ${sourceName} cannot be used`);
    const format = formatOf(
      typeof cache.format === 'string' && cache.format.includes('/')
        ? cache.format
        : `image/${cache.format ?? 'png'}`,
    );
    if (!format) return refuse(`its format ${String(cache.format)} is not served here`);
    tellFields(about, 'cache', cache, ['grids', 'sources', 'format', 'meta_size', 'meta_buffer', 'cache']);
    about.taken('name');
    return withoutAbsent({
      name,
      title: typeof layer.title === 'string' ? layer.title : undefined,
      source,
      formats: [format.mediaType],
      gridSets: grids.map(({ name: gridSet, zoomStop }) =>
        zoomStop === null ? gridSet : { name: gridSet, zoomStop },
      ),
      metatile: pairOf(cache.meta_size ?? this.#global('meta_size')),
      gutter: numberOf(cache.meta_buffer ?? this.#global('meta_buffer')) ?? 80,
      adopt: this.#adoptions(cacheName, cache, grids, about),
    }) as ImportedDocument;
  }

  #global(key: string): unknown {
    return tableIn(tableIn(this.#tree, 'globals'), 'cache')[key];
  }

  #adoptions(
    name: string,
    cache: Table,
    grids: readonly MapProxyGrid[],
    about: SubjectReport,
  ): readonly object[] | undefined {
    const { folder, resolve, isThere } = this.#options;
    const how = tableIn(cache, 'cache');
    const type = how.type ?? 'file';
    const base = resolve(folder, String(this.#global('base_dir') ?? 'cache_data'));
    const adopted = grids.flatMap((grid, at): object[] => {
      if (type === 'mbtiles') {
        const file = resolve(base, String(how.filename ?? `${name}.mbtiles`));
        return at === 0 && isThere(file) ? [{ layout: 'mbtiles', file, gridSet: grid.name }] : [];
      }
      const paths = String(how.directory_layout ?? 'tc');
      if (type !== 'file' || !LAYOUTS.includes(paths)) return [];
      const place =
        how.directory === undefined
          ? resolve(base, subfolder(name, how, grid))
          : resolve(folder, String(how.directory));
      return isThere(place)
        ? [{ layout: 'mapproxy', folder: place, gridSet: grid.name, paths, origin: grid.origin }]
        : [];
    });
    if (adopted.length === 0) {
      about.leftOut('cache', `there are no tiles of type ${String(type)} that can be adopted`);
      return undefined;
    }
    const places = adopted.map((one) => Object.values(one)[1]).join(', ');
    about.changed('cache', `its tiles are adopted: ${places}`);
    return adopted;
  }
}

function tellFields(about: SubjectReport, of: string, table: Table, used: readonly string[]): void {
  for (const key of Object.keys(table)) {
    if (used.includes(key)) about.taken(`${of}.${key}`);
    else about.leftOut(`${of}.${key}`, 'has no counterpart');
  }
}

function subfolder(name: string, how: Table, grid: MapProxyGrid): string {
  return how.use_grid_names === true ? `${name}/${grid.name}` : `${name}_${grid.srs}`;
}

/** Layers with a name, those inside groups too; an old form has them by name. */
function namedLayers(given: unknown): readonly Table[] {
  if (isRecord(given) && !Array.isArray(given)) {
    return Object.entries(given).map(([name, layer]) => ({ name, ...(isRecord(layer) ? layer : {}) }));
  }
  return listOf(given).flatMap((layer) => {
    if (!isRecord(layer)) return [];
    const own =
      layer.name !== undefined && (layer.sources !== undefined || layer.tile_sources !== undefined)
        ? [layer]
        : [];
    return [...own, ...namedLayers(layer.layers ?? [])];
  });
}

/** Parameters of a request that are options of ours. */
const WMS_OPTIONS = ['url', 'layers', 'styles', 'transparent'];
/** MapProxy's words in addresses of tiles. */
const PLACES: Readonly<Record<string, string>> = {
  z: '{z}',
  x: '{x}',
  y: '{y}',
  quadkey: '{quadkey}',
  tms_path: '{z}/{x}/{y}',
};

/** A source of `mapproxy.yaml` as one of ours; null when there is none of its kind. */
function importMapProxySource(
  source: Table,
  grids: readonly MapProxyGrid[],
  about: SubjectReport,
): object | null {
  const read = { wms: wmsSource, tile: tileSource }[String(source.type)];
  const imported = read?.(source, grids) ?? null;
  if (imported) tellFields(about, 'source', source, ['type', 'req', 'url', 'wms_opts', 'http', 'grid']);
  return imported;
}

function wmsSource(source: Table): object | null {
  const request = isRecord(source.req) ? source.req : {};
  const options = isRecord(source.wms_opts) ? source.wms_opts : {};
  const address = addressOf(request.url);
  if (!address || request.layers === undefined) return null;
  const others = Object.entries(request).filter(([key]) => !WMS_OPTIONS.includes(key));
  return withoutAbsent({
    type: 'wms',
    url: address.url,
    layers: textOf(request.layers),
    styles: request.styles === undefined ? undefined : textOf(request.styles),
    version: options.version === '1.3.0' ? '1.3.0' : undefined,
    transparent: request.transparent === true ? true : undefined,
    vendorParameters:
      others.length > 0 ? Object.fromEntries(others.map(([key, value]) => [key, textOf(value)])) : undefined,
    ...credentials(source, address),
  });
}

function tileSource(source: Table, grids: readonly MapProxyGrid[]): object | null {
  const template = typeof source.url === 'string' ? source.url : '';
  const address = addressOf(
    template.replaceAll(/%\((\w+)\)s/g, (whole, word: string) => PLACES[word] ?? whole),
  );
  const [grid] = grids;
  if (!address || !grid || address.url.includes('%(')) return null;
  const spelled = decodeURI(address.url);
  return {
    type: 'xyz',
    url: grid.origin === 'sw' ? spelled.replace('{y}', '{-y}') : spelled,
    ...(grid.document && { gridSets: Object.fromEntries(grids.map(({ name }) => [name, {}])) }),
    ...credentials(source, address),
  };
}

interface Address {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Credentials stand in the address there, and beside it here. */
function addressOf(given: unknown): Address | null {
  if (typeof given !== 'string' || !URL.canParse(given)) return null;
  const url = new URL(given);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  return {
    url: url.href.replace(/[?&]+$/, ''),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

function credentials({ http }: Table, { username, password }: Address): object {
  const headers = isRecord(http) && isRecord(http.headers) ? http.headers : null;
  return {
    ...(username !== '' && { username, password }),
    ...(headers && {
      headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)])),
    }),
  };
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
