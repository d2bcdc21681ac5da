import { type ClipBox, clipRing, type PathSink, PixelPath, sendNearSegments } from './clip-path.ts';
import type { MapShape } from './map-shape.ts';
import type { MapView } from './map-view.ts';

/** Nothing that is drawn reaches further beyond its line than this, in pixels. */
const REACH = 24;
/**
 * Points are set on a lattice, the same for every picture of a zoom: it thins dense coasts, and neighbouring
 * pictures agree on every line. So many steps to a pixel:
 */
const FINE_STEPS = 8;
const MEDIUM_STEPS = 4;
const COARSE_STEPS = 0.5;
/** The data stand on a lattice of 0.0036°; finer than this per pixel its corners would show, so they are rounded. */
const SMOOTH_BELOW_RESOLUTION = 0.012;
/** A rounded corner is drawn with a chord for each so many pixels. */
const CHORD = 10;
const MAX_CHORDS = 12;

/** Hands the shapes that a view shows to a canvas, in the view's pixels and cut to what comes near it. */
export class ShapeTracer {
  readonly #view: MapView;
  readonly #box: ClipBox;
  readonly #smooth: boolean;
  readonly #steps: number;
  readonly #path = new PixelPath();
  readonly #spare = new PixelPath();

  constructor(view: MapView) {
    this.#view = view;
    this.#box = { left: -REACH, top: -REACH, right: view.width + REACH, bottom: view.height + REACH };
    this.#smooth = view.resolutionX < SMOOTH_BELOW_RESOLUTION;
    this.#steps = this.#smooth ? FINE_STEPS : MEDIUM_STEPS;
  }

  traceRings(shapes: Iterable<MapShape>, sink: PathSink): void {
    for (const shape of shapes) {
      for (const shift of this.#shiftsInView(shape)) {
        this.#layOut(shape, shift, this.#steps);
        sendRing(clipRing(this.#path, this.#spare, this.#box), sink);
      }
    }
  }

  /** `coarsely`: for wide strokes, which hide small bends but take long to draw around them. */
  traceLines(shapes: Iterable<MapShape>, sink: PathSink, coarsely: boolean): void {
    for (const shape of shapes) {
      for (const shift of this.#shiftsInView(shape)) {
        this.#layOut(shape, shift, coarsely ? COARSE_STEPS : this.#steps);
        sendNearSegments(this.#path, this.#box, sink);
      }
    }
  }

  /** The world repeats every 360 degrees, so what leaves on the right comes in on the left. */
  *#shiftsInView(shape: MapShape): Generator<number> {
    const { resolutionX, resolutionY, left, top } = this.#view;
    if (-shape.minY / resolutionY - top < this.#box.top) return;
    if (-shape.maxY / resolutionY - top > this.#box.bottom) return;
    for (const shift of shape.unrolled ? [0] : [-360, 0, 360]) {
      const from = (shape.minX + shift) / resolutionX - left;
      const to = (shape.maxX + shift) / resolutionX - left;
      if (to >= this.#box.left && from <= this.#box.right) yield shift;
    }
  }

  #layOut(shape: MapShape, shift: number, steps: number): void {
    const { resolutionX, resolutionY, left, top } = this.#view;
    const path = this.#path;
    path.clear();
    const last = shape.x.length - 1;
    const xAt = (place: number) => onLattice(((shape.x[place] ?? 0) + shift) / resolutionX - left, steps);
    const yAt = (place: number) => onLattice(-(shape.y[place] ?? 0) / resolutionY - top, steps);
    let x = xAt(0);
    let y = yAt(0);
    let ax = x;
    let ay = y;
    for (let place = 0; place <= last; place++) {
      const bx = place < last ? xAt(place + 1) : x;
      const by = place < last ? yAt(place + 1) : y;
      const corner = !this.#smooth || place === 0 || place === last || shape.fixed[place] === 1;
      if (corner || this.#passesBeside(ax, ay, x, y, bx, by)) path.add(x, y);
      else addRounded(path, steps, ax, ay, x, y, bx, by);
      ax = x;
      ay = y;
      x = bx;
      y = by;
    }
  }

  #passesBeside(ax: number, ay: number, x: number, y: number, bx: number, by: number): boolean {
    const { left, top, right, bottom } = this.#box;
    return (
      (ax < left && x < left && bx < left) ||
      (ax > right && x > right && bx > right) ||
      (ay < top && y < top && by < top) ||
      (ay > bottom && y > bottom && by > bottom)
    );
  }
}

function onLattice(pixels: number, steps: number): number {
  return Math.round(pixels * steps) / steps;
}

/** Rounds a corner with the parabola from the middle of the line before it to the middle of the line after it. */
function addRounded(
  path: PixelPath,
  steps: number,
  ax: number,
  ay: number,
  x: number,
  y: number,
  bx: number,
  by: number,
): void {
  const fromX = (ax + x) / 2;
  const fromY = (ay + y) / 2;
  const toX = (x + bx) / 2;
  const toY = (y + by) / 2;
  const length = Math.abs(x - fromX) + Math.abs(y - fromY) + Math.abs(toX - x) + Math.abs(toY - y);
  const chords = Math.min(MAX_CHORDS, Math.ceil(length / CHORD));
  path.add(onLattice(fromX, steps), onLattice(fromY, steps));
  for (let chord = 1; chord <= chords; chord++) {
    const t = chord / chords;
    const [p, q, r] = [(1 - t) * (1 - t), 2 * t * (1 - t), t * t];
    path.add(onLattice(p * fromX + q * x + r * toX, steps), onLattice(p * fromY + q * y + r * toY, steps));
  }
}

function sendRing(ring: PixelPath, sink: PathSink): void {
  if (ring.length < 3) return;
  sink.moveTo(ring.x(0), ring.y(0));
  for (let place = 1; place < ring.length; place++) sink.lineTo(ring.x(place), ring.y(place));
}
