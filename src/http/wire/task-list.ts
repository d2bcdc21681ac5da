import type { Task, TaskState } from '../../tasks/task.ts';

/** Section 3 of the specification. A paused task waits, as a pending one does. */
const STATUS_CODES: Readonly<Record<TaskState, number>> = {
  aborted: -1,
  pending: 0,
  paused: 0,
  running: 1,
  done: 2,
};

/** Section 2.2 of the specification. Counts are 64-bit and written digit by digit: a JSON number of JavaScript would round them. */
export function writeTaskList(tasks: readonly Task[]): string {
  return `{"long-array-array":[${tasks.map(writeRow).join(',')}]}`;
}

function writeRow(task: Task): string {
  const seconds = Math.ceil(task.secondsRemaining);
  return `[${task.tilesProcessed},${task.tilesTotal},${seconds},${task.id},${STATUS_CODES[task.state]}]`;
}
