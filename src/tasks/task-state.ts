import type { TaskState } from './task.ts';

/** What can happen to a task. `lost`: the processes that worked on it are gone. */
export type TaskHappening = 'started' | 'lost' | 'finished' | 'failed' | 'killed' | 'paused' | 'resumed';

const TRANSITIONS: Readonly<Record<TaskState, Partial<Readonly<Record<TaskHappening, TaskState>>>>> = {
  pending: { started: 'running', killed: 'aborted', failed: 'aborted', paused: 'paused' },
  running: { lost: 'pending', finished: 'done', failed: 'aborted', killed: 'aborted', paused: 'paused' },
  paused: { resumed: 'pending', killed: 'aborted' },
  done: {},
  aborted: {},
};

/** The state after it, or null when it cannot happen in this state. */
export function stateAfter(state: TaskState, happening: TaskHappening): TaskState | null {
  return TRANSITIONS[state][happening] ?? null;
}

/** The states in which something can happen, for statements that change many tasks at once. */
export function statesBefore(happening: TaskHappening): readonly TaskState[] {
  const states = Object.keys(TRANSITIONS) as TaskState[];
  return states.filter((state) => stateAfter(state, happening) !== null);
}

export function isFinal(state: TaskState): boolean {
  return Object.keys(TRANSITIONS[state]).length === 0;
}
