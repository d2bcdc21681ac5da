import type { MapPicture, Polygon } from '../../domain/bounds.ts';

/** How much of each pixel of a picture polygons cover, 0 to 1, row by row; or of all of them. */
export type AreaMask = 'nothing' | 'everything' | Float32Array;

/** Coverage that rounding may take or add. */
const ROUNDING = 1e-3;

/**
 * Each edge adds the area on its right to the sums of its rows, outer rings and holes with opposite signs; so the coverage is
 * exact, and polygons that share an edge leave no seam.
 */
export function maskOf(polygons: readonly Polygon[], picture: MapPicture): AreaMask {
  const { bounds, width, height } = picture;
  const sums = new Float32Array((width + 2) * height);
  const scaleX = width / (bounds.maxX - bounds.minX);
  const scaleY = height / (bounds.maxY - bounds.minY);
  for (const polygon of polygons) {
    for (const [index, ring] of polygon.entries()) {
      const points = ring.map(([x, y]) => [(x - bounds.minX) * scaleX, (bounds.maxY - y) * scaleY] as const);
      const sign = isClockwise(points) === (index === 0) ? 1 : -1;
      for (const [i, [x0, y0]] of points.entries()) {
        const [x1, y1] = points[(i + 1) % points.length] ?? [x0, y0];
        addEdge(sums, width, height, [x0, y0, x1, y1], sign);
      }
    }
  }
  return coverageOf(sums, width, height);
}

/** With y downwards, as pictures count it. */
function isClockwise(points: readonly (readonly [number, number])[]): boolean {
  let twice = 0;
  for (const [i, [x0, y0]] of points.entries()) {
    const [x1, y1] = points[(i + 1) % points.length] ?? [x0, y0];
    twice += (x1 - x0) * (y1 + y0);
  }
  return twice < 0;
}

function coverageOf(sums: Float32Array, width: number, height: number): AreaMask {
  const mask = new Float32Array(width * height);
  let [least, most] = [1, 0];
  for (let row = 0; row < height; row++) {
    let sum = 0;
    for (let column = 0; column < width; column++) {
      sum += sums[row * (width + 2) + column] ?? 0;
      const covered = Math.min(1, Math.max(0, sum));
      mask[row * width + column] = covered;
      if (covered < least) least = covered;
      if (covered > most) most = covered;
    }
  }
  if (most < ROUNDING) return 'nothing';
  return least > 1 - ROUNDING ? 'everything' : mask;
}

type Line = readonly [x0: number, y0: number, x1: number, y1: number];

/** Cuts an edge to the rows of the picture; what is beside it counts as its left or right side. */
function addEdge(sums: Float32Array, width: number, height: number, edge: Line, sign: number): void {
  let [x0, y0, x1, y1] = edge;
  let direction = -sign;
  if (y0 > y1) {
    [x0, y0, x1, y1] = [x1, y1, x0, y0];
    direction = sign;
  }
  if (y1 <= 0 || y0 >= height || y0 === y1) return;
  const slope = (x1 - x0) / (y1 - y0);
  const xAt = (y: number) => x0 + (y - y0) * slope;
  const cuts = [Math.max(0, y0), Math.min(height, y1)];
  for (const side of slope === 0 ? [] : [0, width]) {
    const y = y0 + (side - x0) / slope;
    if (y > Math.max(0, y0) && y < Math.min(height, y1)) cuts.push(y);
  }
  cuts.sort((a, b) => a - b);
  const inside = (x: number) => Math.min(width, Math.max(0, x));
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from = 0, to = 0] = [cuts[i], cuts[i + 1]];
    addLine(sums, width + 2, [inside(xAt(from)), from, inside(xAt(to)), to], direction);
  }
}

/** Downwards, and inside the picture. */
function addLine(sums: Float32Array, stride: number, [x0, y0, x1, y1]: Line, direction: number): void {
  const slope = y1 === y0 ? 0 : (x1 - x0) / (y1 - y0);
  for (let row = Math.floor(y0); row < y1; row++) {
    const [top, bottom] = [Math.max(row, y0), Math.min(row + 1, y1)];
    const amount = (bottom - top) * direction;
    const [a, b] = [x0 + (top - y0) * slope, x0 + (bottom - y0) * slope];
    addPiece(sums, row * stride, Math.min(a, b), Math.max(a, b), amount);
  }
}

/** The part of a line in one row, from `left` to `right`: pixels on its right get all of `amount`, those that it crosses a share. */
function addPiece(sums: Float32Array, row: number, left: number, right: number, amount: number): void {
  const [first, last] = [Math.floor(left), Math.max(Math.floor(left), Math.ceil(right) - 1)];
  const spread = right - left;
  /** The share of a pixel on the right of the line, on average over its height. */
  const covered = (column: number) => {
    if (spread === 0) return column + 1 - left;
    const [from, to] = [Math.max(column, left), Math.min(column + 1, right)];
    const crossed = ((column + 1 - from) ** 2 - (column + 1 - to) ** 2) / 2;
    return (Math.max(0, column - left) + crossed) / spread;
  };
  let before = 0;
  for (let column = first; column <= last + 1; column++) {
    const share = column > last ? 1 : covered(column);
    sums[row + column] = (sums[row + column] ?? 0) + (share - before) * amount;
    before = share;
  }
}
