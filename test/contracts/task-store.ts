import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { cutExportPlan, cutSeedPlan } from '../../src/tasks/cut-plan.ts';
import { exportFiles } from '../../src/tasks/store/export-tasks.ts';
import { type Lease, NO_COUNTS, type Report } from '../../src/tasks/store/lease.ts';
import { createLeaseStore, type LeaseStore } from '../../src/tasks/store/lease-store.ts';
import { createTaskStore, type NewTask, type TaskStore } from '../../src/tasks/store/task-store.ts';
import type { Task, TaskRequest } from '../../src/tasks/task.ts';
import { scheduleAuthor, type TaskKey } from '../../src/tasks/task-draft.ts';
import { stepsOf } from '../../src/tasks/task-plan.ts';
import { author } from '../fixtures/task-fixture.ts';

export const WIDE = { owner: 'a', freeThreads: 100, workers: 1 } as const;

/** A task over one zoom of `side` × `side` tiles, cut into metatiles of one tile. */
export function newTask(side: number, more: Partial<TaskRequest> = {}, key: TaskKey | null = null): NewTask {
  const request: TaskRequest = {
    layer: 'roads',
    type: 'seed',
    gridSet: 'g',
    format: 'image/png',
    parameters: {},
    parametersId: null,
    zoomStart: 9,
    zoomStop: 9,
    bounds: { minX: 0, minY: 0, maxX: 1, maxY: 1 },
    area: null,
    onlyStale: false,
    threadCount: 2,
    tileFailureRetryCount: 2,
    tileFailureRetryWaitTime: 1000,
    totalFailuresBeforeAborting: 1000,
    waitsForHosts: true,
    priority: 0,
    ...more,
  };
  const levels = [{ z: 9, rect: { minX: 0, minY: 0, maxX: side - 1, maxY: side - 1 } }];
  return {
    request,
    plan: cutSeedPlan(levels, { columns: 1, rows: 1 }, request.threadCount, null),
    tilesTotal: BigInt(side * side),
    author: author('tester'),
    key,
  };
}

export function reportOf(lease: Lease, more: Partial<Report> = {}): Report {
  return {
    token: lease.token,
    beat: 0,
    doneSteps: lease.kind === 'piece' ? lease.doneSteps : 0,
    counts: NO_COUNTS,
    failures: [],
    retried: new Map(),
    workMs: 1000,
    intent: 'go-on',
    crowded: false,
    ...more,
  };
}

/** A report that the rest of the piece is made. */
export function finished(lease: Lease, beat = 0): Report {
  if (lease.kind !== 'piece') throw new Error('not a piece');
  const steps = [...stepsOf(lease.plan, lease.piece, lease.doneSteps)];
  const counts = { ...NO_COUNTS, processed: BigInt(steps.length), made: steps.length };
  return reportOf(lease, { beat, doneSteps: lease.doneSteps + steps.length, counts, intent: 'finish' });
}

/** The contract of every database for tasks. Each test begins with no task; ids keep rising. */
export function describeTaskStore(open: () => Promise<Database>): void {
  let database: Database;
  let tasks: TaskStore;
  let leases: LeaseStore;
  let now = 1_700_000_000_000;

  beforeAll(async () => {
    database = await open();
    tasks = createTaskStore(database);
    const clock = { ...systemClock, now: () => now };
    leases = createLeaseStore({ database, clock, random: () => 0.5 });
  });
  beforeEach(() => database.change.deleteFrom('tasks').execute());
  afterAll(() => database.close());

  const create = async (task: NewTask): Promise<Task> => {
    const [created] = await tasks.createAll([task], now, 1000);
    if (!created) throw new Error('refused');
    return created;
  };
  const take = async (wish: Parameters<LeaseStore['take']>[0] = WIDE): Promise<Lease> => {
    const lease = await leases.take(wish);
    if (!lease) throw new Error('nothing to take');
    return lease;
  };
  const state = async (id: number) => (await tasks.get(id))?.state;

  async function runToEnd(id: number): Promise<void> {
    for (let lease = await leases.take(WIDE); lease; lease = await leases.take(WIDE)) {
      await leases.report(finished(lease));
    }
    expect(await state(id)).toBe('done');
  }

  describe('exports', () => {
    const order = (id: string, more: Partial<NewTask> = {}, since = '1'): NewTask => {
      const archive = { id, since, type: 'mbtiles', parameters: {}, store: 'default' } as const;
      const plan = cutExportPlan([{ z: 9, rect: { minX: 0, minY: 0, maxX: 300, maxY: 300 } }], null);
      const { request } = newTask(1, { type: 'export', threadCount: 1, archive });
      return { ...newTask(1), request, plan, tilesTotal: 0n, ...more };
    };
    const shown = async () =>
      (await tasks.list({ exported: true, limit: 100 })).map((task) => task.id).reverse();
    const done = (lease: Lease, tiles = 7) =>
      reportOf(lease, {
        doneSteps: 1,
        intent: 'finish',
        figures: { tiles, expected: tiles, bytes: 99, file: 'a' },
      });

    it('a repeated export request returns the running export, or replaces a finished one', async () => {
      const first = await create(order('a'));
      expect((await create(order('a'))).id).toBe(first.id);
      await leases.report(done(await take()));
      expect(await tasks.get(first.id)).toMatchObject({
        state: 'done',
        tilesTotal: 7n,
        file: 'a',
        counters: { bytes: 99 },
      });
      const second = await create(order('a'));
      expect(second.id).not.toBe(first.id);
      expect(await shown()).toEqual([second.id]);
      expect(await state(first.id)).toBe('done');
    });

    it('an export request after a truncation stops the running export and its reports', async () => {
      const first = await create(order('a'));
      const lease = await take();
      const second = await create(order('a', {}, '2'));
      expect(await shown()).toEqual([second.id]);
      expect(await tasks.get(first.id)).toMatchObject({ state: 'aborted', outcome: 'stopped' });
      expect(await leases.report(done(lease))).toBe('over');
      expect((await tasks.get(first.id))?.file).toBeNull();
    });

    it('the progress of a restarted export falls', async () => {
      const { id } = await create(order('a'));
      const lease = await take();
      const figures = (tiles: number) => ({ tiles, expected: 9, bytes: null, file: null });
      await leases.report(reportOf(lease, { figures: figures(5) }));
      await leases.report(reportOf(lease, { figures: figures(2), beat: 1 }));
      expect(await tasks.get(id)).toMatchObject({ tilesProcessed: 2n, tilesTotal: 9n });
    });

    it('workers of one node run one export at a time, and other tasks beside it', async () => {
      await create(order('a'));
      await create(order('b'));
      const wish = (owner: string) => ({ ...WIDE, owner, workers: 2 });
      expect(await leases.take(wish('one/1'))).not.toBeNull();
      expect(await leases.take(wish('one/2'))).toBeNull();
      const seed = await create(newTask(1));
      expect((await take(wish('one/2'))).taskId).toBe(seed.id);
      expect((await take(wish('two/1'))).request.archive?.id).toBe('b');
    });

    it('there are at most 20 exports, also of concurrent requests, and 10 of a limited account', async () => {
      const limited = { author: { ...author('mary'), unlimited: false } };
      for (let n = 0; n < 10; n++) await create(order(`mary-${n}`, limited));
      await expect(create(order('mary-10', limited))).rejects.toThrow('mary has 10 exports already');
      const more = Array.from({ length: 15 }, (_, n) => create(order(`other-${n}`)));
      const made = (await Promise.allSettled(more)).filter(({ status }) => status === 'fulfilled');
      expect(made).toHaveLength(10);
      await expect(create(order('one more'))).rejects.toThrow('delete one first');
    });

    it('finished exports stay in the history of tasks until they are removed', async () => {
      const { id } = await create(order('a'));
      expect((await exportFiles(database)).tasks).toEqual(new Set([id]));
      await leases.report(done(await take()));
      expect(await exportFiles(database)).toEqual({ tasks: new Set(), names: new Set(['a']) });
      const all = { endedBefore: now + 1, keep: 0 };
      expect(await tasks.forget(all)).toBe(0);
      await tasks.removeExport(id, 'deleted', now);
      expect((await exportFiles(database)).names).toEqual(new Set());
      expect(await tasks.forget(all)).toBe(1);
    });
  });

  describe('tasks', () => {
    it('tasks are read as created, with rising ids that are never reused', async () => {
      const first = await create(newTask(3));
      expect(await tasks.get(first.id)).toEqual(first);
      await runToEnd(first.id);
      expect(await tasks.forget({ endedBefore: now + 1, keep: 10 })).toBe(1);
      const second = await create(newTask(3));
      expect(second.id).toBeGreaterThan(first.id);
      expect(await tasks.get(first.id)).toBeNull();
    });

    it('tasks count tiles exactly beyond the range of a double', async () => {
      const total = 2n ** 62n + 1n;
      const { id } = await create({ ...newTask(1), tilesTotal: total });
      expect((await tasks.get(id))?.tilesTotal).toBe(total);
    });

    it('tasks are listed newest first by state, layer, type, time and page', async () => {
      const made: number[] = [];
      for (let i = 0; i < 4; i++) {
        now += 1000;
        made.push((await create(newTask(1, i % 2 ? { layer: 'rivers' } : { type: 'reseed' }))).id);
      }
      const ids = async (filter: Partial<Parameters<TaskStore['list']>[0]>) =>
        (await tasks.list({ limit: 10, ...filter })).map((task) => task.id);
      const [a, b, c, d] = made;
      expect(await ids({})).toEqual([d, c, b, a]);
      expect(await ids({ layers: ['rivers'] })).toEqual([d, b]);
      expect(await ids({ types: ['reseed'] })).toEqual([c, a]);
      expect(await ids({ since: now })).toEqual([d]);
      expect(await ids({ afterId: c as number, limit: 1 })).toEqual([b]);
      expect(await ids({ states: ['done'] })).toEqual([]);
      expect(await ids({ since: now - 2000, until: now })).toEqual([c, b]);
      expect(await ids({ layers: [] })).toEqual([]);
      expect((await tasks.active('rivers')).map((task) => task.id)).toEqual([b, d]);
    });

    it('a finished task has an outcome, and tasks are counted and listed by outcome', async () => {
      const [ok, partial, failed, stopped] = [
        await create(newTask(1)),
        await create(newTask(2, { threadCount: 1, tileFailureRetryCount: 0, layer: 'rivers' })),
        await create(newTask(1, { tileFailureRetryCount: 0 })),
        await create(newTask(1)),
      ].map(({ id }) => id);
      await tasks.cancel({ ids: [stopped, partial] as number[], layers: ['roads'] }, 'stopped by me', now);
      const seen = new Set<number>();
      for (let lease = await take(); lease; lease = (await leases.take(WIDE)) as Lease) {
        const done = finished(lease);
        const first = { z: 9, rect: { minX: 0, minY: 0, maxX: 0, maxY: 0 }, tiles: 1n, reason: 'HTTP 500' };
        const counts = { ...done.counts, processed: done.counts.processed - 1n, made: done.counts.made - 1 };
        const fails = lease.taskId === failed || (lease.taskId === partial && !seen.has(partial));
        seen.add(lease.taskId);
        await leases.report(fails ? { ...done, counts, failures: [first] } : done);
      }
      const { id: waiting } = await create(newTask(1, { layer: 'rivers' }));
      const outcomes = new Map((await tasks.list({ limit: 10 })).map(({ id, outcome }) => [id, outcome]));
      expect([ok, partial, failed, stopped, waiting].map((id) => outcomes.get(id as number))).toEqual([
        'ok',
        'partial',
        'failed',
        'stopped',
        null,
      ]);
      const bad = await tasks.list({ outcomes: ['partial', 'failed'], limit: 10 });
      expect(bad.map(({ id }) => id)).toEqual([failed, partial]);
      expect((await tasks.count({})).outcome).toEqual({ ok: 1, partial: 1, failed: 1, stopped: 1 });
      expect((await tasks.count({ layers: ['rivers'] })).outcome).toMatchObject({ ok: 0, partial: 1 });
      expect((await tasks.count({ outcomes: ['failed'] })).state).toMatchObject({ done: 0, aborted: 1 });
      expect(await tasks.layersOf({ outcomes: ['partial'] })).toEqual(['rivers']);
    });

    const keyed = (digest: string | null) => newTask(1, {}, { text: 'key', digest });

    it('tasks of one author with the same key and request are one', async () => {
      const first = await create(keyed('a'));
      expect((await create(keyed('a'))).id).toBe(first.id);
    });

    it('a key reused for another request is rejected, with all tasks of its batch', async () => {
      await create(keyed('a'));
      const refused = tasks.createAll([newTask(1), keyed('b')], now, 1000);
      await expect(refused).rejects.toMatchObject({ code: 'key-reused' });
      expect(await tasks.list({ limit: 10 })).toHaveLength(1);
    });

    it('the same key of two authors makes two tasks', async () => {
      const first = await create(keyed('a'));
      const second = await create({ ...keyed('b'), author: scheduleAuthor('nightly') });
      expect(second.id).not.toBe(first.id);
    });

    it('a task is rejected when too many tasks of all authors are unfinished', async () => {
      await create(newTask(1));
      await expect(tasks.createAll([newTask(1)], now, 1)).rejects.toMatchObject({ code: 'too-many-tasks' });
    });

    it('a limited author has at most half of the unfinished tasks', async () => {
      const limited = { ...newTask(1), author: { ...author('rosa'), unlimited: false } };
      await tasks.createAll([limited, limited], now, 4);
      await expect(tasks.createAll([limited], now, 4)).rejects.toThrow(/At most 2 tasks of one account/);
      const other = { ...limited, author: { ...limited.author, account: 'token:7' } };
      expect(await tasks.createAll([other, newTask(1)], now, 4)).toHaveLength(2);
    });

    it('changed tasks are listed in order of their latest change, each once', async () => {
      const start = await tasks.changeHorizon();
      const first = await create(newTask(1));
      const second = await create(newTask(1));
      await tasks.pause(first.id);
      const changed = await tasks.changedSince({ event: start - 1, id: Number.MAX_SAFE_INTEGER }, 10);
      expect(changed.map((task) => task.id)).toEqual([second.id, first.id]);
      const last = changed.at(-1);
      expect(await tasks.changedSince({ event: last?.eventId ?? 0, id: last?.id ?? 0 }, 10)).toEqual([]);
    });

    it('finished tasks are removed by age and by number, running ones never', async () => {
      const ids: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { id } = await create(newTask(1));
        await runToEnd(id);
        ids.push(id);
        now += 1000;
      }
      const running = await create(newTask(1));
      expect(await tasks.forget({ endedBefore: 0, keep: 2 })).toBe(1);
      expect(await tasks.get(ids[0] ?? 0)).toBeNull();
      expect(await tasks.forget({ endedBefore: now + 1, keep: 100 })).toBe(2);
      expect(await state(running.id)).toBe('pending');
    });
  });

  describe('leases', () => {
    it('every piece is leased to one holder, until the task is done', async () => {
      const { id } = await create(newTask(40, { threadCount: 1 }));
      const seen = new Set<number>();
      for (let lease = await leases.take(WIDE); lease; lease = await leases.take(WIDE)) {
        if (lease.kind !== 'piece') throw new Error('not a piece');
        expect(seen.has(lease.piece.ordinal)).toBe(false);
        seen.add(lease.piece.ordinal);
        expect(await leases.take(WIDE)).toBeNull();
        await leases.report(finished(lease));
      }
      expect(await tasks.get(id)).toMatchObject({ state: 'done', tilesProcessed: 1600n, endedAt: now });
    });

    it('a task with a wrong count of tiles ends as aborted', async () => {
      const { id } = await create({ ...newTask(4), tilesTotal: 17n });
      for (let lease = await leases.take(WIDE); lease; lease = await leases.take(WIDE)) {
        await leases.report(finished(lease));
      }
      expect(await tasks.get(id)).toMatchObject({
        state: 'aborted',
        reason: 'nothing is left to do, yet 16 of 17 tiles were counted',
      });
    });

    it('a lease has no more threads than the task, the worker or its share allows', async () => {
      await create(newTask(64, { threadCount: 6 }));
      expect((await take({ owner: 'a', freeThreads: 1, workers: 2 })).threads).toBe(1);
      expect((await take({ owner: 'a', freeThreads: 9, workers: 2 })).threads).toBe(3);
      expect((await take({ owner: 'b', freeThreads: 9, workers: 2 })).threads).toBe(2);
      expect(await leases.take(WIDE)).toBeNull();
    });

    it('a worker leases only its share of a task, or also leftovers', async () => {
      await create(newTask(64, { threadCount: 2 }));
      const wish = { owner: 'a', freeThreads: 9, workers: 2 };
      expect((await take(wish)).threads).toBe(1);
      expect(await leases.take(wish)).toBeNull();
      expect((await take({ ...wish, leftovers: true })).threads).toBe(1);
      expect(await leases.take({ ...wish, owner: 'b' })).toBeNull();
    });

    it('concurrent lease requests of several workers get different pieces', async () => {
      await create(newTask(64, { threadCount: 8 }));
      const wishes = Array.from({ length: 8 }, (_, i) => ({ owner: `w${i}`, freeThreads: 1, workers: 8 }));
      const taken = await Promise.all(wishes.map((wish) => leases.take(wish)));
      const pieces = taken.map((lease) => (lease?.kind === 'piece' ? lease.piece.ordinal : -1));
      expect(new Set(pieces).size).toBe(8);
      expect(new Set(taken.map((lease) => lease?.token)).size).toBe(8);
    });

    it('the next holder of a lease continues after the reported progress', async () => {
      const { id } = await create(newTask(8, { threadCount: 1 }));
      const lease = await take();
      const counts = { ...NO_COUNTS, processed: 2n, made: 2 };
      await leases.report(reportOf(lease, { doneSteps: 2, counts, intent: 'hand-back' }));
      const next = await take({ ...WIDE, owner: 'b' });
      expect(next).toMatchObject({ doneSteps: 2, careful: false });
      expect((await tasks.get(id))?.tilesProcessed).toBe(2n);
    });

    it('a report of a holder whose lease went to another changes nothing', async () => {
      const { id } = await create(newTask(8, { threadCount: 1 }));
      const old = await take();
      expect(await leases.free({ owner: 'a' }, false)).toBe(1);
      const fresh = await take({ ...WIDE, owner: 'b' });
      expect(await leases.report(finished(old))).toBe('over');
      expect((await tasks.get(id))?.tilesProcessed).toBe(0n);
      expect(await leases.report(reportOf(fresh))).toBe('go-on');
    });

    it('a repeated report of a lease is recorded once', async () => {
      const { id } = await create(newTask(8, { threadCount: 1 }));
      const lease = await take();
      const report = reportOf(lease, { doneSteps: 3, counts: { ...NO_COUNTS, processed: 3n, made: 3 } });
      expect(await leases.report(report)).toBe('go-on');
      expect(await leases.report(report)).toBe('go-on');
      expect(await tasks.get(id)).toMatchObject({ tilesProcessed: 3n, counters: { made: 3 } });
    });

    it('all leases are free after a start, and running tasks are pending', async () => {
      const { id } = await create(newTask(8));
      await take();
      expect(await state(id)).toBe('running');
      await leases.adopt();
      expect(await state(id)).toBe('pending');
      expect(await leases.beats()).toEqual([]);
      await runToEnd(id);
    });
  });

  describe('a step that kills workers', () => {
    it('a step that kills workers is skipped after three deaths, and the rest is done', async () => {
      const { id } = await create(newTask(4, { threadCount: 1 }));
      const deaths: number[] = [];
      for (let lease = await leases.take(WIDE); lease; lease = await leases.take(WIDE)) {
        if (lease.kind !== 'piece') throw new Error('not a piece');
        let [beat, done] = [0, lease.doneSteps];
        let died = false;
        for (const step of stepsOf(lease.plan, lease.piece, lease.doneSteps)) {
          if (step.rect.minX === 2 && step.rect.minY === 1) {
            await leases.free({ owner: 'a' }, true);
            deaths.push(lease.threads);
            died = true;
            break;
          }
          done = step.index + 1;
          const counts = { ...NO_COUNTS, processed: 1n, made: 1 };
          await leases.report(reportOf(lease, { beat: beat++, doneSteps: done, counts }));
        }
        if (!died) await leases.report(reportOf(lease, { beat, doneSteps: done, intent: 'finish' }));
      }
      expect(deaths).toEqual([1, 1, 1]);
      const task = await tasks.get(id);
      expect(task).toMatchObject({ state: 'aborted', tilesProcessed: 16n });
      expect(task?.reason).toBe(
        '1 of 16 tiles failed; the last: 3 worker processes ended while making these tiles',
      );
      expect(task?.counters).toMatchObject({ made: 15, failed: 1 });
      expect(await tasks.givenUp(id, 10)).toMatchObject([
        { z: 9, rect: { minX: 2, minY: 1, maxX: 2, maxY: 1 }, tiles: 1n },
      ]);
    });
  });

  describe('failed steps', () => {
    const rect = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
    const failure = { z: 9, rect, tiles: 1n, reason: 'upstream is down' };

    async function failFirst(more: Partial<TaskRequest>): Promise<{ id: number; lease: Lease }> {
      const { id } = await create(newTask(2, { threadCount: 4, ...more }));
      const lease = await take();
      await leases.report(reportOf(lease, { doneSteps: 1, failures: [failure], intent: 'finish' }));
      for (let rest = await leases.take(WIDE); rest; rest = await leases.take(WIDE)) {
        await leases.report(finished(rest));
      }
      return { id, lease };
    }

    it('a failed step is retried with rising pauses, and finally fails', async () => {
      const { id } = await failFirst({});
      expect(await state(id)).toBe('running');
      expect(await leases.take(WIDE)).toBeNull();
      for (const pause of [1000, 2000]) {
        now += pause - 1;
        expect(await leases.take(WIDE)).toBeNull();
        now += 1;
        const lease = await take();
        if (lease.kind !== 'retry') throw new Error('not a retry');
        const retried = new Map([[lease.steps[0]?.id ?? 0, { reason: 'still down' }]]);
        await leases.report(reportOf(lease, { retried, intent: 'finish' }));
      }
      expect(await tasks.get(id)).toMatchObject({
        state: 'aborted',
        tilesProcessed: 4n,
        reason: '1 of 4 tiles failed; the last: still down',
        counters: { failed: 1 },
      });
    });

    it('a failed step that succeeds later is only in the error samples', async () => {
      const { id } = await failFirst({});
      now += 1000;
      const lease = await take();
      if (lease.kind !== 'retry') throw new Error('not a retry');
      const counts = { ...NO_COUNTS, processed: 1n, made: 1 };
      const retried = new Map([[lease.steps[0]?.id ?? 0, null]]);
      await leases.report(reportOf(lease, { counts, retried, intent: 'finish' }));
      const task = await tasks.get(id);
      expect(task).toMatchObject({
        state: 'done',
        tilesProcessed: 4n,
        reason: null,
        counters: { failed: 0 },
      });
      expect(task?.errors).toMatchObject([{ z: 9, x: 0, y: 0, message: 'upstream is down' }]);
    });

    it('a failed step is due immediately when the clock was set back by more than any pause', async () => {
      const { id } = await failFirst({});
      now -= 2 * 86_400_000;
      const lease = await take();
      expect(lease.kind).toBe('retry');
      expect(await state(id)).toBe('running');
    });

    it('a failed step survives a restart of the server', async () => {
      const { id } = await failFirst({});
      now += 1000;
      await take();
      await leases.adopt();
      expect(await state(id)).toBe('pending');
      expect((await take()).kind).toBe('retry');
    });

    it('failed steps that reach the limit abort the task and end its leases', async () => {
      const limits = { tileFailureRetryCount: 0, totalFailuresBeforeAborting: 1 };
      const { id } = await create(newTask(8, limits));
      const [first, second] = [await take(WIDE), await leases.take({ ...WIDE, owner: 'b' })];
      expect(await leases.report(reportOf(first, { doneSteps: 1, failures: [failure] }))).toBe('over');
      expect(await tasks.get(id)).toMatchObject({
        state: 'aborted',
        reason: '1 failure, as many as totalFailuresBeforeAborting allows; the last: upstream is down',
      });
      expect(second === null || (await leases.report(finished(second))) === 'over').toBe(true);
      expect(await leases.take(WIDE)).toBeNull();
    });
  });

  describe('stopping and pausing', () => {
    it('stopping a task ends its leases and returns the task as it was', async () => {
      const { id } = await create(newTask(8));
      const lease = await take();
      const stopped = await tasks.cancel({ states: ['running'] }, 'stopped by me', now);
      expect(stopped).toMatchObject([{ id, state: 'running' }]);
      expect(await leases.report(finished(lease))).toBe('over');
      expect(await tasks.get(id)).toMatchObject({ state: 'aborted', reason: 'stopped by me', endedAt: now });
      expect(await tasks.cancel({ states: ['pending', 'running', 'paused'] }, 'again', now)).toEqual([]);
    });

    it('a paused task has no leases until it is resumed', async () => {
      const { id } = await create(newTask(8));
      const lease = await take();
      expect(await tasks.pause(id)).toMatchObject({ state: 'paused' });
      expect(await leases.report(finished(lease))).toBe('over');
      expect(await leases.take(WIDE)).toBeNull();
      expect(await tasks.resume(id)).toMatchObject({ state: 'pending' });
      await runToEnd(id);
    });

    it('a finished task cannot be paused, resumed or stopped', async () => {
      const { id } = await create(newTask(1));
      await runToEnd(id);
      expect(await tasks.pause(id)).toBeNull();
      expect(await tasks.resume(id)).toBeNull();
      expect(await tasks.cancel({ ids: [id], states: ['pending', 'running'] }, 'x', now)).toEqual([]);
    });
  });

  describe('turns', () => {
    it('turns go to the first task, then to the task with less work done', async () => {
      const first = await create(newTask(64, { threadCount: 1 }));
      const second = await create(newTask(64, { threadCount: 1 }));
      const lease = await take();
      expect(lease.taskId).toBe(first.id);
      const busy = { workMs: 3000, crowded: true };
      expect(await leases.report(reportOf(lease, busy))).toBe('go-on');
      expect(await leases.report(reportOf(lease, { ...busy, beat: 1 }))).toBe('hand-back');
      await leases.report(reportOf(lease, { beat: 2, intent: 'hand-back' }));
      expect((await take()).taskId).toBe(second.id);
    });

    it('a small task goes ahead of large ones', async () => {
      await create(newTask(64, { threadCount: 1 }));
      const lease = await take();
      await create(newTask(64, { threadCount: 1 }));
      const small = await create(newTask(1));
      expect(await leases.report(reportOf(lease, { crowded: true }))).toBe('hand-back');
      expect((await take()).taskId).toBe(small.id);
    });

    it('a task of higher priority gets more turns without starving others', async () => {
      const low = await create(newTask(128, { threadCount: 1 }));
      const high = await create(newTask(128, { threadCount: 1, priority: 1 }));
      const turns = new Map<number, number>();
      for (let i = 0; i < 30; i++) {
        const lease = await take();
        turns.set(lease.taskId, (turns.get(lease.taskId) ?? 0) + 1);
        await leases.report(reportOf(lease, { intent: 'hand-back' }));
      }
      expect(turns.get(low.id)).toBeGreaterThanOrEqual(9);
      expect(turns.get(high.id)).toBeGreaterThanOrEqual(19);
    });

    it('a new task gets as many turns as one that has run for long', async () => {
      const old = await create(newTask(128, { threadCount: 1 }));
      let lease = await take();
      await leases.report(reportOf(lease, { workMs: 1e9, intent: 'hand-back' }));
      await create(newTask(128, { threadCount: 1 }));
      const turns: number[] = [];
      for (let i = 0; i < 6; i++) {
        lease = await take();
        turns.push(lease.taskId);
        await leases.report(reportOf(lease, { intent: 'hand-back' }));
      }
      expect(turns.filter((id) => id === old.id)).toHaveLength(3);
    });
  });
}
