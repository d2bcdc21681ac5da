import type { MapShape } from './map-shape.ts';
import type { MapView } from './map-view.ts';

/** Pixels around the view in which lines still count: no stroke is wider. */
const REACH = 24;
/** A path is written in eighths of a pixel: whole numbers are shorter to write and to read. */
export const UNITS_PER_PIXEL = 8;

/**
 * The shapes that a view shows, as an SVG path in eighths of its pixels: the canvas reads that three times as fast as a
 * call for each point. Points are on a lattice of `steps` to a pixel, the same for every picture of a zoom: it thins dense
 * coasts, and neighbouring pictures agree on every line.
 */
export function traceShapes(view: MapView, shapes: Iterable<MapShape>, steps: number): string {
  let path = '';
  for (const shape of shapes) {
    for (const shift of shiftsInView(view, shape)) path += traceShape(view, shape, shift, steps);
  }
  return path;
}

/** The world repeats every 360 degrees. An `unrolled` shape contains its repetitions. */
function shiftsInView(
  { resolutionX, resolutionY, left, top, width, height }: MapView,
  shape: MapShape,
): number[] {
  if (-shape.minY / resolutionY - top < -REACH || -shape.maxY / resolutionY - top > height + REACH) return [];
  return (shape.unrolled ? [0] : [-360, 0, 360]).filter((shift) => {
    const [from, to] = [shape.minX, shape.maxX].map((x) => (x + shift) / resolutionX - left);
    return (to ?? 0) >= -REACH && (from ?? 0) <= width + REACH;
  });
}

/**
 * Leaves out points that are on the same side of the view as the points before and after them: no line between
 * those comes into view, and the canvas clips the rest.
 */
function traceShape(view: MapView, { x: xs, y: ys }: MapShape, shift: number, steps: number): string {
  // Units of the path in a step of the lattice.
  const scale = UNITS_PER_PIXEL / steps;
  const at = (place: number): [x: number, y: number] => [
    Math.round((((xs[place] ?? 0) + shift) / view.resolutionX - view.left) * steps) * scale,
    Math.round((-(ys[place] ?? 0) / view.resolutionY - view.top) * steps) * scale,
  ];
  let [x, y] = at(0);
  let path = `M${x} ${y}L`;
  let [before, beside] = [0, sidesOf(view, x, y)];
  for (let place = 1; place < xs.length; place++) {
    const [nextX, nextY] = at(place);
    if (nextX === x && nextY === y) continue;
    const next = sidesOf(view, nextX, nextY);
    if ((before & beside & next) === 0) {
      path += `${x} ${y} `;
      before = beside;
    }
    [x, y, beside] = [nextX, nextY, next];
  }
  return `${path}${x} ${y}`;
}

/** A bit for each side of the view that a point, in units of the path, is beyond. */
function sidesOf({ width, height }: MapView, x: number, y: number): number {
  const [right, bottom] = [(width + REACH) * UNITS_PER_PIXEL, (height + REACH) * UNITS_PER_PIXEL];
  const reach = REACH * UNITS_PER_PIXEL;
  return (x < -reach ? 1 : 0) | (x > right ? 2 : 0) | (y < -reach ? 4 : 0) | (y > bottom ? 8 : 0);
}
