import { MAX_LEVELS } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import { getOrMake } from '../lib/get-or-make.ts';
import { isRecord } from '../lib/value-path.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import type { ImportedDocument, ImportReport, SubjectReport } from './import-report.ts';

export type Table = Readonly<Record<string, unknown>>;

/** A grid of the old program, and which of ours it is. */
export interface MapProxyGrid {
  /** The name of our grid set. */
  readonly name: string;
  readonly origin: 'sw' | 'nw';
  /** As its folders are called, e.g. `EPSG3857`. */
  readonly srs: string;
  readonly document: ImportedDocument | null;
  readonly zoomStop: number | null;
}

const MERCATOR = 3857;
const MERCATOR_EDGE = 20037508.342789244;
const DEGREES = [-180, -90, 180, 90];
const USUAL_LEVELS = 20;
const BUILT_IN: Readonly<Record<string, Table>> = {
  GLOBAL_GEODETIC: { srs: 'EPSG:4326', origin: 'sw' },
  GLOBAL_MERCATOR: { srs: 'EPSG:900913', origin: 'sw' },
  GLOBAL_WEBMERCATOR: { srs: 'EPSG:3857', origin: 'nw' },
};

/** The grids that `mapproxy.yaml` declares, and those that come with MapProxy. */
export class MapProxyGrids {
  readonly #declared: Table;
  readonly #report: ImportReport;
  readonly #grids = new Map<string, MapProxyGrid | null>();

  constructor(declared: Table, report: ImportReport) {
    this.#declared = declared;
    this.#report = report;
  }

  /** Those that were asked for and have no counterpart. */
  documents(): readonly ImportedDocument[] {
    return [...this.#grids.values()].flatMap((grid) => grid?.document ?? []);
  }

  /** Null: it cannot be used; the report says why. */
  of(name: string): MapProxyGrid | null {
    return getOrMake(this.#grids, name, () => {
      const about = this.#report.about(`grid ${name}`);
      const grid = this.#readGrid(name, about);
      if (grid) about.taken('grid');
      return grid;
    });
  }

  #readGrid(name: string, about: SubjectReport): MapProxyGrid | null {
    const refuse = (what: string) => about.leftOut('grid', what);
    const given = this.#inherited(name, 0);
    if (!given) return refuse('is not declared');
    const srs = srsOfCrs(String(given.srs ?? 'EPSG:900913'));
    if (srs === null) return refuse(`its SRS ${String(given.srs)} has no EPSG code`);
    if (given.align_with !== undefined || given.bbox_srs !== undefined)
      return refuse('align_with and bbox_srs are not supported');
    const mercator = sameSrs(srs, MERCATOR);
    const usual = mercator
      ? [-MERCATOR_EDGE, -MERCATOR_EDGE, MERCATOR_EDGE, MERCATOR_EDGE]
      : srs === 4326
        ? DEGREES
        : null;
    const extent = numbersOf(given.bbox) ?? usual;
    if (extent?.length !== 4) return refuse('it needs a bbox of four numbers');
    const [width = 256, height = 256] = pairOf(given.tile_size) ?? [];
    const resolutions = ladderOf(given, extent, width, height);
    const origin = ['nw', 'ul'].includes(String(given.origin ?? 'sw')) ? 'nw' : 'sw';
    const folder = String(given.srs ?? 'EPSG:900913').replace(':', '');
    const levels = resolutions.slice(0, MAX_LEVELS);
    if (mercator && width === 256 && height === 256 && isHalvedWorld(levels, extent)) {
      return { name: 'EPSG:900913', origin, srs: folder, document: null, zoomStop: levels.length - 1 };
    }
    const document = {
      name,
      srs,
      extent,
      resolutions: levels,
      tileSize: [width, height],
      ...(origin === 'nw' && { alignTopLeft: true }),
    };
    return { name, origin, srs: folder, document, zoomStop: null };
  }

  /** `base` names another grid that says the rest. */
  #inherited(name: string, depth: number): Table | null {
    const own = Object.hasOwn(this.#declared, name) ? tableIn(this.#declared, name) : BUILT_IN[name];
    if (!own || depth > 10) return null;
    if (own.base === undefined) return own;
    const below = this.#inherited(String(own.base), depth + 1);
    return below && { ...below, ...own, base: undefined };
  }
}

/** CRS units per pixel, falling. */
function ladderOf(given: Table, extent: readonly number[], width: number, height: number): readonly number[] {
  const listed = numbersOf(given.res);
  if (listed) return [...listed].sort((a, b) => b - a);
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent;
  const first = numberOf(given.min_res) ?? Math.max((maxX - minX) / width, (maxY - minY) / height);
  const factor = given.res_factor === 'sqrt2' ? Math.SQRT2 : (numberOf(given.res_factor) ?? 2);
  const last = numberOf(given.max_res);
  const count =
    numberOf(given.num_levels) ??
    (last === undefined ? (factor === 2 ? USUAL_LEVELS : 2 * USUAL_LEVELS) : undefined);
  if (last !== undefined && count !== undefined) {
    const step = (Math.log10(first) - Math.log10(last)) / (count - 1);
    return Array.from({ length: count }, (_, z) => 10 ** (Math.log10(first) - step * z));
  }
  const ladder = [first];
  const next = () => (ladder.at(-1) ?? first) / factor;
  while (ladder.length < (count ?? MAX_LEVELS) && (last === undefined || next() >= last)) ladder.push(next());
  return ladder;
}

function isHalvedWorld(resolutions: readonly number[], extent: readonly number[]): boolean {
  const edges = [-MERCATOR_EDGE, -MERCATOR_EDGE, MERCATOR_EDGE, MERCATOR_EDGE];
  const world = edges.every((edge, at) => Math.abs(edge - (extent[at] ?? 0)) < 1);
  return (
    world &&
    resolutions.every(
      (resolution, z) => Math.abs((resolution * 2 ** z * 256) / (2 * MERCATOR_EDGE) - 1) < 1e-6,
    )
  );
}

export function tableIn(tree: Table, key: string): Table {
  const value = tree[key];
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function numbersOf(value: unknown): readonly number[] | null {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : null;
  const numbers = list?.map(Number) ?? [];
  return numbers.length > 0 && numbers.every(Number.isFinite) ? numbers : null;
}

export function pairOf(value: unknown): readonly number[] | undefined {
  const numbers = numbersOf(value);
  return numbers?.length === 2 ? numbers : undefined;
}
