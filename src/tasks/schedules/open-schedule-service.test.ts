import { afterEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { author, openTaskFixture, type TaskFixture } from '../../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import { keyForRequest } from '../task-draft.ts';
import { createScheduleRunner, openScheduleService, type ScheduleService } from './open-schedule-service.ts';
import type { Schedule, ScheduleDeclaration } from './schedule.ts';
import { createScheduleStore } from './schedule-store.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NIGHTLY: ScheduleDeclaration = {
  layer: 'roads',
  name: 'nightly',
  cron: '0 22 * * *',
  timeZone: 'UTC',
  hours: null,
  overrun: 'pause',
  enabled: true,
  work: 'seed',
  draft: { zoomStart: 0, zoomStop: 1 },
};

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

/** Midnight of a first of January; every look of the runner is asked for. */
async function openSchedules(declared: readonly ScheduleDeclaration[] = []) {
  const fixture = await openTaskFixture();
  closing.push(() => fixture.close());
  const clock = createVirtualClock();
  const store = createScheduleStore(fixture.database);
  const { service: tasks, selections } = fixture;
  const runner = createScheduleRunner({ store, tasks, selections, clock, log: silentLogger });
  const open = async (declarations: readonly ScheduleDeclaration[]): Promise<ScheduleService> => {
    // Between its looks it sleeps by a clock that stands still.
    const service = await openScheduleService({
      database: fixture.database,
      tasks,
      selections,
      declared: declarations,
      clock: { ...clock, sleep: (_ms, signal) => clock.sleep(DAY, signal) },
      log: silentLogger,
    });
    closing.push(() => service.close());
    return service;
  };
  return { fixture, clock, store, runner, open, schedules: await open(declared) };
}

async function added(
  schedules: ScheduleService,
  change: Partial<ScheduleDeclaration> = {},
): Promise<Schedule> {
  const created = await schedules.create({ ...NIGHTLY, ...change }, 'tester');
  if (!created) throw new Error('the name is taken');
  return created;
}

function hang(fixture: TaskFixture): void {
  fixture.harness.source.answer = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

/** The run of a schedule that works from 22:00 to 06:00, at 22:00. */
async function openNightRun(more: Parameters<typeof added>[1] = {}) {
  const open = await openSchedules();
  hang(open.fixture);
  const schedule = await added(open.schedules, { hours: '22:00-06:00', ...more });
  open.clock.advance(22 * HOUR);
  await open.runner.advanceAll();
  return { ...open, schedule, taskId: (await open.schedules.runs(schedule.id, 1))[0]?.taskId ?? 0 };
}

describe('a schedule', () => {
  it('a schedule starts its task when it is due, once, and shows when it comes next', async () => {
    const { fixture, clock, runner, schedules } = await openSchedules();
    const schedule = await added(schedules);
    const midnight = clock.now();
    expect(schedules.nextRuns(schedule, 2)).toEqual([midnight + 22 * HOUR, midnight + 46 * HOUR]);

    clock.advance(22 * HOUR - 1);
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 10)).toEqual([]);

    clock.advance(1);
    await runner.advanceAll();
    await runner.advanceAll();
    const [run, ...more] = await schedules.runs(schedule.id, 10);
    expect(more).toEqual([]);
    expect(run).toMatchObject({ dueAt: midnight + 22 * HOUR, state: 'started' });
    expect(await fixture.ended(run?.taskId ?? 0)).toMatchObject({
      state: 'done',
      createdBy: 'schedule nightly',
    });

    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 10)).toMatchObject([{ state: 'over' }]);
  });

  it('a run of a schedule has failed when its task has, and says why', async () => {
    const { fixture, clock, runner, schedules } = await openSchedules();
    fixture.harness.source.answer = () =>
      Promise.reject(new TilewardenError('source-bad-answer', 'no such layer'));
    const schedule = await added(schedules, {
      draft: { zoomStart: 0, zoomStop: 0, tileFailureRetryCount: 0 },
    });
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    const [run] = await schedules.runs(schedule.id, 1);
    expect(await fixture.ended(run?.taskId ?? 0)).toMatchObject({ outcome: 'failed' });
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 1)).toMatchObject([
      { state: 'failed', detail: expect.stringMatching(/1 of 1 tiles? failed/) },
    ]);
  });

  it('a schedule starts its task though a caller has used the key of its run', async () => {
    const { fixture, clock, runner, schedules } = await openSchedules();
    const schedule = await added(schedules);
    const dueAt = clock.now() + 22 * HOUR;
    const taken = { layer: 'roads', zoomStop: 0, key: keyForRequest(`schedule-${schedule.id}-${dueAt}`, {}) };
    const { id } = await fixture.service.create(taken, author('mary'));
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    const [run] = await schedules.runs(schedule.id, 10);
    expect(run).toMatchObject({ state: 'started' });
    expect(run?.taskId).not.toBe(id);
  });

  it('a schedule is looked at only when it is due or its run is under way, however many others there are', async () => {
    const { fixture, clock, store, schedules } = await openSchedules();
    hang(fixture);
    for (let n = 0; n < 30; n++) await added(schedules, { name: `yearly ${n}`, cron: '0 0 1 6 *' });
    const due = await added(schedules);
    const asked: number[] = [];
    const counting = {
      ...store,
      openRun: (id: number) => {
        asked.push(id);
        return store.openRun(id);
      },
    };
    const { service: tasks, selections } = fixture;
    const runner = createScheduleRunner({ store: counting, tasks, selections, clock, log: silentLogger });
    await runner.advanceAll();
    expect(asked).toEqual([]);
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    await runner.advanceAll();
    expect(asked).toEqual([due.id, due.id]);
  });

  it('a schedule catches up once after a downtime of many days', async () => {
    const { clock, runner, schedules } = await openSchedules();
    const schedule = await added(schedules);
    clock.advance(9 * DAY + HOUR);
    await runner.advanceAll();
    await runner.advanceAll();
    const runs = await schedules.runs(schedule.id, 10);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.dueAt).toBe(clock.now() - 3 * HOUR);
    expect((await schedules.get(schedule.id))?.nextDue).toBe(clock.now() + 21 * HOUR);
  });

  it('a schedule is due again soon after a clock that was ahead, however many others there are', async () => {
    const { fixture, clock, runner, store, schedules } = await openSchedules();
    const schedule = await added(schedules);
    for (let n = 0; n < 30; n++) await added(schedules, { name: `yearly ${n}`, cron: '0 0 1 6 *' });
    await runner.advanceAll();
    const { service: tasks, selections } = fixture;
    const ahead = { ...clock, now: () => clock.now() + 30 * DAY };
    await createScheduleRunner({ store, tasks, selections, clock: ahead, log: silentLogger }).advanceAll();
    expect((await schedules.get(schedule.id))?.nextDue).toBe(clock.now() + 30 * DAY + 22 * HOUR);
    for (let round = 0; round < 4; round++) await runner.advanceAll();
    expect((await schedules.get(schedule.id))?.nextDue).toBe(clock.now() + 22 * HOUR);
  });

  it('a schedule makes one task of a run that was cut off before it was recorded', async () => {
    const { fixture, clock, runner, store, schedules } = await openSchedules();
    const schedule = await added(schedules);
    clock.advance(22 * HOUR);
    const broken = createScheduleRunner({
      store: { ...store, record: () => Promise.reject(new Error('the power is gone')) },
      tasks: fixture.service,
      selections: fixture.selections,
      clock,
      log: silentLogger,
    });
    await broken.advanceAll();
    await runner.advanceAll();
    expect(await fixture.service.list({ limit: 10 })).toHaveLength(1);
    expect(await schedules.runs(schedule.id, 10)).toHaveLength(1);
  });

  it('a schedule is skipped, and reports it, while the run before is not over', async () => {
    const { fixture, clock, runner, schedules } = await openSchedules();
    hang(fixture);
    const schedule = await added(schedules);
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    clock.advance(DAY);
    await runner.advanceAll();
    const [latest] = await schedules.runs(schedule.id, 10);
    expect(latest).toMatchObject({ state: 'skipped', taskId: null });
    expect(latest?.detail).toContain('not over yet');
    expect(await schedules.runNow(schedule)).toBeNull();
  });

  it('a schedule holds its task when its hours are over and goes on when they come back', async () => {
    const { fixture, clock, runner, schedules, schedule, taskId } = await openNightRun();

    clock.advance(8 * HOUR);
    await runner.advanceAll();
    expect((await fixture.service.get(taskId))?.state).toBe('paused');
    expect(await schedules.runs(schedule.id, 1)).toMatchObject([{ state: 'held' }]);

    clock.advance(16 * HOUR);
    await runner.advanceAll();
    expect((await fixture.service.get(taskId))?.state).not.toBe('paused');
  });

  it('a task whose hold was cut off halfway is held by the next poll and resumes with the hours', async () => {
    const { fixture, clock, runner, store, schedules } = await openSchedules();
    hang(fixture);
    const schedule = await added(schedules, { cron: '0 1 * * *', hours: '01:00-06:00' });
    clock.advance(HOUR);
    await runner.advanceAll();
    const taskId = (await schedules.runs(schedule.id, 1))[0]?.taskId ?? 0;
    const cut = () => Promise.reject(new Error('the power is gone'));
    const { service: tasks, selections } = fixture;
    const rest = { selections, clock, log: silentLogger };
    clock.advance(5 * HOUR);
    await createScheduleRunner({ ...rest, tasks, store: { ...store, changeRun: cut } }).advanceAll();
    await createScheduleRunner({ ...rest, tasks: { ...tasks, pause: cut }, store }).advanceAll();
    await runner.advanceAll();
    expect((await tasks.get(taskId))?.state).toBe('paused');
    clock.advance(19 * HOUR);
    await runner.advanceAll();
    expect((await tasks.get(taskId))?.state).toMatch(/pending|running/);
  });

  it('a task that an operator has paused stays paused when the hours of its schedule return', async () => {
    const { fixture, clock, runner, taskId } = await openNightRun();
    await fixture.service.pause(taskId);
    for (const hours of [8, 16]) {
      clock.advance(hours * HOUR);
      await runner.advanceAll();
      expect((await fixture.service.get(taskId))?.state).toBe('paused');
    }
  });

  it('a held task that an operator resumes goes on outside the hours of its schedule', async () => {
    const { fixture, clock, runner, taskId } = await openNightRun();
    clock.advance(8 * HOUR);
    await runner.advanceAll();
    await fixture.service.resume(taskId);
    await runner.advanceAll();
    expect((await fixture.service.get(taskId))?.state).not.toBe('paused');
  });

  it.each(['pause', 'stop'] as const)(
    'a schedule with overrun %s that an operator runs outside its hours goes on there',
    async (overrun) => {
      const { fixture, clock, runner, schedules } = await openSchedules();
      hang(fixture);
      const schedule = await added(schedules, { hours: '22:00-06:00', overrun });
      clock.advance(12 * HOUR);
      const run = await schedules.runNow(schedule);
      await runner.advanceAll();
      expect((await fixture.service.get(run?.taskId ?? 0))?.state).toMatch(/pending|running/);
    },
  );

  it('a schedule with overrun stop ends its task when its hours are over', async () => {
    const { fixture, clock, runner, schedules, schedule } = await openNightRun({ overrun: 'stop' });
    clock.advance(8 * HOUR);
    await runner.advanceAll();
    const [run] = await schedules.runs(schedule.id, 1);
    expect(run).toMatchObject({ state: 'over', detail: 'stopped when its hours were over' });
    expect(await fixture.service.get(run?.taskId ?? 0)).toMatchObject({
      state: 'aborted',
      reason: 'stopped by schedule nightly',
    });
  });

  it('a schedule with overrun finish lets its task go on after its hours', async () => {
    const { fixture, clock, runner, schedules, schedule } = await openNightRun({ overrun: 'finish' });
    clock.advance(8 * HOUR);
    await runner.advanceAll();
    const [run] = await schedules.runs(schedule.id, 1);
    expect(run).toMatchObject({ state: 'started' });
    expect((await fixture.service.get(run?.taskId ?? 0))?.state).toMatch(/pending|running/);
  });

  it('a schedule of an invalidation marks tiles as stale', async () => {
    const { fixture, clock, runner, schedules } = await openSchedules();
    const seeded = await fixture.service.create(
      { layer: 'roads', zoomStart: 0, zoomStop: 2 },
      author('tester'),
    );
    await fixture.ended(seeded.id);
    const schedule = await added(schedules, { work: 'invalidate', draft: { zoomStart: 1, zoomStop: 2 } });
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 1)).toMatchObject([
      { state: 'over', taskId: null, detail: '20 tiles marked as stale' },
    ]);
  });

  it('a schedule waits for its hours when it is due outside of them', async () => {
    const { clock, runner, schedules } = await openSchedules();
    const schedule = await added(schedules, { cron: '0 12 * * *', hours: '22:00-06:00' });
    const midnight = clock.now();
    expect(schedules.nextRuns(schedule, 1)).toEqual([midnight + 22 * HOUR]);
    clock.advance(12 * HOUR);
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 1)).toEqual([]);
    clock.advance(10 * HOUR);
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 1)).toMatchObject([{ dueAt: midnight + 12 * HOUR }]);
  });

  it('a schedule records that its task could not be made, and why', async () => {
    const { clock, runner, schedules, store } = await openSchedules();
    const schedule = await added(schedules);
    await store.replace(schedule.id, {
      declaration: { ...NIGHTLY, layer: 'gone' },
      origin: 'interface',
      nextDue: schedule.nextDue,
    });
    clock.advance(22 * HOUR);
    await runner.advanceAll();
    expect(await schedules.runs(schedule.id, 1)).toMatchObject([
      { state: 'failed', detail: 'There is no layer gone.' },
    ]);
  });

  it.each([
    [{ cron: 'whenever' }, 'cron'],
    [{ draft: { zoomStart: 3, zoomStop: 1 } }, 'zoomStart'],
    [{ layer: 'nowhere' }, 'no layer nowhere'],
  ])('a schedule is refused with %j, and nothing is kept', async (wrong, message) => {
    const { schedules } = await openSchedules();
    await expect(schedules.create({ ...NIGHTLY, ...wrong }, 'tester')).rejects.toThrow(message);
    expect(await schedules.list(null)).toEqual([]);
  });

  it('a schedule has a name of its own in its layer', async () => {
    const { schedules } = await openSchedules();
    await added(schedules);
    expect(await schedules.create(NIGHTLY, 'tester')).toBeNull();
  });
});

describe('schedules of the configuration file', () => {
  it('schedules of the configuration file are there after the start, keep what was due, and go when they are taken out', async () => {
    const { clock, open, schedules } = await openSchedules([NIGHTLY]);
    const [first] = await schedules.list('roads');
    expect(first).toMatchObject({ name: 'nightly', origin: 'configuration' });
    const own = await added(schedules, { name: 'own' });

    clock.advance(DAY);
    const again = await open([{ ...NIGHTLY, draft: { zoomStop: 2 } }]);
    expect(await again.list('roads')).toMatchObject([
      { id: first?.id, draft: { zoomStop: 2 } },
      { id: own.id, origin: 'interface' },
    ]);
    const after = await open([]);
    expect(await after.list(null)).toMatchObject([{ name: 'own' }]);
  });

  it('schedules of the configuration file are not put off at a start by a clock that was ahead', async () => {
    const { clock, store, open, schedules } = await openSchedules([NIGHTLY]);
    const [{ id = 0 } = {}] = await schedules.list('roads');
    await store.replace(id, {
      declaration: NIGHTLY,
      origin: 'configuration',
      nextDue: clock.now() + 400 * DAY,
    });
    const [again] = await (await open([NIGHTLY])).list('roads');
    expect(again?.nextDue).toBe(clock.now() + 22 * HOUR);
  });

  it('schedules of the configuration file are due again when they are switched on again', async () => {
    const { clock, open } = await openSchedules([{ ...NIGHTLY, enabled: false }]);
    clock.advance(DAY);
    const [again] = await (await open([NIGHTLY])).list('roads');
    expect(again?.nextDue).toBe(clock.now() + 22 * HOUR);
  });
});
