import { invalid, shortened } from '../../../domain/errors.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { Context } from '../../context.ts';
import { readKvp } from '../kvp.ts';
import { contentTypesOf, geographicExtent, stylesOf, titleOf } from '../layer-facts.ts';
import { HTML_TYPE, jsonLink, type OgcLink, ogcRelation, pathPart, selfLinks } from './ogc-document.ts';
import { CRS84, collectionUrl, formatsOf, type OgcCrsNames, tilesetsUrl } from './tilesets.ts';

export function describeCollections(
  root: string,
  layers: readonly Layer[],
  page: CollectionPage,
  crsOf: OgcCrsNames,
): object {
  const shown = layers.slice(page.offset, page.offset + page.limit);
  return {
    links: pageLinks(`${root}/collections`, page, layers.length),
    numberMatched: layers.length,
    numberReturned: shown.length,
    collections: shown.map((layer) => describeCollection(root, layer, crsOf)),
  };
}

export function describeCollection(root: string, layer: Layer, crsOf: OgcCrsNames): object {
  const box = geographicExtent(layer);
  const finest = Math.min(
    ...layer.gridSubsets.map(({ gridSet, zoomStop }) => gridSet.levels[zoomStop]?.scaleDenominator ?? 1),
  );
  return {
    id: layer.name,
    title: titleOf(layer),
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
    ...(box && { extent: { spatial: { bbox: [box], crs: CRS84 } } }),
    crs: [...new Set(layer.gridSubsets.map(({ gridSet }) => crsOf(gridSet).uri))],
    minScaleDenominator: finest,
    // GDAL derives the size of the whole picture from this.
    scaleDenominator: finest,
    links: collectionLinks(root, layer),
  };
}

function collectionLinks(root: string, layer: Layer): readonly OgcLink[] {
  const address = collectionUrl(root, layer);
  const page = `${root.slice(0, root.lastIndexOf('/'))}/layers/${pathPart(layer.name)}`;
  return [
    ...selfLinks(address),
    ...(['map', 'vector'] as const)
      .filter((kind) => formatsOf(layer, kind).length > 0)
      .map((kind) =>
        jsonLink(
          tilesetsUrl({ root, layer, kind, style: null }),
          ogcRelation(`tilesets-${kind}`),
          kind === 'map' ? 'Map tiles' : 'Vector tiles',
        ),
      ),
    ...(formatsOf(layer, 'map').length > 0
      ? [jsonLink(`${address}/styles`, ogcRelation('styles'), 'Styles')]
      : []),
    { href: page, rel: 'describedby', type: HTML_TYPE, title: 'Addresses for map clients' },
  ];
}

export function describeStyles(root: string, layer: Layer): object {
  const [standard] = stylesOf(layer);
  return {
    default: standard,
    styles: stylesOf(layer).map((style) => describeStyle(root, layer, style)),
    links: selfLinks(`${collectionUrl(root, layer)}/styles`),
  };
}

export function describeStyle(root: string, layer: Layer, style: string): object {
  const address = `${collectionUrl(root, layer)}/styles/${pathPart(style)}`;
  const tilesets = tilesetsUrl({ root, layer, kind: 'map', style });
  return {
    id: style,
    title: style,
    links: [
      ...selfLinks(address),
      jsonLink(tilesets, ogcRelation('tilesets-map'), 'Map tiles in this style'),
    ],
  };
}

type CollectionPage = ReturnType<typeof requestedPage>;

const DEFAULT_LIMIT = 100;
/** So many are written in a few milliseconds. */
const MAX_LIMIT = 250;
const WHOLE_NUMBER = /^\d{1,9}$/;

/** OGC API – Common – Part 2: a limit above the maximum is lowered. */
export function requestedPage({ query }: Context) {
  if (query === '') return { limit: DEFAULT_LIMIT, offset: 0, first: true };
  const kvp = readKvp(query, (name) => invalid(`The parameter ${name.toLowerCase()} is given twice.`));
  const [limit, offset] = [integer(kvp('LIMIT'), 'limit', 1), integer(kvp('OFFSET'), 'offset', 0)];
  return {
    limit: Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: offset ?? 0,
    /** The request has neither. */
    first: limit === null && offset === null,
  };
}

function pageLinks(
  address: string,
  { limit, offset, first }: CollectionPage,
  total: number,
): readonly OgcLink[] {
  const at = (from: number) => `${address}?limit=${limit}&offset=${from}`;
  return [
    ...selfLinks(first ? address : at(offset)),
    ...(offset > 0 ? [jsonLink(at(Math.max(0, offset - limit)), 'prev', 'The layers before')] : []),
    ...(offset + limit < total ? [jsonLink(at(offset + limit), 'next', 'More layers')] : []),
  ];
}

function integer(text: string | null, name: string, least: number): number | null {
  if (text === null) return null;
  if (WHOLE_NUMBER.test(text) && Number(text) >= least) return Number(text);
  throw invalid(`${name} must be a whole number from ${least}, not ${shortened(text)}.`);
}

const COMMON = 'http://www.opengis.net/spec/ogcapi-common-1/1.0/conf';
const TILES = 'http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf';

/** Each class is implemented: see docs/services/ogc-api-tiles.md. */
const CLASSES = [
  ...['core', 'landing-page', 'json', 'html'].map((name) => `${COMMON}/${name}`),
  ...['core', 'tileset', 'tilesets-list', 'geodata-tilesets'].map((name) => `${TILES}/${name}`),
];

/** Classes of encodings are declared if a layer has such tiles. */
const ENCODINGS: readonly (readonly [contentType: string, name: string])[] = [
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['application/vnd.mapbox-vector-tile', 'mvt'],
];

export function describeConformance(root: string, layers: readonly Layer[]): object {
  const offered = contentTypesOf(layers);
  const encodings = ENCODINGS.filter(([contentType]) => offered.has(contentType));
  return {
    conformsTo: [...CLASSES, ...encodings.map(([, name]) => `${TILES}/${name}`)],
    links: selfLinks(`${root}/conformance`),
  };
}

export function describeLanding(root: string): object {
  return {
    title: 'Tilewarden',
    description: 'Map tiles from a cache, by OGC API – Tiles',
    links: landingLinks(root),
  };
}

function landingLinks(root: string): readonly OgcLink[] {
  return [
    ...selfLinks(root),
    {
      href: `${root}/api`,
      rel: 'service-desc',
      type: 'application/vnd.oai.openapi+json;version=3.0',
      title: 'The definition of this interface',
    },
    jsonLink(`${root}/conformance`, 'conformance', 'What it conforms to'),
    jsonLink(`${root}/conformance`, ogcRelation('conformance'), 'What it conforms to'),
    jsonLink(`${root}/collections`, 'data', 'The layers'),
    jsonLink(`${root}/collections`, ogcRelation('data'), 'The layers'),
    jsonLink(`${root}/tileMatrixSets`, ogcRelation('tiling-schemes'), 'The tile matrix sets'),
  ];
}
