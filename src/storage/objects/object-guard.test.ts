import { beforeEach, describe, expect, it } from 'vitest';
import { createDeferred } from '../../lib/deferred.ts';
import { silentLogger } from '../../lib/logger.ts';
import { ObjectGuard } from './object-guard.ts';

const SLOW_AFTER = 1000;
const READS = 100;

describe('requests to an object store', () => {
  let now: number;
  let guard: ObjectGuard;
  beforeEach(() => {
    now = 0;
    const clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
    const limits = { what: 'bucket tiles', connections: READS, timeoutSeconds: (SLOW_AFTER * 5) / 1000 };
    guard = new ObjectGuard(limits, { clock, random: () => 0.5, log: silentLogger });
  });

  const succeed = (operation = 'put') => guard.send(operation, async () => 1);
  const isPaused = () =>
    succeed().then(
      () => false,
      (error: Error) => error.message.includes('paused'),
    );

  async function fail(times: number): Promise<void> {
    for (let at = 0; at < times; at++) {
      await guard.send('put', () => Promise.reject(new Error('503'))).catch(() => {});
    }
  }

  /** Every so many are slow, and all succeed. */
  async function readMany(rhythm: number): Promise<void> {
    const slow = createDeferred<void>();
    const reads = Array.from({ length: READS }, (_, at) =>
      guard.send('get', async () => {
        if (at % rhythm === 0) await slow.promise;
        return 1;
      }),
    );
    await Promise.all(reads.filter((_, at) => at % rhythm > 0));
    now += SLOW_AFTER + 1;
    slow.resolve();
    await Promise.all(reads);
  }

  it('an object store is left alone after five failures in a row, and not when one request succeeds between them', async () => {
    for (let at = 0; at < 8; at++) {
      await succeed();
      await fail(4);
    }
    expect(await isPaused()).toBe(false);
    await fail(5);
    expect(await isPaused()).toBe(true);
  });

  it('an object store is left alone when half of the reads are slow, though they succeed', async () => {
    await readMany(2);
    expect(await isPaused()).toBe(true);
  });

  it('an object store is used while a fifth of the reads is slow', async () => {
    for (let at = 0; at < 5; at++) await readMany(5);
    expect(await isPaused()).toBe(false);
  });

  it('an object store gets one trial after a pause, and only the success of that one ends the pause', async () => {
    const early = createDeferred<number>();
    const before = guard.send('put', () => early.promise);
    await fail(5);
    early.resolve(1);
    await before;
    expect(await isPaused()).toBe(true);
    now += 500;
    const answer = createDeferred<number>();
    const trial = guard.send('get', () => answer.promise);
    expect(await isPaused()).toBe(true);
    answer.resolve(1);
    await trial;
    expect(await isPaused()).toBe(false);
  });

  /** A request that is sent before the store fails; `repeat` is its second try: whether it was admitted. */
  function sendEarly() {
    const [first, answer] = [createDeferred<AbortSignal>(), createDeferred<number>()];
    const done = guard.send('put', (signal) => {
      first.resolve(signal);
      return answer.promise;
    });
    const repeat = async () => {
      const signal = await first.promise;
      try {
        guard.admit('put', signal);
        return true;
      } catch (error) {
        answer.reject(error);
        return false;
      }
    };
    return { done, repeat, answer };
  }

  it('an object store that is left alone does not get the second try of an earlier request either', async () => {
    const early = sendEarly();
    await fail(5);
    expect(await early.repeat()).toBe(false);
    await expect(early.done).rejects.toMatchObject({ code: 'store-failed' });
    now += 500;
    expect(await isPaused()).toBe(false);
  });

  it('the second try of an earlier request is the trial when it is the first after a pause', async () => {
    const early = sendEarly();
    await fail(5);
    now += 500;
    expect(await early.repeat()).toBe(true);
    expect(await isPaused()).toBe(true);
    early.answer.resolve(1);
    await early.done;
    expect(await isPaused()).toBe(false);
  });

  it('an object store is left alone longer each time that it fails again soon', async () => {
    for (const pause of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
      await fail(5);
      now += pause - 1;
      expect(await isPaused()).toBe(true);
      now += 1;
      expect(await isPaused()).toBe(false);
    }
    now += 10_001;
    await fail(5);
    now += 500;
    expect(await isPaused()).toBe(false);
  });
});
