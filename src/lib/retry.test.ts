import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { type RetryOptions, retry } from './retry.ts';

function recordingClock(): { clock: Clock; sleeps: number[] } {
  const sleeps: number[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    async sleep(ms, signal) {
      sleeps.push(ms);
      signal?.throwIfAborted();
    },
  };
  return { clock, sleeps };
}

function optionsWith(clock: Clock, more: Partial<RetryOptions> = {}): RetryOptions {
  return { attempts: 6, firstDelayMs: 100, maxDelayMs: 1000, clock, random: () => 1, ...more };
}

async function alwaysFails(): Promise<never> {
  throw new Error('still down');
}

describe('retry', () => {
  it('returns the first success', async () => {
    const { clock, sleeps } = recordingClock();
    const task = async (attempt: number) => {
      if (attempt < 3) throw new Error('not yet');
      return attempt;
    };
    expect(await retry(task, optionsWith(clock))).toBe(3);
    expect(sleeps).toEqual([100, 200]);
  });

  it('doubles its pauses up to the longest and ends with the last error', async () => {
    const { clock, sleeps } = recordingClock();
    await expect(retry(alwaysFails, optionsWith(clock))).rejects.toThrow('still down');
    expect(sleeps).toEqual([100, 200, 400, 800, 1000]);
  });

  it('spreads its pauses down to half of their length', async () => {
    const { clock, sleeps } = recordingClock();
    const options = optionsWith(clock, { attempts: 3, random: () => 0 });
    await expect(retry(alwaysFails, options)).rejects.toThrow();
    expect(sleeps).toEqual([50, 100]);
  });

  it('does not try again what it is told not to', async () => {
    const { clock, sleeps } = recordingClock();
    await expect(retry(alwaysFails, optionsWith(clock, { shouldRetry: () => false }))).rejects.toThrow();
    expect(sleeps).toEqual([]);
  });

  it('waits as long as the failure asks', async () => {
    const { clock, sleeps } = recordingClock();
    const options = optionsWith(clock, { attempts: 2, delayAskedBy: () => 5000 });
    await expect(retry(alwaysFails, options)).rejects.toThrow('still down');
    expect(sleeps).toEqual([5000]);
  });

  it('stops with the reason of its signal, not with the error that the abort caused', async () => {
    const { clock, sleeps } = recordingClock();
    const controller = new AbortController();
    const task = async () => {
      controller.abort(new Error('stopping'));
      throw new Error('socket closed');
    };
    await expect(retry(task, optionsWith(clock, { signal: controller.signal }))).rejects.toThrow('stopping');
    expect(sleeps).toEqual([]);
  });
});
