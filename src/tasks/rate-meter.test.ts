import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { RateMeter } from './task-watch.ts';

it('the time left follows the pace, and is unknown after half a minute without progress', () => {
  const clock = createVirtualClock();
  const meter = new RateMeter(clock, 0n);
  let processed = 0n;
  for (let second = 1; second <= 20; second++) {
    clock.advance(1000);
    processed += 10n;
    meter.observe(processed);
  }
  expect(meter.pace(1000n).tilesPerSecond).toBeCloseTo(10);
  expect(meter.pace(995n).secondsRemaining).toBe(100);
  const seen: number[] = [];
  for (let second = 1; second <= 600; second++) {
    clock.advance(1000);
    meter.observe(processed);
    seen.push(meter.pace(1000n).secondsRemaining);
  }
  expect(Math.max(...seen)).toBeLessThan(500);
  expect(seen.slice(30).every((left) => left === -1)).toBe(true);
});

it('the time left does not swing by more than a few times when tiles come in bursts', () => {
  const clock = createVirtualClock();
  const meter = new RateMeter(clock, 0n);
  const seen: number[] = [];
  for (let second = 1; second <= 300; second++) {
    clock.advance(1000);
    meter.observe(BigInt(Math.floor(second / 15) * 16));
    if (second > 60) seen.push(meter.pace(300n).secondsRemaining);
  }
  expect(Math.min(...seen)).toBeGreaterThan(0);
  expect(Math.max(...seen) / Math.min(...seen)).toBeLessThan(3);
});
