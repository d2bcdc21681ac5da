import type { Bounds } from '../domain/bounds.ts';
import { invalid, isTilewardenError } from '../domain/errors.ts';
import { type SubsetDocument, subsetWithin } from '../domain/fitting-subset.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { readGwcGridSet } from '../geowebcache/grid-set-document.ts';
import { type ReadDocument, readGwcLayer } from '../geowebcache/read-layer.ts';
import {
  booleanField,
  childrenNamed,
  integerField,
  textField,
  type WireElement,
} from '../geowebcache/wire-element.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { childrenOf, type XmlElement } from '../lib/xml/xml-element.ts';
import { importFormatModifiers } from './format-modifiers.ts';
import { type ArcgisFiles, readArcgisLayer } from './geowebcache-arcgis.ts';
import { type FindArchive, readMbtilesLayer } from './geowebcache-mbtiles.ts';
import { type AdoptableStore, geoWebCacheStores } from './geowebcache-stores.ts';
import {
  type Imported,
  type ImportedDocument,
  ImportReport,
  type SubjectReport,
  WHOLE,
  withoutTwins,
} from './import-report.ts';
import { type GridSetDocument, type MatchedGrid, matchGrid } from './matching-grid.ts';
import { recorded } from './recorded-element.ts';
import { geoWebCacheMetadata, geoWebCacheService } from './service-metadata.ts';
import { TrackedTable } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

/** `folder`: the absolute path of the configuration; its cache may be there too. `gridSets`: existing ones. */
export interface GeoWebCacheImport extends ArcgisFiles {
  /** Whether the old program has tiles of this layer below that folder. */
  readonly hasTiles: (folder: string, layer: string) => boolean;
  readonly findArchive: FindArchive;
  /** Extents in degrees, by layer, for grid subsets without one. */
  readonly degrees?: ReadonlyMap<string, Bounds>;
  /** The beginning of keys in buckets, by layer, unless it is the layer's name. */
  readonly ids?: ReadonlyMap<string, string>;
}

/** Defaults of the document for its layers. */
interface Defaults {
  readonly source: object;
  readonly cacheBypass: boolean | undefined;
  readonly fullWMS: boolean | undefined;
}

interface Feed {
  readonly gridSet?: string;
}

interface LayerDocument extends ImportedDocument {
  readonly store?: string;
  readonly source: { readonly styles?: string };
  readonly formats: readonly string[];
  readonly gridSets: readonly SubsetDocument[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly legends?: readonly { readonly style?: string }[];
  readonly updateSources?: readonly Feed[];
}

const DOCUMENT = 'gwcConfiguration';
const READ_HERE = [
  ...['version', 'backendTimeout', 'cacheBypassAllowed', 'fullWMS', 'gridSets', 'layers', 'blobStores'],
  ...['httpUsername', 'httpPassword', 'serviceInformation'],
];
/** Elements that are imported here, but have no effect over REST. */
const READ_BESIDE = ['formatModifiers', 'keywords', 'metaInformation.keywords', 'metadataURLs'];
const SET_ELSEWHERE: Readonly<Record<string, string>> = {
  lockProvider: 'processes agree among themselves',
  runtimeStats: 'statistics are always kept; see /metrics',
  wmtsCiteCompliant: 'WMTS always answers as the standard says',
  proxyUrl: 'set HTTP_PROXY or HTTPS_PROXY in the environment of the server',
  formatModifiers: 'set requestFormat of the sources instead',
};

/** `geowebcache.xml`. Throws `request-invalid` for another document. */
export function importGeoWebCache(
  root: XmlElement,
  options: GeoWebCacheImport,
  report = new ImportReport(),
): Imported {
  if (root.name !== DOCUMENT) throw invalid(`The root must be ${DOCUMENT}, not ${root.name}.`);
  const about = report.about(DOCUMENT);
  for (const { name } of root.children) {
    if (READ_HERE.includes(name)) about.taken(name);
    else about.leftOut(name, SET_ELSEWHERE[name] ?? 'is not known here');
  }
  const gridSets = importGridSets(root, options.gridSets, report);
  const { stores, buckets } = geoWebCacheStores(root, options, report);
  const login = { username: textField(root, 'httpUsername'), password: textField(root, 'httpPassword') };
  const defaults = {
    source: omitUndefined({
      timeoutSeconds: integerField(root, 'backendTimeout') || undefined,
      ...withEnvironment(login, about),
    }),
    cacheBypass: booleanField(root, 'cacheBypassAllowed'),
    fullWMS: booleanField(root, 'fullWMS'),
  };
  const layers = childrenOf(root, 'layers')
    .flatMap(({ children }) => children)
    .flatMap((element) => importLayer(element, { gridSets, stores, defaults, options, report }) ?? []);
  const service = geoWebCacheService(root);
  const documents = { gridSets: gridSets.documents, layers: withoutTwins(layers, report) };
  return { adoptBuckets: buckets, ...documents, service, report };
}

/** A grid set with the name and the tiles of an existing one is not declared again. */
function importGridSets(root: WireElement, known: readonly GridSet[], report: ImportReport) {
  const documents: ImportedDocument[] = [];
  const byName = new Map<string, Omit<MatchedGrid, 'document'>>();
  for (const gridSet of known) {
    const { name, aliases } = gridSet;
    for (const there of [name, ...aliases]) byName.set(there, { name, gridSet, zoomStop: null });
  }
  for (const element of childrenNamed(root, 'gridSets').flatMap(({ children }) => children)) {
    const about = report.about(nameIn(element, 'grid set'));
    const read = readReported(element, about, readGwcGridSet);
    if (!read) continue;
    const document = read.document as GridSetDocument;
    reportWarnings(about, element, read);
    const twin = known.find(({ name, aliases }) => [name, ...aliases].includes(document.name));
    const { document: own, ...matched } = matchGrid(document, twin, known);
    const { name } = matched;
    byName.set(document.name, matched);
    if (own) documents.push(own);
    if (!own) about.changed('gridSet', `${name} comes with the program and has the same tiles; it is used`);
    else if (name !== document.name)
      about.changed('name', `another one of that name comes with the program; this one is called ${name}`);
  }
  return { documents, byName };
}

interface LayerContext {
  readonly gridSets: ReturnType<typeof importGridSets>;
  readonly stores: ReadonlyMap<string, AdoptableStore | null>;
  readonly defaults: Defaults;
  readonly options: GeoWebCacheImport;
  readonly report: ImportReport;
}

const TILE_LAYERS = ['mbtilesLayer', 'arcgisLayer'];

function importLayer(element: XmlElement, context: LayerContext): ImportedDocument | null {
  const { defaults } = context;
  const about = context.report.about(nameIn(element, 'layer'));
  if (TILE_LAYERS.includes(element.name)) return importTileLayer(element, context, about);
  const read = readReported(element, about, readGwcLayer);
  if (!read) return null;
  const { store, source, gridSets, updateSources, ...document } = read.document as LayerDocument;
  const degrees = context.options.degrees?.get(document.name) ?? null;
  const subsets = knownSubsets(gridSets, degrees, context, about);
  if (subsets.length === 0) return about.leftOut(WHOLE, 'none of its grid sets is known');
  reportWarnings(about, element, read);
  const modified = importFormatModifiers(element, document.formats, about);
  const feeds = knownFeeds(updateSources, subsets, about);
  const adopt = adoptionOf(document.name, store ?? '', subsets, context, about);
  return {
    ...document,
    ...geoWebCacheMetadata(element),
    source: { ...defaults.source, ...modified, ...withEnvironment(source, about) },
    gridSets: subsets.filter(({ twice }) => !twice).map(({ subset }) => subset),
    ...fixedStyle(source.styles, document, about),
    ...(defaults.cacheBypass !== undefined &&
      document.cacheBypass === undefined && { cacheBypass: defaults.cacheBypass }),
    ...(defaults.fullWMS && { fullWMS: true }),
    ...(feeds.length > 0 && { updateSources: feeds }),
    ...(adopt && { adopt }),
  };
}

/** A layer whose tiles come from files instead of a WMS. */
function importTileLayer(
  element: XmlElement,
  { options, gridSets }: LayerContext,
  about: SubjectReport,
): ImportedDocument | null {
  const layer = new TrackedTable(tableOfXml(element), about);
  return unlessRefused(about, () => {
    const { document, gridSet } =
      element.name === 'mbtilesLayer'
        ? { document: readMbtilesLayer(layer, options.findArchive), gridSet: null }
        : readArcgisLayer(layer, options);
    if (gridSet) gridSets.documents.push(gridSet);
    layer.report();
    return document;
  });
}

type KnownSubset = ReturnType<typeof knownSubsets>[number];

/** GeoWebCache, too, ignores subsets of unknown grid sets, and serves the layer in the others. */
function knownSubsets(
  subsets: readonly SubsetDocument[],
  degrees: Bounds | null,
  { gridSets }: LayerContext,
  about: SubjectReport,
) {
  const seen = new Set<string>();
  return subsets.flatMap(({ name: there, ...rest }) => {
    const known = gridSets.byName.get(there);
    if (!known) {
      about.leftOut('gridSubsets.gridSubset', `there is no grid set ${there}`);
      return [];
    }
    const { name } = known;
    const twice = seen.has(name);
    seen.add(name);
    if (twice) about.changed('gridSubsets.gridSubset', `${there} is ${name}, which the layer has already`);
    const last = Math.min(
      rest.zoomStop ?? Number.POSITIVE_INFINITY,
      known.zoomStop ?? Number.POSITIVE_INFINITY,
    );
    const around = rest.extent || !known.gridSet ? null : subsetWithin(known.gridSet, degrees);
    const subset: SubsetDocument = {
      ...around,
      ...rest,
      name,
      ...(Number.isFinite(last) && { zoomStop: last }),
    };
    // `there`: its name in GeoWebCache; `twice`: the layer has it under another name already.
    return [{ subset, there, twice }];
  });
}

function knownFeeds(
  feeds: readonly Feed[] = [],
  subsets: readonly KnownSubset[],
  about: SubjectReport,
): readonly Feed[] {
  return feeds.flatMap((feed) => {
    if (feed.gridSet === undefined || feed.gridSet === 'EPSG:4326') return [feed];
    const known = subsets.find(({ there }) => there === feed.gridSet);
    if (known) return [{ ...feed, gridSet: known.subset.name }];
    return about.leftOut('updateSources.geoRssFeed', `the layer has no known grid set ${feed.gridSet}`) ?? [];
  });
}

/** Makes a fixed style with a legend the value of a parameter: legends are for styles that clients can request. */
function fixedStyle(
  style: string | undefined,
  { parameters = [], legends = [] }: Pick<LayerDocument, 'parameters' | 'legends'>,
  about: SubjectReport,
): object {
  const isOffered = parameters.some(({ name }) => name.toUpperCase() === 'STYLES');
  if (style === undefined || isOffered || !legends.some((legend) => legend.style === style)) return {};
  about.changed('wmsStyles', `${style} is the one value of the parameter STYLES, so that it has its legend`);
  return { parameters: [...parameters, { name: 'STYLES', default: style, values: [style] }] };
}

const VARIABLE = /^\$\{([^{}]+)\}$/;

/** GeoWebCache replaces `${NAME}` by a variable of the environment; `{ env: NAME }` does so here. */
function withEnvironment(source: object, about: SubjectReport): object {
  const fields: Readonly<Record<string, string>> = { username: 'httpUsername', password: 'httpPassword' };
  const entries = Object.entries(source).map(([key, value]) => {
    const element = fields[key];
    if (element === undefined || typeof value !== 'string' || !value.includes('${')) return [key, value];
    const name = VARIABLE.exec(value)?.[1];
    if (name === undefined)
      about.changed(element, 'only a text that is all a variable becomes { env: NAME }');
    else about.changed(element, `is read from the environment variable ${name}`);
    return [key, name === undefined ? value : { env: name }];
  });
  return Object.fromEntries(entries);
}

function adoptionOf(
  layer: string,
  storeId: string,
  subsets: readonly KnownSubset[],
  { stores, options }: LayerContext,
  about: SubjectReport,
): object | null {
  const store = stores.get(storeId);
  if (store === undefined) about.leftOut('blobStoreId', `there is no blob store ${storeId}`);
  if (!store || (store.folder !== null && !options.hasTiles(store.folder, layer))) return null;
  const { bucket, folder } = store.adopt;
  const place = bucket === undefined ? folder : `${folder} in adoptBuckets.${bucket}`;
  about.changed('cache', `its tiles are adopted from ${place}`);
  const id = bucket === undefined ? undefined : options.ids?.get(layer);
  const adoption = (part: readonly KnownSubset[]) => {
    const others = part.filter(({ subset, there }) => subset.name !== there);
    return {
      ...store.adopt,
      ...(id !== undefined && { name: id }),
      ...(others.length > 0 && {
        gridSets: Object.fromEntries(others.map(({ subset, there }) => [subset.name, there])),
      }),
    };
  };
  const more = subsets.filter(({ twice }) => twice).map((subset) => adoption([subset]));
  const first = adoption(subsets.filter(({ twice }) => !twice));
  return more.length === 0 ? first : [first, ...more];
}

function nameIn(element: WireElement, kind: string): string {
  const [name] = childrenNamed(element, 'name');
  return `${kind} ${name?.text.trim() ?? `at line ${element.place.line}`}`;
}

/** Null: the element is invalid. Elements that are not read are reported. */
function readReported(
  original: WireElement,
  about: SubjectReport,
  read: (element: WireElement) => ReadDocument,
): ReadDocument | null {
  const { element, unread } = recorded(original);
  return unlessRefused(about, () => {
    const document = read(element);
    const reported = document.warnings.filter(({ ignored }) => ignored).map(({ path }) => path.join('.'));
    const isReported = (path: string) =>
      reported.some((name) => path === name || path.startsWith(`${name}.`));
    for (const path of unread()) if (!isReported(path)) about.leftOut(path, 'is not known here');
    return document;
  });
}

function unlessRefused<Read>(about: SubjectReport, read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return about.leftOut(WHOLE, error.message);
  }
}

function reportWarnings(about: SubjectReport, element: WireElement, { warnings }: ReadDocument): void {
  const named = new Set(warnings.flatMap(({ path }) => (path.length === 1 ? path : [])));
  about.taken(...new Set(element.children.map(({ name }) => name).filter((name) => !named.has(name))));
  for (const { path, what, ignored } of warnings) {
    const name = path.join('.');
    if (READ_BESIDE.includes(name)) continue;
    if (ignored) about.leftOut(name, what);
    else about.changed(name, what);
  }
}
