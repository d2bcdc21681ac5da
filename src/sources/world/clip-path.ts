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
  if (cut(from, to, X, box.left, 1)) turn();
  if (cut(from, to, X, box.right, -1)) turn();
  if (cut(from, to, Y, box.top, 1)) turn();
  if (cut(from, to, Y, box.bottom, -1)) turn();
  return from;
}

const [X, Y] = [0, 1];

/** Keeps what lies on the `side` (1: right or below, -1: left or above) of an edge; false when nothing had to be cut. */
function cut(from: PixelPath, to: PixelPath, axis: number, edge: number, side: 1 | -1): boolean {
  const other = 1 - axis;
  let place = 0;
  while (place < from.length && (from.at(axis, place) - edge) * side >= 0) place++;
  if (place === from.length) return false;
  to.clear();
  let last = from.length - 1;
  for (place = 0; place < from.length; last = place++) {
    const [a, b] = [from.at(axis, last), from.at(axis, place)];
    const inside = (b - edge) * side >= 0;
    if (inside !== (a - edge) * side >= 0) {
      const [c, d] = [from.at(other, last), from.at(other, place)];
      const crossing = c + ((d - c) * (edge - a)) / (b - a);
      if (axis === X) to.add(edge, crossing);
      else to.add(crossing, edge);
    }
    if (inside) to.add(from.x(place), from.y(place));
  }
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

/** A growing run of points in pixels, reused from shape to shape so that drawing leaves little garbage. */
export class PixelPath {
  #xs = new Float64Array(1024);
  #ys = new Float64Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  at(axis: number, place: number): number {
    return (axis === X ? this.#xs[place] : this.#ys[place]) ?? 0;
  }

  x(place: number): number {
    return this.#xs[place] ?? 0;
  }

  y(place: number): number {
    return this.#ys[place] ?? 0;
  }

  /** A point equal to the one before it adds nothing. */
  add(x: number, y: number): void {
    const last = this.#length - 1;
    if (last >= 0 && this.#xs[last] === x && this.#ys[last] === y) return;
    if (this.#length === this.#xs.length) this.#grow();
    this.#xs[this.#length] = x;
    this.#ys[this.#length] = y;
    this.#length++;
  }

  #grow(): void {
    const [xs, ys] = [this.#xs, this.#ys];
    this.#xs = new Float64Array(2 * xs.length);
    this.#ys = new Float64Array(2 * ys.length);
    this.#xs.set(xs);
    this.#ys.set(ys);
  }
}
