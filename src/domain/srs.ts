import type { GridSet } from './grid-set.ts';

/** The codes that spherical mercator has had. */
const WEB_MERCATOR_CODES: ReadonlySet<number> = new Set([3857, 900913, 102100, 102113]);
const WEB_MERCATOR_HALF_WORLD = 20037508.34;
const METRE = 1;

export function sameSrs(a: number, b: number): boolean {
  return a === b || (WEB_MERCATOR_CODES.has(a) && WEB_MERCATOR_CODES.has(b));
}

/** Whether z, x and y are those of common web maps: the mercator square, halved at each zoom. */
export function isWebMercator(gridSet: GridSet): boolean {
  const { minX, minY, maxX, maxY } = gridSet.extent;
  return (
    WEB_MERCATOR_CODES.has(gridSet.srs) &&
    [-minX, -minY, maxX, maxY].every((edge) => Math.abs(edge - WEB_MERCATOR_HALF_WORLD) < METRE) &&
    gridSet.levels.every(({ columns, rows }, z) => columns === 2 ** z && rows === 2 ** z)
  );
}
