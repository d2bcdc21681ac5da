import type { Polygon } from '../domain/bounds.ts';
import { type GridSet, levelOf } from '../domain/grid-set.ts';
import { countTiles, type TileRect } from '../domain/tile-rect.ts';

/** Rows of tiles that all have the same covered columns. */
interface CoverBand {
  readonly minY: number;
  readonly maxY: number;
  /** Covered columns, inclusive, from left to right, without overlap. */
  readonly runs: readonly CoverRun[];
}

interface CoverRun {
  readonly minX: number;
  readonly maxX: number;
}

/**
 * Which tiles polygons touch. Exact while the polygons are at most `MAX_BANDS` tiles high; at deeper zooms rows
 * are taken together in bands, and a column counts for the whole band when the polygons touch it anywhere in
 * there. So a cover is at most 1/4096 of the area's height too generous, never misses a tile, and counting it
 * takes a bounded time at any zoom.
 */
export interface AreaCover {
  /** The bands that lie in `rect`, clipped to it, from the top; those without a covered tile are left out. */
  bands(z: number, rect: TileRect): Generator<CoverBand>;
}

/** Where the tiles of a zoom lie, as a task keeps it: a later change of the grid set does not move its area. */
export interface ZoomGeometry {
  readonly z: number;
  readonly left: number;
  readonly top: number;
  readonly tileSpanX: number;
  readonly tileSpanY: number;
  readonly rows: number;
}

interface Edge {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

interface LevelCover {
  readonly edges: readonly Edge[];
  readonly minY: number;
  readonly maxY: number;
  readonly bandRows: number;
}

const MAX_BANDS = 4096;
/** In tiles; a touch thinner than this is rounding. */
const TOLERANCE = 1e-6;

export function zoomGeometryOf(gridSet: GridSet, z: number): ZoomGeometry {
  const { top, tileSpanX, tileSpanY, rows } = levelOf(gridSet, z);
  return { z, left: gridSet.extent.minX, top, tileSpanX, tileSpanY, rows };
}

export function createAreaCover(polygons: readonly Polygon[], zooms: readonly ZoomGeometry[]): AreaCover {
  const levels = new Map<number, LevelCover>();

  function levelCover(z: number): LevelCover {
    const known = levels.get(z);
    if (known) return known;
    const geometry = zooms.find((zoom) => zoom.z === z);
    if (!geometry) throw new RangeError(`The area is not known at zoom ${z}.`);
    const made = coverOfZoom(polygons, geometry);
    // One level at a time is enough: tasks go from zoom to zoom.
    if (levels.size > 1) levels.clear();
    levels.set(z, made);
    return made;
  }

  function* bands(z: number, rect: TileRect): Generator<CoverBand> {
    const cover = levelCover(z);
    let y = Math.max(rect.minY, cover.minY);
    const last = Math.min(rect.maxY, cover.maxY);
    const active = activeEdges(cover.edges);
    while (y <= last) {
      const top = cover.minY + Math.floor((y - cover.minY) / cover.bandRows) * cover.bandRows;
      const bottom = top + cover.bandRows - 1;
      const runs = clipRuns(runsOf(active(top, bottom + 1), top, bottom + 1), rect);
      if (runs.length > 0) yield { minY: y, maxY: Math.min(bottom, last), runs };
      y = bottom + 1;
    }
  }

  return { bands };
}

export function countCovered(cover: AreaCover | null, z: number, rect: TileRect): bigint {
  if (!cover) return countTiles(rect);
  let total = 0n;
  for (const band of cover.bands(z, rect)) {
    const columns = band.runs.reduce((sum, run) => sum + run.maxX - run.minX + 1, 0);
    total += BigInt(columns) * BigInt(band.maxY - band.minY + 1);
  }
  return total;
}

/** What the area covers of a block, as rectangles; all of it without an area. */
export function* coveredRects(cover: AreaCover | null, z: number, rect: TileRect): Generator<TileRect> {
  if (!cover) {
    yield rect;
    return;
  }
  for (const { minY, maxY, runs } of cover.bands(z, rect)) {
    for (const { minX, maxX } of runs) yield { minX, minY, maxX, maxY };
  }
}

/** Edges in tile units, rows from the top, in the order of their upper end. */
function coverOfZoom(polygons: readonly Polygon[], level: ZoomGeometry): LevelCover {
  const columnOf = (x: number) => (x - level.left) / level.tileSpanX;
  const rowOf = (y: number) => (level.top - y) / level.tileSpanY;
  const edges: Edge[] = [];
  for (const ring of polygons.flat()) {
    for (const [i, [x, y]] of ring.entries()) {
      const [nextX, nextY] = ring[(i + 1) % ring.length] ?? [x, y];
      edges.push(downward(columnOf(x), rowOf(y), columnOf(nextX), rowOf(nextY)));
    }
  }
  edges.sort((a, b) => a.y1 - b.y1);
  const top = edges.reduce((min, edge) => Math.min(min, edge.y1), Number.POSITIVE_INFINITY);
  const bottom = edges.reduce((max, edge) => Math.max(max, edge.y2), Number.NEGATIVE_INFINITY);
  const minY = clamp(Math.floor(top + TOLERANCE), level.rows);
  const maxY = clamp(Math.ceil(bottom - TOLERANCE) - 1, level.rows);
  return { edges, minY, maxY, bandRows: Math.ceil((maxY - minY + 1) / MAX_BANDS) };
}

function clamp(row: number, rows: number): number {
  return Math.min(Math.max(row, 0), rows - 1);
}

function downward(x1: number, y1: number, x2: number, y2: number): Edge {
  return y1 <= y2 ? { x1, y1, x2, y2 } : { x1: x2, y1: y2, x2: x1, y2: y1 };
}

/** Asked for bands from the top down: each edge is picked up once and dropped when the bands have passed it. */
function activeEdges(edges: readonly Edge[]): (top: number, bottom: number) => readonly Edge[] {
  let next = 0;
  let active: Edge[] = [];
  return (top, bottom) => {
    for (let edge = edges[next]; edge && edge.y1 < bottom; edge = edges[++next]) active.push(edge);
    active = active.filter((edge) => edge.y2 > top);
    return active;
  };
}

/**
 * The columns that the polygons touch between two horizontal lines: those their edges pass through, and those
 * that lie inside along the line half-way (a column no edge passes through is inside everywhere or nowhere).
 */
function runsOf(edges: readonly Edge[], top: number, bottom: number): readonly CoverRun[] {
  const spans: [number, number][] = [];
  const crossings: number[] = [];
  const middle = (top + bottom) / 2;
  for (const edge of edges) {
    const from = edge.y1 === edge.y2 ? edge.x1 : xAt(edge, Math.max(top, edge.y1));
    const to = edge.y1 === edge.y2 ? edge.x2 : xAt(edge, Math.min(bottom, edge.y2));
    spans.push(from < to ? [from, to] : [to, from]);
    if (edge.y1 <= middle && middle < edge.y2) crossings.push(xAt(edge, middle));
  }
  crossings.sort((a, b) => a - b);
  for (let i = 0; i + 1 < crossings.length; i += 2) {
    spans.push([crossings[i] ?? 0, crossings[i + 1] ?? 0]);
  }
  return mergeSpans(spans);
}

function xAt(edge: Edge, y: number): number {
  return edge.x1 + ((y - edge.y1) / (edge.y2 - edge.y1)) * (edge.x2 - edge.x1);
}

function mergeSpans(spans: [number, number][]): readonly CoverRun[] {
  const runs = spans
    .map(([from, to]) => ({ minX: Math.floor(from + TOLERANCE), maxX: Math.ceil(to - TOLERANCE) - 1 }))
    // An edge that runs along the border between two columns touches neither by itself.
    .filter((run) => run.minX <= run.maxX)
    .sort((a, b) => a.minX - b.minX);
  const merged: CoverRun[] = [];
  for (const run of runs) {
    const last = merged.at(-1);
    if (!last || run.minX > last.maxX + 1) merged.push(run);
    else merged[merged.length - 1] = { minX: last.minX, maxX: Math.max(last.maxX, run.maxX) };
  }
  return merged;
}

function clipRuns(runs: readonly CoverRun[], rect: TileRect): readonly CoverRun[] {
  return runs
    .map((run) => ({ minX: Math.max(run.minX, rect.minX), maxX: Math.min(run.maxX, rect.maxX) }))
    .filter((run) => run.minX <= run.maxX);
}
