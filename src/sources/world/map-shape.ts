import { type MapProjection, projectLatitude } from './map-view.ts';

/** A ring or a line in degrees of a plane. Longitudes run on across the antimeridian: a shape never jumps. */
export interface MapShape {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** 1 where lines meet or the data are cut: such a point stays where it is when lines are smoothed. */
  readonly fixed: Uint8Array;
  /** It already goes around the world more than once: it must not be repeated every 360 degrees. */
  readonly unrolled: boolean;
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

/** What a shape is made of, point by point. */
export interface Track {
  readonly longitudes: Float64Array;
  readonly latitudes: Float64Array;
  /** 1 where lines meet. */
  readonly fixed: Uint8Array;
}

const POLE_LATITUDE = 89.9;

export function createRing(projection: MapProjection, track: Track): MapShape | null {
  if (track.latitudes.every(isAtPole)) return null;
  const longitudes = unwrapLongitudes(track.longitudes);
  const turn = (longitudes.at(-1) ?? 0) - (longitudes[0] ?? 0);
  const unwrapped = { ...track, longitudes };
  return Math.abs(turn) < 180 ? shapeOf(projection, unwrapped) : polarRing(projection, unwrapped, turn);
}

/** Lines without what a shapefile adds along its own edges: the antimeridian and the poles. */
export function createLines(projection: MapProjection, track: Track): MapShape[] {
  return withoutSheetEdges(track).map((line) =>
    shapeOf(projection, { ...line, longitudes: unwrapLongitudes(line.longitudes) }),
  );
}

/** A ring around a pole is laid out three times over and closed at the pole, so that no seam comes into view. */
function polarRing(
  projection: MapProjection,
  { longitudes, latitudes, fixed }: Track,
  turn: number,
): MapShape {
  const start = Math.round((-180 - (longitudes[0] ?? 0)) / 360) * 360;
  const laps = [-turn, 0, turn];
  const open = longitudes.subarray(0, -1);
  const spread = laps.flatMap((lap) => Array.from(open, (longitude) => longitude + lap + start));
  const [first = 0, last = 0] = [spread[0], spread.at(-1)];
  const [latitude = 0] = latitudes;
  const pole = latitude < 0 ? -90 : 90;
  const shape = shapeOf(projection, {
    longitudes: Float64Array.from([...spread, last, first, first]),
    latitudes: Float64Array.from([
      ...laps.flatMap(() => [...latitudes.subarray(0, -1)]),
      pole,
      pole,
      latitude,
    ]),
    fixed: Uint8Array.from([...laps.flatMap(() => [...fixed.subarray(0, -1)]), 1, 1, 1]),
  });
  return { ...shape, unrolled: true };
}

function shapeOf(projection: MapProjection, { longitudes: x, latitudes, fixed: known }: Track): MapShape {
  const y = new Float64Array(x.length);
  const fixed = Uint8Array.from(known);
  for (let place = 0; place < x.length; place++) {
    const latitude = latitudes[place] ?? 0;
    y[place] = projectLatitude(projection, latitude);
    if (isAtAntimeridian(x[place] ?? 0) || isAtPole(latitude)) fixed[place] = 1;
  }
  return { x, y, fixed, unrolled: false, ...extremes(x, y) };
}

function extremes(x: Float64Array, y: Float64Array): Pick<MapShape, 'minX' | 'minY' | 'maxX' | 'maxY'> {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const value of x) {
    if (value < minX) minX = value;
    if (value > maxX) maxX = value;
  }
  for (const value of y) {
    if (value < minY) minY = value;
    if (value > maxY) maxY = value;
  }
  return { minX, minY, maxX, maxY };
}

function unwrapLongitudes(longitudes: Float64Array): Float64Array {
  let shift = 0;
  let [previous = 0] = longitudes;
  return longitudes.map((longitude) => {
    if (longitude - previous > 180) shift -= 360;
    if (longitude - previous < -180) shift += 360;
    previous = longitude;
    return longitude + shift;
  });
}

function withoutSheetEdges(track: Track): Track[] {
  const { length } = track.longitudes;
  const cuts = [0];
  for (let place = 1; place < length; place++) if (isSheetEdge(track, place)) cuts.push(place);
  return cuts
    .map((start, cut) => partOf(track, start, cuts[cut + 1] ?? length))
    .filter((line) => line.longitudes.length > 1);
}

function partOf({ longitudes, latitudes, fixed }: Track, start: number, end: number): Track {
  return {
    longitudes: longitudes.subarray(start, end),
    latitudes: latitudes.subarray(start, end),
    fixed: fixed.subarray(start, end),
  };
}

/** Whether the line to this point from the one before is one. */
function isSheetEdge({ longitudes, latitudes }: Track, place: number): boolean {
  const [from, to] = [place - 1, place];
  return (
    (isAtAntimeridian(longitudes[from] ?? 0) && isAtAntimeridian(longitudes[to] ?? 0)) ||
    (isAtPole(latitudes[from] ?? 0) && isAtPole(latitudes[to] ?? 0))
  );
}

function isAtAntimeridian(longitude: number): boolean {
  return Math.abs(Math.abs(longitude % 360) - 180) < 1e-9;
}

function isAtPole(latitude: number): boolean {
  return Math.abs(latitude) > POLE_LATITUDE;
}
