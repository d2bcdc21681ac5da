import { describe, expect, it } from 'vitest';
import { Semaphore } from './semaphore.ts';

async function arrivals(semaphore: Semaphore, asked: readonly [string, number][]): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(
    asked.map(async ([name, priority]) => {
      const release = await semaphore.acquire(undefined, priority);
      order.push(name);
      release();
    }),
  );
  return order;
}

describe('a semaphore', () => {
  it('a semaphore never admits more than its limit', async () => {
    const semaphore = new Semaphore(3);
    let inside = 0;
    let most = 0;
    const visit = async () => {
      const release = await semaphore.acquire();
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside--;
      release();
    };
    await Promise.all(Array.from({ length: 50 }, visit));
    expect(most).toBe(3);
    expect(semaphore.inUse).toBe(0);
    expect(semaphore.waiting).toBe(0);
  });

  it('a semaphore admits the highest priority first and keeps the order of arrival inside one', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const order = arrivals(semaphore, [
      ['task 1', 0],
      ['person 1', 1],
      ['task 2', 0],
      ['person 2', 1],
      ['background', -1],
    ]);
    release();
    expect(await order).toEqual(['person 1', 'person 2', 'task 1', 'task 2', 'background']);
  });

  it('a semaphore lets a waiter leave with the reason of its signal', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const controller = new AbortController();
    const waiting = semaphore.acquire(controller.signal);
    const behind = semaphore.acquire();
    expect(semaphore.waiting).toBe(2);
    controller.abort(new Error('client has gone'));
    await expect(waiting).rejects.toThrow('client has gone');
    expect(semaphore.waiting).toBe(1);
    release();
    (await behind)();
    expect(semaphore.inUse).toBe(0);
  });

  it('a semaphore refuses an aborted signal without taking a place', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.acquire(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(semaphore.inUse).toBe(0);
  });

  it('a semaphore keeps a place that was given even when the signal aborts later', async () => {
    const semaphore = new Semaphore(1);
    const controller = new AbortController();
    const first = await semaphore.acquire();
    const second = semaphore.acquire(controller.signal);
    first();
    const release = await second;
    controller.abort();
    expect(semaphore.inUse).toBe(1);
    release();
    expect(semaphore.inUse).toBe(0);
  });

  it('a semaphore takes a place back once however often it is released', async () => {
    const semaphore = new Semaphore(2);
    const release = await semaphore.acquire();
    await semaphore.acquire();
    release();
    release();
    expect(semaphore.inUse).toBe(1);
  });

  it('a semaphore holds a place as long as the work takes, also when it fails', async () => {
    const semaphore = new Semaphore(1);
    const failing = semaphore.during(async () => {
      expect(semaphore.inUse).toBe(1);
      throw new Error('no picture');
    });
    const next = semaphore.during(async () => semaphore.inUse);
    await expect(failing).rejects.toThrow('no picture');
    expect(await next).toBe(1);
    expect(semaphore.inUse).toBe(0);
  });

  it('a semaphore reports that it is full when no more may wait', async () => {
    const semaphore = new Semaphore(1, { maxWaiting: 1 });
    expect(semaphore.full).toBe(false);
    const release = await semaphore.acquire();
    expect(semaphore.full).toBe(false);
    const waiting = semaphore.acquire();
    expect(semaphore.full).toBe(true);
    release();
    (await waiting)();
    expect(semaphore.full).toBe(false);
  });

  it('a semaphore refuses a limit that would admit no holder', () => {
    expect(() => new Semaphore(0)).toThrow('whole number');
    expect(() => new Semaphore(Number.NaN)).toThrow('whole number');
  });
});
