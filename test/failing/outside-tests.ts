/** Fails on purpose outside any test: see test/test-status.test.ts. */
import { it } from 'vitest';

it('a test passes, and a promise without a listener is rejected', () => {
  void Promise.reject(new Error('on purpose'));
});
