import type { Bounds } from '../domain/bounds.ts';
import { childOf, childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { GeoServerCatalog, type PublishedLayer } from './geoserver-catalog.ts';
import { type ImportReport, WHOLE } from './import-report.ts';
import { type Reasons, TrackedTable } from './tracked-table.ts';
import { node, tableOfXml } from './xml-table.ts';

/** The parsed files of a GeoServer data folder. */
export interface GeoServerFolder {
  /** Documents in `gwc-layers/`; null: no such folder. */
  readonly tileLayers: readonly XmlElement[] | null;
  /** `tileLayers` has only some of the tile layers. */
  readonly isPart: boolean;
  /** Documents of layers, resources, groups, styles, namespaces and workspaces. */
  readonly catalog: readonly XmlElement[];
  /** `gwc-gs.xml`; null: there is none. */
  readonly settings: XmlElement | null;
  /** `gwc/geowebcache.xml`; null: there is none. */
  readonly geowebcache: XmlElement | null;
  /** `global.xml`; null: there is none. */
  readonly global: XmlElement | null;
}

export const TILE_LAYER = 'GeoServerTileLayer';
const USUAL_ADDRESS = 'http://localhost:8080/geoserver';
/** Elements of GeoServer's catalog without a meaning outside it. */
const INTERNAL = ['id', 'cacheWarningSkips'];
const STYLES_FILTER = 'styleParameterFilter';

const NEW_LAYERS = 'concerns layers that GeoServer will get';
const SERVICES = 'every service is offered for every layer';
const MEMORY = 'memory holds the tiles that are asked for most';
const REASONS: Reasons = {
  version: 'says which GeoServer wrote the file',
  directWMSIntegrationEnabled: 'send clients to /service/wms, which answers from the cache',
  requireTiledParameter: 'requests are answered from the cache with and without it',
  WMSCEnabled: SERVICES,
  TMSEnabled: SERVICES,
  WMTSEnabled: SERVICES,
  securityEnabled: 'set access of the layers, and reader keys',
  innerCachingEnabled: MEMORY,
  persistenceEnabled: 'set store of the layers',
  cacheProviderClass: MEMORY,
  cacheConfigurations: MEMORY,
  lockProviderName: 'processes agree among themselves',
  cacheLayersByDefault: NEW_LAYERS,
  cacheNonDefaultStyles: NEW_LAYERS,
  metaTilingX: NEW_LAYERS,
  metaTilingY: NEW_LAYERS,
  gutter: NEW_LAYERS,
  defaultCachingGridSetIds: NEW_LAYERS,
  defaultCoverageCacheFormats: NEW_LAYERS,
  defaultVectorCacheFormats: NEW_LAYERS,
  defaultOtherCacheFormats: NEW_LAYERS,
  metaTilingThreads: 'set concurrency of the host under upstreams instead',
};

/** The tile layers as a `geowebcache.xml` of WMS layers that GeoServer draws. */
export function geoServerAsGeoWebCache(folder: GeoServerFolder, report: ImportReport) {
  const catalog = new GeoServerCatalog(folder.catalog);
  const settings = new TrackedTable(
    folder.settings ? tableOfXml(folder.settings) : {},
    report.about('gwc-gs.xml'),
  );
  const wms = `${geoServerAddress(folder.global, report)}/wms`;
  const tileLayers = folder.tileLayers ?? usualTileLayers(catalog, settings);
  const degrees = new Map<string, Bounds>();
  const tileLayerIds = new Map<string, string>();
  const layers = tileLayers.flatMap((layer) => {
    const published = catalog.find(textIn(layer, 'id'));
    const name = published?.name ?? textIn(layer, 'name');
    const about = report.about(`layer ${name}`);
    if (!published && !catalog.isEmpty) return about.leftOut(WHOLE, 'it is not in GeoServer’s catalog') ?? [];
    if (published?.degrees) degrees.set(name, published.degrees);
    tileLayerIds.set(name, textIn(layer, 'id') || name);
    const old = textIn(layer, 'name');
    if (old !== name) about.changed('name', `was ${old} when its file was written`);
    return [wmsLayer(published ? withCatalog(layer, published) : layer, wms)];
  });
  const ids = new Set(tileLayers.map((layer) => textIn(layer, 'id')));
  for (const { id, name } of catalog.published()) {
    if (!ids.has(id) && !folder.isPart)
      report.about(`layer ${name}`).leftOut(WHOLE, 'GeoServer keeps no tiles of it');
  }
  settings.report(REASONS);
  const own = folder.geowebcache?.children ?? [];
  const others = own.filter(({ name }) => name !== 'layers');
  const all = [...own.filter(({ name }) => name === 'layers').flatMap(({ children }) => children), ...layers];
  return {
    document: node('gwcConfiguration', [...others, node('layers', all)]),
    /** Extents by layer, for grid subsets without one. */
    degrees,
    /** Ids by layer, with which the keys of its tiles in buckets begin. */
    ids: tileLayerIds,
  };
}

function wmsLayer(layer: XmlElement, url: string): XmlElement {
  const own = layer.children.filter(({ name }) => !INTERNAL.includes(name));
  const source = [node('wmsUrl', [node('string', url)]), node('wmsLayers', textIn(layer, 'name'))];
  return { ...layer, name: 'wmsLayer', children: [...own, ...source] };
}

/** The catalog has the current name and styles of a layer; the layer's own file may be outdated. */
function withCatalog(layer: XmlElement, published: PublishedLayer): XmlElement {
  const { name, title, description, enabled, advertised } = published;
  const kept = layer.children.filter(
    (child) => !['name', 'enabled', 'advertised', 'metaInformation', 'parameterFilters'].includes(child.name),
  );
  const filters = childrenOf(layer, 'parameterFilters').flatMap(({ children }) => children);
  const styled = filters.map((filter) =>
    filter.name === STYLES_FILTER ? withStyles(filter, published) : filter,
  );
  return {
    ...layer,
    children: [
      node('name', name),
      node('enabled', String(enabled && textIn(layer, 'enabled') !== 'false')),
      node('advertised', String(advertised)),
      node('metaInformation', [node('title', title), node('description', description)]),
      ...kept,
      node('parameterFilters', styled),
    ],
  };
}

/** Without a list the filter takes all styles of the layer. */
function withStyles(filter: XmlElement, { defaultStyle, styles }: PublishedLayer): XmlElement {
  const available = childOf(filter, 'availableStyles');
  const listed = available && childrenOf(available, 'string').map(({ text }) => text.trim());
  const allowed = listed ? styles.filter((style) => listed.includes(style)) : styles;
  const others = filter.children.filter(({ name }) => name === 'key' || name === 'defaultValue');
  return {
    ...filter,
    children: [...others, stringsNode('availableStyles', allowed), node('defaultStyle', defaultStyle)],
  };
}

/** The tile layers that GeoServer creates at its first start: for every layer, unless cacheLayersByDefault is false. */
function usualTileLayers(catalog: GeoServerCatalog, settings: TrackedTable): readonly XmlElement[] {
  if (settings.flag('cacheLayersByDefault') === false) return [];
  const strings = (key: string, usual: readonly string[]) => {
    const texts = settings.table(key).texts('string');
    return texts.length > 0 ? texts : usual;
  };
  const gridSets = strings('defaultCachingGridSetIds', ['EPSG:4326', 'EPSG:900913']);
  const pictures = ['image/png', 'image/jpeg'];
  const formats = {
    vector: strings('defaultVectorCacheFormats', pictures),
    coverage: strings('defaultCoverageCacheFormats', pictures),
    group: strings('defaultOtherCacheFormats', pictures),
    other: strings('defaultOtherCacheFormats', pictures),
  };
  const meta = [settings.number('metaTilingX') ?? 4, settings.number('metaTilingY') ?? 4];
  const gutter = settings.number('gutter') ?? 0;
  const allStyles = settings.flag('cacheNonDefaultStyles') !== false;
  return catalog.published().map(({ id, name, kind, defaultStyle }) =>
    node(TILE_LAYER, [
      node('id', id),
      node('name', name),
      stringsNode('mimeFormats', formats[kind]),
      node(
        'gridSubsets',
        gridSets.map((gridSet) => node('gridSubset', [node('gridSetName', gridSet)])),
      ),
      node(
        'metaWidthHeight',
        meta.map((count) => node('int', String(count))),
      ),
      node('gutter', String(gutter)),
      node('expireClients', '0'),
      node(
        'parameterFilters',
        defaultStyle === ''
          ? []
          : [
              node(STYLES_FILTER, [
                node('key', 'STYLES'),
                node('defaultValue', ''),
                ...(allStyles ? [] : [node('availableStyles', [])]),
              ]),
            ],
      ),
    ]),
  );
}

function stringsNode(name: string, texts: readonly string[]): XmlElement {
  return node(
    name,
    texts.map((text) => node('string', text)),
  );
}

/** GeoServer's address is in its data folder only if a proxy is in front of it. */
function geoServerAddress(global: XmlElement | null, report: ImportReport): string {
  const settings = global && (childOf(global, 'settings') ?? global);
  const proxied = settings && textIn(settings, 'proxyBaseUrl').replace(/\/$/, '');
  const about = report.about('global.xml');
  if (proxied && URL.canParse(proxied)) {
    about.changed(
      'proxyBaseUrl',
      `GeoServer is asked at ${proxied}; better write its own address into url of the sources`,
    );
    return proxied;
  }
  about.changed(
    'proxyBaseUrl',
    `says no address: ${USUAL_ADDRESS} is assumed; write yours into url of the sources`,
  );
  return USUAL_ADDRESS;
}
