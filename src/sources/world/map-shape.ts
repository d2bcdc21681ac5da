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

export type Position = readonly number[];

/** What a shape is made of, in longitudes and latitudes. */
export interface ShapeDraft {
  readonly positions: readonly Position[];
  readonly isFixed: (position: Position) => boolean;
}

const POLE_LATITUDE = 89.9;

export function createRing(projection: MapProjection, draft: ShapeDraft): MapShape | null {
  if (draft.positions.every(isAtPole)) return null;
  const longitudes = unwrapLongitudes(draft.positions);
  const turn = (longitudes.at(-1) ?? 0) - (longitudes[0] ?? 0);
  if (Math.abs(turn) < 180) return shapeOf(projection, draft.positions, longitudes, draft.isFixed);
  return polarRing(projection, draft, longitudes, turn);
}

/** Lines without what a shapefile adds along its own edges: the antimeridian and the poles. */
export function createLines(projection: MapProjection, draft: ShapeDraft): MapShape[] {
  return withoutSheetEdges(draft.positions).map((positions) =>
    shapeOf(projection, positions, unwrapLongitudes(positions), draft.isFixed),
  );
}

/** A ring around a pole is laid out three times over and closed at the pole, so that no seam comes into view. */
function polarRing(
  projection: MapProjection,
  draft: ShapeDraft,
  longitudes: readonly number[],
  turn: number,
): MapShape {
  const open = draft.positions.slice(0, -1);
  const start = Math.round((-180 - (longitudes[0] ?? 0)) / 360) * 360;
  const laps = [-turn, 0, turn];
  const positions = laps.flatMap(() => open);
  const spread = laps.flatMap((lap) => longitudes.slice(0, -1).map((longitude) => longitude + lap + start));
  const pole = (open[0]?.[1] ?? 0) < 0 ? -90 : 90;
  const first = spread[0] ?? 0;
  const last = spread.at(-1) ?? 0;
  const shape = shapeOf(
    projection,
    [...positions, [last, pole], [first, pole], open[0] ?? [first, pole]],
    [...spread, last, first, first],
    draft.isFixed,
  );
  return { ...shape, unrolled: true };
}

function shapeOf(
  projection: MapProjection,
  positions: readonly Position[],
  longitudes: readonly number[],
  isFixed: (position: Position) => boolean,
): MapShape {
  const x = new Float64Array(longitudes);
  const y = new Float64Array(positions.length);
  const fixed = new Uint8Array(positions.length);
  for (const [place, position] of positions.entries()) {
    y[place] = projectLatitude(projection, position[1] ?? 0);
    if (isAtAntimeridian(position) || isAtPole(position) || isFixed(position)) fixed[place] = 1;
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

function unwrapLongitudes(positions: readonly Position[]): number[] {
  let shift = 0;
  let previous = positions[0]?.[0] ?? 0;
  return positions.map(([longitude = 0]) => {
    if (longitude - previous > 180) shift -= 360;
    if (longitude - previous < -180) shift += 360;
    previous = longitude;
    return longitude + shift;
  });
}

function withoutSheetEdges(positions: readonly Position[]): Position[][] {
  const lines: Position[][] = [];
  let line: Position[] = [];
  for (const position of positions) {
    const previous = line.at(-1);
    if (previous && isSheetEdge(previous, position)) {
      lines.push(line);
      line = [];
    }
    line.push(position);
  }
  lines.push(line);
  return lines.filter((candidate) => candidate.length > 1);
}

function isSheetEdge(a: Position, b: Position): boolean {
  return (isAtAntimeridian(a) && isAtAntimeridian(b)) || (isAtPole(a) && isAtPole(b));
}

function isAtAntimeridian([longitude = 0]: Position): boolean {
  return Math.abs(Math.abs(longitude) - 180) < 1e-9;
}

function isAtPole([, latitude = 0]: Position): boolean {
  return Math.abs(latitude) > POLE_LATITUDE;
}
