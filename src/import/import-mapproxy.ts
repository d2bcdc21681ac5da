import { invalid } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import {
  type Imported,
  type ImportedDocument,
  ImportReport,
  reportAdopted,
  reportUnused,
  type SubjectReport,
  WHOLE,
  withoutTwins,
} from './import-report.ts';
import { adoptedCaches, type CachePlaces } from './mapproxy-caches.ts';
import { subsetInCoverage } from './mapproxy-coverage.ts';
import { DEFAULT_GRID, MapProxyGrids } from './mapproxy-grids.ts';
import {
  type ImportedSource,
  importMapProxySource,
  mediaTypeOf,
  type SourceContext,
} from './mapproxy-sources.ts';
import { listOf, numberOf, type Reasons, type Table, TrackedTable } from './tracked-table.ts';

interface MapProxyImport extends Omit<CachePlaces, 'base'> {
  /** Null: there is no such file. */
  readonly readText: (path: string) => string | null;
}

const DEFAULT_BASE = 'cache_data';
const DEFAULT_BUFFER = 80;
const MIXED = 'image/vnd.jpeg-png';
const SECTIONS = ['layers', 'caches', 'sources', 'grids', 'globals'];
/** Grids of layers that MapProxy draws without a cache, in any SRS. */
const GRIDS_WITHOUT_CACHE = ['GLOBAL_MERCATOR', 'GLOBAL_GEODETIC'];
const TAGGED = /^([^:]+):(.+)$/s;
const UNITS: Readonly<Record<string, number>> = {
  seconds: 1,
  minutes: 60,
  hours: 3600,
  days: 86_400,
  weeks: 604_800,
};

const TLS = 'certificates are always checked; set ca of the host under upstreams';
const LIMITS = 'set zoomStart and zoomStop of the grid sets instead';
const DRAWN = 'maps are always composed from tiles of the nearest zoom';
const REASONS: Reasons = {
  base: 'the files that it names are not read: merge them into this one',
  services: 'every service is offered for every layer',
  ssl_no_cert_checks: TLS,
  ssl_ca_certs: TLS,
  min_res: LIMITS,
  max_res: LIMITS,
  min_scale: LIMITS,
  max_scale: LIMITS,
  link_single_color_images: 'tiles of one colour are always stored once',
  bulk_meta_tiles: 'tile sources are asked for one tile at a time',
  concurrent_requests: 'set concurrency of the host under upstreams instead',
  concurrent_tile_creators: 'set concurrency of the host under upstreams instead',
  use_direct_from_level: DRAWN,
  use_direct_from_res: DRAWN,
  upscale_tiles: 'set onMiss: parent of the layer instead',
  downscale_tiles: DRAWN,
  access_control_allow_origin: 'every origin may read public tiles',
};

/** `mapproxy.yaml`. Throws `request-invalid` for another document. */
export function importMapProxy(tree: unknown, options: MapProxyImport): Imported {
  if (!isRecord(tree) || !('layers' in tree) || !('caches' in tree || 'sources' in tree)) {
    throw invalid('This is not a MapProxy configuration with layers, and caches or sources.');
  }
  const report = new ImportReport();
  const about = report.about('mapproxy.yaml');
  for (const section of Object.keys(tree)) {
    if (!SECTIONS.includes(section)) about.leftOut(section, REASONS[section] ?? 'is not known here');
    else if (section !== 'globals') about.taken(section);
  }
  const reader = new MapProxyReader(tree, options, report);
  const layers = namedLayers(tree.layers).flatMap((layer) => reader.layer(layer) ?? []);
  for (const group of groupsIn(tree.layers)) {
    report
      .about(`group ${group}`)
      .leftOut(WHOLE, 'a name for several layers has no counterpart; its layers are imported by themselves');
  }
  reader.finish();
  return { gridSets: reader.declared(), layers: withoutTwins(layers, report), report };
}

class MapProxyReader {
  readonly #tree: Table;
  readonly #options: MapProxyImport;
  readonly #report: ImportReport;
  readonly #globals: TrackedTable;
  readonly #grids: MapProxyGrids;
  readonly #used = { cache: new Set<string>(), source: new Set<string>() };

  constructor(tree: Table, options: MapProxyImport, report: ImportReport) {
    this.#tree = tree;
    this.#options = options;
    this.#report = report;
    this.#globals = new TrackedTable(tableIn(tree, 'globals'), report.about('mapproxy.yaml'), 'globals');
    const tileSize = this.#globals.table('grid').pair('tile_size');
    this.#grids = new MapProxyGrids(tableIn(tree, 'grids'), tileSize, report);
  }

  declared(): readonly ImportedDocument[] {
    return this.#grids.documents();
  }

  /** Reports unused entries. */
  finish(): void {
    this.#globals.report(REASONS);
    for (const kind of ['cache', 'source'] as const) {
      const names = Object.keys(tableIn(this.#tree, `${kind}s`));
      reportUnused(this.#report, kind, names, (name) => this.#used[kind].has(name));
    }
    const grids = Object.keys(tableIn(this.#tree, 'grids'));
    reportUnused(this.#report, 'grid', grids, (name) => this.#grids.isUsed(name));
  }

  layer(table: Table): ImportedDocument | null {
    const about = this.#report.about(`layer ${String(table.name)}`);
    const layer = new TrackedTable(table, about);
    const imported = this.#cached(layer, about);
    if (typeof imported === 'string') return about.leftOut(WHOLE, imported);
    // MapProxy's WMS answers any box and size.
    const fullWMS = this.#hasWms() ? true : undefined;
    const document = { name: layer.text('name'), ...this.#describing(layer), fullWMS, ...imported };
    layer.take('layers', () => true, 'a list');
    layer.report(REASONS);
    return omitUndefined(document) as unknown as ImportedDocument;
  }

  /** The fields from the layer's cache and source, or why it cannot be imported. */
  #cached(layer: TrackedTable, about: SubjectReport): object | string {
    const [name, ...others] = layer.texts(layer.has('tile_sources') ? 'tile_sources' : 'sources');
    const caches = tableIn(this.#tree, 'caches');
    if (name === undefined || others.length > 0) return 'it is put together from several sources';
    if (!Object.hasOwn(caches, name)) return this.#uncached(layer, name, about);
    const cache = new TrackedTable(tableIn(caches, name), about, 'cache');
    const format = this.#formatIn(cache);
    if (!format) return `its format ${cache.text('format')} is not served here`;
    const imported = this.#cacheSource(cache, format, about);
    if (typeof imported === 'string') return imported;
    const drawn = this.#drawn(layer, imported, about);
    if (typeof drawn === 'string') return drawn;
    this.#used.cache.add(name);
    const fields = {
      ...drawn,
      formats: [format],
      ...this.#caching(cache),
      adopt: reportAdopted(about, this.#adopted(name, cache, imported)),
      ...imported.layer,
    };
    cache.report(REASONS);
    return fields;
  }

  /** A source that MapProxy asks for every map. */
  #uncached(layer: TrackedTable, name: string, about: SubjectReport): object | string {
    const grids = GRIDS_WITHOUT_CACHE.flatMap((grid) => this.#grids.of(grid) ?? []);
    const format = 'image/png';
    const imported = this.#source(name, { grids, format, requestFormat: undefined }, about);
    if (typeof imported === 'string') return imported;
    const drawn = this.#drawn(layer, imported, about);
    if (typeof drawn === 'string') return drawn;
    const listed = layer
      .table('dimensions')
      .keys()
      .map((key) => key.toUpperCase());
    const open = imported.forwarded.find((key) => !listed.includes(key));
    if (open !== undefined) return `its source gets ${open} of requests, whose values are not listed`;
    about.changed(
      'sources',
      'its maps are not cached there: nor are they here, until expireCache is removed',
    );
    return { ...drawn, formats: [format], expireCache: -1, ...imported.layer };
  }

  /** What the layer's source draws, where, and by which parameters of requests. */
  #drawn(layer: TrackedTable, imported: ImportedSource, about: SubjectReport): object | string {
    const parameters = dimensionsOf(layer, imported.forwarded);
    if (typeof parameters === 'string') return parameters;
    const gridSets = this.#gridSets(imported, about);
    if (gridSets.length === 0) return 'its coverage is in none of its grids';
    return { source: imported.source, gridSets, ...(parameters.length > 0 && { parameters }) };
  }

  #hasWms(): boolean {
    return this.#tree.services === undefined || 'wms' in tableIn(this.#tree, 'services');
  }

  #describing(layer: TrackedTable): object {
    const legend = layer.take(
      'legendurl',
      (url) => (/^https?:/.test(String(url)) ? String(url) : undefined),
      'an http address',
    );
    return {
      title: layer.text('title'),
      description: layer.table('md').text('abstract'),
      attribution: layer.table('md').table('attribution').text('title'),
      legends: legend === undefined ? undefined : [{ url: legend }],
    };
  }

  /** Null: there is none of ours. A cache may name a format that `globals` describe. */
  #formatIn(cache: TrackedTable): string | null {
    const name = cache.text('format') ?? 'image/png';
    if (name === 'mixed') return MIXED;
    const described = this.#globals.table('image').table('formats').table(name).text('format') ?? name;
    return formatOf(mediaTypeOf(described))?.mediaType ?? null;
  }

  #cacheSource(cache: TrackedTable, format: string, about: SubjectReport): ImportedSource | string {
    const grids = this.#gridsOf(cache).filter((grid) => grid !== null);
    if (grids.length === 0) return 'none of its grids can be used';
    const names = cache.take('sources', namesIn, 'a list of names');
    if (!names) return 'its cache merges bands of its sources';
    const [name, ...more] = names;
    if (name === undefined || more.length > 0) return 'its cache does not have exactly one source';
    return this.#source(name, { grids, format, requestFormat: cache.text('request_format') }, about);
  }

  #source(
    given: string,
    wanted: Pick<SourceContext, 'grids' | 'format' | 'requestFormat'>,
    about: SubjectReport,
  ): ImportedSource | string {
    const sources = tableIn(this.#tree, 'sources');
    const [, tagged = given, selected = null] = (!Object.hasOwn(sources, given) && TAGGED.exec(given)) || [];
    if (!Object.hasOwn(sources, tagged)) {
      const isCache = Object.hasOwn(tableIn(this.#tree, 'caches'), tagged);
      return isCache ? `its source ${tagged} is a cache` : `its source ${tagged} is not declared`;
    }
    const source = new TrackedTable(tableIn(sources, tagged), about, 'source');
    const { folder, resolve, readText } = this.#options;
    const imported = importMapProxySource(source, {
      ...wanted,
      selected,
      http: this.#globals.table('http'),
      allGrids: this.#grids,
      readText: (file) => readText(resolve(folder, file)),
      leaveOutGrid: (why) => void about.leftOut('cache.grids', why),
      changeFormat: (what) => about.changed('request_format', what),
    });
    if (typeof imported === 'string') return `its source ${tagged} ${imported}`;
    this.#used.source.add(tagged);
    source.report(REASONS);
    return imported;
  }

  #gridsOf(cache: TrackedTable) {
    const names = cache.has('grids') ? cache.texts('grids') : [DEFAULT_GRID];
    return names.map((name) => this.#grids.of(name));
  }

  #gridSets({ grids, coverage }: ImportedSource, about: SubjectReport): readonly (object | string)[] {
    const subsets = new Map<string, object | string>();
    for (const { grid, zoomStop } of grids) {
      const part = coverage && grid.gridSet ? subsetInCoverage(grid.gridSet, coverage) : { name: grid.name };
      if (!part) about.leftOut('cache.grids', `the coverage of the source is not in ${grid.nameThere}`);
      if (!part || subsets.has(grid.name)) continue;
      const subset = { ...part, ...(zoomStop !== null && { zoomStop }) };
      subsets.set(grid.name, Object.keys(subset).length === 1 ? grid.name : subset);
    }
    return [...subsets.values()];
  }

  #caching(cache: TrackedTable): object {
    const all = this.#globals.table('cache');
    const age = cache.take('refresh_before', secondsOf, 'a time span in seconds to weeks');
    const hours = this.#globals.table('tiles').number('expires_hours');
    const notKept = cache.flag('disable_storage') === true;
    return {
      metatile: cache.pair('meta_size') ?? all.pair('meta_size'),
      gutter: cache.number('meta_buffer') ?? all.number('meta_buffer') ?? DEFAULT_BUFFER,
      expireCache: notKept ? -1 : age,
      expireClients: hours === undefined ? undefined : Math.round(hours * 3600),
    };
  }

  #adopted(name: string, cache: TrackedTable, { grids }: ImportedSource): readonly object[] | string {
    const { folder, resolve } = this.#options;
    const base = resolve(folder, this.#globals.table('cache').text('base_dir') ?? DEFAULT_BASE);
    const used = { grids: grids.map(({ grid }) => grid), declared: this.#gridsOf(cache) };
    return adoptedCaches(name, cache, used, { ...this.#options, base });
  }
}

/** Undefined where sources are listed by band. */
function namesIn(value: unknown): readonly string[] | undefined {
  const list = listOf(value);
  return list.every((one) => typeof one === 'string') ? (list as readonly string[]) : undefined;
}

/** Dimensions that reach the source, as parameters of the layer; or why they cannot be kept. */
function dimensionsOf(layer: TrackedTable, forwarded: readonly string[]): readonly object[] | string {
  const dimensions = layer.table('dimensions');
  const parameters: object[] = [];
  for (const key of dimensions.keys()) {
    const name = key.toUpperCase();
    const dimension = dimensions.table(key);
    const given = dimension.texts('values');
    if (!forwarded.includes(name)) {
      dimensions.leaveOut(key, 'does not reach the source: it is not in forward_req_params');
      continue;
    }
    const [only = ''] = given;
    if (given.length === 1 && name.includes('TIME') && only.includes('/'))
      return `its dimension ${key} is an interval: list the values instead`;
    const values = given.length === 1 ? only.trim().split('/') : given;
    parameters.push({ name, values, default: dimension.text('default') ?? values.at(-1) });
  }
  return parameters;
}

/** Undefined for a point in time. */
function secondsOf(value: unknown): number | undefined {
  if (!isRecord(value)) return undefined;
  const parts = Object.entries(value).map(
    ([unit, count]) => (UNITS[unit] ?? Number.NaN) * (numberOf(count) ?? Number.NaN),
  );
  const seconds = parts.reduce((sum, part) => sum + part, 0);
  return seconds > 0 ? Math.round(seconds) : undefined;
}

/** Layers with a name, those inside groups too; an old form has them by name. */
export function namedLayers(given: unknown): readonly Table[] {
  if (isRecord(given)) {
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

/** Named layers that only have other layers below them. */
function groupsIn(given: unknown): readonly string[] {
  return listOf(given).flatMap((layer) => {
    if (!isRecord(layer)) return [];
    const hasOwn = layer.sources !== undefined || layer.tile_sources !== undefined;
    const own = layer.name !== undefined && !hasOwn ? [String(layer.name)] : [];
    return [...own, ...groupsIn(layer.layers)];
  });
}

function tableIn(tree: Table, key: string): Table {
  const value = tree[key];
  return isRecord(value) ? value : {};
}
