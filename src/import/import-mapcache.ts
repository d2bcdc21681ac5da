import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { invalid } from '../domain/errors.ts';
import { INFO_FORMATS } from '../domain/layer.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import { credentialsOf, headersIn, parsedAddress, timeoutIn } from './http-source.ts';
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
import { type CachedGrid, type MapCachePlaces, mapCacheAdoptions } from './mapcache-caches.ts';
import { mapCacheDimensions } from './mapcache-dimensions.ts';
import { mapCacheFormat } from './mapcache-formats.ts';
import { type RuledFields, ruledFields } from './mapcache-rulesets.ts';
import { ImportedAreas } from './mapproxy-coverage.ts';
import { EMPTY_SOURCE } from './mapproxy-parts.ts';
import { type MatchedGrid, matchGrid } from './matching-grid.ts';
import { numbersOf, only, type Reasons, TEXT, TrackedTable } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

type MapCacheImport = Pick<MapCachePlaces, 'isThere'>;

interface MapCacheGrid extends CachedGrid, Pick<MatchedGrid, 'zoomStop'> {
  readonly srs: number;
  /** Null: it depends on the version of MapCache. */
  readonly lastZoom: number | null;
}

type FindNamed = (kind: string, name: string | undefined) => TrackedTable | undefined;

/** A grid of a tileset. */
interface LinkedGrid {
  readonly grid: MapCacheGrid;
  readonly subset: { readonly zoomStart?: number; readonly zoomStop?: number };
  readonly ruleset: string | undefined;
}

const WEB_MERCATOR = 3857;

/** Grids that come with MapCache, and ours that have the same tiles. */
const BUILT_IN: Readonly<Record<string, string>> = {
  WGS84: 'EPSG:4326',
  GoogleMapsCompatible: 'EPSG:900913',
  g: 'EPSG:900913',
};
const ORIGINS: Readonly<Record<string, 'sw' | 'nw'>> = { 'bottom-left': 'sw', 'top-left': 'nw' };
const KINDS = ['source', 'grid', 'cache', 'format', 'ruleset', 'tileset'] as const;
const OWN_PARAMETERS = ['FORMAT', 'LAYERS', 'STYLES', 'TRANSPARENT', 'VERSION', 'SERVICE', 'REQUEST'];
const REASONS: Reasons = {
  service: 'every service is offered for every layer',
  quality: 'the quality of JPEG is fixed',
  compression: 'the compression of PNG is fixed',
  connection_timeout: 'there is one timeout, for the whole answer',
  symlink_blank: 'tiles of one colour are always stored once',
  units: 'the CRS defines them',
};

const CACHE_ONLY = { source: EMPTY_SOURCE, onMiss: 'not-found' };
const WITHOUT_SOURCE =
  'is not a WMS: tiles of the cache are shown, and others are 404; publish its data by a WMS, and write that into source';

/** `mapcache.xml`. Throws `request-invalid` for another document. */
export function importMapCache(root: XmlElement, options: MapCacheImport): Imported {
  if (root.name !== 'mapcache') throw invalid(`The root must be mapcache, not ${root.name}.`);
  const report = new ImportReport();
  const reader = new MapCacheReader(root, options, report);
  const layers = reader.layers();
  return {
    areas: reader.areas.documents,
    gridSets: reader.gridSets,
    layers: withoutTwins(layers, report),
    report,
  };
}

class MapCacheReader {
  readonly gridSets: ImportedDocument[] = [];
  readonly areas = new ImportedAreas();
  readonly #report: ImportReport;
  readonly #isThere: (path: string) => boolean;
  readonly #elements: ReadonlyMap<string, ReadonlyMap<string, XmlElement>>;
  readonly #grids = new Map<string, MapCacheGrid>();
  readonly #defaultFormat: string;
  /** True: WMS serves any box, from tiles or the source; undefined: it serves tiles only. */
  readonly #fullWms: true | undefined;
  readonly #used = new Set<string>();

  constructor(root: XmlElement, { isThere }: MapCacheImport, report: ImportReport) {
    this.#report = report;
    this.#isThere = isThere;
    this.#elements = new Map(
      KINDS.map((kind) => [
        kind,
        new Map(childrenOf(root, kind).map((one) => [one.attributes.get('name') ?? '', one])),
      ]),
    );
    this.#defaultFormat = textIn(root, 'default_format') || 'PNG';
    const wms = childrenOf(root, 'service').find((service) => service.attributes.get('type') === 'wms');
    this.#fullWms = wms && ['assemble', 'forward'].includes(textIn(wms, 'full_wms')) ? true : undefined;
    const about = report.about('mapcache');
    const read: readonly string[] = [...KINDS, 'default_format'];
    for (const name of new Set(root.children.map((child) => child.name))) {
      if (read.includes(name)) about.taken(name);
      else about.leftOut(name, REASONS[name] ?? 'has no counterpart');
    }
    for (const [name, nameHere] of Object.entries(BUILT_IN)) {
      const srs = nameHere === 'EPSG:4326' ? 4326 : WEB_MERCATOR;
      const place = { origin: 'sw', zoomStop: null, lastZoom: null } as const;
      this.#grids.set(name, { name: nameHere, nameThere: name, srs, ...place });
    }
    for (const [name, element] of this.#elements.get('grid') ?? []) {
      const grid = this.#readGrid(name, element);
      if (grid) this.#grids.set(name, grid);
      else this.#grids.delete(name);
    }
  }

  layers(): readonly ImportedDocument[] {
    const layers = [...(this.#elements.get('tileset') ?? [])].flatMap(
      ([name, element]) => this.#layer(name, element) ?? [],
    );
    for (const kind of ['source', 'cache', 'format', 'ruleset'] as const) {
      const names = this.#elements.get(kind)?.keys() ?? [];
      reportUnused(this.#report, kind, names, (name) => this.#used.has(`${kind} ${name}`));
    }
    return layers;
  }

  #readGrid(name: string, element: XmlElement): MapCacheGrid | null {
    const about = this.#report.about(`grid ${name}`);
    const grid = new TrackedTable(tableOfXml(element), about);
    const srs = srsOfCrs(grid.text('srs') ?? '');
    const extent = only(grid.numbers('extent'), 4);
    const resolutions = grid.numbers('resolutions');
    const from = grid.text('origin') ?? 'bottom-left';
    const origin = ORIGINS[from];
    const refuse = (what: string) => about.leftOut(WHOLE, what);
    if (srs === null || !extent || !resolutions)
      return refuse('it needs an srs with an EPSG code, an extent and resolutions');
    if (!origin) return refuse(`its origin is ${from}; bottom-left and top-left are supported`);
    const size = grid.pair('size');
    const document = {
      name: grid.text('@name') ?? name,
      srs,
      extent,
      resolutions,
      ...(size && { tileSize: size }),
      ...(origin === 'nw' && { alignTopLeft: true }),
    };
    const known = builtInGridSets();
    const twin = known.find((one) => one.name === BUILT_IN[name]);
    const matched = matchGrid(document, twin, known);
    if (matched.document) this.gridSets.push(matched.document);
    grid.report(REASONS);
    const { name: nameHere, zoomStop } = matched;
    const place = { origin, zoomStop, srs, lastZoom: resolutions.length - 1 };
    return { name: nameHere, nameThere: name, ...place };
  }

  /** Finds elements that a tileset names, and collects them for its report. */
  #finder(about: SubjectReport, used: TrackedTable[]): FindNamed {
    return (kind, name) => {
      const element = this.#elements.get(kind)?.get(name ?? '');
      if (!element) return undefined;
      this.#used.add(`${kind} ${name}`);
      const table = new TrackedTable(tableOfXml(element), about, kind);
      table.text('@name'); // Known, so that it is not reported as left out.
      used.push(table);
      return table;
    };
  }

  #layer(name: string, element: XmlElement): ImportedDocument | null {
    const about = this.#report.about(`layer ${name}`);
    const refuse = (what: string) => about.leftOut(WHOLE, what);
    const tileset = new TrackedTable(tableOfXml(element), about);
    const used = [tileset];
    const find = this.#finder(about, used);
    const source = find('source', tileset.text('source'));
    const formatThere = tileset.text('format') ?? this.#defaultFormat;
    const format = mapCacheFormat(formatThere, (one) => find('format', one));
    if (!format) return refuse(`its format ${formatThere} is not served here`);
    const links = tileset.tables('grid').flatMap((link) => this.#link(link, about) ?? []);
    if (links.length === 0) return refuse('it has no grid that is known');
    const parameters = mapCacheDimensions(tileset);
    if (typeof parameters === 'string') return refuse(parameters);
    const onMiss = tileset.flag('read-only') === true ? 'not-found' : undefined;
    const wms = (source && wmsSource(source, format)) ?? null;
    const ruled = this.#ruled(links, onMiss === undefined ? wms : null, find, about);
    if (typeof ruled === 'string') return refuse(ruled);
    const grids = links.map(({ grid }) => grid);
    const adoptable = mapCacheAdoptions(name, tileset.text('cache'), grids, {
      isThere: this.#isThere,
      cache: (one) => find('cache', one),
      dimensions: tileset.table('dimensions'),
      tilesets: () => this.#elements.get('tileset')?.values() ?? [],
    });
    const adopted = ruled ? 'a ruleset hides parts of its tiles' : adoptable;
    const drawn = wms ?? (typeof adopted === 'string' ? null : CACHE_ONLY);
    if (!drawn)
      return refuse(`its source is not a WMS with an address and layers, and of its cache, ${adopted}`);
    if (drawn === CACHE_ONLY) about.changed('source', WITHOUT_SOURCE);
    const metadata = tileset.table('metadata');
    const document = {
      name: tileset.text('@name'),
      title: metadata.text('title') || undefined,
      description: metadata.text('abstract') || undefined,
      ...drawn,
      ...ruled?.fields,
      formats: [format],
      gridSets: links.map(({ subset }) => (ruled ? { ...subset, zoomStop: ruled.zoomStop } : subset)),
      metatile: tileset.pair('metatile'),
      gutter: tileset.number('metabuffer'),
      expireCache: tileset.number('auto_expire'),
      expireClients: tileset.number('expires'),
      fullWMS: this.#fullWms,
      onMiss: onMiss ?? ('onMiss' in drawn ? drawn.onMiss : undefined),
      parameters: parameters.length > 0 ? parameters : undefined,
      adopt: reportAdopted(about, adopted),
    };
    for (const one of used) one.report(REASONS);
    return omitUndefined(document) as unknown as ImportedDocument;
  }

  #link(link: TrackedTable, about: SubjectReport): LinkedGrid | null {
    const name = link.text(TEXT) ?? '';
    const grid = this.#grids.get(name);
    if (!grid) return about.leftOut('grid', `there is no grid ${name} that can be used`);
    const subset = omitUndefined({
      name: grid.name,
      extent: link.take('@restricted_extent', (value) => only(numbersOf(value), 4), 'four numbers'),
      zoomStart: link.number('@minzoom'),
      zoomStop: link.number('@maxzoom') ?? grid.zoomStop ?? undefined,
    });
    return { grid, subset, ruleset: link.text('@ruleset') };
  }

  /** The WMS layer with its ruleset applied, or why that is impossible. Null: it has no ruleset. */
  #ruled(
    links: readonly LinkedGrid[],
    wms: { readonly source: object } | null,
    find: FindNamed,
    about: SubjectReport,
  ): RuledFields | string | null {
    const [link, ...others] = links;
    const name = links.find(({ ruleset }) => ruleset !== undefined)?.ruleset;
    if (!link || name === undefined) return null;
    const ruleset = find('ruleset', name);
    if (!ruleset) return `its ruleset ${name} is not declared`;
    if (others.length > 0)
      return `its ruleset ${name} applies to one of several grids: declare a tileset for each grid to keep it`;
    if (!wms) return `its ruleset ${name} hides parts of the tiles of its cache, which are shown whole here`;
    const { subset, grid } = link;
    const zooms = { firstZoom: subset.zoomStart ?? 0, lastZoom: subset.zoomStop ?? grid.lastZoom };
    const ruled = ruledFields(wms.source, ruleset, { srs: grid.srs, ...zooms }, this.areas);
    if (typeof ruled !== 'string')
      about.changed('ruleset', 'tiles across the edge of an extent are cut, where MapCache shows them whole');
    return ruled;
  }
}

/** The source of a layer, and its support of GetFeatureInfo; null: the source cannot be used. */
function wmsSource(source: TrackedTable, format: string): { readonly source: object } | null {
  const http = source.table('http');
  const address = parsedAddress(http.text('url') ?? '');
  const parameters = source.table('getmap').table('params');
  const value = (name: string) => {
    const key = parameters.keys().find((one) => one.toUpperCase() === name);
    return key === undefined ? undefined : parameters.text(key);
  };
  const layers = value('LAYERS');
  if (source.text('@type') !== 'wms' || !address || !layers) return null;
  const others = parameters.keys().filter((key) => !OWN_PARAMETERS.includes(key.toUpperCase()));
  for (const ignored of ['SERVICE', 'REQUEST']) value(ignored); // Marks them as read.
  return {
    source: omitUndefined({
      type: 'wms',
      url: address.url,
      layers,
      styles: value('STYLES') || undefined,
      version: value('VERSION') === '1.3.0' ? '1.3.0' : undefined,
      transparent: value('TRANSPARENT')?.toLowerCase() === 'true' ? true : undefined,
      requestFormat: value('FORMAT') === format ? undefined : value('FORMAT'),
      vendorParameters:
        others.length > 0
          ? Object.fromEntries(others.map((key) => [key, parameters.text(key) ?? '']))
          : undefined,
      timeoutSeconds: timeoutIn(http, 'timeout'),
      headers: headersIn(http.table('headers')),
      ...credentialsOf(address),
    }),
    ...featureInfo(source),
  };
}

function featureInfo(source: TrackedTable): object {
  if (!source.has('getfeatureinfo')) return {};
  const info = source.table('getfeatureinfo');
  const formats = info.take('info_formats', knownFormats, `a list of ${INFO_FORMATS.join(', ')}`);
  return { queryable: true, ...(formats && { infoFormats: formats }) };
}

function knownFormats(value: unknown): readonly string[] | undefined {
  const known = String(value)
    .split(/[\s,]+/)
    .filter((format) => (INFO_FORMATS as readonly string[]).includes(format));
  return known.length > 0 ? known : undefined;
}
