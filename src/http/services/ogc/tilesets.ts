import type { Format } from '../../../domain/format.ts';
import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { geographicBoxOf, titleOf } from '../layer-facts.ts';
import { type CrsNames, createCrsNames, ogcScale } from '../wmts/grid-set-crs.ts';
import { jsonLink, type OgcLink, ogcRelation, pathPart, selfLinks } from './ogc-document.ts';

/** Pictures or vector data. */
export type TileKind = 'map' | 'vector';

/** The tiles of a layer: its maps, its vector tiles, or its maps in one style. */
export interface TilesetsPlace {
  /** Address of the whole service, e.g. `https://maps.example/ogc`. */
  readonly root: string;
  readonly layer: Layer;
  readonly kind: TileKind;
  readonly style: string | null;
  /** Parameters of the request, which links keep; without a question mark. */
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

/** OGC 20-057, 9: the list, with enough of each entry to choose one. */
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

/** OGC 17-083r4, 6.3, and OGC 20-057, 8.2: everything that a client needs to request a tile. */
export function describeTileset(place: TilesetsPlace, subset: GridSubset, crsOf: OgcCrsNames): object {
  const { layer, kind, style } = place;
  const box = geographicBoxOf(subset);
  return {
    ...describeEntry(place, subset, crsOf),
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
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
  return [titleOf(layer), ...(style === null ? [] : [style]), gridSet.name].join(', ');
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

export function describeTileMatrixSets(
  root: string,
  gridSets: readonly GridSet[],
  crsOf: OgcCrsNames,
): object {
  const tileMatrixSets = gridSets.map((gridSet) => {
    const { uri, tileMatrixSetUri } = crsOf(gridSet);
    return {
      id: gridSet.name,
      title: gridSet.description === '' ? gridSet.name : gridSet.description,
      ...(tileMatrixSetUri !== null && { uri: tileMatrixSetUri }),
      crs: uri,
      links: [jsonLink(`${root}/tileMatrixSets/${pathPart(gridSet.name)}`, 'self', gridSet.name)],
    };
  });
  return { tileMatrixSets, links: selfLinks(`${root}/tileMatrixSets`) };
}

/**
 * OGC 17-083r4, 6.1 and its JSON encoding. `identifier`, `supportedCRS` and `topLeftCorner` are the draft's names of
 * `id`, `crs` and `pointOfOrigin`: GDAL up to 3.6 needs them, and the standard allows further members.
 */
export function describeTileMatrixSet(gridSet: GridSet, crs: OgcCrs): object {
  const { minX, minY, maxX, maxY } = gridSet.extent;
  return {
    id: gridSet.name,
    identifier: gridSet.name,
    title: gridSet.description === '' ? gridSet.name : gridSet.description,
    ...(crs.tileMatrixSetUri !== null && { uri: crs.tileMatrixSetUri }),
    crs: crs.uri,
    supportedCRS: crs.uri,
    orderedAxes: crs.orderedAxes,
    ...(crs.wellKnownScaleSet !== null && { wellKnownScaleSet: crs.wellKnownScaleSet }),
    boundingBox: {
      lowerLeft: position(crs, minX, minY),
      upperRight: position(crs, maxX, maxY),
      crs: crs.uri,
      orderedAxes: crs.orderedAxes,
    },
    tileMatrices: gridSet.levels.map((level) => describeMatrix(gridSet, level, crs)),
  };
}

function describeMatrix(gridSet: GridSet, level: GridLevel, crs: OgcCrs): object {
  return {
    id: level.name,
    identifier: level.name,
    scaleDenominator: ogcScale(gridSet, level),
    cellSize: level.resolution,
    cornerOfOrigin: 'topLeft',
    pointOfOrigin: position(crs, gridSet.extent.minX, level.top),
    topLeftCorner: position(crs, gridSet.extent.minX, level.top),
    tileWidth: gridSet.tileWidth,
    tileHeight: gridSet.tileHeight,
    matrixWidth: level.columns,
    matrixHeight: level.rows,
  };
}

/** OGC 17-083r4, 6.2: the existing tiles, level by level. */
function describeLimits(subset: GridSubset): readonly object[] {
  return subset.gridSet.levels.flatMap((level, z) => {
    const coverage = coverageAt(subset, z);
    if (!coverage) return [];
    return [
      {
        tileMatrix: level.name,
        minTileRow: coverage.minY,
        maxTileRow: coverage.maxY,
        minTileCol: coverage.minX,
        maxTileCol: coverage.maxX,
      },
    ];
  });
}

/** In the order of the CRS's axes. */
function position({ yFirst }: OgcCrs, x: number, y: number): readonly [number, number] {
  return yFirst ? [y, x] : [x, y];
}

type OgcCrs = ReturnType<typeof describeCrs>;

export type OgcCrsNames = (gridSet: GridSet) => OgcCrs;

const CRS84_URN = 'urn:ogc:def:crs:OGC:1.3:CRS84';
export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84';
/** OGC 17-083r4, annex D: built-in grid sets that are exactly as registered. */
const REGISTERED: ReadonlySet<string> = new Set(['WebMercatorQuad', 'WorldCRS84Quad']);
const DEGREES = 4326;

export function createOgcCrsNames(): OgcCrsNames {
  const names = createCrsNames();
  return (gridSet) => describeCrs(gridSet, names);
}

function describeCrs(gridSet: GridSet, names: CrsNames) {
  const registered = REGISTERED.has(gridSet.name);
  const { urn, yFirst, wellKnownScaleSet } = names(gridSet);
  // OGC 17-083r4, annex D.2: WorldCRS84Quad is defined in CRS84, longitude first.
  const longitudeFirst = urn === CRS84_URN || gridSet.name === 'WorldCRS84Quad';
  return {
    uri: longitudeFirst ? CRS84 : `http://www.opengis.net/def/crs/EPSG/0/${lastOf(urn)}`,
    yFirst: longitudeFirst ? false : yFirst,
    orderedAxes: axesOf(gridSet, longitudeFirst ? false : yFirst),
    wellKnownScaleSet:
      wellKnownScaleSet && `http://www.opengis.net/def/wkss/OGC/1.0/${lastOf(wellKnownScaleSet)}`,
    /** Null unless the OGC has registered the tile matrix set. */
    tileMatrixSetUri: registered ? `http://www.opengis.net/def/tilematrixset/OGC/1.0/${gridSet.name}` : null,
  };
}

function axesOf({ srs }: GridSet, yFirst: boolean): readonly [string, string] {
  const [x, y] = srs === DEGREES ? ['Lon', 'Lat'] : ['E', 'N'];
  return yFirst ? [y, x] : [x, y];
}

/** `3857` of `urn:ogc:def:crs:EPSG::3857`. */
function lastOf(urn: string): string {
  return urn.slice(urn.lastIndexOf(':') + 1);
}
