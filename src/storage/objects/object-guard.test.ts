import { beforeEach, describe, expect, it } from 'vitest';
import { createDeferred } from '../../lib/deferred.ts';
import { silentLogger } from '../../lib/logger.ts';
import { ObjectGuard } from './object-guard.ts';

const SLOW_AFTER = 1000;
const READS = 100;

describe('requests to an object store', () => {
  let now: number;
  let status: number | null;
  let guard: ObjectGuard;
  beforeEach(() => {
    now = 0;
    status = 503;
    const clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
    const limits = { connections: READS, timeoutSeconds: (SLOW_AFTER * 5) / 1000 };
    const options = { what: 'bucket tiles', statusOf: () => status, ...limits };
    guard = new ObjectGuard(options, { clock, random: () => 0.5, log: silentLogger });
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

  it('a request is repeated when there was no response or a passing error, and not when it was refused', async () => {
    const triesAt = async (answered: number | null) => {
      status = answered;
      let tries = 0;
      const attempt = async () => Promise.reject(new Error(`${++tries}`));
      await expect(guard.send('put', attempt)).rejects.toMatchObject({ code: 'store-failed' });
      return tries;
    };
    const tries = new Map<number | null, number>();
    for (const one of [null, 500, 429, 403]) tries.set(one, await triesAt(one));
    expect([...tries.values()]).toEqual([3, 3, 3, 1]);
    expect(await isPaused()).toBe(false);
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

  /** A request that is sent before the store fails; `repeat` ends its first try, and says whether there is a second. */
  function sendEarly() {
    const [first, second] = [createDeferred<number>(), createDeferred<number>()];
    const isRepeated = createDeferred<boolean>();
    const answers = [first, second];
    const done = guard.send('put', async () => {
      if (answers.length === 1) isRepeated.resolve(true);
      return answers.shift()?.promise ?? 0;
    });
    done.catch(() => isRepeated.resolve(false));
    const repeat = () => {
      first.reject(new Error('503'));
      return isRepeated.promise;
    };
    return { done, repeat, answer: second };
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
