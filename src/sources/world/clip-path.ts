import type { PixelPath } from './pixel-path.ts';

/** In pixels. */
export interface ClipBox {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * Coordinates beyond this many pixels are cut: the canvas keeps 24 bits of them. Nearer ones are left whole, so
 * that neighbouring pictures draw the very same line.
 */
const FAR = 8192;

/** Cuts a closed ring to the box, one side after the other; `spare` is overwritten. */
export function clipRing(ring: PixelPath, spare: PixelPath, box: ClipBox): PixelPath {
  let [from, to] = [ring, spare];
  const turn = () => {
    [from, to] = [to, from];
  };
  if (cutAcross(from, to, box.left, 1)) turn();
  if (cutAcross(from, to, box.right, -1)) turn();
  if (cutDown(from, to, box.top, 1)) turn();
  if (cutDown(from, to, box.bottom, -1)) turn();
  return from;
}

/** Keeps what lies on the `side` (1: right, -1: left) of a vertical edge; false when nothing had to be cut. */
function cutAcross(from: PixelPath, to: PixelPath, edge: number, side: 1 | -1): boolean {
  if (everyX(from, edge, side)) return false;
  to.clear();
  let px = from.x(from.length - 1);
  let py = from.y(from.length - 1);
  for (let place = 0; place < from.length; place++) {
    const x = from.x(place);
    const y = from.y(place);
    const inside = (x - edge) * side >= 0;
    if (inside !== (px - edge) * side >= 0) to.add(edge, py + ((y - py) * (edge - px)) / (x - px));
    if (inside) to.add(x, y);
    px = x;
    py = y;
  }
  return true;
}

/** The same for a horizontal edge (1: below, -1: above). */
function cutDown(from: PixelPath, to: PixelPath, edge: number, side: 1 | -1): boolean {
  if (everyY(from, edge, side)) return false;
  to.clear();
  let px = from.x(from.length - 1);
  let py = from.y(from.length - 1);
  for (let place = 0; place < from.length; place++) {
    const x = from.x(place);
    const y = from.y(place);
    const inside = (y - edge) * side >= 0;
    if (inside !== (py - edge) * side >= 0) to.add(px + ((x - px) * (edge - py)) / (y - py), edge);
    if (inside) to.add(x, y);
    px = x;
    py = y;
  }
  return true;
}

function everyX(path: PixelPath, edge: number, side: 1 | -1): boolean {
  for (let place = 0; place < path.length; place++) if ((path.x(place) - edge) * side < 0) return false;
  return true;
}

function everyY(path: PixelPath, edge: number, side: 1 | -1): boolean {
  for (let place = 0; place < path.length; place++) if ((path.y(place) - edge) * side < 0) return false;
  return true;
}

/** Hands over the segments of an open line that come near the box, as few strokes as that takes. */
export function sendNearSegments(line: PixelPath, box: ClipBox, sink: PathSink): void {
  let penDown = false;
  for (let place = 1; place < line.length; place++) {
    const [ax, ay, bx, by] = [line.x(place - 1), line.y(place - 1), line.x(place), line.y(place)];
    if (passesBeside(ax, ay, bx, by, box)) {
      penDown = false;
      continue;
    }
    if (isFar(ax, ay) || isFar(bx, by)) {
      sendFarSegment(ax, ay, bx, by, box, sink);
      penDown = false;
      continue;
    }
    if (!penDown) sink.moveTo(ax, ay);
    sink.lineTo(bx, by);
    penDown = true;
  }
}

function passesBeside(ax: number, ay: number, bx: number, by: number, box: ClipBox): boolean {
  return (
    (ax < box.left && bx < box.left) ||
    (ax > box.right && bx > box.right) ||
    (ay < box.top && by < box.top) ||
    (ay > box.bottom && by > box.bottom)
  );
}

function isFar(x: number, y: number): boolean {
  return Math.abs(x) > FAR || Math.abs(y) > FAR;
}

/** Liang and Barsky's way: the part of the segment, from `enter` to `leave`, that lies between all four edges. */
function sendFarSegment(ax: number, ay: number, bx: number, by: number, box: ClipBox, sink: PathSink): void {
  const [dx, dy] = [bx - ax, by - ay];
  let [enter, leave] = [0, 1];
  const limits: [number, number][] = [
    [-dx, ax - box.left],
    [dx, box.right - ax],
    [-dy, ay - box.top],
    [dy, box.bottom - ay],
  ];
  for (const [speed, room] of limits) {
    if (speed === 0 && room < 0) return;
    if (speed < 0) enter = Math.max(enter, room / speed);
    if (speed > 0) leave = Math.min(leave, room / speed);
  }
  if (enter >= leave) return;
  sink.moveTo(ax + dx * enter, ay + dy * enter);
  sink.lineTo(ax + dx * leave, ay + dy * leave);
}

/** What paths are handed to, in pixels. */
export interface PathSink {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** Pixels are written down in eighths: whole numbers are shorter to write and to read. */
export const UNITS_PER_PIXEL = 8;

/** Writes a path as SVG has it: the canvas reads that three times as fast as it takes calls for each point. */
export class SvgPathSink implements PathSink {
  #data = '';

  get data(): string {
    return this.#data;
  }

  moveTo(x: number, y: number): void {
    this.#data += `M${x * UNITS_PER_PIXEL} ${y * UNITS_PER_PIXEL}L`;
  }

  lineTo(x: number, y: number): void {
    this.#data += `${x * UNITS_PER_PIXEL} ${y * UNITS_PER_PIXEL} `;
  }
}
