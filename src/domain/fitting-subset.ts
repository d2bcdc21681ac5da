import { type Bounds, containsBounds, coordsOf, expandBounds, intersectBounds } from './bounds.ts';
import type { GridSet } from './grid-set.ts';
import { boundsFromWgs84, projectionOf } from './projection.ts';

/** A layer's part of a grid set, in the configuration file's form. */
export interface SubsetDocument {
  readonly name: string;
  readonly extent?: readonly number[];
  readonly zoomStart?: number;
  readonly zoomStop?: number;
}

/** Tolerance of scale denominators; servers round them. */
const TOLERANCE = 0.01;
/** A difference below this share of the grid set's extent is ignored. */
const WHOLE_TOLERANCE = 1e-3;

/** The part of a grid set in a box of degrees; null: none. */
export function subsetWithin(gridSet: GridSet, degrees: Bounds | null): SubsetDocument | null {
  return clippedSubset(gridSet, degrees && boundsIn(gridSet, degrees));
}

/** The part of a grid set in a box of its CRS; all of it if there is no box. Null: none of it is in the box. */
export function clippedSubset({ name, extent }: GridSet, box: Bounds | null): SubsetDocument | null {
  if (!box) return { name };
  const common = intersectBounds(extent, box);
  if (!common) return null;
  const slack = (extent.maxX - extent.minX) * WHOLE_TOLERANCE;
  const isWhole = containsBounds(expandBounds(common, slack, slack), extent);
  return isWhole ? { name } : { name, extent: coordsOf(common) };
}

/** The box in the grid set's CRS around a box of degrees; null: the CRS is unknown, or does not cover it. */
function boundsIn(gridSet: GridSet, degrees: Bounds): Bounds | null {
  const projection = projectionOf(gridSet);
  const own = projection?.boundsToWgs84(gridSet.extent);
  // Far outside its area a projection returns places of others: the whole world is no box around a UTM zone.
  const near = (own && intersectBounds(degrees, own)) ?? degrees;
  const around = projection && boundsFromWgs84(projection, near);
  if (!around || gridSet.srs === 4326) return around && degrees;
  const { minX, minY, maxX, maxY } = around;
  const rounded = (value: number) => Math.round(value * 100) / 100;
  return { minX: rounded(minX), minY: rounded(minY), maxX: rounded(maxX), maxY: rounded(maxY) };
}

/** Grid sets that clients know by these names come first. */
export const USUAL = ['EPSG:900913', 'EPSG:4326'];

export function usualFirst(gridSets: Iterable<GridSet>): GridSet[] {
  const rank = ({ name }: GridSet) => [...USUAL, name].indexOf(name);
  return [...gridSets].sort((a, b) => rank(a) - rank(b));
}

/** The subset, limited to these zooms. */
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
