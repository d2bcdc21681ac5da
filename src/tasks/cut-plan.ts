import type { ZoomGeometry } from '../domain/area-cover.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import type { MetatileSize } from '../domain/metatile.ts';
import { BLOCK_SIZE, PAGE_SIZE } from '../domain/tile-key.ts';
import { blockAt, countTiles, intersectRects, rectAround } from '../domain/tile-rect.ts';
import { type PlanLevel, pieceCount, spanCount, type TaskPlan } from './task-plan.ts';

export interface PagePlace {
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
}

export interface UsedPage extends PagePlace {
  /** Requests, or a number in proportion to them. */
  readonly uses: number;
}

/** Small tasks are cut finer, so that every thread gets several pieces. */
const PIECES_PER_THREAD = 8;
/** The end is cut into single steps, so that no thread works alone on several while the others are idle. */
const LAST_STEPS_PER_THREAD = 4;
/** Limit of stripes of one zoom of a truncation: between two it can be stopped, and reports its progress. */
const TRUNCATE_STRIPES = 32;

export function cutSeedPlan(
  levels: readonly TileRangeLevel[],
  metatile: MetatileSize,
  threads: number,
  geometry: readonly ZoomGeometry[] | null,
): TaskPlan {
  let columns = largestMultiple(metatile.columns);
  let rows = largestMultiple(metatile.rows);
  let plan = planWith(levels, metatile, columns, rows, geometry);
  while (pieceCount(plan) < threads * PIECES_PER_THREAD && (columns > 1 || rows > 1)) {
    columns = Math.ceil(columns / 2);
    rows = Math.ceil(rows / 2);
    plan = planWith(levels, metatile, columns, rows, geometry);
  }
  return withFineEnd(plan, threads * LAST_STEPS_PER_THREAD);
}

/** Cuts the last rows of the last zoom into single steps, `most` of them at most. */
function withFineEnd(plan: TaskPlan, most: number): TaskPlan {
  const { stepColumns, stepRows } = plan;
  const [last] = plan.levels.slice(-1);
  if (!last) return plan;
  const { rect } = last;
  const across = spanCount(rect.minX, rect.maxX, stepColumns);
  const rows = Math.min(Math.floor(most / across), last.blockRows / stepRows);
  if (rows === 0) return plan;
  const minY = Math.max(rect.minY, (Math.floor(rect.maxY / stepRows) - rows + 1) * stepRows);
  const end = { z: last.z, rect: { ...rect, minY }, blockColumns: stepColumns, blockRows: stepRows };
  const rest = minY > rect.minY ? [{ ...last, rect: { ...rect, maxY: minY - 1 } }] : [];
  return { ...plan, levels: [...plan.levels.slice(0, -1), ...rest, end] };
}

export function cutTruncatePlan(
  levels: readonly TileRangeLevel[],
  geometry: readonly ZoomGeometry[] | null,
): TaskPlan {
  const cut = levels.map(({ z, rect }): PlanLevel => {
    const height = rect.maxY - rect.minY + 1;
    const blockRows = Math.ceil(height / TRUNCATE_STRIPES / BLOCK_SIZE) * BLOCK_SIZE;
    return { z, rect, blockColumns: rect.maxX + 1, blockRows };
  });
  const stepColumns = Math.max(...cut.map((level) => level.blockColumns));
  const stepRows = Math.max(...cut.map((level) => level.blockRows));
  return { levels: cut, stepColumns, stepRows, geometry };
}

/** One piece of one step for all zooms: the file is written by one worker. */
export function cutExportPlan(
  [first]: readonly TileRangeLevel[],
  geometry: readonly ZoomGeometry[] | null,
): TaskPlan {
  const [stepColumns, stepRows] = first ? [first.rect.maxX + 1, first.rect.maxY + 1] : [1, 1];
  const levels = first ? [{ ...first, blockColumns: stepColumns, blockRows: stepRows }] : [];
  return { levels, stepColumns, stepRows, geometry };
}

/**
 * Only these pages of a plan, in their order, each followed by the pages below it at the next zoom if `withChildren`.
 * Each is rounded to whole steps and becomes a piece of its own.
 */
export function onlyPages(plan: TaskPlan, pages: readonly PagePlace[], withChildren = false): TaskPlan {
  const seen = new Set<string>();
  const levels: PlanLevel[] = [];
  for (const page of pages) {
    levels.push(...newBlocks(plan, [page], seen));
    if (withChildren) levels.push(...joined(newBlocks(plan, childrenOf(page), seen)));
  }
  return { ...plan, levels };
}

function newBlocks(plan: TaskPlan, pages: readonly PagePlace[], seen: Set<string>): readonly PlanLevel[] {
  const blocks: PlanLevel[] = [];
  for (const page of pages) {
    for (const level of plan.levels) {
      const block = level.z === page.z ? blockOf(plan, level, page) : null;
      const key = block && `${block.z}/${block.rect.minX}/${block.rect.minY}`;
      if (!block || key === null || seen.has(key)) continue;
      seen.add(key);
      blocks.push(block);
    }
  }
  return blocks;
}

function childrenOf({ z, pageX, pageY }: PagePlace): readonly PagePlace[] {
  const [left, top] = [2 * pageX, 2 * pageY];
  return [0, 1].flatMap((row) =>
    [0, 1].map((column) => ({ z: z + 1, pageX: left + column, pageY: top + row })),
  );
}

/** One level in place of blocks that fill a rectangle: a plan is stored, and read often. */
function joined(blocks: readonly PlanLevel[]): readonly PlanLevel[] {
  const [first] = blocks;
  if (!first) return [];
  const corners = blocks.flatMap(({ rect: { minX, minY, maxX, maxY } }) => [
    { x: minX, y: minY },
    { x: maxX, y: maxY },
  ]);
  const rect = rectAround(corners);
  const tiles = blocks.reduce((sum, block) => sum + countTiles(block.rect), 0n);
  return rect && tiles === countTiles(rect) ? [{ ...first, rect }] : blocks;
}

function blockOf(plan: TaskPlan, { z, rect }: PlanLevel, { pageX, pageY }: PagePlace): PlanLevel | null {
  const blockColumns = wholeSteps(plan.stepColumns);
  const blockRows = wholeSteps(plan.stepRows);
  const column = Math.floor(middleOf(pageX) / blockColumns);
  const row = Math.floor(middleOf(pageY) / blockRows);
  const within = intersectRects(blockAt(column, row, blockColumns, blockRows), rect);
  return within && { z, rect: within, blockColumns, blockRows };
}

function wholeSteps(step: number): number {
  return Math.ceil(PAGE_SIZE / step) * step;
}

function middleOf(page: number): number {
  return page * PAGE_SIZE + PAGE_SIZE / 2;
}

/** The most metatiles that fit into a block. */
function largestMultiple(size: number): number {
  return Math.max(1, Math.floor(BLOCK_SIZE / size));
}

function planWith(
  levels: readonly TileRangeLevel[],
  metatile: MetatileSize,
  columns: number,
  rows: number,
  geometry: readonly ZoomGeometry[] | null,
): TaskPlan {
  const blockColumns = columns * metatile.columns;
  const blockRows = rows * metatile.rows;
  return {
    levels: levels.map(({ z, rect }) => ({ z, rect, blockColumns, blockRows })),
    stepColumns: metatile.columns,
    stepRows: metatile.rows,
    geometry,
  };
}
