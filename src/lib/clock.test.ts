import { expect, it, vi } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { ifLate, systemClock } from './clock.ts';
import { createDeferred } from './deferred.ts';

it('late work is reported once, and work that has ended in time never', async () => {
  const clock = createVirtualClock();
  const [slow, quick] = [createDeferred<string>(), createDeferred<string>()];
  const late: string[] = [];
  const both = Promise.all([
    ifLate(
      clock,
      1000,
      () => late.push('slow'),
      () => slow.promise,
    ),
    ifLate(
      clock,
      1000,
      () => late.push('quick'),
      () => quick.promise,
    ),
  ]);
  quick.resolve('quick');
  await clock.run(1000);
  slow.resolve('slow');
  expect(await both).toEqual(['slow', 'quick']);
  await clock.run(5000);
  expect(late).toEqual(['slow']);
});

it('a sleep until a time that has passed is over soon, without a warning of Node.js', async () => {
  const warnings = vi.spyOn(process, 'emitWarning');
  await systemClock.sleep(-0.001);
  expect(warnings).not.toHaveBeenCalled();
  warnings.mockRestore();
});
