import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../domain/grid-subset.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { TilePixels } from '../layer-reader.ts';

/** Columns below it and a row make one exact number. */
const ROW_FACTOR = 2 ** 26;

interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * One zoom of a layer as one large picture, of which only some tiles are there. Places outside the layer's extent are
 * transparent; inside it, edges are as sharp as a pixel.
 */
export class PixelSampler {
  readonly #subset: GridSubset;
  readonly #resolution: number;
  readonly #top: number;
  readonly #tileWidth: number;
  readonly #tileHeight: number;
  readonly #columns: Range;
  readonly #rows: Range;
  readonly #tiles = new Map<number, TilePixels>();
  #lastKey = -1;
  #lastTile: TilePixels | null = null;
  /** Red, green and blue times alpha, and alpha, each times its weight. */
  readonly #sum = new Float64Array(4);

  constructor(subset: GridSubset, z: number) {
    const { gridSet } = subset;
    const { resolution, top } = levelOf(gridSet, z);
    const coverage = coverageAt(subset, z) ?? { minX: 0, minY: 0, maxX: -1, maxY: -1 };
    this.#subset = subset;
    this.#resolution = resolution;
    this.#top = top;
    this.#tileWidth = gridSet.tileWidth;
    this.#tileHeight = gridSet.tileHeight;
    this.#columns = pixelRange(coverage.minX, coverage.maxX, gridSet.tileWidth);
    this.#rows = pixelRange(coverage.minY, coverage.maxY, gridSet.tileHeight);
  }

  add({ x, y }: Pick<TileIndex, 'x' | 'y'>, pixels: TilePixels): void {
    this.#tiles.set(y * ROW_FACTOR + x, pixels);
  }

  /** Adds the tiles that it takes to draw the place, as keys for `tileOfKey`. */
  collect(x: number, y: number, keys: Set<number>): void {
    if (!this.#isInside(x, y)) return;
    const { minX } = this.#subset.extent;
    const u = (x - minX) / this.#resolution - 0.5;
    const v = (this.#top - y) / this.#resolution - 0.5;
    for (const row of [Math.floor(v), Math.floor(v) + 1]) {
      for (const column of [Math.floor(u), Math.floor(u) + 1]) {
        const tileX = Math.floor(within(column, this.#columns) / this.#tileWidth);
        keys.add(Math.floor(within(row, this.#rows) / this.#tileHeight) * ROW_FACTOR + tileX);
      }
    }
  }

  tileOfKey(key: number): { readonly x: number; readonly y: number } {
    return { x: key % ROW_FACTOR, y: Math.floor(key / ROW_FACTOR) };
  }

  /** Writes the colour of the place, in four bytes. */
  bilinear(x: number, y: number, pixels: Buffer, at: number): void {
    if (!this.#isInside(x, y)) return;
    const { minX } = this.#subset.extent;
    const u = (x - minX) / this.#resolution - 0.5;
    const v = (this.#top - y) / this.#resolution - 0.5;
    const [column, row] = [Math.floor(u), Math.floor(v)];
    const [right, below] = [u - column, v - row];
    this.#sum.fill(0);
    this.#addPixel(column, row, (1 - right) * (1 - below));
    this.#addPixel(column + 1, row, right * (1 - below));
    this.#addPixel(column, row + 1, (1 - right) * below);
    this.#addPixel(column + 1, row + 1, right * below);
    const [red = 0, green = 0, blue = 0, alpha = 0] = this.#sum;
    if (alpha <= 0) return;
    pixels[at] = Math.round(red / alpha);
    pixels[at + 1] = Math.round(green / alpha);
    pixels[at + 2] = Math.round(blue / alpha);
    pixels[at + 3] = Math.round(alpha);
  }

  nearest(x: number, y: number, pixels: Buffer, at: number): void {
    if (!this.#isInside(x, y)) return;
    const { minX } = this.#subset.extent;
    const column = Math.floor((x - minX) / this.#resolution);
    const tile = this.#find(column, Math.floor((this.#top - y) / this.#resolution));
    if (tile.pixels) tile.pixels.copy(pixels, at, tile.at, tile.at + 4);
  }

  #isInside(x: number, y: number): boolean {
    const { minX, minY, maxX, maxY } = this.#subset.extent;
    return x >= minX && x <= maxX && y >= minY && y <= maxY;
  }

  #addPixel(column: number, row: number, weight: number): void {
    if (weight === 0) return;
    const { pixels, at } = this.#find(column, row);
    if (!pixels) return;
    const alpha = (pixels[at + 3] ?? 0) * weight;
    const sum = this.#sum;
    sum[0] = (sum[0] ?? 0) + (pixels[at] ?? 0) * alpha;
    sum[1] = (sum[1] ?? 0) + (pixels[at + 1] ?? 0) * alpha;
    sum[2] = (sum[2] ?? 0) + (pixels[at + 2] ?? 0) * alpha;
    sum[3] = (sum[3] ?? 0) + alpha;
  }

  #find(column: number, row: number): { readonly pixels: TilePixels | null; readonly at: number } {
    const x = within(column, this.#columns);
    const y = within(row, this.#rows);
    const tileX = Math.floor(x / this.#tileWidth);
    const tileY = Math.floor(y / this.#tileHeight);
    const key = tileY * ROW_FACTOR + tileX;
    if (key !== this.#lastKey) {
      this.#lastKey = key;
      this.#lastTile = this.#tiles.get(key) ?? null;
    }
    const at = 4 * ((y - tileY * this.#tileHeight) * this.#tileWidth + x - tileX * this.#tileWidth);
    return { pixels: this.#lastTile, at };
  }
}

function pixelRange(first: number, last: number, size: number): Range {
  return { first: first * size, last: (last + 1) * size - 1 };
}

function within(value: number, { first, last }: Range): number {
  return Math.min(Math.max(value, first), last);
}
