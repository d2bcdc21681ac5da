import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import type { Bounds } from '../../../domain/bounds.ts';
import { shortened, TilewardenError } from '../../../domain/errors.ts';
import type { Format } from '../../../domain/format.ts';
import { boundsOfRect, type GridSet, levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { isWebMercator, sameSrs } from '../../../domain/srs.ts';
import { type Html as Markup, html as markup } from '../../pages/html.ts';
import { BASE, type DocumentWriter } from '../layer-documents.ts';
import { titleOf } from '../layer-facts.ts';
import { formatNamed } from '../tiles.ts';

const VERSION = '1.0.0';
const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const TITLE = 'Tilewarden';
/** As a share of a pixel. */
const SAME_EDGE = 1e-3;

/**
 * Clients append `/{x}/{y}.{ext}` to the address of a zoom, whatever its end. With a key in the query, the tile is the
 * last value of the query: `…@png?key=…&tms-tile=/3/2/1.png`.
 */
export const TILE_IN_QUERY = 'tms-tile';

/** The root: services and versions. `folder` is the address of the service, without a closing slash. */
export function servicesDocument(folder: string): Markup {
  // GDAL detects the document by its version attribute, which must come first.
  return markup`<Services><TileMapService version="${VERSION}" title="${TITLE}" href="${folder}/${VERSION}"/></Services>`;
}

/** All tile maps; `place` is the path of the service. */
export function serviceWriter(place: string): DocumentWriter {
  return function* (layers) {
    yield '<?xml version="1.0" encoding="UTF-8"?>\n';
    yield markup`<TileMapService version="${VERSION}" services="${BASE}${place}"><Title>${TITLE}</Title><Abstract>Map tiles from a cache</Abstract><TileMaps>`
      .markup;
    for (const layer of layers) for (const map of tileMapsOf(place, layer)) yield map.markup;
    yield '</TileMaps></TileMapService>\n';
  };
}

/** The bounding box is the grid's, not the layer's: GDAL takes its lower left corner as the origin. */
export function tileMapDocument(
  folder: string,
  { bound, subset, format }: TileMap,
  tilesInQuery: boolean,
): Markup {
  const { layer } = bound;
  const { gridSet } = subset;
  const { minX, minY, maxX, maxY } = boundsAt(gridSet, subset.zoomStart);
  const map = `${folder}/${VERSION}/${tileMapName(layer, subset, format)}`;
  const href = tilesInQuery ? `${map}?${TILE_IN_QUERY}=` : map;
  return markup`<TileMap version="${VERSION}" tilemapservice="${folder}/${VERSION}">
<Title>${titleOf(layer)}</Title>
<Abstract>${layer.description}</Abstract>
<SRS>${srsOf(gridSet)}</SRS>
<BoundingBox minx="${minX}" miny="${minY}" maxx="${maxX}" maxy="${maxY}"/>
<Origin x="${minX}" y="${minY}"/>
<TileFormat width="${gridSet.tileWidth}" height="${gridSet.tileHeight}" mime-type="${format.contentType}" extension="${format.extensions[0]}"/>
<TileSets profile="${profileOf(gridSet)}">${tileSets(subset, href)}</TileSets>
</TileMap>`;
}

/** A tile map has one origin, at its bottom left. Grids that are aligned to their top may have another at each level. */
export function hasOneOrigin({ gridSet, zoomStart, zoomStop }: GridSubset): boolean {
  const { minY } = boundsAt(gridSet, zoomStart);
  return gridSet.levels.every(({ resolution }, z) => {
    const offered = z >= zoomStart && z <= zoomStop;
    return !offered || Math.abs(boundsAt(gridSet, z).minY - minY) < resolution * SAME_EDGE;
  });
}

function tileMapsOf(place: string, layer: Layer): readonly Markup[] {
  return layer.gridSubsets.filter(hasOneOrigin).flatMap((subset) => {
    const { gridSet } = subset;
    return layer.formats.map(
      (format) =>
        markup`<TileMap title="${titleOf(layer)}" srs="${srsOf(gridSet)}" profile="${profileOf(gridSet)}" href="${BASE}${place}/${VERSION}/${tileMapName(layer, subset, format)}"/>`,
    );
  });
}

function tileSets({ gridSet, zoomStart, zoomStop }: GridSubset, href: string): readonly Markup[] {
  return gridSet.levels.slice(zoomStart, zoomStop + 1).map(({ resolution }, offset) => {
    const z = zoomStart + offset;
    return markup`<TileSet href="${href}/${z}" units-per-pixel="${resolution}" order="${z}"/>`;
  });
}

function boundsAt(gridSet: GridSet, z: number): Bounds {
  const { columns, rows } = levelOf(gridSet, z);
  return boundsOfRect(gridSet, z, { minX: 0, minY: 0, maxX: columns - 1, maxY: rows - 1 });
}

function srsOf({ srs }: GridSet): string {
  return `EPSG:${sameSrs(srs, WEB_MERCATOR) ? WEB_MERCATOR : srs}`;
}

function profileOf(gridSet: GridSet): string {
  const small = gridSet.tileWidth === 256 && gridSet.tileHeight === 256;
  if (small && isWebMercator(gridSet)) return 'global-mercator';
  return small && isWorldInDegrees(gridSet) ? 'global-geodetic' : 'local';
}

function isWorldInDegrees({ srs, extent, levels }: GridSet): boolean {
  return (
    srs === DEGREES &&
    extent.minX === -180 &&
    extent.minY === -90 &&
    levels.every(({ columns, rows }, z) => columns === 2 ** (z + 1) && rows === 2 ** z)
  );
}

/** A tile map of TMS: one layer in one grid set and one format. */
interface TileMap {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
}

/** `layer@gridSet@extension`, matched from the end: names may contain an `@`. */
const FULL_NAME = /^(?<layer>.+)@(?<gridSet>[^@]+)@(?<extension>[^@]+)$/;

/** A layer and the rest of a tile map's name, which is not read before the caller may see the layer. */
export interface TileMapName {
  readonly bound: BoundLayer;
  /** Null: the bare name of a layer. */
  readonly rest: { readonly gridSet: string; readonly extension: string } | null;
}

export function readTileMapName(catalog: Pick<Catalog, 'layer'>, name: string): TileMapName {
  const parts = FULL_NAME.exec(name)?.groups;
  const short = catalog.layer(name);
  if (short || !parts) return { bound: short ?? boundLayer(catalog, name), rest: null };
  const { layer = '', gridSet = '', extension = '' } = parts;
  return { bound: boundLayer(catalog, layer), rest: { gridSet, extension } };
}

/**
 * A bare layer name means the layer's first grid set; without an extension of a tile, its first format.
 * Throws `grid-set-unknown` or `format-unknown`.
 */
export function tileMapNamed({ bound, rest }: TileMapName, extension: string | null): TileMap {
  if (!rest) return tileMapOf(bound, null, extension);
  const map = tileMapOf(bound, rest.gridSet, rest.extension);
  if (extension !== null) checkExtension(map, rest.extension, extension);
  return map;
}

/** The extensions of a tile and its tile map must mean the same format. */
function checkExtension({ bound, format }: TileMap, ofMap: string, ofTile: string): void {
  if (formatNamed(bound.layer, ofTile) === format) return;
  throw new TilewardenError(
    'format-unknown',
    `This tile map has .${ofMap} tiles only, no .${shortened(ofTile)} ones.`,
  );
}

function tileMapName(layer: Layer, { gridSet }: GridSubset, format: Format): string {
  return `${encodeURIComponent(layer.name)}@${encodeURIComponent(gridSet.name)}@${format.extensions[0]}`;
}

function tileMapOf(bound: BoundLayer, gridSet: string | null, extension: string | null): TileMap {
  const { layer } = bound;
  return {
    bound,
    subset: gridSet === null ? layer.gridSubsets[0] : gridSubsetOf(layer, gridSet),
    format: extension === null ? layer.formats[0] : formatNamed(layer, extension),
  };
}
