import type { MapPicture } from '../../domain/bounds.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import { projectionOf } from '../../domain/projection.ts';
import { sameSrs } from '../../domain/srs.ts';

/** Pixels along a side of a cell. */
const CELL = 16;
/** In pixels of the other layer. Beyond it a cell is mapped pixel by pixel. */
const TOLERANCE = 0.02;

/** The pixels of a picture in another CRS: exact at the corners of cells, interpolated between them where that is exact enough. */
export class PixelMesh {
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
  readonly #picture: MapPicture;
  readonly #map: PlaceMapping;
  /** x and y at each corner; NaN where there is no place. */
  readonly #corners: Float64Array;
  readonly #out: [number, number] = [0, 0];

  constructor(picture: MapPicture, map: PlaceMapping) {
    this.#picture = picture;
    this.#map = map;
    this.width = picture.width;
    this.height = picture.height;
    this.columns = Math.ceil(picture.width / CELL);
    this.rows = Math.ceil(picture.height / CELL);
    this.#corners = new Float64Array(2 * (this.columns + 1) * (this.rows + 1));
    for (let row = 0; row <= this.rows; row++) {
      for (let column = 0; column <= this.columns; column++) this.#placeCorner(column, row);
    }
  }

  /**
   * How many units of the other CRS a pixel spans: the geometric mean over all cells, null when none of them lies
   * there. Cells that are torn apart, as by the antimeridian, do not count.
   */
  unitsPerPixel(widest: number): number | null {
    let sum = 0;
    let count = 0;
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const [ax, ay, bx, by, cx, cy] = this.#cell(column, row);
        const area = Math.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / this.#pixelsIn(column, row);
        const scale = Math.sqrt(area);
        if (!(scale > 0) || scale * CELL > widest / 2) continue;
        sum += Math.log(scale);
        count++;
      }
    }
    return count === 0 ? null : Math.exp(sum / count);
  }

  /** The places of all pixel centres of a cell, row by row, x and y in turn; NaN where there is none. Returns their count. */
  placesOf(column: number, row: number, resolution: number, places: Float64Array): number {
    const [left, top] = [column * CELL, row * CELL];
    const across = Math.min(CELL, this.width - left);
    const down = Math.min(CELL, this.height - top);
    if (this.#isStraight(column, row, resolution)) {
      this.#interpolate(column, row, across, down, places);
    } else {
      this.#mapEach(left, top, across, down, places);
    }
    return across * down;
  }

  cellAt(column: number, row: number) {
    return { left: column * CELL, top: row * CELL, across: Math.min(CELL, this.width - column * CELL) };
  }

  static readonly pixelsPerCell = CELL * CELL;

  #placeCorner(column: number, row: number): void {
    const at = 2 * (row * (this.columns + 1) + column);
    const exists = this.#place(Math.min(column * CELL, this.width), Math.min(row * CELL, this.height));
    this.#corners[at] = exists ? this.#out[0] : Number.NaN;
    this.#corners[at + 1] = exists ? this.#out[1] : Number.NaN;
  }

  /** Of a point in pixels from the top left; the place is in `#out`. */
  #place(px: number, py: number): boolean {
    const { bounds, width, height } = this.#picture;
    const x = bounds.minX + ((bounds.maxX - bounds.minX) * px) / width;
    const y = bounds.maxY - ((bounds.maxY - bounds.minY) * py) / height;
    return this.#map(x, y, this.#out);
  }

  /** Corners: top left, top right, bottom left, bottom right. */
  #cell(column: number, row: number): [number, number, number, number, number, number, number, number] {
    const a = 2 * (row * (this.columns + 1) + column);
    const c = a + 2 * (this.columns + 1);
    const at = (index: number) => this.#corners[index] ?? Number.NaN;
    return [at(a), at(a + 1), at(a + 2), at(a + 3), at(c), at(c + 1), at(c + 2), at(c + 3)];
  }

  #pixelsIn(column: number, row: number): number {
    return Math.min(CELL, this.width - column * CELL) * Math.min(CELL, this.height - row * CELL);
  }

  #isStraight(column: number, row: number, resolution: number): boolean {
    const [ax, ay, bx, by, cx, cy, dx, dy] = this.#cell(column, row);
    const right = Math.min((column + 1) * CELL, this.width);
    const bottom = Math.min((row + 1) * CELL, this.height);
    if (!this.#place((column * CELL + right) / 2, (row * CELL + bottom) / 2)) return false;
    const offX = Math.abs((ax + bx + cx + dx) / 4 - this.#out[0]);
    const offY = Math.abs((ay + by + cy + dy) / 4 - this.#out[1]);
    return Math.max(offX, offY) <= TOLERANCE * resolution;
  }

  #interpolate(column: number, row: number, across: number, down: number, places: Float64Array): void {
    const [ax, ay, bx, by, cx, cy, dx, dy] = this.#cell(column, row);
    let at = 0;
    for (let j = 0; j < down; j++) {
      const v = (j + 0.5) / down;
      const [leftX, leftY] = [ax + (cx - ax) * v, ay + (cy - ay) * v];
      const [rightX, rightY] = [bx + (dx - bx) * v, by + (dy - by) * v];
      for (let i = 0; i < across; i++) {
        const u = (i + 0.5) / across;
        places[at++] = leftX + (rightX - leftX) * u;
        places[at++] = leftY + (rightY - leftY) * u;
      }
    }
  }

  #mapEach(left: number, top: number, across: number, down: number, places: Float64Array): void {
    let at = 0;
    for (let j = 0; j < down; j++) {
      for (let i = 0; i < across; i++) {
        const exists = this.#place(left + i + 0.5, top + j + 0.5);
        places[at++] = exists ? this.#out[0] : Number.NaN;
        places[at++] = exists ? this.#out[1] : Number.NaN;
      }
    }
  }
}

/** Converts a place from one CRS to another: writes x and y to `out`, returns false if there is none. */
export type PlaceMapping = (x: number, y: number, out: [number, number]) => boolean;

/** Null when one of the two is unknown. */
export function createPlaceMapping(from: GridSet, to: GridSet): PlaceMapping | null {
  if (sameSrs(from.srs, to.srs) && from.projection === to.projection) return same;
  const [source, target] = [projectionOf(from), projectionOf(to)];
  if (!source || !target) return null;
  return (x, y, out) => {
    const degrees = source.toLonLat(x, y);
    const place = degrees && target.fromLonLat(...degrees);
    if (!place) return false;
    [out[0], out[1]] = place;
    return true;
  };
}

export const same: PlaceMapping = (x, y, out) => {
  out[0] = x;
  out[1] = y;
  return true;
};
