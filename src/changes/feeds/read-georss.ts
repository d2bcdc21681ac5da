/** Atom and RSS 2.0 with GeoRSS Simple, GML or W3C points. No document type, and bounded in size and depth. */
import { createHash } from 'node:crypto';
import { polygonOfBounds } from '../../domain/blank-area.ts';
import type { Polygon } from '../../domain/bounds.ts';
import type { Point } from '../../domain/projection.ts';
import { type KeepElement, readLongXml } from '../../lib/xml/read-xml.ts';
import { childOf, descendantsOf, textIn, type XmlElement } from '../../lib/xml/xml-element.ts';
import type { ChangedPlace } from '../change.ts';
import { DEGREES, faultOfPoints, polygonOfLine } from '../check-place.ts';

export interface GeoRssEntry {
  readonly id: string;
  /** Milliseconds since 1970; 0 when it has none. */
  readonly at: number;
  /** Or why it cannot be used. */
  readonly place: ChangedPlace | string;
}

const LIMITS = { bytes: 32 * 2 ** 20, depth: 40, elements: 2_000_000, attributes: 64 };
const ENTRIES = ['entry', 'item'];
const ROOTS = ['feed', 'rss', 'RDF'];
const MAX_ID = 500;

/** Throws `XmlError`, or an error if it is neither Atom nor RSS. `srs`: the CRS of all geometries. */
export async function readGeoRss(bytes: Buffer, srs: number): Promise<readonly GeoRssEntry[]> {
  const entries: GeoRssEntry[] = [];
  // Entries are taken out as they are read, so that the tree stays small.
  const keep: KeepElement = (element) => {
    if (!ENTRIES.includes(element.name)) return element;
    entries.push(readEntry(element, srs));
    return null;
  };
  const root = await readLongXml(bytes, LIMITS, keep);
  if (ROOTS.includes(root.name)) return entries;
  throw new Error(`the document is neither Atom nor RSS: its root is <${root.name.slice(0, 50)}>`);
}

function readEntry(entry: XmlElement, srs: number): GeoRssEntry {
  const named = textIn(entry, 'id') || textIn(entry, 'guid') || linkOf(entry);
  const id = named === '' || named.length > MAX_ID ? digestOf(entry) : named;
  const time = ['updated', 'pubDate', 'date', 'published'].map((name) => textIn(entry, name)).find(Boolean);
  const at = time === undefined ? 0 : Date.parse(time);
  return { id, at: Number.isNaN(at) ? 0 : at, place: readPlace(entry, srs, id) };
}

function linkOf(entry: XmlElement): string {
  return textIn(entry, 'link') || (childOf(entry, 'link')?.attributes.get('href') ?? '');
}

function digestOf(entry: XmlElement): string {
  const plain = JSON.stringify(entry, (key, value: unknown) => (key === 'place' ? undefined : value));
  return createHash('sha256').update(plain).digest('hex');
}

function readPlace(entry: XmlElement, srs: number, id: string): ChangedPlace | string {
  try {
    const polygons = shapesIn(entry, srs);
    if (polygons.length === 0) throw new Error('has no geometry');
    const fault = faultOfPoints(polygons.flat(2), srs);
    if (fault !== null) throw new Error(fault);
    return { srs, polygons };
  } catch (error) {
    return `entry ${id}: ${error instanceof Error ? error.message : error}`;
  }
}

function shapesIn(entry: XmlElement, srs: number): readonly Polygon[] {
  const simple = entry.children.flatMap((child) => simpleShape(child, srs));
  const where = entry.children.filter(({ name }) => name === 'where');
  const gml = where.flatMap((element) => gmlShapes(element, srs));
  return [...simple, ...gml, ...w3cPoint(entry), ...entry.children.filter(isW3cPoint).flatMap(w3cPoint)];
}

/** GeoRSS Simple: `point`, `line`, `polygon` and `box`. */
function simpleShape({ name, text }: XmlElement, srs: number): readonly Polygon[] {
  if (name === 'point' || name === 'line') return [polygonOfLine(pointsIn(text, srs))];
  if (name === 'polygon') return [[ringOf(pointsIn(text, srs))]];
  return name === 'box' ? [boxOf(pointsIn(text, srs))] : [];
}

/** Where it has several geometries, each of them counts. */
function gmlShapes(where: XmlElement, srs: number): readonly Polygon[] {
  const all = (name: string) => descendantsOf(where, name);
  refuseOtherCrs(where, srs);
  const points = all('Point').map((point) => polygonOfLine(pointsIn(coordinatesIn(point), srs)));
  const lines = all('LineString').map((line) => polygonOfLine(pointsIn(coordinatesIn(line), srs)));
  const polygons = all('Polygon').map((polygon) =>
    descendantsOf(polygon, 'LinearRing').map((ring) => ringOf(pointsIn(coordinatesIn(ring), srs))),
  );
  if (polygons.some((rings) => rings.length === 0)) throw new Error('has a Polygon without a LinearRing');
  const boxes = all('Envelope').map((envelope) =>
    boxOf(pointsIn(`${textIn(envelope, 'lowerCorner')} ${textIn(envelope, 'upperCorner')}`, srs)),
  );
  return [...points, ...lines, ...polygons, ...boxes];
}

function refuseOtherCrs(where: XmlElement, srs: number): void {
  for (const { attributes } of where.children) {
    const name = attributes.get('srsName');
    const code = name === undefined ? null : /(\d+)$/.exec(name)?.[1];
    if (code !== null && Number(code) !== srs && !/CRS84$/.test(name ?? '')) {
      throw new Error(`has the CRS ${String(name).slice(0, 80)}; the feed has EPSG:${srs}`);
    }
  }
}

/** `pos` or `posList`, one or more. */
function coordinatesIn({ children }: XmlElement): string {
  const lists = children.filter(({ name }) => name === 'pos' || name === 'posList');
  return lists.map(({ text }) => text).join(' ');
}

function isW3cPoint({ name, children }: XmlElement): boolean {
  return name === 'Point' && children.some((child) => child.name === 'lat');
}

function w3cPoint(element: XmlElement): readonly Polygon[] {
  const [latitude, longitude] = [textIn(element, 'lat'), textIn(element, 'long') || textIn(element, 'lon')];
  if (latitude === '' && longitude === '') return [];
  return [polygonOfLine(pointsIn(`${latitude} ${longitude}`, DEGREES))];
}

/** Pairs of numbers: latitude first in degrees, x first in other CRS. */
function pointsIn(text: string, srs: number): readonly Point[] {
  const numbers = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(Number);
  if (numbers.length < 2 || numbers.length % 2 !== 0 || !numbers.every(Number.isFinite)) {
    throw new Error(
      `has coordinates that are not pairs of numbers: ${JSON.stringify(text.trim().slice(0, 60))}`,
    );
  }
  return Array.from({ length: numbers.length / 2 }, (_, i): Point => {
    const [a = 0, b = 0] = [numbers[2 * i], numbers[2 * i + 1]];
    return srs === DEGREES ? [b, a] : [a, b];
  });
}

function ringOf(points: readonly Point[]): readonly Point[] {
  if (points.length >= 3) return points;
  throw new Error('has a polygon of fewer than three points');
}

function boxOf(points: readonly Point[]): Polygon {
  const [lower, upper] = points;
  if (points.length !== 2 || !lower || !upper) throw new Error('has a box that is not two corners');
  const [[minX, minY], [maxX, maxY]] = [lower, upper];
  if (minX <= maxX && minY <= maxY) return polygonOfBounds({ minX, minY, maxX, maxY });
  throw new Error('has a box whose first corner is not the lower one');
}
