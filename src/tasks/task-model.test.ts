import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { finished, newTask, reportOf, WIDE } from '../../test/contracts/task-store.ts';
import { openTestDatabase } from '../../test/fixtures/databases.ts';
import { inLength } from '../../test/fixtures/length.ts';
import type { Database } from '../db/database.ts';
import { systemClock } from '../lib/clock.ts';
import { type Lease, NO_COUNTS } from './store/lease.ts';
import { createLeaseStore, type LeaseStore } from './store/lease-store.ts';
import { createTaskStore, type TaskStore } from './store/task-store.ts';
import { isFinal, type TaskState } from './task.ts';
import { stepsOf } from './task-plan.ts';

/** What we expect to be true of a task, whatever has happened. */
interface Expected {
  state: TaskState;
  processed: bigint;
  readonly total: bigint;
  readonly layer: string;
}

interface Model {
  tasks: Map<number, Expected>;
}

interface Real {
  readonly tasks: TaskStore;
  readonly leases: LeaseStore;
  held: Lease[];
  now: number;
}

type TaskCommand = fc.AsyncCommand<Model, Real>;

/** Which changes may be seen from one look to the next; several may lie between. */
const LATER: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: ['pending', 'running', 'paused', 'done', 'aborted'],
  running: ['running', 'pending', 'paused', 'done', 'aborted'],
  paused: ['paused', 'pending', 'running', 'done', 'aborted'],
  done: ['done'],
  aborted: ['aborted'],
};

async function look(model: Model, real: Real): Promise<void> {
  for (const [id, expected] of model.tasks) {
    const task = await real.tasks.get(id);
    if (!task) throw new Error(`task ${id} is lost`);
    expect(LATER[expected.state]).toContain(task.state);
    expect(task.tilesProcessed).toBeGreaterThanOrEqual(expected.processed);
    expect(task.tilesProcessed).toBeLessThanOrEqual(task.tilesTotal);
    expect(task.tilesTotal).toBe(expected.total);
    if (task.state === 'done') expect(task.tilesProcessed).toBe(task.tilesTotal);
    if (task.state === 'aborted') expect(task.reason).not.toBeNull();
    expect(task.endedAt !== null).toBe(isFinal(task.state));
    const { made, failed } = task.counters;
    expect(BigInt(made + failed)).toBe(task.tilesProcessed);
    expected.state = task.state;
    expected.processed = task.tilesProcessed;
  }
}

function command(name: string, act: (model: Model, real: Real) => Promise<void>): TaskCommand {
  return {
    check: () => true,
    async run(model, real) {
      await act(model, real);
      await look(model, real);
    },
    toString: () => name,
  };
}

const submit = (side: number, layer: string, retries: number, limit: number) =>
  command(`submit(${side}, ${layer})`, async (model, real) => {
    const more = { layer, tileFailureRetryCount: retries, totalFailuresBeforeAborting: limit };
    const [task] = await real.tasks.createAll([newTask(side, more)], real.now, 1000);
    if (!task) throw new Error('refused');
    for (const id of model.tasks.keys()) expect(task.id).toBeGreaterThan(id);
    model.tasks.set(task.id, { state: 'pending', processed: 0n, total: BigInt(side * side), layer });
  });

const take = (owner: string) =>
  command(`take(${owner})`, async (_, real) => {
    const lease = await real.leases.take({ ...WIDE, owner });
    if (lease) real.held.push(lease);
  });

/** The holder finishes its lease, well or with the first step failing. */
const work = (which: number, fails: boolean) =>
  command(`work(${which}${fails ? ', fails' : ''})`, async (_, real) => {
    const [lease] = real.held.splice(which % Math.max(1, real.held.length), 1);
    if (!lease) return;
    if (lease.kind === 'retry') {
      const ids = lease.steps.map((step) => step.id);
      const tiles = lease.steps.reduce((sum, step) => sum + step.tiles, 0n);
      const counts = fails ? NO_COUNTS : { ...NO_COUNTS, processed: tiles, made: Number(tiles) };
      const retried = new Map(ids.map((id) => [id, fails ? { reason: 'down' } : null]));
      await real.leases.report(reportOf(lease, { counts, retried, intent: 'finish' }));
      return;
    }
    const [first, ...rest] = stepsOf(lease.plan, lease.piece, lease.doneSteps);
    if (!fails || !first) {
      await real.leases.report(finished(lease));
      return;
    }
    const counts = { ...NO_COUNTS, processed: BigInt(rest.length), made: rest.length };
    const failures = [{ z: first.z, rect: first.rect, tiles: 1n, reason: 'down' }];
    const doneSteps = lease.doneSteps + 1 + rest.length;
    await real.leases.report(reportOf(lease, { doneSteps, counts, failures, intent: 'finish' }));
  });

/** A late report of a worker whose lease may be long over. */
const progress = (which: number) =>
  command(`progress(${which})`, async (_, real) => {
    const lease = real.held[which % Math.max(1, real.held.length)];
    if (lease?.kind !== 'piece') return;
    const [step] = stepsOf(lease.plan, lease.piece, lease.doneSteps);
    if (!step) return;
    const counts = { ...NO_COUNTS, processed: 1n, made: 1 };
    const report = reportOf(lease, { doneSteps: lease.doneSteps + 1, counts, intent: 'hand-back' });
    await real.leases.report(report);
    await real.leases.report(report);
  });

const workerDies = (owner: string) =>
  command(`workerDies(${owner})`, async (_, real) => void (await real.leases.free({ owner }, true)));

const restart = () =>
  command('restart', async (model, real) => {
    await real.leases.adopt();
    for (const id of model.tasks.keys()) expect((await real.tasks.get(id))?.state).not.toBe('running');
  });

const kill = (states: readonly ('pending' | 'running' | 'paused')[], layer: string | null) =>
  command(`kill(${states.join('+')}, ${layer ?? 'all'})`, async (model, real) => {
    const stopped = await real.tasks.cancel(
      { states, ...(layer && { layers: [layer] }) },
      'stopped',
      real.now,
    );
    for (const { id } of stopped) expect((await real.tasks.get(id))?.state).toBe('aborted');
    for (const [id, expected] of model.tasks) {
      if (layer && expected.layer !== layer) continue;
      const state = (await real.tasks.get(id))?.state ?? 'done';
      expect(states as readonly TaskState[]).not.toContain(state);
    }
  });

const pause = (which: number) =>
  command(`pause(${which})`, async (model, real) => {
    const id = [...model.tasks.keys()][which % Math.max(1, model.tasks.size)];
    if (id !== undefined) await real.tasks.pause(id);
  });

const resume = (which: number) =>
  command(`resume(${which})`, async (model, real) => {
    const id = [...model.tasks.keys()][which % Math.max(1, model.tasks.size)];
    if (id !== undefined) await real.tasks.resume(id);
  });

const clockJumps = (ms: number) =>
  command(`clockJumps(${ms})`, async (_, real) => {
    real.now += ms;
  });

const owner = fc.constantFrom('a', 'b');
const layer = fc.constantFrom('roads', 'rivers');
const state = fc.constantFrom('pending' as const, 'running' as const, 'paused' as const);
const commands = fc.commands(
  [
    fc.tuple(fc.integer({ min: 1, max: 5 }), layer, fc.nat(2), fc.nat(3)).map((args) => submit(...args)),
    owner.map(take),
    owner.map(take),
    fc.tuple(fc.nat(5), fc.boolean()).map((args) => work(...args)),
    fc.nat(5).map((which) => work(which, false)),
    fc.nat(5).map(progress),
    owner.map(workerDies),
    fc.constant(restart()),
    fc.tuple(fc.uniqueArray(state, { minLength: 1 }), fc.option(layer)).map((args) => kill(...args)),
    fc.nat(5).map(pause),
    fc.nat(5).map(resume),
    fc.constantFrom(1000, 60_000, -2 * 86_400_000, 400 * 86_400_000).map(clockJumps),
  ],
  { maxCommands: 60 },
);

let folder = '';
let database: Database;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tilewarden-model-'));
  database = await openTestDatabase(folder);
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

/** Work without further faults: everything that is not paused comes to its end. */
async function drain(model: Model, real: Real): Promise<void> {
  real.held = [];
  await real.leases.adopt();
  for (let round = 0; round < 50; round++) {
    for (let lease = await real.leases.take(WIDE); lease; lease = await real.leases.take(WIDE)) {
      real.held = [lease];
      await work(0, false).run(model, real);
    }
    real.now += 3_600_000;
  }
  for (const { state: reached } of model.tasks.values())
    expect(['done', 'aborted', 'paused']).toContain(reached);
}

it('no task is lost or goes backwards, and every count is exact, whatever happens to tasks', async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const clock = { ...systemClock, now: () => real.now };
      const real: Real = {
        tasks: createTaskStore(database),
        leases: createLeaseStore({ database, clock, random: () => 0.5 }),
        held: [],
        now: 1_700_000_000_000,
      };
      await real.tasks.cancel({ states: ['pending', 'running', 'paused'] }, 'an earlier run', 0);
      await real.tasks.forget({ endedBefore: Number.MAX_SAFE_INTEGER, keep: 0 });
      const model: Model = { tasks: new Map() };
      await fc.asyncModelRun(() => ({ model, real }), list);
      await drain(model, real);
    }),
    { numRuns: inLength(8, 2000) },
  );
});
