/** The shapes of an entry: GeoRSS Simple, GML and W3C points. */
import {
  type Bounds,
  boundsAround,
  boundsOfPoints,
  type Polygon,
  polygonOfBounds,
} from '../../domain/bounds.ts';
import { MAX_POINTS } from '../../domain/place-in-grid-set.ts';
import type { Point } from '../../domain/projection.ts';
import { numberAtEnd } from '../../lib/scan-text.ts';
import { descendantsOf, textIn, type XmlElement } from '../../lib/xml/xml-element.ts';
import type { Pace } from '../../lib/yielding.ts';
import { DEGREES, faultOfPoints, polygonOfLine } from '../check-place.ts';

/** Throws an error that continues a sentence about the entry. `pace` counts characters. */
export async function* shapesIn(entry: XmlElement, srs: number, pace: Pace): AsyncGenerator<Polygon> {
  const read = (text: string, crs = srs) => readPoints(text, crs, pace);
  for (const child of entry.children) yield* simpleShapes(child, read);
  for (const { name, children } of entry.children) {
    if (name !== 'where') continue;
    for (const geometry of children) yield* gmlShapes(geometry, srs, read);
  }
  yield* w3cPoints(entry, read);
  for (const child of entry.children) if (child.name === 'Point') yield* w3cPoints(child, read);
}

/** Without points if there are too many to store. */
interface PointList {
  readonly points: readonly Point[] | null;
  readonly bounds: Bounds;
}

type ReadPoints = (text: string, srs?: number) => Promise<PointList>;

/** GeoRSS Simple: `point`, `line`, `polygon` and `box`. */
async function* simpleShapes({ name, text }: XmlElement, read: ReadPoints): AsyncGenerator<Polygon> {
  if (name === 'point' || name === 'line') yield lineOf(await read(text));
  if (name === 'polygon') yield polygonOf([await read(text)]);
  if (name === 'box') yield boxPolygon(await read(text));
}

/** Where it has several geometries, each of them counts. */
async function* gmlShapes(geometry: XmlElement, srs: number, read: ReadPoints): AsyncGenerator<Polygon> {
  refuseOtherCrs(geometry, srs);
  for (const name of ['Point', 'LineString']) {
    for (const line of descendantsOf(geometry, name)) yield lineOf(await read(coordinatesIn(line)));
  }
  for (const polygon of descendantsOf(geometry, 'Polygon')) {
    const rings: PointList[] = [];
    for (const ring of descendantsOf(polygon, 'LinearRing')) rings.push(await read(coordinatesIn(ring)));
    if (rings.length === 0) throw new Error('has a Polygon without a LinearRing');
    yield polygonOf(rings);
  }
  for (const envelope of descendantsOf(geometry, 'Envelope')) {
    yield boxPolygon(await read(`${textIn(envelope, 'lowerCorner')} ${textIn(envelope, 'upperCorner')}`));
  }
}

async function* w3cPoints(element: XmlElement, read: ReadPoints): AsyncGenerator<Polygon> {
  const [latitude, longitude] = [textIn(element, 'lat'), textIn(element, 'long') || textIn(element, 'lon')];
  if (latitude !== '' || longitude !== '') yield lineOf(await read(`${latitude} ${longitude}`, DEGREES));
}

function refuseOtherCrs({ attributes }: XmlElement, srs: number): void {
  const name = attributes.get('srsName');
  if (name === undefined || numberAtEnd(name) === srs || name.endsWith('CRS84')) return;
  throw new Error(`has the CRS ${name.slice(0, 80)}; the feed has EPSG:${srs}`);
}

/** `pos` or `posList`, one or more. */
function coordinatesIn({ children }: XmlElement): string {
  const lists = children.filter(({ name }) => name === 'pos' || name === 'posList');
  return lists.map(({ text }) => text).join(' ');
}

/** Characters that are read together. */
const PART = 8 * 1024;
/** No number has more characters. */
const MAX_NUMBER = 100;
const SEPARATOR = /[\s,]/;

/** Pairs of numbers: latitude first in degrees, x first in other CRS. */
async function readPoints(text: string, srs: number, pace: Pace): Promise<PointList> {
  const points: Point[] = [];
  const boxes: Bounds[] = [];
  const fault = () =>
    new Error(`has coordinates that are not pairs of numbers: ${JSON.stringify(text.trim().slice(0, 60))}`);
  let count = 0;
  let odd: readonly number[] = [];
  for (const part of partsOf(text)) {
    const numbers = [...odd, ...part.split(SEPARATOR).filter(Boolean).map(Number)];
    if (part.length > PART + MAX_NUMBER || !numbers.every(Number.isFinite)) throw fault();
    odd = numbers.length % 2 === 0 ? [] : numbers.slice(-1);
    const pairs = pairsOf(numbers, srs);
    const wrong = faultOfPoints(pairs, srs);
    if (wrong !== null) throw new Error(wrong);
    count += pairs.length;
    if (pairs.length > 0) boxes.push(boundsOfPoints(pairs));
    if (count <= MAX_POINTS) points.push(...pairs);
    await pace(part.length);
  }
  if (count === 0 || odd.length > 0) throw fault();
  return { points: count <= MAX_POINTS ? points : null, bounds: boundsAround(boxes) };
}

/** Cut between numbers. */
function* partsOf(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + PART;
    while (end < text.length && end <= at + PART + MAX_NUMBER && !SEPARATOR.test(text.charAt(end))) end++;
    yield text.slice(at, end);
  }
}

function pairsOf(numbers: readonly number[], srs: number): readonly Point[] {
  return Array.from({ length: Math.floor(numbers.length / 2) }, (_, i): Point => {
    const [a = 0, b = 0] = [numbers[2 * i], numbers[2 * i + 1]];
    return srs === DEGREES ? [b, a] : [a, b];
  });
}

function lineOf({ points, bounds }: PointList): Polygon {
  return points ? polygonOfLine(points) : polygonOfBounds(bounds);
}

/** The box around all rings if one has too many points. */
function polygonOf(rings: readonly PointList[]): Polygon {
  if (rings.some(({ points }) => points && points.length < 3)) {
    throw new Error('has a polygon of fewer than three points');
  }
  const all = rings.flatMap(({ points }) => (points ? [points] : []));
  return all.length === rings.length ? all : polygonOfBounds(boundsAround(rings.map(({ bounds }) => bounds)));
}

function boxPolygon({ points }: PointList): Polygon {
  const [lower, upper, more] = points ?? [];
  if (!lower || !upper || more) throw new Error('has a box that is not two corners');
  const [[minX, minY], [maxX, maxY]] = [lower, upper];
  if (minX <= maxX && minY <= maxY) return polygonOfBounds({ minX, minY, maxX, maxY });
  throw new Error('has a box whose first corner is not the lower one');
}
