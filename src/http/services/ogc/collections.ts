import type { Layer } from '../../../domain/layer.ts';
import { geographicExtent } from '../geographic-extent.ts';
import { stylesOf } from '../wmts/layer-styles.ts';
import { type CollectionPage, pageLinks } from './collection-page.ts';
import { CRS84, type OgcCrsNames } from './ogc-crs.ts';
import { HTML_TYPE, jsonLink, type OgcLink, ogcRelation, pathPart, selfLinks } from './ogc-link.ts';
import { collectionUrl, formatsOf, tilesetsUrl } from './tilesets.ts';

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
  const finest = Math.min(...layer.gridSubsets.map(finestScale));
  return {
    id: layer.name,
    title: layer.title === '' ? layer.name : layer.title,
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
    ...(box && { extent: { spatial: { bbox: [box], crs: CRS84 } } }),
    crs: [...new Set(layer.gridSubsets.map(({ gridSet }) => crsOf(gridSet).uri))],
    minScaleDenominator: finest,
    // What GDAL takes the size of the whole picture from.
    scaleDenominator: finest,
    links: collectionLinks(root, layer),
  };
}

function finestScale({ gridSet, zoomStop }: Layer['gridSubsets'][number]): number {
  return gridSet.levels[zoomStop]?.scaleDenominator ?? 1;
}

function collectionLinks(root: string, layer: Layer): readonly OgcLink[] {
  const address = collectionUrl(root, layer);
  const page = `${root.slice(0, root.lastIndexOf('/'))}/layers/${pathPart(layer.name)}`;
  return [
    ...selfLinks(address),
    ...kindsOf(layer).map((kind) =>
      jsonLink(
        tilesetsUrl({ root, layer, kind, style: null }),
        ogcRelation(`tilesets-${kind}`),
        titleOf(kind),
      ),
    ),
    ...(formatsOf(layer, 'map').length > 0
      ? [jsonLink(`${address}/styles`, ogcRelation('styles'), 'Styles')]
      : []),
    { href: page, rel: 'describedby', type: HTML_TYPE, title: 'Addresses for map clients' },
  ];
}

function kindsOf(layer: Layer): readonly ('map' | 'vector')[] {
  return (['map', 'vector'] as const).filter((kind) => formatsOf(layer, kind).length > 0);
}

function titleOf(kind: 'map' | 'vector'): string {
  return kind === 'map' ? 'Map tiles' : 'Vector tiles';
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
