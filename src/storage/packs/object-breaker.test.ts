import { beforeEach, describe, expect, it } from 'vitest';
import { ObjectBreaker } from './object-breaker.ts';

const SLOW_AFTER = 1000;

describe('the breaker of an object store', () => {
  let now: number;
  let breaker: ObjectBreaker;
  beforeEach(() => {
    now = 0;
    breaker = new ObjectBreaker({ monotonic: () => now }, () => 0.5, SLOW_AFTER);
  });

  it('the breaker of an object store opens after five failures in a row, and not when one succeeds between them', () => {
    for (let at = 0; at < 40; at++) breaker.enter(false)?.(at % 5 === 0 ? 'done' : 'failed');
    expect(breaker.paused).toBe(false);
    for (let at = 0; at < 5; at++) breaker.enter(false)?.('failed');
    expect(breaker.paused).toBe(true);
    expect(breaker.enter(false)).toBeNull();
  });

  /** A hundred reads; every so many are slow. */
  function readMany(rhythm: number): void {
    const reads = Array.from({ length: 100 }, () => breaker.enter(true));
    for (const [at, over] of reads.entries()) if (at % rhythm > 0) over?.('done');
    now += SLOW_AFTER + 1;
    for (const [at, over] of reads.entries()) if (at % rhythm === 0) over?.('done');
  }

  it('the breaker of an object store opens when half of the reads are slow, though they succeed', () => {
    readMany(2);
    expect(breaker.paused).toBe(true);
  });

  it('the breaker of an object store stays closed while a fifth of the reads is slow', () => {
    for (let at = 0; at < 5; at++) readMany(5);
    expect(breaker.open).toBe(false);
  });

  it('the breaker of an object store admits one trial after a pause, and only its success closes it', () => {
    const before = breaker.enter(false);
    for (let at = 0; at < 5; at++) breaker.enter(false)?.('failed');
    before?.('done');
    expect(breaker.paused).toBe(true);
    now += 500;
    const trial = breaker.enter(true);
    expect(breaker.enter(true)).toBeNull();
    trial?.('done');
    expect(breaker.open).toBe(false);
  });

  it('the breaker of an object store pauses longer each time that it opens again soon', () => {
    const pauses = [500, 1000, 2000, 4000, 8000, 10_000, 10_000];
    for (const pause of pauses) {
      for (let at = 0; at < 5; at++) breaker.enter(false)?.('failed');
      now += pause - 1;
      expect(breaker.paused).toBe(true);
      now += 1;
      breaker.enter(false)?.('done');
    }
    now += 10_001;
    for (let at = 0; at < 5; at++) breaker.enter(false)?.('failed');
    now += 500;
    expect(breaker.paused).toBe(false);
  });
});
