import type { NewTask, TaskStore } from './store/task-store.ts';
import type { TaskPlan } from './task-plan.ts';
import { isFinal } from './task-state.ts';

/** Failed steps that one new task takes up; what is beyond it stays with the old task for another. */
const MOST_STEPS = 10_000;

/** A task over what a finished one has given up; null when it is not finished or nothing failed. */
export async function planRetry(
  store: TaskStore,
  id: number,
): Promise<Pick<NewTask, 'request' | 'plan' | 'tilesTotal'> | null> {
  const task = await store.get(id);
  const old = await store.plan(id);
  if (!task || !old || !isFinal(task.state)) return null;
  const failed = await store.givenUp(id, MOST_STEPS);
  if (failed.length === 0) return null;
  const plan: TaskPlan = {
    ...old,
    levels: failed.map(({ z, rect }) => ({
      z,
      rect,
      blockColumns: old.stepColumns,
      blockRows: old.stepRows,
    })),
  };
  const tilesTotal = failed.reduce((sum, { tiles }) => sum + tiles, 0n);
  return { request: task.request, plan, tilesTotal };
}
