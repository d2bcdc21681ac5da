import { projectionOf } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import {
  type ImportedDocument,
  ImportReport,
  reportAdopted,
  reportUnused,
  type SubjectReport,
  WHOLE,
} from './import-report.ts';
import { adoptedCaches, type CachePlaces, cachingFields } from './mapproxy-caches.ts';
import { type Coverage, coveredGridSets, ImportedAreas, READABLE_COVERAGE } from './mapproxy-coverage.ts';
import { DEFAULT_GRID, type MapProxyGrid, MapProxyGrids, type OfferedGrid } from './mapproxy-grids.ts';
import {
  asPart,
  type CachedFields,
  composedOf,
  emptySource,
  type ImportedSource,
  type InnerLayer,
  joinedCaches,
  partOfLayer,
  shownScalesIn,
} from './mapproxy-parts.ts';
import { REASONS } from './mapproxy-reasons.ts';
import type { CacheLayer } from './mapproxy-seeds.ts';
import { coverageIn, importMapProxySource, type SourceContext } from './mapproxy-sources.ts';
import {
  cacheEncoding,
  cacheFormat,
  describingFields,
  dimensionsOf,
  drawsMaps,
  namedLayers,
  namesIn,
  shownSources,
  showsOnly,
  tableIn,
  wmsCrsIn,
} from './mapproxy-tables.ts';
import { type Table, TrackedTable } from './tracked-table.ts';

export interface MapProxyFiles extends Omit<CachePlaces, 'base' | 'globals' | 'buckets'> {
  /** A file beside the configuration; null: there is no such file. */
  readonly readText: (name: string) => string | null;
}

const DEFAULT_BASE = 'cache_data';
/** Grids of layers that MapProxy draws without a cache, in any SRS. */
const GRIDS_WITHOUT_CACHE = ['GLOBAL_MERCATOR', 'GLOBAL_GEODETIC'];
const TAGGED = /^([^:]+):(.+)$/s;
const UNCLIPPED = 'a layer that is clipped to its coverage adopts no tiles';
type WantedSource = Pick<SourceContext, 'grids' | 'format' | 'requestFormat'>;

/** Reads layers with the caches, sources and grids that they name. */
export class MapProxyReader {
  readonly #tree: Table;
  readonly #options: MapProxyFiles;
  readonly #report: ImportReport;
  readonly #globals: TrackedTable;
  readonly #caches: Table;
  readonly #sources: Table;
  readonly #inner = new Map<string, InnerLayer | string>();
  /** Layers that draw a single source, in an SRS that it supports; by the name of the source. */
  readonly #sourceLayers = new Map<string, string>();
  /** Names of all layers, inner ones too. */
  readonly #names: Set<string>;
  /** Layers for caches from which other layers are drawn, and which are not layers in MapProxy. */
  readonly innerLayers: ImportedDocument[] = [];
  readonly areas = new ImportedAreas();
  readonly grids: MapProxyGrids;
  /** Buckets of the layers' adopted caches, by name. */
  readonly buckets = new Map<string, object>();
  /** Imported layers with the tiles of each cache. */
  readonly cacheLayers = new Map<string, CacheLayer[]>();
  /** EPSG codes of its WMS; null: it has no WMS. */
  readonly #wmsCrs: readonly number[] | null;
  readonly #used = { cache: new Set<string>(), source: new Set<string>() };

  constructor(tree: Table, options: MapProxyFiles, report: ImportReport) {
    this.#tree = tree;
    this.#options = options;
    this.#report = report;
    this.#globals = new TrackedTable(tableIn(tree, 'globals'), report.about('mapproxy.yaml'), 'globals');
    const tileSize = this.#globals.table('grid').pair('tile_size');
    this.#names = new Set(namedLayers(tree.layers).map(({ name }) => String(name)));
    this.#caches = tableIn(tree, 'caches');
    this.#sources = tableIn(tree, 'sources');
    this.grids = new MapProxyGrids(tableIn(tree, 'grids'), tileSize, report);
    const hasWms = tree.services === undefined || 'wms' in tableIn(tree, 'services');
    this.#wmsCrs = hasWms ? wmsCrsIn(tree, report.about('mapproxy.yaml')) : null;
  }

  finish(): void {
    this.#globals.report(REASONS);
    const isUsed = {
      cache: (name: string) => this.#used.cache.has(name),
      source: (name: string) => this.#used.source.has(name),
      grid: (name: string) => this.grids.isUsed(name),
    };
    for (const kind of ['cache', 'source', 'grid'] as const)
      reportUnused(this.#report, kind, Object.keys(tableIn(this.#tree, `${kind}s`)), isUsed[kind]);
  }

  layer(table: Table): ImportedDocument | null {
    const about = this.#report.about(`layer ${String(table.name)}`);
    const layer = new TrackedTable(table, about);
    const imported = this.#shown(layer, about);
    if (typeof imported === 'string') return about.leftOut(WHOLE, imported);
    const document = { name: layer.text('name'), ...describingFields(layer), ...imported };
    layer.take('layers', () => true, 'a list');
    layer.report(REASONS);
    return omitUndefined(document) as unknown as ImportedDocument;
  }

  /** The fields from the layer's caches and sources, or why it cannot be imported. */
  #shown(layer: TrackedTable, about: SubjectReport): object | string {
    const sourceNames = shownSources(layer);
    if (!sourceNames) return this.#ofCaches(layer, layer.texts('tile_sources'), about);
    const names = sourceNames.filter((name) => {
      const draws = Object.hasOwn(this.#caches, name) || drawsMaps(tableIn(this.#sources, name));
      if (!draws) about.leftOut('sources', `${name} draws no maps, and GetFeatureInfo asks one source only`);
      return draws;
    });
    const [name, ...others] = names;
    if (name === undefined) return 'it has no source that draws maps';
    if (others.length === 0 && Object.hasOwn(this.#caches, name)) return this.#ofCaches(layer, [name], about);
    return this.#uncached(layer, names, about);
  }

  /** Several caches have the same maps in different grids. */
  #ofCaches(layer: TrackedTable, names: readonly string[], about: SubjectReport): object | string {
    const dimensions = layer.table('dimensions').keys();
    const caches = names.map((name) => [name, this.#cached(name, about, dimensions)] as const);
    const imported = joinedCaches(caches, (why) => void about.leftOut('tile_sources', why));
    if (typeof imported === 'string') return imported;
    const parameters = dimensionsOf(layer, imported.forwarded);
    const wms = this.#wmsFields(layer, imported.grids);
    if (typeof wms === 'string') return wms;
    for (const [name, cache] of caches) {
      const grids = imported.grids.filter((grid) => typeof cache !== 'string' && cache.grids.includes(grid));
      this.#addCacheLayer(name, { layer: layer.text('name') ?? '', grids });
    }
    return { ...wms, ...imported.fields, ...(parameters.length > 0 && { parameters }) };
  }

  /** A cache as fields of a layer. */
  #cached(name: string, about: SubjectReport, dimensions: readonly string[] = []): CachedFields | string {
    const cache = new TrackedTable(tableIn(this.#caches, name), about, 'cache');
    const image = this.#globals.table('image');
    const format = cacheFormat(cache, image);
    if (!format) return `its format ${cache.text('format')} is not served here`;
    const imported = this.#cacheSource(cache, format, about);
    if (typeof imported === 'string') return imported;
    const coverage = coverageIn(cache.table('cache'), this.#options.readText);
    if (coverage === undefined) return `its cache has a coverage that is not ${READABLE_COVERAGE}`;
    const gridSets = coveredGridSets({ ...imported, coverage: coverage ?? imported.coverage }, about);
    if (gridSets.length === 0) return 'its coverage is in none of its grids';
    this.#used.cache.add(name);
    // MapProxy does not cut tiles at the edge of a box, nor do we at the edge of an extent.
    const within = coverage && (coverage.clip || !coverage.isBox) ? this.areas.declare(coverage, name) : null;
    const isClipped = within !== null || (imported.within !== null && imported.layer.queryable === true);
    const adopted = isClipped ? UNCLIPPED : this.#adopted(name, cache, imported, dimensions);
    const adopt = reportAdopted(about, adopted);
    const shown = imported.within !== null && (adopt || within !== null) ? asPart(imported) : imported;
    const fields = {
      source: shown.source,
      gridSets,
      formats: [imported.source.type === 'xyz' ? format : cacheEncoding(format, cache, image)],
      ...cachingFields(cache, this.#globals),
      adopt,
      within: within ?? shown.within ?? undefined,
      ...shown.layer,
    };
    cache.report(REASONS);
    return { fields, forwarded: imported.forwarded, grids: imported.grids };
  }

  /** Sources and caches that MapProxy queries for every map, the first at the bottom. */
  #uncached(layer: TrackedTable, names: readonly string[], about: SubjectReport): object | string {
    const caches = names.filter((name) => Object.hasOwn(this.#caches, name));
    if (caches.length > 0 && layer.has('dimensions')) return 'its dimensions would reach all of its caches';
    const inner = new Map<string, InnerLayer>();
    for (const name of caches) {
      const cache = this.#innerLayer(name);
      if (typeof cache === 'string') return cache;
      inner.set(name, cache);
    }
    const known = [...inner.values()].flatMap((one) => one.grids);
    const grids = known.length > 0 ? known.map(({ grid }) => grid) : this.#usualGrids();
    const format = 'image/png';
    const sources = names.map((name) => {
      const part = inner.get(name);
      if (part) return partOfLayer(part.name, grids);
      return this.#source(name, { grids, format, requestFormat: undefined }, about);
    });
    const imported = composedOf(this.#withOwnParameters(names, sources));
    if (typeof imported === 'string') return imported;
    const wms = this.#wmsFields(layer, imported.grids);
    if (typeof wms === 'string') return wms;
    const parameters = dimensionsOf(layer, imported.forwarded);
    const listed = parameters.map(({ name }) => name);
    // Any value is allowed, since nothing is cached.
    const open = imported.forwarded
      .filter((name) => !listed.includes(name))
      .map((name) => ({ name, regex: '.*' }));
    const gridSets = coveredGridSets(imported, about);
    if (gridSets.length === 0) return 'its coverage is in none of its grids';
    about.changed(
      'sources',
      'its maps are not cached there: nor are they here, until expireCache is removed',
    );
    const all = [...parameters, ...open];
    return {
      ...wms,
      source: imported.source,
      gridSets,
      parameters: all.length > 0 ? all : undefined,
      within: imported.within ?? undefined,
      formats: [format],
      expireCache: -1,
      ...imported.layer,
    };
  }

  /** Sources that get different request parameters become layers, each with its own parameters. */
  #withOwnParameters(
    names: readonly string[],
    sources: readonly (ImportedSource | string)[],
  ): readonly (ImportedSource | string)[] {
    const lists = sources.map((one) => (typeof one === 'string' ? '' : [...one.forwarded].sort().join()));
    if (new Set(lists).size < 2) return sources;
    return sources.map((source, at) => {
      if (typeof source === 'string' || source.source.type === 'layer') return source;
      const layer = this.#uncachedLayer(names[at] ?? '');
      const grids = source.grids.map(({ grid }) => grid);
      return layer === null ? source : { ...partOfLayer(layer, grids), forwarded: source.forwarded };
    });
  }

  /** A layer that draws a single source, neither advertised nor cached; null: the source cannot be used. */
  #uncachedLayer(source: string): string | null {
    const known = this.#sourceLayers.get(source);
    if (known !== undefined) return known;
    const unreported = new ImportReport().about('');
    const fields = this.#uncached(new TrackedTable({}, unreported), [source], unreported);
    if (typeof fields === 'string') return null;
    const name = this.#freeName(`${source} source`);
    this.innerLayers.push(omitUndefined({ name, advertised: false, ...fields }) as ImportedDocument);
    this.#sourceLayers.set(source, name);
    return name;
  }

  /** MapProxy's WMS serves any box and size, in each of its SRS. A string: why the layer cannot be imported. */
  #wmsFields(layer: TrackedTable, grids: readonly OfferedGrid[]): object | string {
    const scales = shownScalesIn(layer, grids);
    if (typeof scales === 'string' || !this.#wmsCrs) return scales;
    const sets = grids.flatMap(({ grid: { gridSet } }) => gridSet ?? []);
    const isWarped = sets.every((gridSet) => projectionOf(gridSet));
    const codes = this.#wmsCrs.filter((code) => isWarped && !sets.some(({ srs }) => sameSrs(srs, code)));
    const wmsCrs = codes.length > 0 ? codes.map((code) => `EPSG:${code}`) : undefined;
    return { fullWMS: true, wmsCrs, ...scales };
  }

  #usualGrids(): readonly MapProxyGrid[] {
    return GRIDS_WITHOUT_CACHE.flatMap((grid) => this.grids.of(grid) ?? []);
  }

  /** The layer for a cache from which others are drawn; or why there is none. */
  #innerLayer(name: string): InnerLayer | string {
    const known = this.#inner.get(name);
    if (known !== undefined) return known;
    this.#inner.set(name, `its cache ${name} is drawn from itself`);
    const inner = this.#readInnerLayer(name);
    this.#inner.set(name, inner);
    return inner;
  }

  #readInnerLayer(name: string): InnerLayer | string {
    const twin = namedLayers(this.#tree.layers).find((layer) => showsOnly(layer, name));
    const own = twin ? String(twin.name) : this.#freeName(this.#names.has(name) ? `${name} cache` : name);
    const about = (twin ? new ImportReport() : this.#report).about(`layer ${own}`);
    const cached = this.#cached(name, about);
    if (typeof cached === 'string') return `its cache ${name} cannot be used: ${cached}`;
    const inner = { name: own, grids: cached.grids };
    if (twin) return inner;
    about.changed(
      WHOLE,
      'is the cache of that name, from which other layers are drawn; it is not advertised',
    );
    this.#addCacheLayer(name, { layer: own, grids: cached.grids });
    this.innerLayers.push(
      omitUndefined({ name: own, advertised: false, ...cached.fields }) as ImportedDocument,
    );
    return inner;
  }

  #addCacheLayer(cache: string, layer: CacheLayer): void {
    this.cacheLayers.set(cache, [...(this.cacheLayers.get(cache) ?? []), layer]);
  }

  #freeName(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.#names.has(name); count++) name = `${wanted} ${count}`;
    this.#names.add(name);
    return name;
  }

  #cacheSource(cache: TrackedTable, format: string, about: SubjectReport): ImportedSource | string {
    const grids = this.#gridsOf(cache).filter((grid) => grid !== null);
    if (grids.length === 0) return 'none of its grids can be used';
    const names = cache.take('sources', namesIn, 'a list of names');
    if (!names) return 'its cache merges bands of its sources: let a map server merge them';
    if (names.length === 0) {
      cache.change('sources', 'has none: tiles that are not in the cache are empty, as there');
      return emptySource(grids);
    }
    const wanted = { grids, format, requestFormat: cache.text('request_format') };
    return composedOf(
      names
        .filter((name) => drawsMaps(tableIn(this.#sources, name)))
        .map((name) => {
          // Sources of a cache may be caches; if both have the name, it means the source.
          const isCache = !Object.hasOwn(this.#sources, name) && Object.hasOwn(this.#caches, name);
          if (!isCache) return this.#source(name, wanted, about);
          const inner = this.#innerLayer(name);
          return typeof inner === 'string' ? inner : partOfLayer(inner.name, grids);
        }),
    );
  }

  #source(name: string, wanted: WantedSource, about: SubjectReport): ImportedSource | string {
    const sources = this.#sources;
    const [, tagged = name, selected = null] = (!Object.hasOwn(sources, name) && TAGGED.exec(name)) || [];
    if (!Object.hasOwn(sources, tagged)) return `its source ${tagged} is not declared`;
    const source = new TrackedTable(tableIn(sources, tagged), about, 'source');
    const options = {
      selected,
      http: this.#globals.table('http'),
      allGrids: this.grids,
      readText: this.#options.readText,
      areaOf: (coverage: Coverage) => this.areas.declare(coverage, tagged),
      readVariable: (variable: string) =>
        about.changed('source', `$${variable} is read from the environment of the server`),
      leaveOutGrid: (why: string) => void about.leftOut('cache.grids', why),
      changeFormat: (what: string) => about.changed('request_format', what),
    };
    const imported = importMapProxySource(source, { ...options, ...wanted });
    if (typeof imported === 'string') {
      return this.#reprojected(name, wanted, about) ?? `its source ${tagged} ${imported}`;
    }
    this.#used.source.add(tagged);
    source.report(REASONS);
    return imported;
  }

  /** A source that supports none of the SRS is drawn from a layer in one that it supports; null: that fails too. */
  #reprojected(sourceName: string, wanted: WantedSource, about: SubjectReport): ImportedSource | null {
    const grids = this.#usualGrids();
    if (grids.some((one) => wanted.grids.some((grid) => grid.srsThere === one.srsThere))) return null;
    const name = this.#uncachedLayer(sourceName);
    if (name === null) return null;
    about.changed('source', `is drawn in an SRS that it supports by the layer ${name}, and reprojected`);
    return partOfLayer(name, wanted.grids);
  }

  #gridsOf(cache: TrackedTable) {
    const names = cache.has('grids') ? cache.texts('grids') : [DEFAULT_GRID];
    return names.map((name) => this.grids.of(name));
  }

  #adopted(
    name: string,
    cache: TrackedTable,
    { grids, forwarded }: ImportedSource,
    named: readonly string[],
  ): readonly object[] | string {
    const { folder, resolve } = this.#options;
    const globals = this.#globals.table('cache');
    const base = resolve(folder, globals.text('base_dir') ?? DEFAULT_BASE);
    const dimensions = named.filter((dimension) => forwarded.includes(dimension.toUpperCase()));
    const used = { grids: grids.map(({ grid }) => grid), declared: this.#gridsOf(cache), dimensions };
    return adoptedCaches(name, cache, used, { ...this.#options, base, globals, buckets: this.buckets });
  }
}
