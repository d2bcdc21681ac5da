import type { Bounds } from './bounds.ts';
import { levelOf } from './grid-set.ts';
import { coverageAt, type GridSubset } from './grid-subset.ts';
import type { TileIndex } from './tile-key.ts';
import { sizeOfRect, type TileRect } from './tile-rect.ts';

/** RGBA, row by row, not premultiplied; of the grid set's tile size. */
export type TilePixels = Buffer;

/** Limit of columns and rows of a level: a column and a row together are one exact number. */
const MAX_TILES_ACROSS = 2 ** 26;
/** In pixels. */
const ROUNDING = 1e-6;
/** A cell of a picture that needs more than these is torn apart. */
const TILES_OF_A_CELL = 4;

interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * One zoom of a layer as one large picture with only some of its tiles. Places outside the layer's extent are
 * transparent; inside it, edges are as sharp as a pixel.
 */
export class PixelSampler {
  readonly #extent: Bounds;
  readonly #left: number;
  readonly #resolution: number;
  readonly #top: number;
  readonly #tileWidth: number;
  readonly #tileHeight: number;
  readonly #columns: Range;
  readonly #rows: Range;
  readonly #tiles = new Map<number, TilePixels>();
  /** The tile of the last pixel: the next one is mostly in the same. */
  #key = -1;
  #tile: TilePixels | null = null;
  /** Sums over weighted pixels, colours times alpha. */
  #red = 0;
  #green = 0;
  #blue = 0;
  #alpha = 0;

  constructor(subset: GridSubset, z: number) {
    const { gridSet } = subset;
    const { resolution, top } = levelOf(gridSet, z);
    const coverage = coverageAt(subset, z) ?? { minX: 0, minY: 0, maxX: -1, maxY: -1 };
    this.#extent = subset.extent;
    this.#left = gridSet.extent.minX;
    this.#resolution = resolution;
    this.#top = top;
    this.#tileWidth = gridSet.tileWidth;
    this.#tileHeight = gridSet.tileHeight;
    this.#columns = pixelRange(coverage.minX, coverage.maxX, gridSet.tileWidth);
    this.#rows = pixelRange(coverage.minY, coverage.maxY, gridSet.tileHeight);
  }

  add({ x, y }: Pick<TileIndex, 'x' | 'y'>, pixels: TilePixels): void {
    this.#tiles.set(y * MAX_TILES_ACROSS + x, pixels);
  }

  /** Forgets tiles other than these; returns those that it does not have. */
  keep(keys: ReadonlySet<number>): readonly number[] {
    for (const key of this.#tiles.keys()) if (!keys.has(key)) this.#tiles.delete(key);
    this.#key = -1;
    return [...keys].filter((key) => !this.#tiles.has(key));
  }

  /** Adds the tiles that it takes to draw all places, x and y in turn, as keys for `tileOfKey`. */
  collect(places: Float64Array, count: number, keys: Set<number>): void {
    const box = placesBox(places, count);
    const whole = this.#rectOf(box.minX, box.minY, box.maxX, box.maxY);
    if (box.complete && (!whole || sizeOfRect(whole) <= TILES_OF_A_CELL)) {
      if (whole) addRect(whole, keys);
      return;
    }
    // Torn apart, as by the antimeridian: tiles between the parts are not needed.
    for (let i = 0; i < 2 * count; i += 2) {
      const [x = 0, y = 0] = [places[i], places[i + 1]];
      const rect = this.#rectOf(x, y, x, y);
      if (rect) addRect(rect, keys);
    }
  }

  tileOfKey(key: number): { readonly x: number; readonly y: number } {
    return { x: key % MAX_TILES_ACROSS, y: Math.floor(key / MAX_TILES_ACROSS) };
  }

  /** Writes the colour of the place, in four bytes. */
  bilinear(x: number, y: number, pixels: Buffer, at: number): void {
    if (!this.#weigh(x, y)) return;
    const alpha = this.#alpha;
    pixels[at] = Math.round(this.#red / alpha);
    pixels[at + 1] = Math.round(this.#green / alpha);
    pixels[at + 2] = Math.round(this.#blue / alpha);
    pixels[at + 3] = Math.round(alpha);
  }

  /** Adds the colour of a place inside to five sums: red, green and blue times alpha, alpha, and one. */
  addTo(sums: Float64Array, x: number, y: number, at: number): void {
    if (!this.isInside(x, y)) return;
    sums[at + 4] = (sums[at + 4] ?? 0) + 1;
    if (!this.#weigh(x, y)) return;
    sums[at] = (sums[at] ?? 0) + this.#red;
    sums[at + 1] = (sums[at + 1] ?? 0) + this.#green;
    sums[at + 2] = (sums[at + 2] ?? 0) + this.#blue;
    sums[at + 3] = (sums[at + 3] ?? 0) + this.#alpha;
  }

  /** Sums the four pixels around a place; false if it is transparent. */
  #weigh(x: number, y: number): boolean {
    if (!this.isInside(x, y)) return false;
    const u = this.#across(x);
    const v = this.#down(y);
    const column = firstPixel(u);
    const row = firstPixel(v);
    const right = lastPixel(u) === column ? 0 : u - column;
    const below = lastPixel(v) === row ? 0 : v - row;
    const at = this.#find(column, row);
    if (this.#hasSquare(column, row, at)) return this.#weighSquare(at, right, below);
    this.#red = this.#green = this.#blue = this.#alpha = 0;
    this.#addPixel(column, row, (1 - right) * (1 - below));
    this.#addPixel(column + 1, row, right * (1 - below));
    this.#addPixel(column, row + 1, (1 - right) * below);
    this.#addPixel(column + 1, row + 1, right * below);
    return this.#alpha > 0;
  }

  /** Whether the pixels to the right and below are in the same tile, as they mostly are. */
  #hasSquare(column: number, row: number, at: number): boolean {
    const pixel = at / 4;
    const width = this.#tileWidth;
    const isNotClamped = column >= this.#columns.first && row >= this.#rows.first;
    return isNotClamped && (pixel % width) + 1 < width && pixel + width < width * this.#tileHeight;
  }

  /** Same as `#addPixel`, for all four. */
  #weighSquare(at: number, right: number, below: number): boolean {
    const pixels = this.#tile;
    if (!pixels) return false;
    const next = at + 4 * this.#tileWidth;
    const a = (pixels[at + 3] ?? 0) * (1 - right) * (1 - below);
    const b = (pixels[at + 7] ?? 0) * right * (1 - below);
    const c = (pixels[next + 3] ?? 0) * (1 - right) * below;
    const d = (pixels[next + 7] ?? 0) * right * below;
    const mix = (i: number, j: number) =>
      (pixels[i] ?? 0) * a + (pixels[i + 4] ?? 0) * b + (pixels[j] ?? 0) * c + (pixels[j + 4] ?? 0) * d;
    this.#red = mix(at, next);
    this.#green = mix(at + 1, next + 1);
    this.#blue = mix(at + 2, next + 2);
    this.#alpha = a + b + c + d;
    return this.#alpha > 0;
  }

  nearest(x: number, y: number, pixels: Buffer, at: number): void {
    if (!this.isInside(x, y)) return;
    const column = Math.floor((x - this.#left) / this.#resolution);
    const from = this.#find(column, Math.floor((this.#top - y) / this.#resolution));
    this.#tile?.copy(pixels, at, from, from + 4);
  }

  isInside(x: number, y: number): boolean {
    const { minX, minY, maxX, maxY } = this.#extent;
    return x >= minX && x <= maxX && y >= minY && y <= maxY;
  }

  /** In pixels, whole ones at their centres. */
  #across(x: number): number {
    return (x - this.#left) / this.#resolution - 0.5;
  }

  #down(y: number): number {
    return (this.#top - y) / this.#resolution - 0.5;
  }

  /** The tiles around a box of places; null if it is outside. */
  #rectOf(minX: number, minY: number, maxX: number, maxY: number): TileRect | null {
    const inside = this.#extent;
    if (!(maxX >= inside.minX && minX <= inside.maxX && maxY >= inside.minY && minY <= inside.maxY))
      return null;
    const column = (pixel: number) => Math.floor(within(pixel, this.#columns) / this.#tileWidth);
    const row = (pixel: number) => Math.floor(within(pixel, this.#rows) / this.#tileHeight);
    return {
      minX: column(firstPixel(this.#across(minX))),
      maxX: column(lastPixel(this.#across(maxX))),
      minY: row(firstPixel(this.#down(maxY))),
      maxY: row(lastPixel(this.#down(minY))),
    };
  }

  #addPixel(column: number, row: number, weight: number): void {
    if (weight === 0) return;
    const at = this.#find(column, row);
    const pixels = this.#tile;
    if (!pixels) return;
    const alpha = (pixels[at + 3] ?? 0) * weight;
    this.#red += (pixels[at] ?? 0) * alpha;
    this.#green += (pixels[at + 1] ?? 0) * alpha;
    this.#blue += (pixels[at + 2] ?? 0) * alpha;
    this.#alpha += alpha;
  }

  /** The offset of the pixel in its tile, which is in `#tile` afterwards. */
  #find(column: number, row: number): number {
    const x = within(column, this.#columns);
    const y = within(row, this.#rows);
    const tileX = Math.floor(x / this.#tileWidth);
    const tileY = Math.floor(y / this.#tileHeight);
    const key = tileY * MAX_TILES_ACROSS + tileX;
    if (key !== this.#key) {
      this.#key = key;
      this.#tile = this.#tiles.get(key) ?? null;
    }
    return 4 * ((y - tileY * this.#tileHeight) * this.#tileWidth + x - tileX * this.#tileWidth);
  }
}

/** The pixels before and after a place; the same one if the place is a pixel's centre, up to rounding. */
function firstPixel(at: number): number {
  return Math.floor(at + ROUNDING);
}

function lastPixel(at: number): number {
  return Math.ceil(at - ROUNDING);
}

function placesBox(places: Float64Array, count: number) {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  let complete = true;
  for (let i = 0; i < 2 * count; i += 2) {
    const x = places[i] ?? Number.NaN;
    const y = places[i + 1] ?? Number.NaN;
    if (Number.isNaN(x)) complete = false;
    if (x < minX) minX = x;
    if (x > maxX) maxX = x;
    if (y < minY) minY = y;
    if (y > maxY) maxY = y;
  }
  return { minX, minY, maxX, maxY, complete };
}

function addRect({ minX, minY, maxX, maxY }: TileRect, keys: Set<number>): void {
  for (let y = minY; y <= maxY; y++) for (let x = minX; x <= maxX; x++) keys.add(y * MAX_TILES_ACROSS + x);
}

function pixelRange(first: number, last: number, size: number): Range {
  return { first: first * size, last: (last + 1) * size - 1 };
}

function within(value: number, { first, last }: Range): number {
  return Math.min(Math.max(value, first), last);
}

/** The coarsest level that is fine enough; the finest that can be drawn from when none is. */
export function levelFor(
  subset: GridSubset,
  wanted: number,
  [first, last]: readonly [number, number],
): number {
  let finest = first;
  for (let z = first; z <= last; z++) {
    const { columns, rows, resolution } = levelOf(subset.gridSet, z);
    if (Math.max(columns, rows) > MAX_TILES_ACROSS) break;
    if (resolution <= wanted && coverageAt(subset, z)) return z;
    finest = z;
  }
  return finest;
}
