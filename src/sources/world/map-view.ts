import type { Bounds } from '../../domain/bounds.ts';
import type { MapProjection } from './map-projection.ts';

/** The rectangle of the plane that a picture shows. */
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
  /** How many pixels of the picture, each way, one pixel here is drawn with. */
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
