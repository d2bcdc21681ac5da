import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/virtual-clock.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { createSweepingGauge } from './sweeping-gauge.ts';

it('a store with much to sweep is measured in one part of a hundred of the time, and others each time', async () => {
  const clock = createVirtualClock();
  let measured = 0;
  let takes = 0;
  const sweeping = async () => {
    measured++;
    if (takes > 0) await clock.sleep(takes);
    return { files: measured, bytes: 10 * measured };
  };
  const gauge = createSweepingGauge(
    new Map([['default', { ...createMemoryStore({ type: 'memory' }), sweeping }]]),
    clock,
  );
  expect(await gauge()).toEqual({ files: 1, bytes: 10 });
  expect(await gauge()).toEqual({ files: 2, bytes: 20 });
  takes = 3000;
  const slow = gauge();
  await clock.run(200);
  expect(await slow).toEqual({ files: 2, bytes: 20 });
  await clock.run(3000);
  for (let scrape = 0; scrape < 19; scrape++) {
    expect(await gauge()).toEqual({ files: 3, bytes: 30 });
    await clock.run(15_000);
  }
  expect(measured).toBe(3);
  await clock.run(15_000);
  void gauge();
  expect(measured).toBe(4);
});
