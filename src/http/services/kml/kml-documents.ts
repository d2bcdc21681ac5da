import { type Bounds, intersectBounds } from '../../../domain/bounds.ts';
import { invalid } from '../../../domain/errors.ts';
import { boundsOfTile, levelOf, tilesOfBounds } from '../../../domain/grid-set.ts';
import { type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { sizeOfRect } from '../../../domain/tile-rect.ts';
import { type Html as Markup, html as markup, tagged } from '../../pages/html.ts';
import { titleOf } from '../layer-facts.ts';

export interface KmlLayer {
  readonly layer: Layer;
  readonly subset: GridSubset;
  /** Address of the layer's folder, without a closing slash. */
  readonly folder: string;
  readonly extension: string;
  /** With its question mark; empty when there is none. */
  readonly query: string;
}

/** Pixels that a region takes on the screen before it is looked into. */
const MIN_PIXELS = 128;
const ANY_PIXELS = -1;
const MAX_LINKS = 1000;
const WORLD: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };

/** Links to the coarsest tiles of the grid that the layer reaches into. */
export function rootDocument(kml: KmlLayer): string {
  const { layer, subset } = kml;
  const links = tilesWithin(subset, 0, subset.extent).map((tile) => networkLink(kml, tile));
  return kmlText(
    markup`<name>${titleOf(layer)}</name>${tagged('Snippet', layer.attribution || null)}${tagged('description', layer.description || null)}${links}`,
  );
}

/** One tile laid on the ground, and links to the finer ones. Null where the layer has nothing. */
export function tileDocument(kml: KmlLayer, tile: TileIndex): string | null {
  const { subset } = kml;
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  const inside = intersectBounds(bounds, subset.extent);
  if (!inside || tile.z > subset.zoomStop) return null;
  const finer = tilesWithin(subset, tile.z + 1, inside).filter((child) => isCentredIn(subset, child, bounds));
  const links = finer.map((child) => networkLink(kml, child));
  const overlays = subsetContains(subset, tile.z, tile.x, tile.y) ? [groundOverlay(kml, tile, bounds)] : [];
  return kmlText(
    markup`<name>${nameOfTile(subset, tile)}</name>${region(bounds, MIN_PIXELS)}${links}${overlays}`,
  );
}

function tilesWithin({ gridSet, zoomStop }: GridSubset, z: number, bounds: Bounds): readonly TileIndex[] {
  const rect = z > zoomStop ? null : tilesOfBounds(gridSet, z, bounds);
  if (!rect) return [];
  const count = sizeOfRect(rect);
  if (count > MAX_LINKS) {
    throw invalid(
      `Grid set ${gridSet.name} begins too fine for KML: ${count} tiles at zoom ${z}; at most ${MAX_LINKS} go into a document.`,
    );
  }
  const tiles: TileIndex[] = [];
  for (let y = rect.minY; y <= rect.maxY; y++) {
    for (let x = rect.minX; x <= rect.maxX; x++) tiles.push({ z, x, y });
  }
  return tiles;
}

/** Where zooms do not halve, a tile can reach into two coarser ones; only one of them links to it. */
function isCentredIn({ gridSet }: GridSubset, { z, x, y }: TileIndex, parent: Bounds): boolean {
  const { minX, minY, maxX, maxY } = boundsOfTile(gridSet, z, x, y);
  const [longitude, latitude] = [(minX + maxX) / 2, (minY + maxY) / 2];
  return (
    longitude >= parent.minX && longitude < parent.maxX && latitude > parent.minY && latitude <= parent.maxY
  );
}

function networkLink({ subset, folder, extension, query }: KmlLayer, tile: TileIndex): Markup {
  const name = nameOfTile(subset, tile);
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  const href = `${folder}/${name}.${extension}.kml${query}`;
  return markup`<NetworkLink><name>${name}</name>${region(bounds, tile.z === 0 ? 0 : MIN_PIXELS)}<Link><href>${href}</href><viewRefreshMode>onRegion</viewRefreshMode></Link></NetworkLink>`;
}

/** Finer tiles cover coarser ones, which stay until those are loaded. */
function groundOverlay(kml: KmlLayer, tile: TileIndex, bounds: Bounds): Markup {
  const name = nameOfTile(kml.subset, tile);
  const href = `${kml.folder}/${name}.${kml.extension}${kml.query}`;
  return markup`<GroundOverlay><name>${name}</name><drawOrder>${tile.z}</drawOrder><Icon><href>${href}</href></Icon><LatLonBox>${sides(bounds)}</LatLonBox></GroundOverlay>`;
}

function region(bounds: Bounds, leastPixels: number): Markup {
  return markup`<Region><LatLonAltBox>${sides(bounds)}</LatLonAltBox><Lod><minLodPixels>${leastPixels}</minLodPixels><maxLodPixels>${ANY_PIXELS}</maxLodPixels></Lod></Region>`;
}

/** A tile can reach beyond the poles, a box on the globe cannot. */
function sides(bounds: Bounds): Markup {
  const { minX, minY, maxX, maxY } = intersectBounds(bounds, WORLD) ?? bounds;
  return markup`<north>${maxY}</north><south>${minY}</south><east>${maxX}</east><west>${minX}</west>`;
}

function kmlText(content: Markup): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${content.markup}</Document></kml>\n`;
}

function nameOfTile({ gridSet }: GridSubset, { z, x, y }: TileIndex): string {
  return `x${x}y${levelOf(gridSet, z).rows - 1 - y}z${z}`;
}
