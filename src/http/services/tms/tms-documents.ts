import type { Bounds } from '../../../domain/bounds.ts';
import { boundsOfRect, type GridSet, levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { isWebMercator, sameSrs } from '../../../domain/srs.ts';
import { element, type XmlNode } from '../../../lib/xml/write-xml.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { BASE, type DocumentWriter } from '../document-template.ts';
import { type TileMap, tileMapName } from './tile-map.ts';

const VERSION = '1.0.0';
const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const TITLE = 'Tilewarden';
/** As a share of a pixel. */
const SAME_EDGE = 1e-3;

/** The root: which services and versions there are. `folder` is the address of the service, without a closing slash. */
export function servicesDocument(folder: string): XmlNode {
  // GDAL knows the document by its version, if that comes first.
  const service = { version: VERSION, title: TITLE, href: `${folder}/${VERSION}` };
  return element('Services', [element('TileMapService', [], service)]);
}

/** All tile maps; `place` is that of the service below the address of the server. */
export function serviceWriter(place: string): DocumentWriter {
  return function* (layers) {
    yield '<?xml version="1.0" encoding="UTF-8"?>\n';
    yield markup`<TileMapService version="${VERSION}" services="${BASE}${place}"><Title>${TITLE}</Title><Abstract>Map tiles from a cache</Abstract><TileMaps>`
      .markup;
    for (const layer of layers) for (const map of tileMapsOf(place, layer)) yield map.markup;
    yield '</TileMaps></TileMapService>\n';
  };
}

export function tileMapDocument(folder: string, { bound, subset, format }: TileMap): XmlNode {
  const { layer } = bound;
  const { gridSet } = subset;
  const { minX, minY, maxX, maxY } = boundsAt(gridSet, subset.zoomStart);
  const href = `${folder}/${VERSION}/${tileMapName(layer, subset, format)}`;
  return element(
    'TileMap',
    [
      element('Title', titleOf(layer)),
      element('Abstract', layer.description),
      element('SRS', srsOf(gridSet)),
      // That of the grid, not of the layer: GDAL takes its lower left corner for the origin, whatever that is said to be.
      element('BoundingBox', [], {
        minx: String(minX),
        miny: String(minY),
        maxx: String(maxX),
        maxy: String(maxY),
      }),
      element('Origin', [], { x: String(minX), y: String(minY) }),
      element('TileFormat', [], {
        width: String(gridSet.tileWidth),
        height: String(gridSet.tileHeight),
        'mime-type': format.contentType,
        extension: format.extensions[0],
      }),
      element('TileSets', tileSets(subset, href), { profile: profileOf(gridSet) }),
    ],
    { version: VERSION, tilemapservice: `${folder}/${VERSION}` },
  );
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

function tileSets({ gridSet, zoomStart, zoomStop }: GridSubset, href: string): readonly XmlNode[] {
  return gridSet.levels.slice(zoomStart, zoomStop + 1).map(({ resolution }, offset) => {
    const z = String(zoomStart + offset);
    return element('TileSet', [], { href: `${href}/${z}`, 'units-per-pixel': String(resolution), order: z });
  });
}

function titleOf(layer: Layer): string {
  return layer.title === '' ? layer.name : layer.title;
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
