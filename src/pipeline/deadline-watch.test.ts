import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/virtual-clock.ts';
import { DeadlineWatch } from './deadline-watch.ts';

it('gives up each at its own deadline, and none that has ended', async () => {
  const clock = createVirtualClock();
  const watch = new DeadlineWatch(clock, 1000);
  const givenUp: string[] = [];
  const note = (name: string) => () => givenUp.push(`${name} at ${clock.monotonic()}`);
  watch.watch(note('first'));
  await clock.run(400);
  const end = watch.watch(note('ended'));
  watch.watch(note('second'));
  await clock.run(300);
  end();
  await clock.run(5000);
  expect(givenUp).toEqual(['first at 1000', 'second at 1400']);
  watch.watch(note('third'));
  await clock.run(5000);
  expect(givenUp.at(-1)).toBe('third at 6700');
});
