import { expect, it } from 'vitest';
import { isFinal, stateAfter, statesBefore, TASK_STATES } from './task.ts';

it('a task goes from pending over running to done', () => {
  expect(stateAfter('pending', 'started')).toBe('running');
  expect(stateAfter('running', 'finished')).toBe('done');
});

it('a task whose process died waits to be taken up again, and no other does', () => {
  expect(stateAfter('running', 'lost')).toBe('pending');
  expect(statesBefore('lost')).toEqual(['running']);
});

it('every task that is not over can be stopped', () => {
  expect(statesBefore('killed')).toEqual(['pending', 'running', 'paused']);
  expect(TASK_STATES.filter(isFinal)).toEqual(['done', 'aborted']);
});

it('nothing happens to a task that is over', () => {
  for (const state of ['done', 'aborted'] as const) {
    for (const happening of [
      'started',
      'lost',
      'finished',
      'failed',
      'killed',
      'paused',
      'resumed',
    ] as const) {
      expect(stateAfter(state, happening)).toBeNull();
    }
  }
});
