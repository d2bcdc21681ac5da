import type { Bounds } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { isWebMercator } from '../../domain/srs.ts';

const EARTH_RADIUS = 6378137;

/** The layer's first grid set in web mercator: what an address without a grid set means. */
export function webMercatorSubset(layer: Layer): GridSubset {
  const found = layer.gridSubsets.find(({ gridSet }) => isWebMercator(gridSet));
  if (found) return found;
  const offered = layer.gridSubsets.map(({ gridSet }) => gridSet.name).join(', ');
  throw new TilewardenError(
    'grid-set-unknown',
    `Layer ${layer.name} has no grid set in web mercator; name one of ${offered} in the address.`,
  );
}

/** West, south, east, north in degrees. */
export function degreesOfMercator(bounds: Bounds): [number, number, number, number] {
  return [
    longitudeOf(bounds.minX),
    latitudeOf(bounds.minY),
    longitudeOf(bounds.maxX),
    latitudeOf(bounds.maxY),
  ];
}

function longitudeOf(x: number): number {
  return clampDegrees((x / EARTH_RADIUS) * (180 / Math.PI), 180);
}

function latitudeOf(y: number): number {
  return clampDegrees((2 * Math.atan(Math.exp(y / EARTH_RADIUS)) - Math.PI / 2) * (180 / Math.PI), 90);
}

/** To a hundred-millionth of a degree, about a millimetre. */
function clampDegrees(degrees: number, limit: number): number {
  return Math.round(Math.min(Math.max(degrees, -limit), limit) * 1e8) / 1e8;
}
