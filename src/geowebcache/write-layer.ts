import { isRecord } from '../lib/value-path.ts';
import { type DocumentNode, doubleList, leaf, listOf, nodeOf, textList } from './document-node.ts';
import { writeExpiry } from './expiry.ts';
import { writeLegends } from './legends.ts';
import { writeParameterFilters } from './parameter-filters.ts';
import { ALWAYS_BY_FORM } from './read-layer.ts';
import { writeUpdateSources } from './update-sources.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A layer's document in the configuration file's form, as the `wmsLayer` that GeoWebCache would show. */
export function writeGwcLayer(document: unknown): DocumentNode {
  const layer = isRecord(document) ? document : {};
  const source = isRecord(layer.source) ? layer.source : {};
  return nodeOf('wmsLayer', [...commonNodes(layer), ...sourceNodes(source), writeLegends(layer.legends)]);
}

function commonNodes(layer: Fields): readonly (DocumentNode | null)[] {
  const follows = layer.followSource === true;
  return [
    layer.store === 'default' ? null : field('blobStoreId', layer.store),
    field('enabled', layer.enabled ?? true),
    field('advertised', layer.advertised ?? true),
    field('transientLayer', layer.transient),
    field('name', layer.name),
    metaInformation(layer),
    textList('mimeFormats', 'string', formatTypes(layer.formats)),
    textList('infoMimeFormats', 'string', layer.queryable ? texts(layer.infoFormats) : undefined),
    listOf('gridSubsets', Array.isArray(layer.gridSets) ? layer.gridSets.map(gridSubset) : undefined),
    writeUpdateSources(layer.updateSources),
    requestFilters(layer.requestFilters),
    textList('metaWidthHeight', 'int', numbers(layer.metatile)),
    writeExpiry('expireCache', layer.expireCache, follows),
    writeExpiry('expireClients', layer.expireClients, false),
    field('backendTimeout', isRecord(layer.source) ? layer.source.timeoutSeconds : undefined),
    field('cacheBypassAllowed', layer.cacheBypass),
    field('queryable', layer.queryable),
    writeParameterFilters(layer.parameters),
    field('gutter', layer.gutter),
  ];
}

/** GeoWebCache's document has no elements for sources of other types. */
function sourceNodes(source: Fields): readonly (DocumentNode | null)[] {
  if (source.type !== 'wms') return [];
  const byForm = source.maxUrlLength === ALWAYS_BY_FORM;
  return [
    textList('wmsUrl', 'string', texts([source.url].flat())),
    field('wmsLayers', source.layers),
    field('wmsStyles', source.styles),
    field('wmsQueryLayers', source.queryLayers),
    field('wmsVersion', source.version),
    field('httpUsername', source.username),
    field('httpPassword', source.password),
    field('transparent', source.transparent),
    field('bgColor', source.bgColor),
    field('vendorParameters', queryOf(source.vendorParameters)),
    field('concurrency', source.concurrency),
    byForm ? leaf('httpRequestMode', 'FormPost') : null,
  ];
}

function metaInformation({ title, description }: Fields): DocumentNode | null {
  const parts = [field('title', title), field('description', description)].filter((part) => part !== null);
  return parts.length === 0 ? null : nodeOf('metaInformation', parts);
}

function gridSubset(entry: unknown): DocumentNode {
  const subset = isRecord(entry) ? entry : { name: entry };
  const coords = doubleList('coords', 'double', numbers(subset.extent));
  return nodeOf('gridSubset', [
    field('gridSetName', subset.name),
    coords && nodeOf('extent', [coords]),
    field('zoomStart', subset.zoomStart),
    field('zoomStop', subset.zoomStop),
    field('minCachedLevel', subset.minCachedLevel),
    field('maxCachedLevel', subset.maxCachedLevel),
  ]);
}

function requestFilters(filters: unknown): DocumentNode | null {
  if (!Array.isArray(filters) || filters.length === 0) return null;
  return nodeOf(
    'requestFilters',
    filters.map((filter) =>
      nodeOf('circularExtentFilter', [field('name', isRecord(filter) ? filter.name : null)]),
    ),
  );
}

function queryOf(parameters: unknown): string | undefined {
  if (!isRecord(parameters)) return undefined;
  const pairs = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}

/** Null if the value is absent. Values have no other types: declarations are validated. */
function field(name: string, value: unknown): DocumentNode | null {
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
  return isPlain ? leaf(name, value as string | number | boolean) : null;
}

function formatTypes(formats: unknown): readonly string[] | undefined {
  return texts(
    Array.isArray(formats) ? formats.map((format) => (isRecord(format) ? format.type : format)) : formats,
  );
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined;
}

function numbers(value: unknown): readonly number[] | undefined {
  return Array.isArray(value) ? value.map(Number) : undefined;
}
