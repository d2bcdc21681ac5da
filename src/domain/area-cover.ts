import { getOrCreate } from '../lib/get-or-create.ts';
import type { Pace } from '../lib/yielding.ts';
import type { Polygon } from './bounds.ts';
import { type GridSet, levelOf } from './grid-set.ts';
import { countTiles, type TileRect } from './tile-rect.ts';

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

interface ScannedBand extends CoverBand {
  readonly visits: number;
}

/**
 * The tiles that polygons touch. Exact while the polygons are at most `MAX_BANDS` tiles high; at deeper zooms rows
 * are taken together in bands, and a column counts for the whole band when the polygons touch it anywhere in
 * there. So a cover is at most 1/4096 of the area's height too generous and never misses a tile. Bands are higher where
 * many edges are close together, so that a zoom takes at most `MAX_VISITS`. Pieces and steps of a task see the
 * same bands as its total.
 */
export interface AreaCover {
  /** The bands in `rect`, clipped to it, from the top, without empty ones. */
  bands(z: number, rect: TileRect): Generator<CoverBand>;
  /** Same as `bands`, with empty ones. */
  scan(z: number, rect: TileRect): Generator<ScannedBand>;
}

/** The grid of a zoom, stored with the task: a later change of the grid set does not move its area. */
export interface ZoomGeometry {
  readonly z: number;
  readonly left: number;
  readonly top: number;
  readonly tileSpanX: number;
  readonly tileSpanY: number;
  readonly rows: number;
  /** Width of the margin around the polygons, in tiles; 0 by default. */
  readonly buffer?: number;
}

export interface PixelBuffer {
  readonly pixels: number;
  /** Smallest size of a pixel in metres; its size at the zoom by default. */
  readonly metresPerPixel?: number;
}

/** The upper end first; in the units of the CRS, or in tiles with rows from the top. */
interface Edge {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

interface LevelCover {
  readonly geometry: ZoomGeometry;
  readonly minY: number;
  readonly maxY: number;
  readonly bandRows: number;
}

const MAX_BANDS = 4096;
/** Edges read for one zoom, each once for every band that it reaches into. */
export const MAX_VISITS = 100_000;
/** Edges read in one turn of the event loop: some two milliseconds. */
export const VISITS_PER_TURN = 10_000;
/** Cost of a band in edges, beside its own. */
const BAND_VISITS = 10;
/** In tiles; a touch thinner than this is rounding. */
const TOLERANCE = 1e-6;

export function zoomGeometryOf(gridSet: GridSet, z: number, around?: PixelBuffer): ZoomGeometry {
  const { top, tileSpanX, tileSpanY, rows, resolution } = levelOf(gridSet, z);
  const geometry = { z, left: gridSet.extent.minX, top, tileSpanX, tileSpanY, rows };
  if (!around) return geometry;
  const pixel = Math.max(
    resolution * gridSet.pixelRatio,
    (around.metresPerPixel ?? 0) / gridSet.metersPerUnit,
  );
  return { ...geometry, buffer: (around.pixels * pixel) / Math.min(tileSpanX, tileSpanY) };
}

/** `maxBands`: fewer cost less, and are more generous. */
export function createAreaCover(
  polygons: readonly Polygon[],
  zooms: readonly ZoomGeometry[],
  maxBands = MAX_BANDS,
): AreaCover {
  const edges = edgesOf(polygons);
  const room = createRunEnds(edges.length);
  const levels = new Map<number, LevelCover>();

  function levelCover(z: number): LevelCover {
    return getOrCreate(levels, z, () => {
      const geometry = zooms.find((zoom) => zoom.z === z);
      if (!geometry) throw new RangeError(`The area is not known at zoom ${z}.`);
      return coverOfZoom(edges, geometry, maxBands);
    });
  }

  function* scan(z: number, rect: TileRect): Generator<ScannedBand> {
    const cover = levelCover(z);
    let y = Math.max(rect.minY, cover.minY);
    const last = Math.min(rect.maxY, cover.maxY);
    const active = activeEdges(edges, cover.geometry);
    const { buffer = 0 } = cover.geometry;
    while (y <= last) {
      const top = cover.minY + Math.floor((y - cover.minY) / cover.bandRows) * cover.bandRows;
      const bottom = top + cover.bandRows - 1;
      const { reaching, visits } = active(top - buffer, bottom + 1 + buffer);
      const runs = clipRuns(runsOf(reaching, top - buffer, bottom + 1 + buffer, buffer, room), rect);
      yield { minY: y, maxY: Math.min(bottom, last), runs, visits };
      y = bottom + 1;
    }
  }

  function* bands(z: number, rect: TileRect): Generator<CoverBand> {
    for (const band of scan(z, rect)) if (band.runs.length > 0) yield band;
  }

  return { bands, scan };
}

export function countCovered(cover: AreaCover | null, z: number, rect: TileRect): bigint {
  if (!cover) return countTiles(rect);
  let total = 0n;
  for (const band of cover.bands(z, rect)) total += tilesOfBand(band);
  return total;
}

/** As `countCovered`, yielding to the event loop by `pace`, whose unit is an edge. */
export async function countInTurns(
  cover: AreaCover | null,
  z: number,
  rect: TileRect,
  pace: Pace,
): Promise<bigint> {
  if (!cover) return countTiles(rect);
  let total = 0n;
  for (const band of cover.scan(z, rect)) {
    total += tilesOfBand(band);
    await pace(band.visits + BAND_VISITS);
  }
  return total;
}

function tilesOfBand({ minY, maxY, runs }: CoverBand): bigint {
  const columns = runs.reduce((sum, run) => sum + run.maxX - run.minX + 1, 0);
  return BigInt(columns) * BigInt(maxY - minY + 1);
}

/** The part of a block that the area covers, as rectangles; all of it without an area. */
export function* coveredRects(cover: AreaCover | null, z: number, rect: TileRect): Generator<TileRect> {
  if (!cover) {
    yield rect;
    return;
  }
  for (const { minY, maxY, runs } of cover.bands(z, rect)) {
    for (const { minX, maxX } of runs) yield { minX, minY, maxX, maxY };
  }
}

/** The edges of all rings, sorted by their upper ends from the top: an order that holds at every zoom. */
function edgesOf(polygons: readonly Polygon[]): readonly Edge[] {
  const edges: Edge[] = [];
  for (const ring of polygons.flat()) {
    for (const [i, [x1, y1]] of ring.entries()) {
      const [x2, y2] = ring[(i + 1) % ring.length] ?? [x1, y1];
      edges.push(y1 >= y2 ? { x1, y1, x2, y2 } : { x1: x2, y1: y2, x2: x1, y2: y1 });
    }
  }
  return edges.sort((a, b) => b.y1 - a.y1);
}

function coverOfZoom(edges: readonly Edge[], geometry: ZoomGeometry, maxBands: number): LevelCover {
  const tileRow = (y: number) => (geometry.top - y) / geometry.tileSpanY;
  const top = tileRow(edges[0]?.y1 ?? geometry.top);
  const bottom = edges.reduce((max, edge) => Math.max(max, tileRow(edge.y2)), Number.NEGATIVE_INFINITY);
  const { buffer = 0 } = geometry;
  const minY = clamp(Math.floor(top - buffer + TOLERANCE), geometry.rows);
  const maxY = clamp(Math.ceil(bottom + buffer - TOLERANCE) - 1, geometry.rows);
  const within = (y: number) => Math.min(Math.max(tileRow(y), minY), maxY + 1);
  const heights = edges.reduce((sum, edge) => sum + within(edge.y2) - within(edge.y1), 0);
  // An edge reaches into two bands more than it fills.
  const bandRows = Math.max((maxY - minY + 1) / maxBands, heights / (MAX_VISITS - 2 * edges.length));
  return { geometry, minY, maxY, bandRows: Math.ceil(bandRows) };
}

function clamp(row: number, rows: number): number {
  return Math.min(Math.max(row, 0), rows - 1);
}

/** Called for bands from the top down: each edge is picked up once and dropped when the bands have passed it. */
function activeEdges(edges: readonly Edge[], { left, top: origin, tileSpanX, tileSpanY }: ZoomGeometry) {
  const columnOf = (x: number) => (x - left) / tileSpanX;
  const tileRow = (y: number) => (origin - y) / tileSpanY;
  let next = 0;
  let active: Edge[] = [];
  return (top: number, bottom: number) => {
    const first = next;
    const before = active.length;
    active = active.filter((edge) => edge.y2 > top);
    for (let edge = edges[next]; edge && tileRow(edge.y1) < bottom; edge = edges[++next]) {
      const { x1, y1, x2, y2 } = edge;
      if (tileRow(y2) <= top) continue;
      active.push({ x1: columnOf(x1), y1: tileRow(y1), x2: columnOf(x2), y2: tileRow(y2) });
    }
    return { reaching: active, visits: before + next - first };
  };
}

/** Buffers for the runs of a band, with room for all that one band can have. */
interface RunEnds {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly crossings: Float64Array;
}

function createRunEnds(edges: number): RunEnds {
  const room = edges + Math.ceil(edges / 2);
  return {
    starts: new Float64Array(room),
    ends: new Float64Array(room),
    crossings: new Float64Array(edges),
  };
}

/**
 * The columns that the polygons touch between two horizontal lines: those their edges pass through, and those
 * inside along the line half-way (a column no edge passes through is inside everywhere or nowhere).
 */
function runsOf(
  edges: readonly Edge[],
  top: number,
  bottom: number,
  buffer: number,
  room: RunEnds,
): readonly CoverRun[] {
  const { starts, ends } = room;
  let count = 0;
  const add = (from: number, to: number) => {
    const minX = Math.floor(from - buffer + TOLERANCE);
    const maxX = Math.ceil(to + buffer - TOLERANCE) - 1;
    // An edge that runs along the border between two columns touches neither by itself.
    if (minX > maxX) return;
    starts[count] = minX;
    ends[count++] = maxX;
  };
  for (const edge of edges) {
    const from = edge.y1 === edge.y2 ? edge.x1 : xAt(edge, Math.max(top, edge.y1));
    const to = edge.y1 === edge.y2 ? edge.x2 : xAt(edge, Math.min(bottom, edge.y2));
    add(Math.min(from, to), Math.max(from, to));
  }
  const crossings = crossingsOf(edges, (top + bottom) / 2, room.crossings);
  for (let i = 0; i + 1 < crossings.length; i += 2) add(crossings[i] ?? 0, crossings[i + 1] ?? 0);
  return mergeRuns(starts.subarray(0, count), ends.subarray(0, count));
}

function crossingsOf(edges: readonly Edge[], y: number, room: Float64Array): Float64Array {
  let count = 0;
  for (const edge of edges) if (edge.y1 <= y && y < edge.y2) room[count++] = xAt(edge, y);
  return room.subarray(0, count).sort();
}

function xAt(edge: Edge, y: number): number {
  return edge.x1 + ((y - edge.y1) / (edge.y2 - edge.y1)) * (edge.x2 - edge.x1);
}

/** Merges runs. Starts and ends are sorted: after the nth end there is a gap if the next start is beyond it. */
function mergeRuns(starts: Float64Array, ends: Float64Array): readonly CoverRun[] {
  starts.sort();
  ends.sort();
  const merged: CoverRun[] = [];
  let minX = starts[0] ?? 0;
  for (let i = 0; i < ends.length; i++) {
    const maxX = ends[i] ?? 0;
    const next = starts[i + 1] ?? Number.POSITIVE_INFINITY;
    if (next <= maxX + 1) continue;
    merged.push({ minX, maxX });
    minX = next;
  }
  return merged;
}

function clipRuns(runs: readonly CoverRun[], rect: TileRect): readonly CoverRun[] {
  return runs
    .map((run) => ({ minX: Math.max(run.minX, rect.minX), maxX: Math.min(run.maxX, rect.maxX) }))
    .filter((run) => run.minX <= run.maxX);
}
