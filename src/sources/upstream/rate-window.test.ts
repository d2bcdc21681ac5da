import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateWindow } from './rate-window.ts';

function beginnings(rate: number, pauses: readonly number[]): readonly number[] {
  const window = new RateWindow(rate);
  let now = 0;
  return pauses.map((pause) => {
    now += pause;
    now += window.delayAt(now);
    window.begin(now).end(now);
    return now;
  });
}

/** Requests that take their time, and reach the server at some moment of it. */
function arrivalsOf(rate: number, trips: readonly (readonly [number, number])[], seed: number): number[] {
  const window = new RateWindow(rate);
  const under = new Set<{ readonly endAt: number; readonly end: (now: number) => void }>();
  const arrivals: number[] = [];
  let now = 0;
  const endUntil = (time: number) => {
    const due = [...under].filter(({ endAt }) => endAt <= time).sort((a, b) => a.endAt - b.endAt);
    for (const trip of due) {
      trip.end(trip.endAt);
      under.delete(trip);
    }
  };
  for (const [pause, takes] of trips) {
    now += pause;
    endUntil(now);
    for (let delay = window.delayAt(now); delay > 0; delay = window.delayAt(now)) {
      now += Math.min(delay, 10);
      endUntil(now);
    }
    const ticket = window.begin(now);
    under.add({ endAt: now + takes, end: ticket.end });
    arrivals.push(now + ((Math.abs(seed) % 101) / 100) * takes);
  }
  return arrivals;
}

describe('a rate window', () => {
  it('a rate window never lets more requests begin in any second than allowed', () => {
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

  it('a rate window lets one request begin in ten seconds at a rate of 0.1', () => {
    expect(beginnings(0.1, [0, 0, 0])).toEqual([0, 10_000, 20_000]);
  });

  it('a rate window spreads requests over the second', () => {
    const times = beginnings(10, new Array(10).fill(0));
    expect(times.at(-1)).toBeGreaterThan(800);
    expect(beginnings(500, new Array(1001).fill(0)).at(-1)).toBe(2000);
  });

  it('a rate window counts a request from its start to its answer, since it arrived in between', () => {
    const window = new RateWindow(1);
    const slow = window.begin(0);
    expect(window.delayAt(300)).toBe(1200);
    slow.end(300);
    expect(window.delayAt(300)).toBe(1000);
    expect(window.delayAt(1300)).toBe(0);
  });

  it('a rate window assumes that a request has reached the server after half a second', () => {
    const window = new RateWindow(1);
    window.begin(0);
    expect(window.delayAt(1499)).toBe(1);
    expect(window.delayAt(1500)).toBe(0);
  });

  it('a rate window never lets more reach the server in any second than allowed, however long each takes', () => {
    const trips = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 499 })), {
      minLength: 20,
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), trips, fc.integer(), (rate, given, seed) => {
        const arrivals = arrivalsOf(rate, given, seed);
        for (const from of arrivals) {
          expect(arrivals.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(rate);
        }
      }),
    );
  });

  it('a rate window does not delay requests below the allowed rate', () => {
    expect(beginnings(2, [0, 600, 600, 600])).toEqual([0, 600, 1200, 1800]);
  });
});
