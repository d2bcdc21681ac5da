import { boundsOfPoints, coordsOf } from '../domain/bounds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { MAX_LEVELS } from '../domain/grid-set.ts';
import { type Point, projectionOfSrs } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { isRecord } from '../lib/value-path.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import type { ImportedDocument, ImportReport } from './import-report.ts';
import { type MatchedGrid, matchGrid } from './matching-grid.ts';
import { listOf, numberOf, numbersOf, type Reasons, type Table, TrackedTable } from './tracked-table.ts';

/** A grid of MapProxy, and ours that has the same tiles. */
export interface MapProxyGrid extends MatchedGrid {
  readonly nameThere: string;
  readonly origin: 'sw' | 'nw';
  /** CRS units per pixel, falling. */
  readonly resolutions: readonly number[];
  /** Its SRS in names of folders, e.g. `EPSG3857`. */
  readonly srsThere: string;
}

/** A grid of a cache in which its source has tiles, or draws. */
export interface OfferedGrid {
  readonly grid: MapProxyGrid;
  /** The last zoom with tiles; null: all zooms have tiles. */
  readonly zoomStop: number | null;
}

const MERCATOR = 3857;
const MERCATOR_EDGE = 20037508.342789244;
const DEGREES = [-180, -90, 180, 90];
const DEFAULT_SRS = 'EPSG:900913';
const USUAL_LEVELS = 20;
const BUILT_IN: Readonly<Record<string, Table>> = {
  GLOBAL_GEODETIC: { srs: 'EPSG:4326', origin: 'sw' },
  GLOBAL_MERCATOR: { srs: 'EPSG:900913', origin: 'sw' },
  GLOBAL_WEBMERCATOR: { srs: 'EPSG:3857', origin: 'nw' },
};
/** The grid of caches and tile sources that name none. */
export const DEFAULT_GRID = 'GLOBAL_MERCATOR';

const ONLY_FOR_SCALING = 'concerns maps that are scaled from tiles, which are not limited here';
const REASONS: Reasons = {
  stretch_factor: ONLY_FOR_SCALING,
  max_shrink_factor: ONLY_FOR_SCALING,
  threshold_res: ONLY_FOR_SCALING,
};
/** The grids that `mapproxy.yaml` declares, and those that come with MapProxy. */
export class MapProxyGrids {
  readonly #declared: Table;
  readonly #tileSize: readonly number[] | undefined;
  readonly #report: ImportReport;
  readonly #grids = new Map<string, MapProxyGrid | null>();

  /** `tileSize`: of grids without one of their own. */
  constructor(declared: Table, tileSize: readonly number[] | undefined, report: ImportReport) {
    this.#declared = declared;
    this.#tileSize = tileSize;
    this.#report = report;
  }

  /** Grid sets to declare: for the grids that are used and have no counterpart here. */
  documents(): readonly ImportedDocument[] {
    return [...this.#grids.values()].flatMap((grid) => grid?.document ?? []);
  }

  isUsed(name: string): boolean {
    return this.#grids.has(name);
  }

  /** Null: it cannot be used; the reason is in the report. */
  of(name: string): MapProxyGrid | null {
    return getOrCreate(this.#grids, name, () => this.#read(name));
  }

  #read(name: string): MapProxyGrid | null {
    const about = this.#report.about(`grid ${name}`);
    const refuse = (what: string) => about.leftOut('grid', what);
    const table = this.#inherited(name, 0);
    if (!table) return refuse('is not declared');
    const fields = new TrackedTable(table, about);
    const crs = fields.text('srs') ?? DEFAULT_SRS;
    const srs = srsOfCrs(crs);
    if (srs === null) return refuse(`its SRS ${crs} has no EPSG code`);
    const extent = extentOf(fields, srs);
    if (!extent) return refuse('it needs a bbox of four numbers, in an SRS that is known here');
    const origin = originOf(fields.text('origin'));
    if (!origin) return refuse('its origin must be sw, ll, nw or ul');
    const tileSize = fields.pair('tile_size') ?? this.#tileSize ?? [256, 256];
    const other = fields.text('align_resolutions_with');
    const aligned = other === undefined ? null : this.#resolutionsOf(other, name);
    if (aligned?.length === 0) return refuse(`its resolutions are those of ${other}, which cannot be used`);
    const resolutions = aligned
      ? alignedResolutions(aligned, fields, extent, tileSize)
      : computeResolutions(fields, extent, tileSize);
    if (!resolutions || resolutions.length === 0)
      return refuse('its resolutions in res must be numbers, or pairs of a name and a number');
    if (resolutions.length > MAX_LEVELS) {
      about.changed('grid', `has ${resolutions.length} levels; the first ${MAX_LEVELS} are used`);
    }
    const document = {
      name: fields.text('name') ?? name,
      srs,
      extent,
      resolutions: resolutions.slice(0, MAX_LEVELS),
      tileSize,
      ...(origin === 'nw' && { alignTopLeft: true }),
    };
    fields.text('base');
    fields.report(REASONS);
    const known = builtInGridSets();
    const mercator = known.find((one) => one.name === 'EPSG:900913');
    const matched = matchGrid(document, mercator, known);
    if (matched.name !== document.name) about.changed('name', `is called ${matched.name}`);
    return { ...matched, nameThere: document.name, origin, resolutions, srsThere: crs.replace(':', '') };
  }

  /** Empty: that grid cannot be used. */
  #resolutionsOf(name: string, ownName: string): readonly number[] {
    return name === ownName ? [] : (this.of(name)?.resolutions ?? []);
  }

  /** `base` names another grid with the other fields. */
  #inherited(name: string, depth: number): Table | null {
    const own = Object.hasOwn(this.#declared, name) ? this.#declared[name] : BUILT_IN[name];
    if (!isRecord(own) || depth > 10) return null;
    if (own.base === undefined) return own;
    const below = this.#inherited(String(own.base), depth + 1);
    return below && { ...below, name: undefined, ...own };
  }
}

/** The extent in the SRS of the grid; a `bbox` in another SRS is converted as by MapProxy's `grid_bbox`. */
function extentOf(fields: TrackedTable, srs: number): readonly number[] | undefined {
  const bbox = fields.numbers('bbox') ?? usualExtent(srs);
  if (bbox?.length !== 4) return undefined;
  const named = fields.text('bbox_srs');
  const bboxSrs = named === undefined ? srs : srsOfCrs(named);
  if (bboxSrs === null || sameSrs(bboxSrs, srs)) return bboxSrs === null ? undefined : bbox;
  const [from, to] = [projectionOfSrs(bboxSrs), projectionOfSrs(srs)];
  const points = pointsAlong(bbox).map(([x, y]) => {
    const degrees = from?.toLonLat(x, y);
    return (degrees && to?.fromLonLat(...degrees)) ?? null;
  });
  const known = points.filter((point) => point !== null);
  return known.length === points.length ? coordsOf(boundsOfPoints(known)) : undefined;
}

/** MapProxy's own number: another one would move the grid. */
const PARTS_OF_EDGE = 4;

function pointsAlong([minX = 0, minY = 0, maxX = 0, maxY = 0]: readonly number[]): readonly Point[] {
  return Array.from({ length: PARTS_OF_EDGE + 1 }, (_, i): readonly Point[] => {
    const x = minX + (i * (maxX - minX)) / PARTS_OF_EDGE;
    const y = minY + (i * (maxY - minY)) / PARTS_OF_EDGE;
    return [
      [x, minY],
      [x, maxY],
      [minX, y],
      [maxX, y],
    ];
  }).flat();
}

function usualExtent(srs: number): readonly number[] | undefined {
  if (sameSrs(srs, MERCATOR)) return [-MERCATOR_EDGE, -MERCATOR_EDGE, MERCATOR_EDGE, MERCATOR_EDGE];
  return srs === 4326 ? DEGREES : undefined;
}

function originOf(corner = 'sw'): 'sw' | 'nw' | null {
  const origin = corner.toLowerCase();
  if (origin === 'sw' || origin === 'll') return 'sw';
  return origin === 'nw' || origin === 'ul' ? 'nw' : null;
}

/** Resolutions of another grid between the first and the last, as by `aligned_resolutions` in MapProxy's resolutions.py. */
function alignedResolutions(
  others: readonly number[],
  fields: TrackedTable,
  [minX = 0, minY = 0, maxX = 0, maxY = 0]: readonly number[],
  [width = 256, height = 256]: readonly number[],
): readonly number[] {
  const first = fields.number('min_res') ?? Math.max((maxX - minX) / width, (maxY - minY) / height);
  const last = fields.number('max_res') ?? 0;
  const factor = fields.take('res_factor', factorOf, 'a number or sqrt2') ?? 2;
  const between = others.filter((one) => one <= first && one >= last).slice(0, fields.number('num_levels'));
  const [a = 1, b = 1] = between;
  const isFactor = (wanted: number) => Math.abs(a / b - wanted) < 1e-8;
  if (factor === Math.SQRT2 && isFactor(2)) return between.flatMap((one) => [one, one / Math.SQRT2]);
  return factor === 2 && isFactor(Math.SQRT2) ? between.filter((_, z) => z % 2 === 0) : between;
}

/** CRS units per pixel, falling, as by `resolutions` in MapProxy's grid.py. Null: they cannot be read. */
function computeResolutions(
  fields: TrackedTable,
  extent: readonly number[],
  [width = 256, height = 256]: readonly number[],
): readonly number[] | null {
  const listed = fields.take('res', resolutionsOf, 'a list of resolutions');
  if (fields.has('res')) return listed ?? null;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent;
  const first = fields.number('min_res') ?? Math.max((maxX - minX) / width, (maxY - minY) / height);
  const factor = fields.take('res_factor', factorOf, 'a number or sqrt2') ?? 2;
  const last = fields.number('max_res');
  const count = fields.number('num_levels');
  if (last !== undefined && count !== undefined) {
    const step = (Math.log10(first) - Math.log10(last)) / (count - 1);
    return Array.from({ length: count }, (_, z) => 10 ** (Math.log10(first) - step * z));
  }
  const usual = factor === Math.SQRT2 ? 2 * USUAL_LEVELS : USUAL_LEVELS;
  const most = count ?? (last === undefined ? usual : MAX_LEVELS);
  const computed = [first];
  const next = () => (computed.at(-1) ?? first) / factor;
  while (computed.length < most && (last === undefined || next() > last)) computed.push(next());
  return computed;
}

/** From a list of numbers, or of pairs of a name and a number. */
function resolutionsOf(value: unknown): readonly number[] | undefined {
  const numbers = numbersOf(listOf(value).map((one) => (Array.isArray(one) ? one[1] : one)));
  return numbers && [...numbers].sort((a, b) => b - a);
}

function factorOf(value: unknown): number | undefined {
  return value === 'sqrt2' ? Math.SQRT2 : numberOf(value);
}
