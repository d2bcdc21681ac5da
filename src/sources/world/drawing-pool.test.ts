import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { silentLogger } from '../../lib/logger.ts';
import { type DrawingJob, openDrawingPool } from './drawing-pool.ts';
import { createMapView } from './map-view.ts';

const job: DrawingJob = {
  view: createMapView('geographic', { minX: 0, minY: 0, maxX: 1, maxY: 1 }, 1, 1),
  style: 'light',
};
const order = { priority: 'interactive', signal: new AbortController().signal } as const;

/** A thread that answers when the test says so. */
class HeldThread extends EventEmitter {
  jobs = 0;
  #asked = 0;

  postMessage({ id }: { id: number }): void {
    this.jobs++;
    this.#asked = id;
  }

  answer(): void {
    const body = { bytes: new Uint8Array([1, 2, 3, 255]) };
    this.emit('message', { type: 'reply', id: this.#asked, body });
  }

  ref(): void {}
  unref(): void {}

  async terminate(): Promise<number> {
    this.emit('exit', 1);
    return 1;
  }
}

function openPool(limits: { threads?: number; maxWaiting?: number; timeoutMs?: number } = {}) {
  const threads: HeldThread[] = [];
  const pool = openDrawingPool({
    threads: 1,
    maxWaiting: 1,
    timeoutMs: 60_000,
    log: silentLogger,
    ...limits,
    startThread: () => {
      const thread = new HeldThread();
      threads.push(thread);
      return thread as unknown as Worker;
    },
  });
  const threadAt = (place: number): HeldThread => {
    const thread = threads[place];
    if (!thread) throw new Error(`thread ${place} was not started`);
    return thread;
  };
  return { pool, threads, threadAt };
}

it('a drawing pool starts no thread before the first drawing and uses an idle one again', async () => {
  const { pool, threads, threadAt } = openPool();
  expect(threads).toHaveLength(0);
  for (let round = 0; round < 2; round++) {
    const drawing = pool.draw(job, order);
    await expect.poll(() => threads[0]?.jobs).toBe(round + 1);
    threadAt(0).answer();
    expect([...(await drawing)]).toEqual([1, 2, 3, 255]);
  }
  expect(threads).toHaveLength(1);
  await pool.close();
});

it('a drawing pool reports a broken thread as unavailable and draws the next picture on another', async () => {
  const { pool, threads, threadAt } = openPool();
  const broken = pool.draw(job, order);
  const outcome = expect(broken).rejects.toMatchObject({ code: 'source-unavailable' });
  await expect.poll(() => threads.length).toBe(1);
  threadAt(0).emit('error', new Error('out of memory'));
  threadAt(0).emit('exit', 1);
  await outcome;
  const next = pool.draw(job, order);
  await expect.poll(() => threads.length).toBe(2);
  threadAt(1).answer();
  expect((await next).length).toBe(4);
  await pool.close();
});

it('a drawing pool ends a thread that takes too long and starts another for the next picture', async () => {
  const { pool, threads, threadAt } = openPool({ timeoutMs: 20 });
  await expect(pool.draw(job, order)).rejects.toMatchObject({ code: 'source-timeout' });
  const next = pool.draw(job, order);
  await expect.poll(() => threads.length).toBe(2);
  threadAt(1).answer();
  expect((await next).length).toBe(4);
  await pool.close();
});

it('a drawing pool refuses more waiting pictures than it may hold, and draws those for people first', async () => {
  const { pool, threads, threadAt } = openPool({ maxWaiting: 2 });
  const finished: string[] = [];
  const track = (name: string, drawing: Promise<Buffer>) => drawing.then(() => finished.push(name));
  const first = track('first', pool.draw(job, order));
  const task = track('task', pool.draw(job, { ...order, priority: 'task' }));
  const person = track('person', pool.draw(job, order));
  await expect(pool.draw(job, order)).rejects.toMatchObject({ code: 'source-busy' });
  for (let round = 1; round <= 3; round++) {
    await expect.poll(() => threads[0]?.jobs).toBe(round);
    threadAt(0).answer();
  }
  await Promise.all([first, task, person]);
  expect(finished).toEqual(['first', 'person', 'task']);
  await pool.close();
});

it('a drawing pool drops a picture before it is drawn when its caller has gone', async () => {
  const { pool, threads, threadAt } = openPool();
  const first = pool.draw(job, order);
  const leaving = new AbortController();
  const second = pool.draw(job, { ...order, signal: leaving.signal });
  leaving.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  await expect.poll(() => threads.length).toBe(1);
  threadAt(0).answer();
  await first;
  expect(threadAt(0).jobs).toBe(1);
  await pool.close();
});
