import {
  type Bounds,
  boundsOf,
  boundsOfPoints,
  coordsOf,
  intersectBounds,
  type Polygon,
  polygonOfBounds,
} from '../domain/bounds.ts';
import { clippedSubset, type SubsetDocument, subsetWithin } from '../domain/fitting-subset.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { createNamedArea, polygonsOfGeoJson, polygonsOfWkt } from '../domain/named-area.ts';
import { projectionOfSrs } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { isRecord } from '../lib/value-path.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import type { ImportedDocument, SubjectReport } from './import-report.ts';
import type { OfferedGrid } from './mapproxy-grids.ts';
import { listOf, numbersOf, only, type Table } from './tracked-table.ts';

/** The area in which MapProxy shows a source or a cache. */
export interface Coverage extends Shape {
  readonly bounds: Bounds;
  /** Tiles across its edge are cut. */
  readonly clip: boolean;
}

interface Shape {
  /** EPSG code. */
  readonly srs: number;
  readonly polygons: readonly Polygon[];
  readonly isBox: boolean;
}

type ReadText = (file: string) => string | null;

export const READABLE_COVERAGE =
  'a bbox, polygons in a file of WKT or GeoJSON, a union of these or an intersection of boxes, in one SRS with an EPSG code';

/** Undefined: it cannot be read, or is no valid area here. `readText` reads a file with polygons. */
export function readCoverage(value: unknown, readText: ReadText): Coverage | undefined {
  const shape = shapeOf(value, readText);
  if (!shape) return undefined;
  try {
    const { bounds } = createNamedArea('', shape.srs, { geojson: multiPolygon(shape.polygons) });
    return { ...shape, bounds, clip: isRecord(value) && value.clip === true };
  } catch {
    return undefined;
  }
}

function multiPolygon(coordinates: readonly Polygon[]): object {
  return { type: 'MultiPolygon', coordinates };
}

function shapeOf(value: unknown, readText: ReadText): Shape | undefined {
  if (!isRecord(value) || value.difference !== undefined) return undefined;
  const parts = listOf(value.union ?? value.intersection).map((part) => shapeOf(part, readText));
  if (parts.length === 0) return plainShape(value, readText);
  const [first, ...others] = parts.filter((part) => part !== undefined);
  if (!first || parts.includes(undefined) || others.some(({ srs }) => !sameSrs(srs, first.srs)))
    return undefined;
  if (others.length === 0) return first;
  if (value.union !== undefined)
    return { ...first, polygons: [first, ...others].flatMap(({ polygons }) => polygons), isBox: false };
  return [first, ...others].every(({ isBox }) => isBox) ? commonBox(first, others) : undefined;
}

function commonBox(first: Shape, others: readonly Shape[]): Shape | undefined {
  let common: Bounds | null = boundsAroundShape(first);
  for (const other of others) common = common && intersectBounds(common, boundsAroundShape(other));
  return common ? { ...first, polygons: [polygonOfBounds(common)] } : undefined;
}

function boundsAroundShape({ polygons }: Shape): Bounds {
  return boundsOfPoints(polygons.flatMap(([ring = []]) => ring));
}

function plainShape(table: Table, readText: ReadText): Shape | undefined {
  const srs = srsOfCrs(String(table.bbox_srs ?? table.polygons_srs ?? table.srs));
  if (srs === null) return undefined;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = only(numbersOf(table.bbox ?? table.datasource), 4) ?? [];
  if (maxX > minX && maxY > minY)
    return { srs, polygons: [polygonOfBounds(boundsOf([minX, minY, maxX, maxY]))], isBox: true };
  const file = table.polygons ?? table.datasource;
  const text = typeof file === 'string' && table.where === undefined ? readText(file) : null; // `where`: a filter.
  const polygons = text === null ? null : polygonsIn(text);
  return polygons ? { srs, polygons, isBox: false } : undefined;
}

/** GeoJSON, or lines of well-known text. Null: neither. */
function polygonsIn(file: string): readonly Polygon[] | null {
  const text = file.trim(); // Without a byte-order mark too.
  try {
    if (text.startsWith('{')) return polygonsOfGeoJson(JSON.parse(text));
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return lines.flatMap(polygonsOfWkt);
  } catch {
    return null;
  }
}

/** The part of a grid set around a coverage; null: the grid set does not cover it. */
export function subsetInCoverage(gridSet: GridSet, { bounds, srs }: Coverage): SubsetDocument | null {
  if (sameSrs(srs, gridSet.srs)) return clippedSubset(gridSet, bounds);
  return subsetWithin(gridSet, projectionOfSrs(srs)?.boundsToWgs84(bounds) ?? null);
}

/** The parts of a source's grids that are in its coverage. */
export function coveredGridSets(
  { grids, coverage }: { readonly grids: readonly OfferedGrid[]; readonly coverage: Coverage | null },
  about: SubjectReport,
): readonly (object | string)[] {
  const subsets = new Map<string, object | string>();
  for (const { grid, zoomStop } of grids) {
    const part = coverage && grid.gridSet ? subsetInCoverage(grid.gridSet, coverage) : { name: grid.name };
    if (!part) about.leftOut('cache.grids', `the coverage of the source is not in ${grid.nameThere}`);
    if (!part || subsets.has(grid.name)) continue;
    const subset = { ...part, ...(zoomStop !== null && { zoomStop }) };
    subsets.set(grid.name, Object.keys(subset).length === 1 ? grid.name : subset);
  }
  return [...subsets.values()];
}

/** Areas of the configuration file, one for each shape. */
export class ImportedAreas {
  readonly documents: ImportedDocument[] = [];

  /** Declares the area unless one has this shape. Returns its name: `wanted` if no other area has that. */
  declare({ srs, polygons, bounds, isBox }: Coverage, wanted: string): string {
    const shape = {
      srs: `EPSG:${srs}`,
      ...(isBox ? { bounds: coordsOf(bounds) } : { geojson: multiPolygon(polygons) }),
    };
    const text = JSON.stringify(shape);
    const known = this.documents.find(({ name: _, ...other }) => JSON.stringify(other) === text);
    if (known) return known.name;
    let name = wanted;
    for (let count = 2; this.documents.some((area) => area.name === name); count++)
      name = `${wanted} ${count}`;
    this.documents.push({ name, ...shape });
    return name;
  }
}
