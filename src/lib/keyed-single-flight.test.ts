import { describe, expect, it } from 'vitest';
import { createKeyedSingleFlight } from './keyed-single-flight.ts';

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Lets the flight that was just asked for take off. */
async function takeOff(): Promise<void> {
  await Promise.resolve();
  await Promise.resolve();
}

describe('a keyed single flight', () => {
  it('a keyed single flight starts once for all callers of one key and gives each the same result', async () => {
    const flights = createKeyedSingleFlight<object>();
    let starts = 0;
    const start = async () => {
      starts++;
      return {};
    };
    const results = await Promise.all(Array.from({ length: 200 }, () => flights.run('a', start)));
    expect(starts).toBe(1);
    expect(new Set(results).size).toBe(1);
  });

  it('a keyed single flight keeps keys separate and starts again after the last one has ended', async () => {
    const flights = createKeyedSingleFlight<number>();
    let starts = 0;
    const start = async () => ++starts;
    expect(await Promise.all([flights.run('a', start), flights.run('b', start)])).toEqual([1, 2]);
    expect(await flights.run('a', start)).toBe(3);
  });

  it('a keyed single flight shares a failure and forgets it', async () => {
    const flights = createKeyedSingleFlight<number>();
    let starts = 0;
    const fail = () => {
      starts++;
      throw new Error('source is down');
    };
    const all = await Promise.allSettled([flights.run('a', fail), flights.run('a', fail)]);
    expect(all.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(starts).toBe(1);
    expect(await flights.run('a', async () => 7)).toBe(7);
  });

  it('a keyed single flight goes on when one of its callers leaves', async () => {
    const flights = createKeyedSingleFlight<string>();
    const impatient = new AbortController();
    const { promise, resolve } = withResolvers<string>();
    const first = flights.run('a', () => promise, impatient.signal);
    const second = flights.run('a', () => promise);
    impatient.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    resolve('tile');
    expect(await second).toBe('tile');
  });

  it('a keyed single flight is aborted when the last caller has left, and the next caller starts again', async () => {
    const flights = createKeyedSingleFlight<string>();
    const controllers = [new AbortController(), new AbortController()];
    let flightSignal: AbortSignal | null = null;
    const start = (signal: AbortSignal) => {
      flightSignal = signal;
      return untilAborted(signal);
    };
    const calls = controllers.map((one) => flights.run('a', start, one.signal));
    await takeOff();
    controllers[0]?.abort(new Error('first left'));
    expect(flightSignal).toMatchObject({ aborted: false });
    controllers[1]?.abort(new Error('second left'));
    expect(flightSignal).toMatchObject({ aborted: true });
    expect(flights.size).toBe(0);
    expect(await flights.run('a', async () => 'fresh')).toBe('fresh');
    const results = await Promise.allSettled(calls);
    expect(results).toMatchObject([
      { reason: { message: 'first left' } },
      { reason: { message: 'second left' } },
    ]);
  });

  it('a keyed single flight refuses a caller that has left before its request', async () => {
    const flights = createKeyedSingleFlight<string>();
    let started = false;
    const start = async () => {
      started = true;
      return '';
    };
    await expect(flights.run('a', start, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(started).toBe(false);
  });
});

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let fulfil: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    fulfil = resolve;
  });
  return { promise, resolve: fulfil };
}
