import {
  type AreaCover,
  countInTurns,
  createAreaCover,
  VISITS_PER_TURN,
  type ZoomGeometry,
} from '../domain/area-cover.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import { blockAt, intersectRects, type TileRect } from '../domain/tile-rect.ts';
import { createPace } from '../lib/yielding.ts';
import type { RaisedMarks } from '../removal/removal.ts';
import type { TaskRequest } from './task.ts';

/**
 * How a task is cut up: a pure function from an ordinal to a piece, fixed when the task is accepted, so that
 * nothing has to be listed and a change of the layer cannot move a piece. Low zooms come first.
 */
export interface TaskPlan {
  readonly levels: readonly PlanLevel[];
  /** One step, in tiles; a metatile of the layer as it was when the task was accepted. */
  readonly stepColumns: number;
  readonly stepRows: number;
  /** Geometry of the zooms of an area; null: no area. */
  readonly geometry: readonly ZoomGeometry[] | null;
  /** The marks of a truncation, by store: later tiles are not removed. */
  readonly raised?: RaisedMarks;
}

export interface PlanLevel extends TileRangeLevel {
  /** A piece's size in tiles. Pieces are aligned to it, and it is a multiple of the step's. */
  readonly blockColumns: number;
  readonly blockRows: number;
}

/** The part of a task that one worker leases. */
export interface Piece extends TileRangeLevel {
  readonly ordinal: number;
}

/** The part of a piece that is done or not done as a whole. */
interface Step extends TileRangeLevel {
  /** Counts from 0 within its piece. */
  readonly index: number;
}

export function coverOf(plan: TaskPlan, request: TaskRequest): AreaCover | null {
  return request.area && plan.geometry && createAreaCover(request.area, plan.geometry);
}

export function pieceCount(plan: TaskPlan): number {
  return plan.levels.reduce((sum, level) => sum + blocksOf(level).count, 0);
}

export function pieceAt(plan: TaskPlan, ordinal: number): Piece | null {
  const place = piecePlace(plan, ordinal);
  if (!place) return null;
  const { level, row, column } = place;
  const rect = intersectRects(blockAt(column, row, level.blockColumns, level.blockRows), level.rect);
  return rect && { ordinal, z: level.z, rect };
}

/** The first piece from `ordinal` on with a tile of the area; null: none. */
export function nextPiece(plan: TaskPlan, cover: AreaCover | null, ordinal: number): Piece | null {
  if (!cover) return pieceAt(plan, ordinal);
  for (let from = ordinal; ; ) {
    const place = piecePlace(plan, from);
    if (!place) return null;
    const column = firstColumn(cover, place.level, place.row, place.column);
    if (column !== null) return pieceAt(plan, ordinalOf(place, place.row, column));
    const row = firstRow(cover, place.level, place.row + 1);
    from = row === null ? place.firstOfNextLevel : ordinalOf(place, row, blocksOf(place.level).minColumn);
  }
}

export function stepCount(plan: TaskPlan, piece: Piece): number {
  const columns = spanCount(piece.rect.minX, piece.rect.maxX, plan.stepColumns);
  return columns * spanCount(piece.rect.minY, piece.rect.maxY, plan.stepRows);
}

/** Row by row from the step with index `from`. */
export function* stepsOf(plan: TaskPlan, piece: Piece, from: number): Generator<Step> {
  const { stepColumns, stepRows } = plan;
  const minColumn = Math.floor(piece.rect.minX / stepColumns);
  const minRow = Math.floor(piece.rect.minY / stepRows);
  const columns = spanCount(piece.rect.minX, piece.rect.maxX, stepColumns);
  const count = stepCount(plan, piece);
  for (let index = from; index < count; index++) {
    const [column, row] = [minColumn + (index % columns), minRow + Math.floor(index / columns)];
    const rect = intersectRects(blockAt(column, row, stepColumns, stepRows), piece.rect);
    if (rect) yield { index, z: piece.z, rect };
  }
}

/** The part covered by the pieces before `ordinal`, in at most two rectangles per level. */
function* rectsBefore(plan: TaskPlan, ordinal: number): Generator<TileRangeLevel> {
  let left = ordinal;
  for (const level of plan.levels) {
    if (left <= 0) return;
    const { z, rect, blockColumns, blockRows } = level;
    const { count } = blocksOf(level);
    const parts = left >= count ? [rect] : firstBlocks(rect, blockColumns, blockRows, left);
    for (const part of parts) yield { z, rect: part };
    left -= count;
  }
}

/** The first blocks of a rectangle, row by row: whole rows, and the beginning of the next one. At most two parts. */
function firstBlocks(rect: TileRect, columns: number, rows: number, count: number): readonly TileRect[] {
  const across = spanCount(rect.minX, rect.maxX, columns);
  const [minColumn, minRow] = [Math.floor(rect.minX / columns), Math.floor(rect.minY / rows)];
  const nextRow = (minRow + Math.floor(count / across)) * rows;
  const nextColumn = (minColumn + (count % across)) * columns;
  return [
    { ...rect, maxY: Math.min(rect.maxY, nextRow - 1) },
    {
      minX: rect.minX,
      minY: Math.max(rect.minY, nextRow),
      maxX: nextColumn - 1,
      maxY: Math.min(rect.maxY, nextRow + rows - 1),
    },
  ].filter(({ minX, minY, maxX, maxY }) => minX <= maxX && minY <= maxY);
}

type Place = NonNullable<ReturnType<typeof piecePlace>>;

function piecePlace(plan: TaskPlan, ordinal: number) {
  let first = 0;
  for (const level of plan.levels) {
    const { minColumn, minRow, columns, count } = blocksOf(level);
    const within = ordinal - first;
    if (within < count) {
      return {
        level,
        firstOfLevel: first,
        firstOfNextLevel: first + count,
        column: minColumn + (within % columns),
        row: minRow + Math.floor(within / columns),
      };
    }
    first += count;
  }
  return null;
}

function ordinalOf({ level, firstOfLevel }: Place, row: number, column: number): number {
  const { minColumn, minRow, columns } = blocksOf(level);
  return firstOfLevel + (row - minRow) * columns + (column - minColumn);
}

function blocksOf({ rect, blockColumns, blockRows }: PlanLevel) {
  const columns = spanCount(rect.minX, rect.maxX, blockColumns);
  return {
    minColumn: Math.floor(rect.minX / blockColumns),
    minRow: Math.floor(rect.minY / blockRows),
    columns,
    count: columns * spanCount(rect.minY, rect.maxY, blockRows),
  };
}

/** How many blocks of so many tiles a span touches. */
export function spanCount(min: number, max: number, size: number): number {
  return Math.floor(max / size) - Math.floor(min / size) + 1;
}

/** The first block of a row of blocks, from `column` on, that holds a covered tile. */
function firstColumn(cover: AreaCover, level: PlanLevel, row: number, column: number): number | null {
  const { rect } = level;
  const block = blockAt(column, row, level.blockColumns, level.blockRows);
  const rest = intersectRects({ ...block, maxX: rect.maxX }, rect);
  if (!rest) return null;
  let first: number | null = null;
  for (const band of cover.bands(level.z, rest)) {
    const minX = band.runs[0]?.minX ?? rect.maxX;
    first = Math.min(first ?? minX, minX);
  }
  return first === null ? null : Math.floor(first / level.blockColumns);
}

/** The first row of blocks, from `row` on, that holds a covered tile. */
function firstRow(cover: AreaCover, level: PlanLevel, row: number): number | null {
  const { rect } = level;
  const rest = intersectRects({ ...rect, minY: row * level.blockRows }, rect);
  if (!rest) return null;
  const band = cover.bands(level.z, rest).next();
  return band.done ? null : Math.floor(band.value.minY / level.blockRows);
}

export interface ZoomProgress {
  readonly z: number;
  readonly tiles: bigint;
  readonly processed: bigint;
}

/** The position of a task, from its row, its leases and its failures. */
export interface TaskPosition {
  /** The first piece that was never leased. */
  readonly nextPiece: number;
  /** Pieces in flight, handed back, or left when the task was stopped. */
  readonly pieces: readonly { readonly piece: number; readonly doneSteps: number }[];
  /** Tiles of failed steps that wait for another attempt. */
  readonly waiting: readonly { readonly z: number; readonly tiles: bigint }[];
}

/** Counts rectangles, whatever the number of tiles and pieces: those before the cursor, minus the unfinished ones. */
export async function zoomProgress(
  plan: TaskPlan,
  cover: AreaCover | null,
  { nextPiece, pieces, waiting }: TaskPosition,
): Promise<readonly ZoomProgress[]> {
  const zooms = new Map<number, { z: number; tiles: bigint; processed: bigint }>();
  const pace = createPace(VISITS_PER_TURN);
  const count = (z: number, rect: TileRect) => countInTurns(cover, z, rect, pace);
  for (const { z, rect } of plan.levels) {
    const zoom = zooms.get(z) ?? { z, tiles: 0n, processed: 0n };
    zooms.set(z, { ...zoom, tiles: zoom.tiles + (await count(z, rect)) });
  }
  const add = (z: number, tiles: bigint) => {
    const zoom = zooms.get(z);
    if (zoom) zoom.processed += tiles;
  };
  for (const { z, rect } of rectsBefore(plan, nextPiece)) add(z, await count(z, rect));
  for (const { piece: ordinal, doneSteps } of pieces) {
    const piece = pieceAt(plan, ordinal);
    if (!piece) continue;
    add(piece.z, -(await count(piece.z, piece.rect)));
    const done = firstBlocks(piece.rect, plan.stepColumns, plan.stepRows, doneSteps);
    for (const rect of done) add(piece.z, await count(piece.z, rect));
  }
  for (const { z, tiles } of waiting) add(z, -tiles);
  return [...zooms.values()].sort((a, b) => a.z - b.z);
}
