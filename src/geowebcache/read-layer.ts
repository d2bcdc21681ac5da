import { formatOf } from '../domain/format.ts';
import { INFO_FORMATS } from '../domain/layer.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { readCacheExpiry, readClientExpiry } from './expiry.ts';
import { LEGEND_SHAPE, readLegends } from './legends.ts';
import { FILTER_SHAPES, readParameterFilters } from './parameter-filters.ts';
import { type ReadWarning, ReadWarnings, type Shape, valuesNamed } from './read-warnings.ts';
import { readUpdateSources } from './update-sources.ts';
import {
  bodyProblem,
  booleanField,
  childrenNamed,
  choiceField,
  coordsField,
  elementText,
  entriesOf,
  integerField,
  numberOf,
  onlyChild,
  present,
  textField,
  type WireElement,
} from './wire-element.ts';

/** A document in the configuration file's form, and warnings about elements that it cannot express. */
export interface ReadDocument {
  /** Not validated: the schema of the configuration file does that. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly warnings: readonly ReadWarning[];
}

const RASTER_FILTERS = ['wmsRasterFilter', 'fileRasterFilter'];

const SHAPE: Shape = {
  ...valuesNamed(
    'name blobStoreId enabled advertised transientLayer mimeFormats infoMimeFormats metaWidthHeight',
  ),
  ...valuesNamed(
    'gutter expireCache expireCacheList expireClients expireClientsList backendTimeout queryable',
  ),
  ...valuesNamed('cacheBypassAllowed wmsQueryLayers wmsUrl wmsLayers wmsStyles wmsVersion httpUsername'),
  ...valuesNamed(
    'httpPassword transparent bgColor vendorParameters concurrency httpRequestMode updateSources',
  ),
  metaInformation: valuesNamed('title description'),
  gridSubsets: {
    gridSubset: valuesNamed('gridSetName extent zoomStart zoomStop minCachedLevel maxCachedLevel'),
  },
  parameterFilters: FILTER_SHAPES,
  requestFilters: {
    circularExtentFilter: valuesNamed('name'),
    ...valuesNamed(RASTER_FILTERS.join(' ')),
  },
  legends: LEGEND_SHAPE,
};

/** Why elements have no effect, or what to use instead; empty: no explanation. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  formatModifiers: 'set requestFormat of the source instead',
  useETags: 'every tile has an ETag',
  errorMime: 'the source is always asked for exceptions in XML',
  hintsLevel: '',
  proxyUrl: 'set HTTP_PROXY or HTTPS_PROXY in the environment of the server',
  tiled: 'write TILED=true into vendorParameters',
  palette: 'write PALETTE=… into vendorParameters',
  cachePrefix: 'the store says where tiles are kept',
  metadataURLs: '',
  keywords: '',
  inMemoryCached: 'memory holds the tiles that are asked for most',
  autoCacheStyles: 'list the styles in parameterFilters',
  locale: 'letters change their case as in Unicode',
};

/** Fields of a declaration that GeoWebCache's document sets; others are left unchanged. */
export const LAYER_FIELDS: readonly string[] = [
  'name enabled advertised transient title description source formats gridSets metatile gutter parameters store',
  'expireCache followSource expireClients cacheBypass queryable infoFormats legends requestFilters updateSources',
].flatMap((names) => names.split(' '));

/** Fields of its source that GeoWebCache's document sets. */
export const SOURCE_FIELDS: readonly string[] = [
  'type url layers styles queryLayers version transparent bgColor vendorParameters username password',
  'timeoutSeconds concurrency maxUrlLength',
].flatMap((names) => names.split(' '));

const DEFAULT_FORMATS = ['image/png', 'image/jpeg'];
const DEFAULT_GRID_SETS = [{ name: 'EPSG:4326' }, { name: 'EPSG:900913' }];
const DEFAULT_METATILE = [3, 3];
/** The lowest possible `maxUrlLength`, at which every request is sent by POST, as a form. */
export const ALWAYS_BY_FORM = 200;

/**
 * A `wmsLayer`. Absent elements have GeoWebCache's defaults. A `GeoServerLayer` names no source, so it is accepted only
 * if the layer has one. Throws `request-invalid`.
 */
export function readGwcLayer(root: WireElement, hasSource = false): ReadDocument {
  const sourceless = hasSource && root.name === 'GeoServerLayer';
  if (root.name !== 'wmsLayer' && !sourceless) {
    throw bodyProblem(`Only a wmsLayer with its wmsUrl can be declared, not "${root.name}"`, root.place);
  }
  const warnings = new ReadWarnings();
  warnings.ignoredOutside(root, SHAPE, WITHOUT_EFFECT);
  const meta = onlyChild(root, 'metaInformation');
  const name = present(root, 'name', textField(root, 'name'));
  const document = omitUndefined({
    name,
    enabled: booleanField(root, 'enabled'),
    advertised: booleanField(root, 'advertised'),
    transient: booleanField(root, 'transientLayer'),
    title: meta ? filledText(meta, 'title') : undefined,
    description: meta ? filledText(meta, 'description') : undefined,
    source: sourceless ? undefined : readSource(root, name, warnings),
    formats: readFormats(root, warnings),
    gridSets: readGridSubsets(root),
    metatile: readMetatile(root),
    gutter: integerField(root, 'gutter'),
    parameters: readParameterFilters(root, warnings),
    store: filledText(root, 'blobStoreId'),
    ...readCacheExpiry(root),
    expireClients: readClientExpiry(root),
    cacheBypass: booleanField(root, 'cacheBypassAllowed'),
    queryable: booleanField(root, 'queryable'),
    infoFormats: readInfoFormats(root, warnings),
    legends: readLegends(root, name),
    requestFilters: readRequestFilters(root, warnings),
    updateSources: readUpdateSources(root, warnings),
  });
  return { document, warnings: warnings.all };
}

/** An empty element counts as absent. */
function filledText(parent: WireElement, name: string): string | undefined {
  const child = onlyChild(parent, name);
  return child && !child.nothing ? elementText(child) || undefined : undefined;
}

function readSource(root: WireElement, name: string, warnings: ReadWarnings) {
  const urls = entriesOf(root, 'wmsUrl', ['string']) ?? [];
  if (urls.length === 0) throw bodyProblem('wmsUrl is missing', root.place);
  const vendor = filledText(root, 'vendorParameters');
  const mode = choiceField(root, 'httpRequestMode', ['Get', 'FormPost']);
  return omitUndefined({
    type: 'wms',
    url: urls.map(elementText),
    layers: filledText(root, 'wmsLayers') ?? name,
    styles: filledText(root, 'wmsStyles'),
    queryLayers: filledText(root, 'wmsQueryLayers'),
    version: readVersion(root, warnings),
    transparent: booleanField(root, 'transparent') ?? true,
    bgColor: filledText(root, 'bgColor'),
    vendorParameters: vendor && Object.fromEntries(new URLSearchParams(vendor)),
    username: filledText(root, 'httpUsername'),
    password: filledText(root, 'httpPassword'),
    timeoutSeconds: warnings.positive(['backendTimeout'], integerField(root, 'backendTimeout')),
    concurrency: warnings.positive(['concurrency'], integerField(root, 'concurrency')),
    maxUrlLength: mode === 'FormPost' ? ALWAYS_BY_FORM : undefined,
  });
}

/** Any other version becomes 1.1.1: the source supports only these two. */
function readVersion(root: WireElement, warnings: ReadWarnings): string | undefined {
  const version = filledText(root, 'wmsVersion');
  if (version === undefined || version === '1.1.1' || version === '1.3.0') return version;
  warnings.changed(['wmsVersion'], `is ${version}; the source is asked by version 1.1.1`);
  return '1.1.1';
}

function readFormats(root: WireElement, warnings: ReadWarnings): readonly string[] {
  const entries = entriesOf(root, 'mimeFormats', ['string']) ?? [];
  if (entries.length === 0) return DEFAULT_FORMATS;
  const known = entries.flatMap((element) => {
    const format = formatOf(elementText(element));
    if (!format)
      warnings.ignored(['mimeFormats', 'string'], `${elementText(element)} is a format that is not served`);
    return format ? [format.mediaType] : [];
  });
  if (known.length > 0) return [...new Set(known)];
  throw bodyProblem('mimeFormats has no format that can be served', entries[0]?.place ?? root.place);
}

function readInfoFormats(root: WireElement, warnings: ReadWarnings): readonly string[] | undefined {
  const entries = entriesOf(root, 'infoMimeFormats', ['string']) ?? [];
  const known = entries.flatMap((element) => {
    const text = elementText(element);
    if ((INFO_FORMATS as readonly string[]).includes(text)) return [text];
    warnings.ignored(['infoMimeFormats', 'string'], `${text} is a format that is not served`);
    return [];
  });
  return known.length === 0 ? undefined : known;
}

function readGridSubsets(root: WireElement): readonly object[] {
  const entries = entriesOf(root, 'gridSubsets', ['gridSubset']) ?? [];
  if (entries.length === 0) return DEFAULT_GRID_SETS;
  return entries.map((subset) => {
    const name = textField(subset, 'gridSetName');
    if (name === undefined) throw bodyProblem('A gridSubset must have a gridSetName', subset.place);
    return omitUndefined({
      name,
      extent: coordsField(subset, 'extent'),
      zoomStart: integerField(subset, 'zoomStart'),
      zoomStop: integerField(subset, 'zoomStop'),
      minCachedLevel: integerField(subset, 'minCachedLevel'),
      maxCachedLevel: integerField(subset, 'maxCachedLevel'),
    });
  });
}

function readMetatile(root: WireElement): readonly number[] {
  const entries = entriesOf(root, 'metaWidthHeight', ['int']) ?? [];
  if (entries.length === 0) return DEFAULT_METATILE;
  if (entries.length === 2) return entries.map(numberOf);
  throw bodyProblem('metaWidthHeight must have two numbers: columns, rows', entries[0]?.place ?? root.place);
}

function readRequestFilters(root: WireElement, warnings: ReadWarnings): readonly object[] | undefined {
  const filters = childrenNamed(root, 'requestFilters').flatMap(({ children }) => children);
  for (const filter of filters.filter(({ name }) => RASTER_FILTERS.includes(name))) {
    warnings.ignored(['requestFilters', filter.name], 'tiles are not masked by a raster');
  }
  const circular = filters.filter(({ name }) => name === 'circularExtentFilter');
  if (circular.length === 0) return undefined;
  return circular.map((filter) => ({ type: 'circular', name: filledText(filter, 'name') ?? 'circular' }));
}
