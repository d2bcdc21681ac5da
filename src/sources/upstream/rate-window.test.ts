import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateWindow } from './rate-window.ts';

function beginnings(rate: number, pauses: readonly number[]): readonly number[] {
  const window = new RateWindow(rate);
  let now = 0;
  return pauses.map((pause) => {
    now += pause;
    now += window.delayAt(now);
    window.begin(now);
    return now;
  });
}

describe('a rate window', () => {
  it('never lets more begin in any second than allowed', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), pauses, (rate, given) => {
        const times = beginnings(rate, given);
        for (const from of times) {
          expect(times.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(rate);
        }
      }),
    );
  });

  it('lets one begin in ten seconds at a rate of 0.1', () => {
    expect(beginnings(0.1, [0, 0, 0])).toEqual([0, 10_000, 20_000]);
  });

  it('spreads them over the second', () => {
    const times = beginnings(10, new Array(10).fill(0));
    expect(times.at(-1)).toBeGreaterThan(800);
    expect(beginnings(500, new Array(1001).fill(0)).at(-1)).toBe(2000);
  });

  it('holds nobody up who asks for less than allowed', () => {
    expect(beginnings(2, [0, 600, 600, 600])).toEqual([0, 600, 1200, 1800]);
  });
});
