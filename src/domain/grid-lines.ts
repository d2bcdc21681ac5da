import { type Bounds, polygonOfBounds } from './bounds.ts';
import { boundsOfRect, type GridSet, tilesOfBounds } from './grid-set.ts';
import { type Point, projectionOf } from './projection.ts';

/** Degrees, longitude first. */
export type Line = readonly Point[];

/** Limit of columns or rows: more are not distinct on a map. */
const MAX_ALONG = 64;
/** Parts into which a line is cut, because its middle may bulge. */
const STEPS = 16;
const HALF_CIRCLE = 180;

/** The edges of the extent, as lines on the earth; null: the CRS is not known. */
export function outlineOf(gridSet: GridSet): readonly Line[] | null {
  const [corners = []] = polygonOfBounds(gridSet.extent);
  return onEarth(gridSet, corners);
}

/** The edges of the tiles at a zoom, within bounds if given. Null: they are too many, or the CRS is not known. */
export function tileEdgesOf(gridSet: GridSet, z: number, within: Bounds | null): readonly Line[] | null {
  const rect = tilesOfBounds(gridSet, z, within ?? gridSet.extent);
  if (!rect || Math.max(rect.maxX - rect.minX, rect.maxY - rect.minY) >= MAX_ALONG) return null;
  const { minX, minY, maxX, maxY } = boundsOfRect(gridSet, z, rect);
  const columns = rect.maxX - rect.minX + 1;
  const rows = rect.maxY - rect.minY + 1;
  const between = (from: number, to: number, parts: number) =>
    Array.from({ length: parts + 1 }, (_, part) => from + ((to - from) * part) / parts);
  const edges = [
    ...between(minX, maxX, columns).map(
      (x): Line => [
        [x, minY],
        [x, maxY],
      ],
    ),
    ...between(minY, maxY, rows).map(
      (y): Line => [
        [minX, y],
        [maxX, y],
      ],
    ),
  ];
  const lines = edges.map((edge) => onEarth(gridSet, edge));
  return lines.includes(null) ? null : lines.flatMap((line) => line ?? []);
}

/** The lines on the earth, interrupted at places outside the CRS and at the antimeridian. */
function onEarth(gridSet: GridSet, corners: Line): readonly Line[] | null {
  const projection = projectionOf(gridSet);
  if (!projection) return null;
  const lines: Point[][] = [[]];
  for (const [x, y] of followed(corners)) {
    const place = projection.toLonLat(x, y);
    const before = lines.at(-1)?.at(-1);
    const isApart = place !== null && before !== undefined && Math.abs(place[0] - before[0]) > HALF_CIRCLE;
    if (place === null || isApart) lines.push([]);
    if (place) lines.at(-1)?.push(place);
  }
  return lines.filter(({ length }) => length > 1);
}

function* followed(corners: Line): Generator<Point> {
  for (const [index, [x, y]] of corners.entries()) {
    const [nextX, nextY] = corners[index + 1] ?? [x, y];
    const steps = index === corners.length - 1 ? 1 : STEPS;
    for (let step = 0; step < steps; step++)
      yield [x + ((nextX - x) * step) / STEPS, y + ((nextY - y) * step) / STEPS];
  }
}
