import { invalid } from '../domain/errors.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import { childOf, childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import {
  type Imported,
  type ImportedDocument,
  ImportReport,
  type SubjectReport,
  withoutTwins,
} from './import-report.ts';

export interface MapCacheImport {
  readonly isThere: (path: string) => boolean;
}

/** Grids that come with MapCache, and ours that have the same tiles. */
const BUILT_IN: Readonly<Record<string, string>> = {
  WGS84: 'EPSG:4326',
  GoogleMapsCompatible: 'EPSG:900913',
  g: 'EPSG:900913',
};
const READ_IN_TILESET = [
  'source',
  'cache',
  'grid',
  'format',
  'metatile',
  'metabuffer',
  'expires',
  'auto_expire',
  'metadata',
];
const OWN_PARAMETERS = ['FORMAT', 'LAYERS', 'STYLES', 'TRANSPARENT', 'VERSION', 'SERVICE', 'REQUEST'];

/** `mapcache.xml`. Throws `request-invalid` for another document. */
export function importMapCache(root: XmlElement, { isThere }: MapCacheImport): Imported {
  if (root.name !== 'mapcache') throw invalid(`The root must be mapcache, not ${root.name}.`);
  const report = new ImportReport();
  const about = report.about('mapcache');
  for (const { name } of root.children) {
    const service = name === 'service';
    if (['source', 'grid', 'cache', 'tileset', 'format'].includes(name)) about.taken(name);
    else about.leftOut(name, service ? 'every service is offered for every layer' : 'has no counterpart');
  }
  const named = (kind: string) =>
    new Map(childrenOf(root, kind).map((element) => [element.attributes.get('name') ?? '', element]));
  const context = {
    sources: named('source'),
    caches: named('cache'),
    formats: named('format'),
    isThere,
    report,
  };
  const gridSets = [...named('grid')].flatMap(
    ([name, element]) => gridSetOf(name, element, report.about(`grid ${name}`)) ?? [],
  );
  const known = new Set([...Object.keys(BUILT_IN), ...gridSets.map(({ name }) => name)]);
  const layers = [...named('tileset')].flatMap(
    ([name, element]) => layerOf(name, element, known, context) ?? [],
  );
  return { gridSets, layers: withoutTwins(layers, report), report };
}

function gridSetOf(name: string, element: XmlElement, about: SubjectReport): ImportedDocument | null {
  if (BUILT_IN[name]) return null;
  const srs = srsOfCrs(textIn(element, 'srs'));
  const extent = numbersIn(element, 'extent');
  const resolutions = numbersIn(element, 'resolutions');
  if (srs === null || extent.length !== 4 || resolutions.length === 0) {
    return about.leftOut('all of it', 'it needs an srs with an EPSG code, an extent and resolutions');
  }
  const origin = textIn(element, 'origin');
  about.taken('srs', 'extent', 'resolutions');
  const size = numbersIn(element, 'size');
  return {
    name,
    srs,
    extent,
    resolutions,
    ...(size.length === 2 && { tileSize: size }),
    ...(/top|ul/i.test(origin) && { alignTopLeft: true }),
  };
}

interface TilesetContext {
  readonly sources: ReadonlyMap<string, XmlElement>;
  readonly caches: ReadonlyMap<string, XmlElement>;
  readonly formats: ReadonlyMap<string, XmlElement>;
  readonly isThere: (path: string) => boolean;
  readonly report: ImportReport;
}

function layerOf(
  name: string,
  element: XmlElement,
  grids: ReadonlySet<string>,
  context: TilesetContext,
): ImportedDocument | null {
  const about = context.report.about(`layer ${name}`);
  const source = wmsSource(context.sources.get(textIn(element, 'source')));
  if (!source) return about.leftOut('all of it', 'its source is not a WMS');
  const links = childrenOf(element, 'grid').filter(({ text }) => grids.has(text.trim()));
  if (links.length === 0) return about.leftOut('all of it', 'it has no grid that is known');
  const format = formatOfName(textIn(element, 'format'), context.formats);
  const seen = new Set(element.children.map((child) => child.name));
  for (const child of seen) {
    if (READ_IN_TILESET.includes(child)) about.taken(child);
    else about.leftOut(child, 'has no counterpart');
  }
  const metadata = childOf(element, 'metadata');
  const metatile = numbersIn(element, 'metatile');
  const [expires = 0] = [...numbersIn(element, 'auto_expire'), ...numbersIn(element, 'expires')];
  const [clients] = numbersIn(element, 'expires');
  return withoutAbsent({
    name,
    title: (metadata && textIn(metadata, 'title')) || undefined,
    description: (metadata && textIn(metadata, 'abstract')) || undefined,
    source,
    formats: [format],
    gridSets: links.map(subsetOf),
    metatile: metatile.length === 2 ? metatile : undefined,
    gutter: numbersIn(element, 'metabuffer')[0],
    expireCache: seen.has('auto_expire') ? expires : undefined,
    expireClients: clients,
    adopt: adoptionOf(name, element, links, context, about) ?? undefined,
  }) as ImportedDocument;
}

function subsetOf({ text, attributes }: XmlElement): object {
  const name = text.trim();
  const number = (key: string) => (attributes.has(key) ? Number(attributes.get(key)) : undefined);
  const extent = (attributes.get('restricted_extent') ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  const last = number('maxzoom');
  return withoutAbsent({
    name: BUILT_IN[name] ?? name,
    extent: extent.length === 4 ? extent : undefined,
    zoomStart: number('minzoom'),
    zoomStop: last,
  });
}

function wmsSource(element: XmlElement | undefined): object | null {
  const http = element && childOf(element, 'http');
  const getMap = element && childOf(element, 'getmap');
  const parameters = getMap ? (childOf(getMap, 'params')?.children ?? []) : [];
  const value = (name: string) => parameters.find((one) => one.name.toUpperCase() === name)?.text.trim();
  const url = http && textIn(http, 'url');
  const layers = value('LAYERS');
  if (element?.attributes.get('type') !== 'wms' || !url || !layers) return null;
  const others = parameters.filter((one) => !OWN_PARAMETERS.includes(one.name.toUpperCase()));
  return withoutAbsent({
    type: 'wms',
    url: url.replace(/[?&]+$/, ''),
    layers,
    styles: value('STYLES') || undefined,
    version: value('VERSION') === '1.3.0' ? '1.3.0' : undefined,
    transparent: value('TRANSPARENT')?.toLowerCase() === 'true' ? true : undefined,
    vendorParameters:
      others.length > 0 ? Object.fromEntries(others.map((one) => [one.name, one.text.trim()])) : undefined,
  });
}

function formatOfName(name: string, formats: ReadonlyMap<string, XmlElement>): string {
  const kind = formats.get(name)?.attributes.get('type') ?? name;
  return /^jpe?g/i.test(kind) ? 'image/jpeg' : 'image/png';
}

/** Its usual layout on disk; others are not read. */
function adoptionOf(
  name: string,
  element: XmlElement,
  links: readonly XmlElement[],
  { caches, isThere }: TilesetContext,
  about: SubjectReport,
): object | null {
  const cache = caches.get(textIn(element, 'cache'));
  const base = cache && textIn(cache, 'base');
  const layout = cache?.attributes.get('layout') ?? 'tilecache';
  const usable =
    base && cache?.attributes.get('type') === 'disk' && layout === 'tilecache' && base.startsWith('/');
  if (!usable || !isThere(`${base.replace(/\/$/, '')}/${name}`)) {
    return about.leftOut('cache', 'it has no tiles on disk in the layout tilecache that could be adopted');
  }
  about.changed('cache', `its tiles are adopted from ${base}`);
  const names = Object.fromEntries(
    links.map(({ text }) => [BUILT_IN[text.trim()] ?? text.trim(), text.trim()]),
  );
  return { layout: 'mapcache', folder: base, gridSets: names };
}

function numbersIn(element: XmlElement, name: string): readonly number[] {
  const text = textIn(element, name);
  const numbers = text === '' ? [] : text.split(/[\s,]+/).map(Number);
  return numbers.every(Number.isFinite) ? numbers : [];
}
