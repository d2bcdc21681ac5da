import { beforeAll, beforeEach, expect, it } from 'vitest';
import { finished, newTask, reportOf, WIDE } from '../../../test/contracts/task-store.ts';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { createPostgresDatabase } from '../../../test/fixtures/shared-services.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import type { Database } from '../../db/database.ts';
import { openDatabase } from '../../db/open-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { TaskWatch } from '../task-watch.ts';
import { NO_COUNTS } from './lease.ts';
import { createLeaseStore } from './lease-store.ts';
import { lockTasks } from './task-rows.ts';
import { createTaskStore, type NewTask } from './task-store.ts';

const quiet = { clock: systemClock, log: silentLogger };

let location = '';
let fixture: Awaited<ReturnType<typeof openFixture>>;

beforeAll(async () => {
  location = await createPostgresDatabase();
  fixture = await openFixture();
});
beforeEach(() => fixture.database.change.deleteFrom('tasks').execute());

async function openFixture() {
  const database = await openDatabase({ location, ...quiet });
  whenOver(() => database.close());
  const tasks = createTaskStore(database);
  const leases = createLeaseStore({ database, clock: systemClock, random: () => 0.5 });
  const create = async (task: NewTask) => {
    const [created] = await tasks.createAll([task], systemClock.now(), 1000);
    if (!created) throw new Error('refused');
    return created;
  };
  return { database, tasks, leases, create };
}

/** Holds a task's row lock until it is released. */
async function holdRow(database: Database, id: number): Promise<() => Promise<void>> {
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let held = () => {};
  const holds = new Promise<void>((resolve) => {
    held = resolve;
  });
  const holding = database.transaction(null, async (query) => {
    await lockTasks(query, [id]);
    held();
    await released;
  });
  await holds;
  return async () => {
    letGo();
    await holding;
  };
}

it('a change of one task delays no lease, report or stop of another', async () => {
  const { database, tasks, leases, create } = fixture;
  const held = await create(newTask(8));
  const other = await create(newTask(8));
  const letGo = await holdRow(database, held.id);
  const lease = await leases.take(WIDE);
  expect(lease).toMatchObject({ taskId: other.id });
  if (!lease) return;
  const counts = { ...NO_COUNTS, processed: 1n, made: 1 };
  expect(await leases.report(reportOf(lease, { doneSteps: 1, counts }))).toBe('go-on');
  expect(await tasks.cancel({ ids: [other.id], states: ['running'] }, 'enough', 1)).toHaveLength(1);
  await letGo();
  expect(await leases.take(WIDE)).toMatchObject({ taskId: held.id });
});

it('many workers on several connections do each step of several tasks once', async () => {
  const fixtures = [fixture, await openFixture(), await openFixture()];
  const ids: number[] = [];
  for (const side of [5, 3, 4]) ids.push((await fixture.create(newTask(side, { threadCount: 6 }))).id);

  async function work({ leases, tasks }: typeof fixture, owner: string): Promise<void> {
    for (;;) {
      const lease = await leases.take({ owner, freeThreads: 1, workers: 9 });
      if (lease) {
        expect(await leases.report(finished(lease))).toBe('go-on');
        continue;
      }
      const left = await tasks.active(null);
      if (left.length === 0) return;
      await systemClock.sleep(5);
    }
  }

  await Promise.all(fixtures.flatMap((each, h) => [0, 1, 2].map((w) => work(each, `${h}-${w}`))));
  for (const id of ids) {
    const task = await fixture.tasks.get(id);
    expect(task).toMatchObject({ state: 'done', tilesProcessed: task?.tilesTotal });
  }
});

it('reports of one worker go together, and one that is refused does not spoil the others', async () => {
  const { tasks, leases, create } = fixture;
  const { id } = await create(newTask(64, { threadCount: 3 }));
  const wish = { owner: 'a', freeThreads: 1, workers: 1 };
  const [a, b, c] = [await leases.take(wish), await leases.take(wish), await leases.take(wish)];
  if (!a || !b || !c) throw new Error('nothing to take');
  await leases.free({ token: b.token }, false);
  const counts = { ...NO_COUNTS, processed: 1n, made: 1 };
  const answers = await Promise.all([a, b, c].map((lease) => leases.report(reportOf(lease, { counts }))));
  expect(answers).toEqual(['go-on', 'over', 'go-on']);
  expect((await tasks.get(id))?.tilesProcessed).toBe(2n);
});

it('a change is sent though an older transaction is still open, and that one’s change when it has ended', async () => {
  const { database, tasks, create } = fixture;
  const first = await create(newTask(8));
  const second = await create(newTask(8));
  const watch = new TaskWatch({ database, store: tasks, ...quiet }, await tasks.changeHorizon());
  whenOver(() => watch.close());
  const reported: string[] = [];
  await watch.subscribe(null, ({ task }) => void reported.push(`${task.id} ${task.state}`));

  let letGo = () => {};
  const waiting = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const slow = database.transaction(null, async (query) => {
    const { changeNumber } = await import('../../db/numbers.ts');
    const event = await changeNumber(query);
    begun();
    await waiting;
    await query
      .updateTable('tasks')
      .set({ event_id: event, state: 'paused' })
      .where('id', '=', first.id)
      .execute();
  });
  await hasBegun;
  await tasks.pause(second.id);
  await eventually('the later change is reported', () => reported.includes(`${second.id} paused`));
  letGo();
  await slow;
  await eventually('the earlier change is reported', () => reported.includes(`${first.id} paused`));
  expect(reported.filter((each) => each === `${second.id} paused`)).toHaveLength(1);
});

it('a client that reconnects with the last event id gets all changes since, also simultaneous ones', async () => {
  const { database, tasks, create } = fixture;
  const watch = new TaskWatch({ database, store: tasks, ...quiet }, await tasks.changeHorizon());
  whenOver(() => watch.close());
  const ids = [(await create(newTask(8))).id, (await create(newTask(8))).id, (await create(newTask(8))).id];
  const all: { id: number; task: number }[] = [];
  await watch.subscribe(0, ({ id, task }) => void all.push({ id, task: task.id }));
  expect(all.map(({ task }) => task)).toEqual(ids);
  const before = all.at(-1)?.id ?? 0;
  await tasks.cancel({ states: ['pending'] }, 'all together', 1);
  const back: { id: number; task: number }[] = [];
  await watch.subscribe(before, ({ id, task }) => void back.push({ id, task: task.id }));
  expect(new Set(back.map(({ task }) => task))).toEqual(new Set(ids));
  const again: number[] = [];
  await watch.subscribe(back[0]?.id ?? 0, ({ task }) => void again.push(task.id));
  expect(again).toEqual(expect.arrayContaining([ids[1], ids[2]]));
});
