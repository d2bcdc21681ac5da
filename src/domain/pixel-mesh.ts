import type { Bounds, MapPicture } from './bounds.ts';
import type { GridSet } from './grid-set.ts';
import { isCylindrical, type Projection, projectionOf } from './projection.ts';
import { sameSrs } from './srs.ts';

/** Pixels along a side of a cell. */
const CELL = 16;
/** A cell that is not straight is halved down to this; then its pixels are converted one by one. */
const MIN_CELL = 4;
/** In pixels of the picture or of the tiles, whichever are smaller. */
const TOLERANCE = 0.05;
/** Limit of samples of a pixel along a side. */
const MAX_SAMPLES = 4;

/** Pixels from the top left of a picture. */
interface PixelBox {
  readonly left: number;
  readonly top: number;
  readonly across: number;
  readonly down: number;
}

/** Top left, top right, bottom left, bottom right. */
type Corners = readonly [Place, Place, Place, Place];
type Place = readonly [x: number, y: number];

const NOWHERE: Corners = [
  [Number.NaN, Number.NaN],
  [Number.NaN, Number.NaN],
  [Number.NaN, Number.NaN],
  [Number.NaN, Number.NaN],
];

/**
 * The pixels of a picture in another CRS, cell by cell: converted at the corners of a cell and interpolated between
 * them where that is exact enough, else in smaller cells.
 */
export class PixelMesh {
  static readonly pixelsPerCell = CELL * CELL;
  readonly columns: number;
  readonly rows: number;
  /** Resolution of the tiles. */
  readonly resolution: number;
  readonly #picture: MapPicture;
  readonly #map: PlaceMapping;
  readonly #out: [number, number] = [0, 0];

  constructor(picture: MapPicture, map: PlaceMapping, resolution: number) {
    this.#picture = picture;
    this.#map = map;
    this.resolution = resolution;
    this.columns = Math.ceil(picture.width / CELL);
    this.rows = Math.ceil(picture.height / CELL);
  }

  cellAt(column: number, row: number): PixelBox {
    const { width, height } = this.#picture;
    const [left, top] = [column * CELL, row * CELL];
    return { left, top, across: Math.min(CELL, width - left), down: Math.min(CELL, height - top) };
  }

  /** The places of all pixels of a cell, row by row, x and y in turn; NaN where there is none. Returns their count. */
  placesOf(column: number, row: number, places: Float64Array): number {
    const cell = this.cellAt(column, row);
    this.#fill(cell, cell, places);
    return cell.across * cell.down;
  }

  /** Samples to a pixel, across and down: with fewer some pixels of the tiles would be skipped. */
  samplesOf(column: number, row: number): readonly [number, number] {
    const { left, top, across, down } = this.cellAt(column, row);
    const [x, y] = [left + across / 2, top + down / 2];
    const middle = this.#place(x, y);
    const samples = (next: Place | null) => {
      const pixels = middle && next ? distance(middle, next) / this.resolution : 1;
      return Math.min(MAX_SAMPLES, Math.max(1, Math.floor(pixels)));
    };
    return [samples(this.#place(x + 1, y)), samples(this.#place(x, y + 1))];
  }

  /** The place in the middle of each cell, if there is one, and the steps to the next pixel across and down. */
  *steps(): Generator<{ readonly middle: Place; readonly across: Place; readonly down: Place }, void> {
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const { left, top, across, down } = this.cellAt(column, row);
        const [x, y] = [left + across / 2, top + down / 2];
        const [middle, next, below] = [this.#place(x, y), this.#place(x + 1, y), this.#place(x, y + 1)];
        if (!middle || !next || !below) continue;
        yield {
          middle,
          across: [next[0] - middle[0], next[1] - middle[1]],
          down: [below[0] - middle[0], below[1] - middle[1]],
        };
      }
    }
  }

  #fill(part: PixelBox, cell: PixelBox, places: Float64Array): void {
    const corners = this.#straightCorners(part);
    const { left, top, across, down } = part;
    const isSmall = Math.max(across, down) <= MIN_CELL;
    if (!corners && !isSmall) {
      for (const quarter of quartersOf(part)) this.#fill(quarter, cell, places);
      return;
    }
    for (let j = 0; j < down; j++) {
      const at = 2 * ((top + j - cell.top) * cell.across + left - cell.left);
      if (corners) fillRow(corners, (j + 0.5) / down, across, places, at);
      else for (let i = 0; i < across; i++) this.#placeAt(left + i + 0.5, top + j + 0.5, places, at + 2 * i);
    }
  }

  #placeAt(px: number, py: number, places: Float64Array, at: number): void {
    const [x, y] = this.#place(px, py) ?? NOWHERE[0];
    places[at] = x;
    places[at + 1] = y;
  }

  /** Null when it is not exact enough to interpolate between them. */
  #straightCorners({ left, top, across, down }: PixelBox): Corners | null {
    const [right, bottom] = [left + across, top + down];
    const [x, y] = [left + across / 2, top + down / 2];
    const [a, b] = [this.#place(left, top), this.#place(right, top)];
    const [c, d] = [this.#place(left, bottom), this.#place(right, bottom)];
    const [middle, edge, side] = [this.#place(x, y), this.#place(x, top), this.#place(left, y)];
    if (!a || !b || !c || !d || !middle || !edge || !side) {
      const isNowhere = [a, b, c, d, middle, edge, side].every((place) => !place);
      return isNowhere ? NOWHERE : null;
    }
    const corners: Corners = [a, b, c, d];
    const pixel = Math.min(this.resolution, distance(a, b) / across, distance(a, c) / down);
    // Between conformal projections the errors along both axes cancel out in the middle, and only there.
    const isStraight =
      isNear(between(corners, 0.5, 0.5), middle, TOLERANCE * pixel) &&
      isNear(between(corners, 0.5, 0), edge, TOLERANCE * pixel) &&
      isNear(between(corners, 0, 0.5), side, TOLERANCE * pixel);
    return isStraight ? corners : null;
  }

  /** Position of a point in pixels from the top left. */
  #place(px: number, py: number): Place | null {
    const { bounds, width, height } = this.#picture;
    const x = bounds.minX + ((bounds.maxX - bounds.minX) * px) / width;
    const y = bounds.maxY - ((bounds.maxY - bounds.minY) * py) / height;
    return this.#map(x, y, this.#out) ? [this.#out[0], this.#out[1]] : null;
  }
}

function* quartersOf({ left, top, across, down }: PixelBox): Generator<PixelBox, void> {
  const [w, h] = [Math.ceil(across / 2), Math.ceil(down / 2)];
  for (const [x, width] of [[0, w] as const, [w, across - w] as const]) {
    for (const [y, height] of [[0, h] as const, [h, down - h] as const]) {
      if (width > 0 && height > 0) yield { left: left + x, top: top + y, across: width, down: height };
    }
  }
}

/** Interpolates the places of a row between the left and the right side of a cell. */
function fillRow([a, b, c, d]: Corners, v: number, across: number, places: Float64Array, from: number): void {
  const [leftX, leftY] = [a[0] + (c[0] - a[0]) * v, a[1] + (c[1] - a[1]) * v];
  const stepX = (b[0] + (d[0] - b[0]) * v - leftX) / across;
  const stepY = (b[1] + (d[1] - b[1]) * v - leftY) / across;
  for (let i = 0, at = from; i < across; i++) {
    places[at++] = leftX + (i + 0.5) * stepX;
    places[at++] = leftY + (i + 0.5) * stepY;
  }
}

function between([a, b, c, d]: Corners, u: number, v: number): Place {
  const [leftX, leftY] = [a[0] + (c[0] - a[0]) * v, a[1] + (c[1] - a[1]) * v];
  const [rightX, rightY] = [b[0] + (d[0] - b[0]) * v, b[1] + (d[1] - b[1]) * v];
  return [leftX + (rightX - leftX) * u, leftY + (rightY - leftY) * u];
}

function isNear(a: Place, b: Place, tolerance: number): boolean {
  return Math.abs(a[0] - b[0]) <= tolerance && Math.abs(a[1] - b[1]) <= tolerance;
}

function distance(a: Place, b: Place): number {
  return Math.hypot(b[0] - a[0], b[1] - a[1]);
}

/** Converts a place from one CRS to another: writes x and y to `out`, returns false if there is none. */
export type PlaceMapping = (x: number, y: number, out: [number, number]) => boolean;

export type Crs = Pick<GridSet, 'srs' | 'projection'>;

/** Null when one of the two is unknown. `to`: its extent says on which side of 180° a place is wanted. */
export function createPlaceMapping(from: Crs, to: Crs & Pick<GridSet, 'extent'>): PlaceMapping | null {
  if (sameSrs(from.srs, to.srs) && from.projection === to.projection) return same;
  const [source, target] = [projectionOf(from), projectionOf(to)];
  if (!source || !target) return null;
  const centre = (to.extent.minX + to.extent.maxX) / 2;
  const middle = isCylindrical(target) ? (target.toLonLat(centre, 0)?.[0] ?? 0) : null;
  return (x, y, out) => {
    const degrees = source.toLonLat(x, y);
    if (!degrees || !isExact(source, degrees, x, y)) return false;
    const [longitude, latitude] = degrees;
    const place = target.fromLonLat(middle === null ? longitude : nearTo(middle, longitude), latitude);
    if (!place) return false;
    [out[0], out[1]] = place;
    return true;
  };
}

/** Share of the unit, for places anywhere on earth. */
const ROUND_TRIP = 1e-6;

/** Beyond their limits projections return places that are elsewhere. */
function isExact(projection: Projection, [longitude, latitude]: Place, x: number, y: number): boolean {
  if (isCylindrical(projection)) return true;
  const back = projection.fromLonLat(longitude, latitude);
  const tolerance = ROUND_TRIP * (Math.abs(x) + Math.abs(y) + 1);
  return back !== null && Math.abs(back[0] - x) + Math.abs(back[1] - y) <= tolerance;
}

function nearTo(middle: number, longitude: number): number {
  if (Math.abs(longitude - middle) <= 180 + 1e-9) return longitude;
  return longitude + 360 * Math.round((middle - longitude) / 360);
}

export const same: PlaceMapping = (x, y, out) => {
  out[0] = x;
  out[1] = y;
  return true;
};

/** Samples along a side. */
const SURVEY = 16;

interface Survey {
  /** Units of the tiles' CRS that a pixel spans where it is narrowest: the geometric mean inside their extent. */
  readonly unitsPerPixel: number;
  /** Square units that the picture covers there. */
  readonly area: number;
  /** The share of the picture that is inside, from 0 to 1. */
  readonly inside: number;
}

/** A rough outline of a picture in the CRS of tiles; null when no place of it exists there. */
export function surveyPicture(
  { bounds, width, height }: MapPicture,
  map: PlaceMapping,
  extent: Bounds,
): Survey | null {
  const side = SURVEY * CELL;
  const mesh = new PixelMesh({ bounds, width: side, height: side }, map, Infinity);
  const [across, down] = [width / side, height / side];
  const [within, anywhere] = [
    { sum: 0, count: 0, area: 0 },
    { sum: 0, count: 0, area: 0 },
  ];
  for (const step of mesh.steps()) {
    const [ax, ay] = [step.across[0] / across, step.across[1] / across];
    const [bx, by] = [step.down[0] / down, step.down[1] / down];
    const area = Math.abs(ax * by - ay * bx);
    const squares = ax * ax + ay * ay + bx * bx + by * by;
    const widest = Math.sqrt((squares + Math.sqrt(Math.max(0, squares * squares - 4 * area * area))) / 2);
    // Torn apart, as by the antimeridian.
    if (!(area > 0) || widest * Math.max(across, down) > (extent.maxX - extent.minX) / 2) continue;
    const [x, y] = step.middle;
    const isInside = x >= extent.minX && x <= extent.maxX && y >= extent.minY && y <= extent.maxY;
    for (const sums of isInside ? [within, anywhere] : [anywhere]) {
      sums.sum += Math.log(area / widest);
      sums.count++;
      sums.area += (area * width * height) / SURVEY ** 2;
    }
  }
  const { sum, count } = within.count > 0 ? within : anywhere;
  if (count === 0) return null;
  return { unitsPerPixel: Math.exp(sum / count), area: within.area, inside: within.count / SURVEY ** 2 };
}
