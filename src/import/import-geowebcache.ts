import { invalid, isTilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { readGwcGridSet } from '../geowebcache/grid-set-document.ts';
import { wireElementOf } from '../geowebcache/read-document.ts';
import { type ReadDocument, readGwcLayer } from '../geowebcache/read-layer.ts';
import {
  booleanField,
  childrenNamed,
  integerField,
  onlyChild,
  textField,
  textOf,
  type WireElement,
} from '../geowebcache/wire-element.ts';
import type { XmlElement } from '../lib/xml/xml-element.ts';
import {
  type Imported,
  type ImportedDocument,
  ImportReport,
  type SubjectReport,
  withoutTwins,
} from './import-report.ts';

export interface GeoWebCacheImport {
  /** Where the configuration lies, absolute; its cache may lie there too. */
  readonly folder: string;
  /** Those that are there already. */
  readonly gridSets: readonly GridSet[];
  /** Whether the old program has tiles of this layer below that folder. */
  readonly hasTiles: (folder: string, layer: string) => boolean;
}

interface FileStore {
  readonly folder: string;
  readonly paths: 'default' | 'tms' | 'slippy';
}

/** What the document says for all layers that do not say it themselves. */
interface Defaults {
  readonly timeoutSeconds: number | undefined;
  readonly cacheBypass: boolean | undefined;
  readonly fullWMS: boolean | undefined;
}

const DOCUMENT = 'gwcConfiguration';
const READ_HERE = [
  'version',
  'backendTimeout',
  'cacheBypassAllowed',
  'fullWMS',
  'gridSets',
  'layers',
  'blobStores',
];
const SAID_ELSEWHERE: Readonly<Record<string, string>> = {
  serviceInformation: 'titles and contacts of the service are not configurable',
  lockProvider: 'processes agree among themselves',
  runtimeStats: 'statistics are always kept; see /metrics',
  wmtsCiteCompliant: 'WMTS always answers as the standard says',
  proxyUrl: 'sources are asked directly',
  formatModifiers: 'set requestFormat of the sources instead',
};

/** `geowebcache.xml`. Throws `request-invalid` for another document. */
export function importGeoWebCache(xml: XmlElement, options: GeoWebCacheImport): Imported {
  const root = wireElementOf(xml);
  if (root.name !== DOCUMENT) throw invalid(`The root must be ${DOCUMENT}, not ${root.name}.`);
  const report = new ImportReport();
  const about = report.about(DOCUMENT);
  for (const { name } of root.children) {
    if (READ_HERE.includes(name)) about.taken(name);
    else about.leftOut(name, SAID_ELSEWHERE[name] ?? 'is not known here');
  }
  const gridSets = importGridSets(root, options.gridSets, report);
  const stores = fileStores(root, options.folder, report);
  const defaults = {
    timeoutSeconds: integerField(root, 'backendTimeout'),
    cacheBypass: booleanField(root, 'cacheBypassAllowed'),
    fullWMS: booleanField(root, 'fullWMS'),
  };
  const layers = childrenNamed(root, 'layers')
    .flatMap(({ children }) => children)
    .flatMap((element) => importLayer(element, { gridSets, stores, defaults, options, report }) ?? []);
  return { gridSets: gridSets.documents, layers: withoutTwins(layers, report), report };
}

/** One that comes with the program under the same name is not declared again, unless it is another. */
function importGridSets(root: WireElement, known: readonly GridSet[], report: ImportReport) {
  const documents: ImportedDocument[] = [];
  /** Those that had to get another name, by the one they had. */
  const renamed = new Map<string, string>();
  for (const element of childrenNamed(root, 'gridSets').flatMap(({ children }) => children)) {
    const about = report.about(nameIn(element, 'grid set'));
    const read = attempted(about, () => readGwcGridSet(element));
    if (!read) continue;
    const document = read.document as ImportedDocument;
    tell(about, element, read);
    const twin = known.find(({ name, aliases }) => name === document.name || aliases.includes(document.name));
    if (!twin) {
      documents.push(document);
      continue;
    }
    if (isAlike(twin, document)) {
      about.changed('gridSet', 'comes with the program; that one is used');
      continue;
    }
    const name = `${document.name} imported`;
    renamed.set(document.name, name);
    documents.push({ ...document, name });
    about.changed('name', `another one of that name comes with the program; this one is called ${name}`);
  }
  return { documents, renamed };
}

/** As far as tiles go: CRS, extent and resolutions. */
function isAlike(gridSet: GridSet, document: ImportedDocument): boolean {
  const { minX, minY, maxX, maxY } = gridSet.extent;
  const extent = (document.extent ?? []) as readonly number[];
  const sameExtent = [minX, minY, maxX, maxY].every(
    (edge, at) => Math.abs(edge - (extent[at] ?? 0)) < (maxX - minX) * 1e-6,
  );
  const resolutions = document.resolutions as readonly number[] | undefined;
  const scales = document.scaleDenominators as readonly number[] | undefined;
  const near = (a: number, b: number | undefined) => b !== undefined && Math.abs(a / b - 1) < 1e-6;
  const ladder = gridSet.levels.every(({ resolution, scaleDenominator }, z) =>
    resolutions
      ? z >= resolutions.length || near(resolution, resolutions[z])
      : z >= (scales?.length ?? 0) || near(scaleDenominator, scales?.[z]),
  );
  return sameExtent && ladder && (resolutions !== undefined || scales !== undefined);
}

/** By id; null stands for a store whose tiles cannot be read here. */
function fileStores(
  root: WireElement,
  folder: string,
  report: ImportReport,
): ReadonlyMap<string, FileStore | null> {
  const stores = new Map<string, FileStore | null>();
  stores.set('', { folder, paths: 'default' });
  for (const element of childrenNamed(root, 'blobStores').flatMap(({ children }) => children)) {
    const id = textField(element, 'id') ?? '';
    const about = report.about(`blob store ${id}`);
    const isDefault = element.attributes?.get('default') === 'true';
    const store = element.name === 'FileBlobStore' ? fileStore(element, folder) : null;
    stores.set(id, store);
    if (isDefault) stores.set('', store);
    const otherwise = 'its tiles are not read here; layers keep theirs in the store default';
    if (!store) about.leftOut(element.name, otherwise);
    else {
      const what = `layers adopt what is in ${store.folder}, and keep their tiles in the store default`;
      about.changed(element.name, what);
    }
  }
  return stores;
}

function fileStore(element: WireElement, folder: string): FileStore {
  const kind = onlyChild(element, 'pathGeneratorType');
  const paths = kind ? textOf(kind).toLowerCase() : 'default';
  return {
    folder: textField(element, 'baseDirectory') ?? folder,
    paths: paths === 'tms' || paths === 'slippy' ? paths : 'default',
  };
}

interface LayerContext {
  readonly gridSets: ReturnType<typeof importGridSets>;
  readonly stores: ReadonlyMap<string, FileStore | null>;
  readonly defaults: Defaults;
  readonly options: GeoWebCacheImport;
  readonly report: ImportReport;
}

function importLayer(element: WireElement, context: LayerContext): ImportedDocument | null {
  const { gridSets, defaults } = context;
  const about = context.report.about(nameIn(element, 'layer'));
  const read = attempted(about, () => readGwcLayer(element));
  if (!read) return null;
  tell(about, element, read);
  const { store, source, ...document } = read.document as ImportedDocument & {
    readonly store?: string;
    readonly source: object;
    readonly gridSets: readonly { readonly name: string }[];
  };
  const adopt = adoptionOf(document.name, store ?? '', context, about);
  return {
    ...document,
    source: { ...(defaults.timeoutSeconds && { timeoutSeconds: defaults.timeoutSeconds }), ...source },
    gridSets: document.gridSets.map((subset) => ({
      ...subset,
      name: gridSets.renamed.get(subset.name) ?? subset.name,
    })),
    ...(defaults.cacheBypass !== undefined &&
      document.cacheBypass === undefined && { cacheBypass: defaults.cacheBypass }),
    ...(defaults.fullWMS && { fullWMS: true }),
    ...(adopt && { adopt }),
  };
}

function adoptionOf(
  layer: string,
  storeId: string,
  { stores, gridSets, options }: LayerContext,
  about: SubjectReport,
): object | null {
  const store = stores.get(storeId);
  if (store === undefined) about.leftOut('blobStoreId', `there is no blob store ${storeId}`);
  if (!store || !options.hasTiles(store.folder, layer)) return null;
  about.changed('cache', `its tiles are adopted from ${store.folder}`);
  const names = Object.fromEntries([...gridSets.renamed].map(([there, here]) => [here, there]));
  return {
    layout: 'geowebcache',
    folder: store.folder,
    ...(store.paths !== 'default' && { paths: store.paths }),
    ...(gridSets.renamed.size > 0 && { gridSets: names }),
  };
}

function nameIn(element: WireElement, kind: string): string {
  const [name] = childrenNamed(element, 'name');
  return `${kind} ${name?.text.trim() ?? `at line ${element.place.line}`}`;
}

function attempted(about: SubjectReport, read: () => ReadDocument): ReadDocument | null {
  try {
    return read();
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return about.leftOut('all of it', error.message);
  }
}

/** What is kept aside has no effect here: there is nothing to keep it with. */
function tell(about: SubjectReport, element: WireElement, { kept, warnings }: ReadDocument): void {
  const aside = new Set(
    kept.map(({ path, element: one }) =>
      [...path, one.name].map((step) => step.replace(/#.*$/s, '')).join('.'),
    ),
  );
  const named = new Set(warnings.map((warning) => warning.element));
  about.taken(...new Set(element.children.map(({ name }) => name).filter((name) => !named.has(name))));
  for (const { element: path, what } of warnings) {
    if (aside.has(path)) about.leftOut(path, what.replace('is kept without effect', 'has no effect'));
    else about.changed(path, what);
  }
}
