/** Fails on purpose outside any test: see test/test-status.test.ts. */
import { it } from 'vitest';

it('a test passes, and a promise that nobody waits for is rejected', () => {
  void Promise.reject(new Error('on purpose'));
});
