import { type Bounds, intersectBounds } from '../domain/bounds.ts';
import { boundsOfTile, type GridSet } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { blockAt, rectContains, type TileRect } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { numberAtEnd } from '../lib/scan-text.ts';
import { type KeepElement, readLongXml } from '../lib/xml/read-xml.ts';
import {
  childOf,
  childrenOf,
  descendantsOf,
  hrefOf,
  textIn,
  type XmlElement,
} from '../lib/xml/xml-element.ts';
import { collectYielding } from '../lib/yielding.ts';

/** One zoom of a tile matrix set, in the words of OGC 07-057r7. */
export interface TileMatrix {
  readonly id: string;
  readonly scaleDenominator: number;
  /** In the order of the document. */
  readonly topLeftCorner: readonly [number, number];
  readonly tileWidth: number;
  readonly tileHeight: number;
  readonly columns: number;
  readonly rows: number;
}

export interface TileMatrixSet {
  readonly id: string;
  readonly crs: string;
  readonly matrices: readonly TileMatrix[];
}

export interface MatrixSetLink {
  readonly set: TileMatrixSet;
  /** By matrix; a matrix without limits is complete. */
  readonly limits: ReadonlyMap<string, TileRect>;
}

export type WmtsLayer = ReturnType<typeof readLayer>;
export type WmtsCapabilities = Awaited<ReturnType<typeof wmtsCapabilitiesOf>>;

/** National servers list hundreds of layers, each with limits for every zoom. */
export const CAPABILITIES_LIMITS = {
  bytes: 32 * 1024 * 1024,
  depth: 32,
  elements: 1_000_000,
  attributes: 64,
};

/** Limit of names of other layers, which are listed in a message. */
const MAX_OTHER_LAYERS = 100;

/**
 * One layer with its tile matrix sets, and the names of some other layers. Yields to the event loop. Throws `XmlError`,
 * or an `Error` that names the missing part.
 */
export async function readWmtsLayer(bytes: Buffer, layer: string): Promise<WmtsCapabilities> {
  return wmtsCapabilitiesOf(await readLongXml(bytes, CAPABILITIES_LIMITS, onlyLayer(layer)));
}

/** The values of a dimension of the layer. Throws as `readWmtsLayer` does. */
export async function readWmtsDimension(
  bytes: Buffer,
  layer: string,
  dimension: string,
): Promise<readonly string[]> {
  const root = await readLongXml(bytes, CAPABILITIES_LIMITS, onlyLayer(layer));
  const layers = childrenOf(childOf(root, 'Contents') ?? root, 'Layer');
  const found = layers.find((element) => textIn(element, 'Identifier') === layer);
  const described = childrenOf(found ?? root, 'Dimension').find(
    (element) => textIn(element, 'Identifier').toLowerCase() === dimension.toLowerCase(),
  );
  if (described) return childrenOf(described, 'Value').map(({ text }) => text.trim());
  const what = found ? `no dimension ${dimension} of layer` : 'no layer';
  throw new Error(`The capabilities have ${what} ${layer}.`);
}

function onlyLayer(wanted: string): KeepElement {
  let others = 0;
  let linked: readonly string[] | null = null;
  return (element, parent) => {
    if (parent.name !== 'Contents') return element;
    if (element.name === 'TileMatrixSet') {
      return !linked || linked.includes(textIn(element, 'Identifier')) ? element : null;
    }
    if (element.name !== 'Layer') return null;
    if (textIn(element, 'Identifier') !== wanted)
      return ++others > MAX_OTHER_LAYERS ? null : nameOnly(element);
    linked = childrenOf(element, 'TileMatrixSetLink').map((link) => textIn(link, 'TileMatrixSet'));
    return element;
  };
}

function nameOnly(element: XmlElement): XmlElement {
  return { ...element, children: childrenOf(element, 'Identifier') };
}

/** For callers that have parsed the XML; yields to the event loop. Throws an `Error` that names the missing part. */
export async function wmtsCapabilitiesOf(root: XmlElement) {
  if (root.name !== 'Capabilities') throw new Error(`a ${root.name} came, not WMTS capabilities`);
  const contents = childOf(root, 'Contents');
  if (!contents) throw new Error('the capabilities have no contents');
  const elements = new Map(
    childrenOf(contents, 'TileMatrixSet').map((element) => [textIn(element, 'Identifier'), element]),
  );
  const read = new Map<string, TileMatrixSet>();
  const sets = (id: string) => {
    const element = elements.get(id);
    return element ? getOrCreate(read, id, () => readMatrixSet(element)) : null;
  };
  const readLayers = function* () {
    for (const element of childrenOf(contents, 'Layer')) yield readLayer(element, sets);
  };
  const layers = await collectYielding(readLayers());
  return {
    layers: new Map(layers.map((layer) => [layer.id, layer])),
    /** For requests by query. */
    queryAddress: readQueryAddress(root),
  };
}

function readMatrixSet(element: XmlElement): TileMatrixSet {
  return {
    id: textIn(element, 'Identifier'),
    crs: textIn(element, 'SupportedCRS'),
    matrices: childrenOf(element, 'TileMatrix').map(readMatrix),
  };
}

function readMatrix(element: XmlElement): TileMatrix {
  const number = (name: string) => Number(textIn(element, name));
  const [a = Number.NaN, b = Number.NaN] = textIn(element, 'TopLeftCorner').split(/\s+/).map(Number);
  return {
    id: textIn(element, 'Identifier'),
    scaleDenominator: number('ScaleDenominator'),
    topLeftCorner: [a, b],
    tileWidth: number('TileWidth'),
    tileHeight: number('TileHeight'),
    columns: number('MatrixWidth'),
    rows: number('MatrixHeight'),
  };
}

function readLayer(element: XmlElement, sets: (id: string) => TileMatrixSet | null) {
  const styles = childrenOf(element, 'Style');
  const style = styles.find(({ attributes }) => attributes.get('isDefault') === 'true') ?? styles[0];
  const tiles = childrenOf(element, 'ResourceURL').filter(
    ({ attributes }) => attributes.get('resourceType') === 'tile',
  );
  return {
    id: textIn(element, 'Identifier'),
    title: textIn(element, 'Title'),
    abstract: textIn(element, 'Abstract'),
    /** The default style. */
    style: style ? textIn(style, 'Identifier') : '',
    styles: styles.map((one) => textIn(one, 'Identifier')).filter((id) => id !== ''),
    /** Null: unknown. */
    degrees: readDegrees(element),
    formats: childrenOf(element, 'Format').map(({ text }) => text.trim()),
    /** Default values by dimension. */
    dimensions: new Map(
      childrenOf(element, 'Dimension').map((dimension) => [
        textIn(dimension, 'Identifier'),
        textIn(dimension, 'Default'),
      ]),
    ),
    links: childrenOf(element, 'TileMatrixSetLink').flatMap((link): readonly MatrixSetLink[] => {
      const set = sets(textIn(link, 'TileMatrixSet'));
      return set ? [{ set, limits: readLimits(link) }] : [];
    }),
    /** Addresses by format, for requests by path. */
    templates: new Map(
      tiles.map(({ attributes }) => [attributes.get('format') ?? '', attributes.get('template') ?? '']),
    ),
  };
}

/** OGC 06-121r3, 10.2.2: longitude before latitude. */
function readDegrees(element: XmlElement): Bounds | null {
  const box = childOf(element, 'WGS84BoundingBox');
  return box && boundsOfTexts(`${textIn(box, 'LowerCorner')} ${textIn(box, 'UpperCorner')}`.split(/\s+/));
}

/** West, south, east, north; null: not four numbers. */
export function boundsOfTexts(texts: readonly string[]): Bounds | null {
  const numbers = texts.map((text) => (text === '' ? Number.NaN : Number(text)));
  const [minX = Number.NaN, minY = Number.NaN, maxX = Number.NaN, maxY = Number.NaN] = numbers;
  return [minX, minY, maxX, maxY].every(Number.isFinite) ? { minX, minY, maxX, maxY } : null;
}

function readLimits(link: XmlElement): ReadonlyMap<string, TileRect> {
  const container = childOf(link, 'TileMatrixSetLimits');
  return new Map(
    (container ? childrenOf(container, 'TileMatrixLimits') : []).map((element) => {
      const number = (name: string) => Number(textIn(element, name));
      const limits = {
        minX: number('MinTileCol'),
        minY: number('MinTileRow'),
        maxX: number('MaxTileCol'),
        maxY: number('MaxTileRow'),
      };
      return [textIn(element, 'TileMatrix'), limits] as const;
    }),
  );
}

/** The first address of GetTile that accepts requests by query. */
function readQueryAddress(root: XmlElement): string | null {
  const operations = childOf(root, 'OperationsMetadata');
  const getTile =
    operations &&
    childrenOf(operations, 'Operation').find(({ attributes }) => attributes.get('name') === 'GetTile');
  const gets = getTile ? descendantsOf(getTile, 'Get') : [];
  const byQuery = gets.find((get) => {
    const values = descendantsOf(get, 'Value').map(({ text }) => text.trim());
    return values.length === 0 || values.includes('KVP');
  });
  return byQuery ? hrefOf(byQuery) : null;
}

/** OGC 07-057r7, 6.1: the standardized size of a pixel, in metres. */
export const PIXEL_SIZE = 0.00028;
/** Pixels by which the edges of two matching tiles may differ. */
const TOLERANCE = 0.5;
const DEGREES = 4326;

/** This tile of our grid set in the first matrix set that has exactly it; null: none. */
export function matchTile(links: readonly MatrixSetLink[], gridSet: GridSet, tile: TileIndex) {
  for (const { set, limits } of links) {
    const srs = srsOfCrs(set.crs);
    if (srs === null || !sameSrs(srs, gridSet.srs)) continue;
    const found = matchInSet(set, gridSet, tile);
    if (!found) continue;
    const { matrix, column, row } = found;
    const within = limits.get(matrix.id) ?? blockAt(0, 0, matrix.columns, matrix.rows);
    // False: the tile is outside the limits that the server declares.
    const offered = rectContains(within, column, row);
    return { matrixSet: set.id, matrix: matrix.id, column, row, offered };
  }
  return null;
}

/** `urn:ogc:def:crs:EPSG::3857`, `EPSG:3857`, `…/EPSG/0/3857`, `urn:ogc:def:crs:OGC:1.3:CRS84`. */
export function srsOfCrs(crs: string): number | null {
  if (/CRS:?84$/i.test(crs)) return DEGREES;
  return /EPSG/i.test(crs) ? numberAtEnd(crs) : null;
}

function matchInSet(set: TileMatrixSet, gridSet: GridSet, tile: TileIndex) {
  for (const yFirst of axisOrders(set, gridSet)) {
    for (const matrix of set.matrices) {
      const found = matchInMatrix(matrix, yFirst, gridSet, tile);
      if (found) return { matrix, ...found };
    }
  }
  return null;
}

/** Whether corners have y first, by which the set covers more of the grid set: a tile alone may fit both ways. */
function axisOrders({ crs, matrices }: TileMatrixSet, gridSet: GridSet): readonly boolean[] {
  // OGC 07-057r7, 6.1: in the order of the CRS's axes; servers disagree on that order.
  const usual = gridSet.yCoordinateFirst && !/CRS:?84$/i.test(crs);
  const covered = (yFirst: boolean) =>
    matrices.reduce((sum, matrix) => {
      const both = intersectBounds(gridSet.extent, placeMatrix(matrix, yFirst, gridSet).bounds);
      return both ? sum + (both.maxX - both.minX) * (both.maxY - both.minY) : sum;
    }, 0);
  const ratio = covered(usual) / covered(!usual);
  // The sets of a region may cover as much in either order: the tile decides, in the usual order first.
  if (ratio < 0.1) return [!usual];
  return ratio > 10 ? [usual] : [usual, !usual];
}

function placeMatrix(matrix: TileMatrix, yFirst: boolean, gridSet: GridSet) {
  const [first, second] = matrix.topLeftCorner;
  const [minX, maxY] = yFirst ? [second, first] : [first, second];
  const resolution = (matrix.scaleDenominator * PIXEL_SIZE) / gridSet.metersPerUnit;
  const [spanX, spanY] = [resolution * matrix.tileWidth, resolution * matrix.tileHeight];
  const bounds = { minX, minY: maxY - matrix.rows * spanY, maxX: minX + matrix.columns * spanX, maxY };
  return { bounds, resolution, spanX, spanY };
}

function matchInMatrix(matrix: TileMatrix, yFirst: boolean, gridSet: GridSet, { z, x, y }: TileIndex) {
  if (matrix.tileWidth !== gridSet.tileWidth || matrix.tileHeight !== gridSet.tileHeight) return null;
  const { bounds, resolution, spanX, spanY } = placeMatrix(matrix, yFirst, gridSet);
  const ours = boundsOfTile(gridSet, z, x, y);
  const column = Math.round((ours.minX - bounds.minX) / spanX);
  const row = Math.round((bounds.maxY - ours.maxY) / spanY);
  const gaps = [
    bounds.minX + column * spanX - ours.minX,
    bounds.minX + (column + 1) * spanX - ours.maxX,
    bounds.maxY - row * spanY - ours.maxY,
    bounds.maxY - (row + 1) * spanY - ours.minY,
  ];
  return gaps.every((gap) => Math.abs(gap) <= TOLERANCE * resolution) ? { column, row } : null;
}
