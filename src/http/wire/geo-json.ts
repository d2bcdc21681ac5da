import type { Polygon } from '../../domain/polygon.ts';
import {
  bodyProblem,
  childrenNamed,
  numberOf,
  onlyChild,
  textField,
  type WireElement,
} from './wire-element.ts';

type Ring = Polygon[number];

/** RFC 7946: a Polygon or MultiPolygon, or features of them; everything else has no area. */
export function polygonsOf(geometry: WireElement): readonly Polygon[] {
  const type = textField(geometry, 'type');
  const coordinates = childrenNamed(geometry, 'coordinates');
  if (type === 'Polygon') return [coordinates.map(ringOf)];
  if (type === 'MultiPolygon') return coordinates.map((polygon) => polygon.children.map(ringOf));
  if (type === 'Feature') return polygonsOf(onlyChild(geometry, 'geometry') ?? refuse(geometry));
  if (type === 'FeatureCollection') return childrenNamed(geometry, 'features').flatMap(polygonsOf);
  return refuse(geometry);
}

function ringOf(ring: WireElement): Ring {
  return ring.children.map(pointOf);
}

function pointOf(point: WireElement): readonly [number, number] {
  const [x, y] = point.children;
  if (x && y) return [numberOf(x), numberOf(y)];
  throw bodyProblem('a position must have two numbers', point.place);
}

function refuse(geometry: WireElement): never {
  throw bodyProblem('area must be a GeoJSON Polygon or MultiPolygon, or features of these', geometry.place);
}
