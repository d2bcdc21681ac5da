import {
  type Bounds,
  boundsAround,
  boundsOf,
  boundsOfPoints,
  coordsOf,
  intersectBounds,
} from '../domain/bounds.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { type Point, projectionOfSrs } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { isRecord } from '../lib/value-path.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import { clippedSubset, type SubsetDocument, subsetWithin } from './fitting-subset.ts';
import { listOf, numbersOf, only, type Table } from './tracked-table.ts';

export interface CoverageBox {
  readonly bounds: Bounds;
  /** EPSG code. */
  readonly srs: number;
  /** False: the coverage is smaller. */
  readonly exact: boolean;
}

const DEGREES = 4326;

/** Undefined: it cannot be read. `readText` is given the names of files with polygons. */
export function coverageBox(
  given: unknown,
  readText: (file: string) => string | null,
): CoverageBox | undefined {
  if (!isRecord(given)) return undefined;
  if (given.union !== undefined) return together(given.union, readText, (a, b) => boundsAround([a, b]));
  if (given.intersection !== undefined) return together(given.intersection, readText, intersectBounds);
  if (given.difference !== undefined) {
    const first = coverageBox(listOf(given.difference)[0], readText);
    return first && { ...first, exact: false };
  }
  return plainBox(given, readText);
}

function plainBox(given: Table, readText: (file: string) => string | null): CoverageBox | undefined {
  const crs = given.bbox_srs ?? given.polygons_srs ?? given.srs;
  const srs = srsOfCrs(String(crs));
  if (srs === null) return undefined;
  const box = only(numbersOf(given.bbox ?? given.datasource), 4);
  if (box) return { bounds: boundsOf(fourOf(box)), srs, exact: true };
  const file = given.polygons ?? given.datasource;
  const text = typeof file === 'string' && given.where === undefined ? readText(file) : null;
  const points = text === null ? [] : pointsIn(text);
  return points.length > 0 ? { bounds: boundsOfPoints(points), srs, exact: false } : undefined;
}

function fourOf([a = 0, b = 0, c = 0, d = 0]: readonly number[]) {
  return [a, b, c, d] as const;
}

function together(
  given: unknown,
  readText: (file: string) => string | null,
  combine: (a: Bounds, b: Bounds) => Bounds | null,
): CoverageBox | undefined {
  const boxes = listOf(given).map((part) => coverageBox(part, readText));
  const [first] = boxes;
  if (!first || boxes.includes(undefined)) return undefined;
  const srs = boxes.every((box) => box?.srs === first.srs) ? first.srs : DEGREES;
  let bounds: Bounds | null = null;
  for (const box of boxes) {
    const next = box && boundsIn(box, srs);
    bounds = next ? (bounds ? combine(bounds, next) : next) : null;
    if (!bounds) return undefined;
  }
  return bounds ? { bounds, srs, exact: boxes.length === 1 && first.exact } : undefined;
}

function boundsIn(box: CoverageBox, srs: number): Bounds | null {
  return box.srs === srs ? box.bounds : (projectionOfSrs(box.srs)?.boundsToWgs84(box.bounds) ?? null);
}

/** Well-known text, or GeoJSON. */
function pointsIn(text: string): readonly Point[] {
  try {
    return pointsOfJson(JSON.parse(text));
  } catch {
    return text.split(/[(),\n]/).flatMap(pointIn);
  }
}

/** A height may follow x and y. */
function pointIn(text: string): readonly Point[] {
  const [x = NaN, y = NaN] = text.trim().split(/\s+/).map(Number);
  return Number.isFinite(x) && Number.isFinite(y) ? [[x, y]] : [];
}

function pointsOfJson(value: unknown): readonly Point[] {
  if (Array.isArray(value)) {
    const [x = 0, y = 0] = value.map(Number);
    return typeof value[0] === 'number' ? [[x, y]] : value.flatMap(pointsOfJson);
  }
  if (!isRecord(value)) return [];
  return pointsOfJson(value.coordinates ?? value.geometry ?? value.geometries ?? value.features);
}

/** The part of a grid set in the box; null: none of it is. */
export function subsetInCoverage(gridSet: GridSet, box: CoverageBox): SubsetDocument | null {
  if (sameSrs(box.srs, gridSet.srs)) return clippedSubset(gridSet, coordsOf(box.bounds));
  const degrees = boundsIn(box, DEGREES);
  return subsetWithin(gridSet, degrees && coordsOf(degrees));
}
