import type { Bounds } from '../../domain/bounds.ts';

export interface MapView {
  readonly projection: MapProjection;
  /** Degrees of the plane per pixel. */
  readonly resolutionX: number;
  readonly resolutionY: number;
  /** Pixels from the plane's origin to the picture's left and top edge, rightwards and downwards. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Pixels of the picture, each way, per pixel here. */
  readonly pixelRatio: number;
}

/** `bounds` in degrees of the plane. Width and height are those of the picture divided by the pixel ratio. */
export function createMapView(
  projection: MapProjection,
  bounds: Bounds,
  width: number,
  height: number,
  pixelRatio = 1,
): MapView {
  const resolutionX = (bounds.maxX - bounds.minX) / width;
  const resolutionY = (bounds.maxY - bounds.minY) / height;
  return {
    projection,
    resolutionX,
    resolutionY,
    left: wholeIfNear(bounds.minX / resolutionX),
    top: wholeIfNear(-bounds.maxY / resolutionY),
    width,
    height,
    pixelRatio,
  };
}

/** Grids mostly start a whole number of pixels from the origin; rounding errors must not hide it. */
function wholeIfNear(pixels: number): number {
  const whole = Math.round(pixels);
  return Math.abs(pixels - whole) < 1e-3 ? whole : pixels;
}

/**
 * The two planes the map can be drawn in. Both count degrees of longitude to the right; upwards, `geographic`
 * counts degrees of latitude and `mercator` the degrees that the same length has along the equator.
 */
export type MapProjection = 'mercator' | 'geographic';

const MERCATOR_CODES: ReadonlySet<number> = new Set([900913, 3857, 3785, 102100, 102113]);
const GEOGRAPHIC_CODES: ReadonlySet<number> = new Set([4326]);
/** A mercator map has no poles; this is far outside of every grid set's extent. */
const MERCATOR_MAX_LATITUDE = 89.9;
const RADIANS = Math.PI / 180;

export function projectionOf(srs: number): MapProjection | null {
  if (MERCATOR_CODES.has(srs)) return 'mercator';
  return GEOGRAPHIC_CODES.has(srs) ? 'geographic' : null;
}

export function projectLatitude(projection: MapProjection, latitude: number): number {
  if (projection === 'geographic') return latitude;
  const clamped = Math.min(Math.max(latitude, -MERCATOR_MAX_LATITUDE), MERCATOR_MAX_LATITUDE);
  return Math.log(Math.tan(Math.PI / 4 + (clamped * RADIANS) / 2)) / RADIANS;
}

export function unprojectLatitude(projection: MapProjection, y: number): number {
  if (projection === 'geographic') return y;
  return (2 * Math.atan(Math.exp(y * RADIANS))) / RADIANS - 90;
}
