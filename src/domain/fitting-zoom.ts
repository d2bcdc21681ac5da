/** A part of a grid set, as documents describe it. */
interface OfferedZooms {
  /** minX, minY, maxX, maxY. */
  readonly extent: readonly number[];
  /** Resolutions of all zooms of the grid set, from 0 on. */
  readonly resolutions: readonly number[];
  /** Pixels: width and height. */
  readonly tileSize: readonly number[];
  readonly zoomStart: number;
  readonly zoomStop: number;
}

/** The last zoom at which the extent is not larger than a tile: all of it is seen, and not as a dot. */
export function fittingZoom({ extent, resolutions, tileSize, zoomStart, zoomStop }: OfferedZooms): number {
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent;
  const [width = 1, height = 1] = tileSize;
  // Rounding of coordinates is no reason to go a zoom lower.
  const coarsest = Math.max((maxX - minX) / width, (maxY - minY) / height) * 0.999;
  const last = resolutions.findLastIndex((resolution) => resolution >= coarsest);
  return Math.min(zoomStop, Math.max(zoomStart, last));
}
