import type { Format } from '../../../domain/format.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { geographicBoxOf } from '../geographic-extent.ts';
import { CRS84, type OgcCrsNames } from './ogc-crs.ts';
import { jsonLink, type OgcLink, ogcRelation, pathPart, selfLinks } from './ogc-link.ts';
import { describeLimits } from './tile-matrix-set.ts';

/** Pictures, or the data themselves. */
export type TileKind = 'map' | 'vector';

/** Where tiles of a layer are found: its maps, its vector tiles, or its maps in one style. */
export interface TilesetsPlace {
  /** Of the whole service, e.g. `https://maps.example/ogc`. */
  readonly root: string;
  readonly layer: Layer;
  readonly kind: TileKind;
  /** Null: the default one. */
  readonly style: string | null;
  /** Parameters that the address carried, to be carried on; without a question mark. */
  readonly query: string;
}

export function formatsOf(layer: Layer, kind: TileKind): readonly Format[] {
  return layer.formats.filter((format) => (format.kind === 'opaque') === (kind === 'vector'));
}

export function collectionUrl(root: string, layer: Layer): string {
  return `${root}/collections/${pathPart(layer.name)}`;
}

export function tilesetsUrl({ root, layer, kind, style }: Omit<TilesetsPlace, 'query'>): string {
  const collection = collectionUrl(root, layer);
  if (kind === 'vector') return `${collection}/tiles`;
  const styled = style === null ? collection : `${collection}/styles/${pathPart(style)}`;
  return `${styled}/map/tiles`;
}

/** OGC 20-057, 9: the list, each entry with as much as is needed to choose. */
export function describeTilesets(place: TilesetsPlace, crsOf: OgcCrsNames): object {
  const address = withQuery(tilesetsUrl(place), place.query);
  return {
    links: [...selfLinks(address), jsonLink(collectionUrl(place.root, place.layer), 'up', place.layer.title)],
    tilesets: place.layer.gridSubsets.map((subset) => describeEntry(place, subset, crsOf)),
  };
}

function describeEntry(place: TilesetsPlace, subset: GridSubset, crsOf: OgcCrsNames): object {
  const { gridSet } = subset;
  const crs = crsOf(gridSet);
  return {
    title: tilesetTitle(place, subset),
    dataType: place.kind,
    crs: crs.uri,
    tileMatrixSetId: gridSet.name,
    ...(crs.tileMatrixSetUri !== null && { tileMatrixSetURI: crs.tileMatrixSetUri }),
    links: [jsonLink(tilesetUrl(place, subset), 'self', gridSet.name), schemeLink(place, subset)],
  };
}

/** OGC 17-083r4, 6.3, and OGC 20-057, 8.2: all that a client must know to ask for a tile. */
export function describeTileset(place: TilesetsPlace, subset: GridSubset, crsOf: OgcCrsNames): object {
  const { layer, kind, style } = place;
  const crs = crsOf(subset.gridSet);
  const box = geographicBoxOf(subset);
  return {
    title: tilesetTitle(place, subset),
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
    dataType: kind,
    crs: crs.uri,
    tileMatrixSetId: subset.gridSet.name,
    ...(crs.tileMatrixSetUri !== null && { tileMatrixSetURI: crs.tileMatrixSetUri }),
    ...(style !== null && { style: { id: style } }),
    ...(box && {
      boundingBox: { lowerLeft: box.slice(0, 2), upperRight: box.slice(2), crs: CRS84 },
    }),
    mediaTypes: [...new Set(formatsOf(layer, kind).map(({ contentType }) => contentType))],
    tileMatrixSetLimits: describeLimits(subset),
    links: [
      ...selfLinks(tilesetUrl(place, subset)),
      schemeLink(place, subset),
      ...formatsOf(layer, kind).map((format) => tileTemplate(place, subset, format)),
      jsonLink(collectionUrl(place.root, layer), ogcRelation('geodata'), layer.title),
    ],
  };
}

function tilesetTitle({ layer, style }: TilesetsPlace, { gridSet }: GridSubset): string {
  const title = layer.title === '' ? layer.name : layer.title;
  return style === null ? `${title}, ${gridSet.name}` : `${title}, ${style}, ${gridSet.name}`;
}

function tilesetUrl(place: TilesetsPlace, { gridSet }: GridSubset): string {
  return withQuery(`${tilesetsUrl(place)}/${pathPart(gridSet.name)}`, place.query);
}

function schemeLink({ root }: TilesetsPlace, { gridSet }: GridSubset): OgcLink {
  const address = `${root}/tileMatrixSets/${pathPart(gridSet.name)}`;
  return jsonLink(address, ogcRelation('tiling-scheme'), gridSet.name);
}

function tileTemplate(place: TilesetsPlace, { gridSet }: GridSubset, format: Format): OgcLink {
  const tileset = `${tilesetsUrl(place)}/${pathPart(gridSet.name)}`;
  const query = [`f=${format.extensions[0]}`, ...(place.query === '' ? [] : [place.query])].join('&');
  return {
    href: `${tileset}/{tileMatrix}/{tileRow}/{tileCol}?${query}`,
    rel: 'item',
    type: format.contentType,
    title: `Tiles as ${format.mediaType}`,
    templated: true,
  };
}

function withQuery(address: string, query: string): string {
  return query === '' ? address : `${address}?${query}`;
}
