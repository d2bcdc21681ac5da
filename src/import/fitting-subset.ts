import { coordsOf } from '../domain/bounds.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { boundsFromWgs84, projectionOf } from '../domain/projection.ts';

/** A layer's part of a grid set, in the configuration file's form. */
export interface SubsetDocument {
  readonly name: string;
  readonly extent?: readonly number[];
  readonly zoomStart?: number;
  readonly zoomStop?: number;
}

/** Tolerance of scale denominators; servers round them. */
const TOLERANCE = 0.01;
/** Share of the grid set's extent below which a difference is ignored. */
const ALL_OF_IT = 1e-3;

/** The part of a grid set in a box of degrees; null: none. */
export function subsetWithin(gridSet: GridSet, degrees: readonly number[] | null): SubsetDocument | null {
  return clippedSubset(gridSet, degrees && extentIn(gridSet, degrees));
}

/** The part of a grid set in a box of its CRS; all of it where there is no box. Null: none of it is in the box. */
export function clippedSubset(gridSet: GridSet, extent: readonly number[] | null): SubsetDocument | null {
  if (!extent) return { name: gridSet.name };
  const { minX, minY, maxX, maxY } = gridSet.extent;
  const [west = minX, south = minY, east = maxX, north = maxY] = extent;
  const clipped = [Math.max(west, minX), Math.max(south, minY), Math.min(east, maxX), Math.min(north, maxY)];
  const [left = 0, bottom = 0, right = 0, top = 0] = clipped;
  if (left >= right || bottom >= top) return null;
  const slack = (maxX - minX) * ALL_OF_IT;
  const whole = left - minX < slack && bottom - minY < slack && maxX - right < slack && maxY - top < slack;
  return whole ? { name: gridSet.name } : { name: gridSet.name, extent: clipped };
}

/** minX, minY, maxX, maxY around the box; null where the CRS is not known or does not reach. */
function extentIn(gridSet: GridSet, degrees: readonly number[]): readonly number[] | null {
  const projection = projectionOf(gridSet);
  if (!projection) return null;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = degrees;
  const around = boundsFromWgs84(projection, { minX, minY, maxX, maxY });
  if (!around || gridSet.srs === 4326) return around && degrees;
  return coordsOf(around).map((value) => Math.round(value * 100) / 100);
}

/** Grid sets that clients know by these names come first. */
export const USUAL = ['EPSG:900913', 'EPSG:4326'];

export function usualFirst(gridSets: Iterable<GridSet>): GridSet[] {
  const rank = ({ name }: GridSet) => [...USUAL, name].indexOf(name);
  return [...gridSets].sort((a, b) => rank(a) - rank(b));
}

/** The subset without other zooms. */
export function withZooms(
  subset: SubsetDocument,
  gridSet: GridSet,
  zoomStart: number,
  zoomStop: number,
): SubsetDocument {
  return {
    ...subset,
    ...(zoomStart > 0 && { zoomStart }),
    ...(zoomStop < gridSet.levels.length - 1 && { zoomStop }),
  };
}

/** Only the zooms whose scale is between the two; null: none. */
export function withinScales(
  subset: SubsetDocument,
  gridSet: GridSet,
  minScale: number | null,
  maxScale: number | null,
): SubsetDocument | null {
  const fits = gridSet.levels.map(
    ({ scaleDenominator }) =>
      scaleDenominator >= (minScale ?? 0) * (1 - TOLERANCE) &&
      scaleDenominator <= (maxScale ?? Number.POSITIVE_INFINITY) * (1 + TOLERANCE),
  );
  const [zoomStart, zoomStop] = [fits.indexOf(true), fits.lastIndexOf(true)];
  return zoomStart === -1 ? null : withZooms(subset, gridSet, zoomStart, zoomStop);
}
