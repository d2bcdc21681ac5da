import { expect, it } from 'vitest';
import { hasFailed } from '../../web/src/has-failed.ts';

const endedAt = '2026-01-31T12:00:00.000Z';

it.each([
  [{ state: 'done', reason: null, failed: 0 }, false],
  [{ state: 'aborted', reason: 'stopped by anna', failed: 0 }, false],
  [{ state: 'aborted', reason: 'stopped by anna', failed: 3 }, true],
  [{ state: 'aborted', reason: '3 of 5 tiles failed; the last: HTTP 500.', failed: 3 }, true],
  [{ state: 'aborted', reason: 'host maps.test:80 has been failing since …', failed: 0 }, true],
] as const)('the console shows a task that ended with %j as failed: %j', ({ failed, ...task }, shown) => {
  expect(hasFailed({ ...task, endedAt, counters: { failed } })).toBe(shown);
  expect(hasFailed({ ...task, endedAt: null, counters: { failed } })).toBe(false);
});
