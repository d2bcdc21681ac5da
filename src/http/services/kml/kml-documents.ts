import { type Bounds, intersectBounds } from '../../../domain/bounds.ts';
import { invalid } from '../../../domain/errors.ts';
import { boundsOfTile, levelOf, tilesOfBounds } from '../../../domain/grid-set.ts';
import { type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { element, writeXml, type XmlNode } from '../../../lib/xml/write-xml.ts';
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
const LEAST_PIXELS = 128;
const ANY_PIXELS = -1;
const MOST_LINKS = 1000;
const WORLD: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };

/** Links to the coarsest tiles of the grid that the layer reaches into. */
export function rootDocument(kml: KmlLayer): string {
  const { layer, subset } = kml;
  return kmlText([
    element('name', titleOf(layer)),
    ...(layer.attribution === '' ? [] : [element('Snippet', layer.attribution)]),
    ...(layer.description === '' ? [] : [element('description', layer.description)]),
    ...tilesWithin(subset, 0, subset.extent).map((tile) => networkLink(kml, tile)),
  ]);
}

/** One tile laid on the ground, and links to the finer ones. Null where the layer has nothing. */
export function tileDocument(kml: KmlLayer, tile: TileIndex): string | null {
  const { subset } = kml;
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  const inside = intersectBounds(bounds, subset.extent);
  if (!inside || tile.z > subset.zoomStop) return null;
  const finer = tilesWithin(subset, tile.z + 1, inside).filter((child) => isCentredIn(subset, child, bounds));
  return kmlText([
    element('name', nameOfTile(subset, tile)),
    region(bounds, LEAST_PIXELS),
    ...finer.map((child) => networkLink(kml, child)),
    ...(subsetContains(subset, tile.z, tile.x, tile.y) ? [groundOverlay(kml, tile, bounds)] : []),
  ]);
}

function tilesWithin({ gridSet, zoomStop }: GridSubset, z: number, bounds: Bounds): readonly TileIndex[] {
  const rect = z > zoomStop ? null : tilesOfBounds(gridSet, z, bounds);
  if (!rect) return [];
  const count = (rect.maxX - rect.minX + 1) * (rect.maxY - rect.minY + 1);
  if (count > MOST_LINKS) {
    throw invalid(
      `Grid set ${gridSet.name} begins too fine for KML: ${count} tiles at zoom ${z}; at most ${MOST_LINKS} go into a document.`,
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

function networkLink({ subset, folder, extension, query }: KmlLayer, tile: TileIndex): XmlNode {
  const name = nameOfTile(subset, tile);
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  return element('NetworkLink', [
    element('name', name),
    region(bounds, tile.z === 0 ? 0 : LEAST_PIXELS),
    element('Link', [
      element('href', `${folder}/${name}.${extension}.kml${query}`),
      element('viewRefreshMode', 'onRegion'),
    ]),
  ]);
}

function groundOverlay(
  { subset, folder, extension, query }: KmlLayer,
  tile: TileIndex,
  bounds: Bounds,
): XmlNode {
  const name = nameOfTile(subset, tile);
  return element('GroundOverlay', [
    element('name', name),
    // Finer tiles lie on coarser ones, which stay until they have come.
    element('drawOrder', String(tile.z)),
    element('Icon', [element('href', `${folder}/${name}.${extension}${query}`)]),
    element('LatLonBox', sides(bounds)),
  ]);
}

function region(bounds: Bounds, leastPixels: number): XmlNode {
  return element('Region', [
    element('LatLonAltBox', sides(bounds)),
    element('Lod', [
      element('minLodPixels', String(leastPixels)),
      element('maxLodPixels', String(ANY_PIXELS)),
    ]),
  ]);
}

/** A tile can reach beyond the poles, a box on the globe cannot. */
function sides(bounds: Bounds): readonly XmlNode[] {
  const { minX, minY, maxX, maxY } = intersectBounds(bounds, WORLD) ?? bounds;
  return [
    element('north', String(maxY)),
    element('south', String(minY)),
    element('east', String(maxX)),
    element('west', String(minX)),
  ];
}

function kmlText(content: readonly XmlNode[]): string {
  const root = element('kml', [element('Document', content)], { xmlns: 'http://www.opengis.net/kml/2.2' });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${writeXml(root)}\n`;
}

function nameOfTile({ gridSet }: GridSubset, { z, x, y }: TileIndex): string {
  return `x${x}y${levelOf(gridSet, z).rows - 1 - y}z${z}`;
}
