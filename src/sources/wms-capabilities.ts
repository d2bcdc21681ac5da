import type { Bounds } from '../domain/bounds.ts';
import { readLongXml } from '../lib/xml/read-xml.ts';
import { childOf, childrenOf, hrefOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { collectYielding } from '../lib/yielding.ts';
import { boundsOfTexts, CAPABILITIES_LIMITS } from './wmts-capabilities.ts';

/** A layer with the properties it inherits. */
export interface WmsLayer {
  readonly name: string;
  readonly title: string;
  readonly abstract: string;
  readonly attribution: string;
  /** In the spelling of the document. */
  readonly crs: readonly string[];
  /** CRS with a bounding box of the layer. */
  readonly boxedCrs: readonly string[];
  /** Null: unknown. */
  readonly degrees: Bounds | null;
  readonly styles: readonly ReturnType<typeof styleOf>[];
  readonly dimensions: readonly WmsDimension[];
  readonly queryable: boolean;
  readonly opaque: boolean;
  readonly minScale: number | null;
  readonly maxScale: number | null;
}

type Inherited = Omit<WmsLayer, 'name' | 'title' | 'abstract'>;

const NOTHING: Inherited = {
  attribution: '',
  crs: [],
  boxedCrs: [],
  degrees: null,
  styles: [],
  dimensions: [],
  queryable: false,
  opaque: false,
  minScale: null,
  maxScale: null,
};

export type WmsCapabilities = ReturnType<typeof wmsCapabilitiesOf>;

/** OGC 06-042 and OGC 01-068r3. Throws an `Error` that names the missing part. */
export function wmsCapabilitiesOf(root: XmlElement) {
  const capability = childOf(root, 'Capability');
  const request = capability && childOf(capability, 'Request');
  const getMap = request && childOf(request, 'GetMap');
  if (!capability || !getMap) throw new Error('the capabilities have no GetMap');
  const getFeatureInfo = childOf(request, 'GetFeatureInfo');
  return {
    version: root.attributes.get('version')?.startsWith('1.3') ? '1.3.0' : '1.1.1',
    mapAddress: getAddressOf(getMap),
    formats: textsIn(getMap, 'Format'),
    infoFormats: getFeatureInfo ? textsIn(getFeatureInfo, 'Format') : [],
    /** Named layers in the document's order, read lazily. */
    layers: namedLayersOf(capability),
  };
}

/** The values of a dimension in the first of these layers that has it. Throws an `Error` that names the missing part. */
export async function readWmsDimension(
  bytes: Buffer,
  names: readonly string[],
  dimension: string,
): Promise<readonly string[]> {
  const root = await readLongXml(bytes, { ...CAPABILITIES_LIMITS, doctype: 'ignored' });
  const layers = new Map(
    (await collectYielding(wmsCapabilitiesOf(root).layers)).map((layer) => [layer.name, layer]),
  );
  const found = names.flatMap((name) => layers.get(name) ?? []);
  const same = (name: string) => name.toLowerCase() === dimension.toLowerCase();
  const { values = '' } = found.flatMap(({ dimensions }) => dimensions).find(({ name }) => same(name)) ?? {};
  if (values !== '') return [values];
  const what = found.length === 0 ? 'no layer' : `no dimension ${dimension} of layer`;
  throw new Error(`The capabilities have ${what} ${names.join(',')}.`);
}

function getAddressOf(operation: XmlElement): string | null {
  const http = childrenOf(operation, 'DCPType').flatMap((type) => childrenOf(type, 'HTTP'));
  const resource = http
    .flatMap((one) => childrenOf(one, 'Get'))
    .flatMap((get) => childrenOf(get, 'OnlineResource'));
  return resource.map(hrefOf).find((href) => href !== null) ?? null;
}

function* namedLayersOf(capability: XmlElement): Generator<WmsLayer> {
  for (const layer of childrenOf(capability, 'Layer')) yield* namedLayers(layer, NOTHING);
}

function* namedLayers(element: XmlElement, above: Inherited): Generator<WmsLayer> {
  const own = inheritedBy(element, above);
  const name = textIn(element, 'Name');
  if (name !== '')
    yield { ...own, name, title: textIn(element, 'Title'), abstract: textIn(element, 'Abstract') };
  for (const inner of childrenOf(element, 'Layer')) yield* namedLayers(inner, own);
}

/** OGC 06-042, 7.2.4.8: lists are added to those of the outer layer, single values replace its value. */
function inheritedBy(element: XmlElement, above: Inherited): Inherited {
  const attribution = childOf(element, 'Attribution');
  return {
    attribution: attribution ? textIn(attribution, 'Title') : above.attribution,
    crs: crsWith(above.crs, crsNames(element)),
    boxedCrs: crsWith(above.boxedCrs, childrenOf(element, 'BoundingBox').flatMap(crsOfBox)),
    degrees: degreesOf(element) ?? above.degrees,
    styles: byName([...above.styles, ...childrenOf(element, 'Style').map(styleOf)]),
    dimensions: byName([...above.dimensions, ...dimensionsOf(element)]),
    queryable: flagIn(element, 'queryable') ?? above.queryable,
    opaque: flagIn(element, 'opaque') ?? above.opaque,
    minScale: numberIn(element, 'MinScaleDenominator') ?? above.minScale,
    maxScale: numberIn(element, 'MaxScaleDenominator') ?? above.maxScale,
  };
}

/** The last entry with a name counts. */
function byName<Named extends { readonly name: string }>(all: readonly Named[]): readonly Named[] {
  return [...new Map(all.map((one) => [one.name, one])).values()].filter(({ name }) => name !== '');
}

const setsOfCrs = new WeakMap<readonly string[], ReadonlySet<string>>();

/** The same list if nothing is added: some servers have thousands, for thousands of layers. */
function crsWith(above: readonly string[], own: readonly string[]): readonly string[] {
  if (own.length === 0) return above;
  const known = setsOfCrs.get(above) ?? new Set(above);
  setsOfCrs.set(above, known);
  return own.every((crs) => known.has(crs)) ? above : [...new Set([...above, ...own])];
}

/** WMS 1.1.1 has several in one element, separated by spaces. */
function crsNames(element: XmlElement): readonly string[] {
  return [...textsIn(element, 'CRS'), ...textsIn(element, 'SRS').flatMap((text) => text.split(/\s+/))];
}

/** WMS 1.1.1 calls the attribute SRS. */
function crsOfBox({ attributes }: XmlElement): readonly string[] {
  const crs = attributes.get('CRS') ?? attributes.get('SRS');
  return crs === undefined ? [] : [crs];
}

function degreesOf(element: XmlElement): Bounds | null {
  const newer = childOf(element, 'EX_GeographicBoundingBox');
  const names = ['westBoundLongitude', 'southBoundLatitude', 'eastBoundLongitude', 'northBoundLatitude'];
  if (newer) return boundsOfTexts(names.map((name) => textIn(newer, name)));
  const older = childOf(element, 'LatLonBoundingBox');
  const edges = ['minx', 'miny', 'maxx', 'maxy'];
  return older && boundsOfTexts(edges.map((name) => older.attributes.get(name) ?? ''));
}

function styleOf(element: XmlElement) {
  const legend = childOf(element, 'LegendURL');
  const resource = legend && childOf(legend, 'OnlineResource');
  const url = resource && hrefOf(resource);
  const size = (name: string) => Number(legend?.attributes.get(name) ?? 0) || 0;
  return {
    name: textIn(element, 'Name'),
    legend:
      legend && url
        ? { url, format: textIn(legend, 'Format'), width: size('width'), height: size('height') }
        : null,
  };
}

export type WmsDimension = ReturnType<typeof dimensionsOf>[number];

/** WMS 1.1.1 has the values of a Dimension in an Extent beside it. */
function dimensionsOf(element: XmlElement) {
  const extents = childrenOf(element, 'Extent');
  return childrenOf(element, 'Dimension').map((dimension) => {
    const name = dimension.attributes.get('name') ?? '';
    const extent = extents.find(({ attributes }) => attributes.get('name') === name) ?? dimension;
    return { name, default: extent.attributes.get('default') ?? '', values: extent.text.trim() };
  });
}

function flagIn({ attributes }: XmlElement, name: string): boolean | null {
  const text = attributes.get(name);
  return text === undefined ? null : text === '1' || text === 'true';
}

function numberIn(element: XmlElement, name: string): number | null {
  const text = textIn(element, name);
  return text === '' || !Number.isFinite(Number(text)) ? null : Number(text);
}

function textsIn(element: XmlElement, name: string): readonly string[] {
  return childrenOf(element, name).map(({ text }) => text.trim());
}
