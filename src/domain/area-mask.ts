import type { Pace } from '../lib/yielding.ts';
import type { Chain } from './area-chains.ts';
import type { MapPicture } from './bounds.ts';

/** How much of each pixel of a picture an area covers, 0 to 255, row by row; or the same for all pixels. */
export type AreaMask = 'nothing' | 'everything' | Uint8Array;

const FULL = 255;
/** In pixels: a chain whose box is smaller counts as a line, and the area beside the line as a point. */
const UNSEEN = 0.25;
/** In pixels; a smaller crossing of an edge is rounding. */
const ROUNDING = 1e-3;
const PIXELS_PER_BAND = 1 << 16;
/** Edges read between two calls of `pace`, which counts them. */
const EDGES_PER_STEP = 1000;

/** The mask of an area in a picture, computed band by band, yielding to the event loop by `pace`. */
export async function maskOf(area: Chain, picture: MapPicture, pace: Pace): Promise<AreaMask> {
  const { width, height } = picture;
  if (!isCrossed(area, picture)) {
    const [inside = 0] = await bandOf(area, { ...picture, width: 1, height: 1 }, 0, 1, pace);
    return inside > FULL / 2 ? 'everything' : 'nothing';
  }
  const mask = new Uint8Array(width * height);
  const rows = Math.max(1, Math.floor(PIXELS_PER_BAND / width));
  for (let top = 0; top < height; top += rows) {
    mask.set(await bandOf(area, picture, top, Math.min(rows, height - top), pace), top * width);
    await pace(EDGES_PER_STEP);
  }
  return mask;
}

/** The places that at least one of the masks shows, of pictures of one size. May change the first mask. */
export function joinMasks(masks: readonly AreaMask[]): AreaMask {
  if (masks.includes('everything')) return 'everything';
  const [first, ...others] = masks.filter((mask) => typeof mask !== 'string');
  if (!first) return 'nothing';
  for (const other of others) {
    for (let i = 0; i < first.length; i++) first[i] = Math.min(FULL, (first[i] ?? 0) + (other[i] ?? 0));
  }
  if (first.every((share) => share === 0)) return 'nothing';
  return first.every((share) => share === FULL) ? 'everything' : first;
}

/** RGBA: hidden pixels become transparent, and lose their colour: it could be read from the file. */
export function applyMask(pixels: Buffer, mask: Uint8Array): void {
  for (let i = 0; i < mask.length; i++) {
    const share = mask[i] ?? 0;
    for (let at = 4 * i; share === 0 && at < 4 * i + 3; at++) pixels[at] = 0;
    if (share < FULL) pixels[4 * i + 3] = Math.round(((pixels[4 * i + 3] ?? 0) * share) / FULL);
  }
}

/** Whether a part of the outline may be in the picture. */
function isCrossed(area: Chain, { bounds, width, height }: MapPicture): boolean {
  const [rimX, rimY] = [
    (ROUNDING * (bounds.maxX - bounds.minX)) / width,
    (ROUNDING * (bounds.maxY - bounds.minY)) / height,
  ];
  const [left, right] = [bounds.minX + rimX, bounds.maxX - rimX];
  const [bottom, top] = [bounds.minY + rimY, bounds.maxY - rimY];
  const waiting = [area];
  for (let chain = waiting.pop(); chain; chain = waiting.pop()) {
    if (chain.maxX <= left || chain.minX >= right || chain.maxY <= bottom || chain.minY >= top) continue;
    if (!(chain.parts instanceof Float64Array)) {
      waiting.push(...chain.parts);
      continue;
    }
    for (let i = 0; i + 3 < chain.parts.length; i += 2) {
      const [x0, x1] = [chain.parts[i] ?? 0, chain.parts[i + 2] ?? 0];
      const [y0, y1] = [chain.parts[i + 1] ?? 0, chain.parts[i + 3] ?? 0];
      const beside = Math.max(x0, x1) <= left || Math.min(x0, x1) >= right;
      if (!beside && Math.max(y0, y1) > bottom && Math.min(y0, y1) < top) return true;
    }
  }
  return false;
}

/**
 * Each edge adds the area on its right to the sums of its rows, outer rings and holes in opposite directions; so the
 * coverage is exact, and polygons that share an edge leave no seam.
 */
async function bandOf(
  area: Chain,
  { bounds, width, height: all }: MapPicture,
  top: number,
  height: number,
  pace: Pace,
): Promise<Uint8Array> {
  const sums: Sums = { width, height, values: new Float32Array((width + 2) * height) };
  const scaleX = width / (bounds.maxX - bounds.minX);
  const scaleY = all / (bounds.maxY - bounds.minY);
  const column = (x = 0) => (x - bounds.minX) * scaleX;
  const row = (y = 0) => (bounds.maxY - y) * scaleY - top;
  const waiting = [area];
  let edges = 0;
  for (let chain = waiting.pop(); chain; chain = waiting.pop()) {
    if (edges >= EDGES_PER_STEP) {
      await pace(edges);
      edges = 0;
    }
    edges++;
    const { startX, startY, endX, endY, parts } = chain;
    const [left, right] = [column(chain.minX), column(chain.maxX)];
    const [upper, lower] = [row(chain.maxY), row(chain.minY)];
    if (lower <= 0 || upper >= height || left >= width) continue;
    const isUnseen = right - left < UNSEEN && lower - upper < UNSEEN;
    if (right <= 0 || isUnseen) {
      addEdge(sums, column(startX), row(startY), column(endX), row(endY));
      if (right > 0) addDot(sums, (left + right) / 2, (upper + lower) / 2, chain.area * scaleX * scaleY);
    } else if (parts instanceof Float64Array) {
      edges += parts.length / 2;
      for (let i = 0; i + 3 < parts.length; i += 2) {
        addEdge(sums, column(parts[i]), row(parts[i + 1]), column(parts[i + 2]), row(parts[i + 3]));
      }
    } else {
      waiting.push(...parts);
    }
  }
  return coverageOf(sums);
}

/** Amount added to a row from each pixel on; two entries more than the picture has pixels. */
interface Sums {
  readonly width: number;
  readonly height: number;
  readonly values: Float32Array;
}

function coverageOf({ width, height, values }: Sums): Uint8Array {
  const mask = new Uint8Array(width * height);
  for (let row = 0; row < height; row++) {
    let sum = 0;
    for (let column = 0; column < width; column++) {
      sum += values[row * (width + 2) + column] ?? 0;
      mask[row * width + column] = Math.round(FULL * Math.min(1, Math.max(0, sum)));
    }
  }
  return mask;
}

/** Adds an area within one pixel. */
function addDot({ width, height, values }: Sums, x: number, y: number, area: number): void {
  if (x < 0 || x >= width || y < 0 || y >= height) return;
  const at = Math.floor(y) * (width + 2) + Math.floor(x);
  values[at] = (values[at] ?? 0) + area;
  values[at + 1] = (values[at + 1] ?? 0) - area;
}

/** Cuts an edge to the rows of the picture; the parts beside it count as its left or right side. */
function addEdge(sums: Sums, fromX: number, fromY: number, toX: number, toY: number): void {
  if (fromY === toY) return;
  if (fromY > toY) addDownwards(sums, toX, toY, fromX, fromY, 1);
  else addDownwards(sums, fromX, fromY, toX, toY, -1);
}

function addDownwards(sums: Sums, x0: number, y0: number, x1: number, y1: number, direction: 1 | -1): void {
  const { width, height } = sums;
  if (y1 <= 0 || y0 >= height) return;
  const isInside = y0 >= 0 && y1 <= height && Math.min(x0, x1) >= 0 && Math.max(x0, x1) <= width;
  if (isInside) {
    addLine(sums, x0, y0, x1, y1, direction);
    return;
  }
  const slope = (x1 - x0) / (y1 - y0);
  const cuts = [Math.max(0, y0), Math.min(height, y1)];
  for (const side of slope === 0 ? [] : [0, width]) {
    const y = y0 + (side - x0) / slope;
    if (y > Math.max(0, y0) && y < Math.min(height, y1)) cuts.push(y);
  }
  cuts.sort((a, b) => a - b);
  const inside = (y: number) => Math.min(width, Math.max(0, x0 + (y - y0) * slope));
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from = 0, to = 0] = [cuts[i], cuts[i + 1]];
    addLine(sums, inside(from), from, inside(to), to, direction);
  }
}

/** Downwards, and inside the picture. */
function addLine(
  { width, values }: Sums,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  direction: 1 | -1,
): void {
  const slope = y1 === y0 ? 0 : (x1 - x0) / (y1 - y0);
  for (let row = Math.floor(y0); row < y1; row++) {
    const [top, bottom] = [Math.max(row, y0), Math.min(row + 1, y1)];
    const [a, b] = [x0 + (top - y0) * slope, x0 + (bottom - y0) * slope];
    addPiece(values, row * (width + 2), Math.min(a, b), Math.max(a, b), (bottom - top) * direction);
  }
}

/** The part of a line in one row: pixels to its right get all of `amount`, those that it crosses a share. */
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
