import type { GridSet } from '../../domain/grid-set.ts';
import { projectionOf } from '../../domain/projection.ts';
import { sameSrs } from '../../domain/srs.ts';

/** From a place in one CRS to the same place in another: writes x and y to `out`, or answers false where there is none. */
export type PlaceMapping = (x: number, y: number, out: [number, number]) => boolean;

/** Null when nobody has defined one of the two. */
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

const same: PlaceMapping = (x, y, out) => {
  out[0] = x;
  out[1] = y;
  return true;
};
