import { PAGE_SIZE } from '../domain/page.ts';
import { intersectRects, type TileRect } from '../domain/tile-rect.ts';
import type { Piece, PlanLevel, TaskPlan } from './task-plan.ts';

export interface PagePlace {
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
}

/**
 * The same work with these pages' tiles done first, in their order. A page is rounded to whole steps, so that it
 * becomes a piece of its own, and none of its steps is done again when its zoom's turn comes.
 */
export function planAhead(plan: TaskPlan, pages: readonly PagePlace[]): TaskPlan {
  const ahead = new Map<string, PlanLevel>();
  for (const page of pages) {
    const level = plan.levels.find(({ z }) => z === page.z);
    const block = level && blockOf(plan, level, page);
    if (block) ahead.set(`${block.z}/${block.rect.minX}/${block.rect.minY}`, block);
  }
  return { ...plan, levels: [...ahead.values(), ...plan.levels], ahead: ahead.size };
}

/** Where steps of the piece lie that were pieces of their own before. */
export function doneAhead({ levels, ahead = 0 }: TaskPlan, piece: Piece): readonly TileRect[] {
  if (piece.ordinal < ahead) return [];
  return levels
    .slice(0, ahead)
    .filter(({ z, rect }) => z === piece.z && intersectRects(rect, piece.rect) !== null)
    .map(({ rect }) => rect);
}

function blockOf(plan: TaskPlan, { z, rect }: PlanLevel, { pageX, pageY }: PagePlace): PlanLevel | null {
  const blockColumns = wholeSteps(plan.stepColumns);
  const blockRows = wholeSteps(plan.stepRows);
  const minX = Math.floor(middleOf(pageX) / blockColumns) * blockColumns;
  const minY = Math.floor(middleOf(pageY) / blockRows) * blockRows;
  const whole = { minX, minY, maxX: minX + blockColumns - 1, maxY: minY + blockRows - 1 };
  const within = intersectRects(whole, rect);
  return within && { z, rect: within, blockColumns, blockRows };
}

function wholeSteps(step: number): number {
  return Math.ceil(PAGE_SIZE / step) * step;
}

function middleOf(page: number): number {
  return page * PAGE_SIZE + PAGE_SIZE / 2;
}
