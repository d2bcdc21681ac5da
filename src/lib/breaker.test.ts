import { beforeEach, describe, expect, it } from 'vitest';
import { Breaker, type BreakerFailure } from './breaker.ts';

const FAST: BreakerFailure = { ms: 20, retryAfterMs: null, reason: 'connection' };
const SLOW: BreakerFailure = { ms: 15_000, retryAfterMs: null, reason: 'timeout' };

describe('the breaker', () => {
  let now: number;
  let breaker: Breaker;
  beforeEach(() => {
    now = 0;
    breaker = new Breaker({ monotonic: () => now }, () => 0.5);
  });

  function fail(times: number, failure = FAST): void {
    for (let i = 0; i < times; i++) breaker.failed(breaker.begin(), failure);
  }

  function waitOf(priority: 'interactive' | 'task'): number {
    return (breaker.closedFor(priority)?.until ?? now) - now;
  }

  it('the breaker stays closed through failures with good answers between them', () => {
    for (let i = 0; i < 20; i++) {
      fail(4);
      breaker.succeeded(breaker.begin());
    }
    expect(breaker.state).toBe('closed');
    expect(breaker.closedFor('task')).toBeNull();
  });

  it('the breaker opens at the fifth failure in a row', () => {
    fail(4);
    expect(breaker.state).toBe('closed');
    fail(1);
    expect(breaker.state).toBe('open');
    expect(breaker.closedFor('interactive')).toMatchObject({ reason: 'failing', failure: 'connection' });
  });

  it('the breaker opens at the third failure in a row when each takes long', () => {
    fail(2, SLOW);
    expect(breaker.state).toBe('closed');
    fail(1, SLOW);
    expect(breaker.state).toBe('open');
  });

  it('the breaker lets one probe through after its pause, and all requests when that succeeds', () => {
    fail(5);
    now += 501;
    expect(breaker.state).toBe('half-open');
    expect(breaker.closedFor('interactive')).toBeNull();
    const probe = breaker.begin();
    expect(probe).toBe(true);
    expect(breaker.closedFor('interactive')).not.toBeNull();
    breaker.succeeded(probe);
    expect(breaker.state).toBe('closed');
    expect(breaker.closedFor('task')).toBeNull();
  });

  it('the breaker doubles the pause of tasks with each failed probe, up to a quarter of a minute', () => {
    fail(5);
    const pauses: number[] = [];
    for (let i = 0; i < 10; i++) {
      pauses.push(Math.round(waitOf('task')));
      now += waitOf('task') + 1;
      fail(1);
    }
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000, 15_000]);
  });

  it.each([FAST, SLOW])(
    'the breaker keeps people from a failing host for half a second at most',
    (failure) => {
      fail(5, failure);
      for (let i = 0; i < 10; i++) {
        expect(waitOf('interactive')).toBeLessThanOrEqual(600);
        now += waitOf('interactive') + 1;
        fail(1, failure);
      }
    },
  );

  it('the breaker spreads the pauses', () => {
    const waits = [0, 0.5, 0.999].map((random) => {
      breaker = new Breaker({ monotonic: () => now }, () => random);
      fail(5);
      return Math.round(waitOf('task'));
    });
    expect(waits).toEqual([400, 500, 600]);
  });

  it('the breaker waits as the host requests, people and tasks alike, for a quarter of an hour at most', () => {
    fail(1, { ...FAST, retryAfterMs: 30_000 });
    expect(breaker.closedFor('interactive')).toMatchObject({ reason: 'retry-after' });
    expect(waitOf('interactive')).toBe(30_000);
    expect(waitOf('task')).toBe(30_000);
    fail(1, { ...FAST, retryAfterMs: 86_400_000 });
    expect(waitOf('task')).toBe(15 * 60_000);
    now += 15 * 60_000;
    expect(breaker.state).toBe('half-open');
  });

  it('the breaker lets another request probe when the first probe has been given up', () => {
    fail(5);
    now += 601;
    breaker.abandoned(breaker.begin());
    expect(breaker.closedFor('interactive')).toBeNull();
    expect(breaker.begin()).toBe(true);
  });

  it('the breaker ignores the results of requests that were under way when it opened', () => {
    const late = Array.from({ length: 20 }, () => breaker.begin());
    fail(5);
    const before = waitOf('task');
    for (const probe of late) breaker.failed(probe, FAST);
    expect(waitOf('task')).toBe(before);
  });
});
