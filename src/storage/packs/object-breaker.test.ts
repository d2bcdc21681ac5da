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

  /** So many reads, of which every fifth gets no answer. */
  function read(count: number): void {
    for (let at = 0; at < count; at++) {
      const over = breaker.enter(true);
      if (at % 5 > 0) over?.(false);
    }
  }

  it('the breaker of an object store opens after five failures in a row, and not when one succeeds between them', () => {
    for (let at = 0; at < 40; at++) breaker.enter(false)?.(at % 5 !== 0);
    expect(breaker.paused).toBe(false);
    for (let at = 0; at < 5; at++) breaker.enter(false)?.(true);
    expect(breaker.paused).toBe(true);
    expect(breaker.enter(false)).toBeNull();
  });

  it('the breaker of an object store opens while a fifth of the reads hangs, though the others succeed', () => {
    read(100);
    expect(breaker.paused).toBe(false);
    now += SLOW_AFTER + 1;
    expect(breaker.paused).toBe(true);
  });

  it('the breaker of an object store stays closed when few reads are slow', () => {
    read(40);
    now += SLOW_AFTER + 1;
    for (let at = 0; at < 100; at++) breaker.enter(true)?.(false);
    expect(breaker.paused).toBe(false);
  });

  it('the breaker of an object store admits one trial after a pause, and only its success closes it', () => {
    const before = breaker.enter(false);
    for (let at = 0; at < 5; at++) breaker.enter(false)?.(true);
    before?.(false);
    expect(breaker.paused).toBe(true);
    now += 500;
    const trial = breaker.enter(true);
    expect(breaker.enter(true)).toBeNull();
    trial?.(false);
    expect(breaker.open).toBe(false);
  });

  it('the breaker of an object store pauses longer each time that it opens again soon', () => {
    const pauses = [500, 1000, 2000, 4000, 8000, 10_000, 10_000];
    for (const pause of pauses) {
      for (let at = 0; at < 5; at++) breaker.enter(false)?.(true);
      now += pause - 1;
      expect(breaker.paused).toBe(true);
      now += 1;
      breaker.enter(false)?.(false);
    }
    now += 10_001;
    for (let at = 0; at < 5; at++) breaker.enter(false)?.(true);
    now += 500;
    expect(breaker.paused).toBe(false);
  });
});
