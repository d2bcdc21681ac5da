import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Database, type Lead, leadAlone } from '../../db/database.ts';
import { invalid, isTilewardenError, shortened } from '../../domain/errors.ts';
import { type Clock, isoTime } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { repeat } from '../../lib/repeat.ts';
import type { TaskService } from '../open-task-service.ts';
import type { SelectionWork } from '../selection-work.ts';
import { isFinal } from '../task.ts';
import { scheduleAuthor, type TaskDraft } from '../task-draft.ts';
import type { Schedule, ScheduleDeclaration, ScheduleRun } from './schedule.ts';
import { createScheduleStore, type ScheduleStore } from './schedule-store.ts';
import { createTimetable } from './timetable.ts';

interface ScheduleServiceOptions extends Omit<ScheduleRunnerOptions, 'store'> {
  readonly database: Database;
  readonly tasks: Omit<TaskService, 'close'>;
  /** Schedules of the configuration file. */
  readonly declared: readonly ScheduleDeclaration[];
  readonly lead?: Lead;
}

/** Milliseconds. Cron expressions count minutes, so a poll comes at each full one too. */
const POLL_INTERVAL_MS = 5000;
const MINUTE = 60_000;
/** Schedules per poll whose next time is computed again: a timetable takes about a millisecond. */
const CHECKED_AT_ONCE = 20;
const CONFIGURATION = 'configuration';
const HOLDING = 'is being paused';

export type ScheduleService = Awaited<ReturnType<typeof openScheduleService>>;

/** Every promise of a change resolves when it is durable. */
export async function openScheduleService(options: ScheduleServiceOptions) {
  const { database, tasks, declared, lead = leadAlone, clock, log } = options;
  const store = createScheduleStore(database);
  const runner = createScheduleRunner({ ...options, store });
  await takeOver(store, declared, clock);
  const pause = () => Math.min(POLL_INTERVAL_MS, MINUTE - (clock.now() % MINUTE));
  const failure = 'schedules could not be checked';
  const polling = lead((signal) =>
    repeat(() => runner.advanceAll(), { clock, log, pause, failure, level: 'error' }, signal),
  );

  async function check({ layer, work, draft, ...times }: ScheduleDeclaration): Promise<void> {
    if (createTimetable(times).dueAfter(clock.now()) === null) {
      throw invalid(`cron must name a day that exists, which ${shortened(times.cron)} does not.`);
    }
    // Invalidations have the same fields as seeds.
    await tasks.estimate({ ...draft, layer, type: work === 'invalidate' ? 'seed' : work });
  }

  function nextRuns(
    schedule: Pick<Schedule, 'cron' | 'timeZone' | 'hours' | 'nextDue'>,
    count: number,
  ): readonly number[] {
    const timetable = createTimetable(schedule);
    const begins: number[] = [];
    for (let due = schedule.nextDue; due !== null && begins.length < count; ) {
      const begin = timetable.mayBeginAt(Math.max(due, clock.now()));
      begins.push(begin);
      due = timetable.dueAfter(begin);
    }
    return begins;
  }

  return {
    list: store.list,
    get: store.get,
    /**
     * Throws `layer-unknown`, `request-invalid` or `parameter-refused`, and then has changed nothing.
     * Null when the layer has a schedule of that name.
     */
    async create(declaration: ScheduleDeclaration, createdBy: string) {
      await check(declaration);
      const nextDue = firstDue(declaration, clock);
      return store.create({ declaration, origin: 'interface', createdBy, nextDue }, clock.now());
    },
    async replace(id: number, declaration: ScheduleDeclaration) {
      await check(declaration);
      return store.replace(id, { declaration, origin: 'interface', nextDue: firstDue(declaration, clock) });
    },
    remove: store.remove,
    runs: store.runs,
    /** When it will begin next, if known; none while it is switched off. */
    nextRuns,
    /** When a schedule would begin that is not recorded. Throws as `create` does. */
    async preview(declaration: ScheduleDeclaration, count: number): Promise<readonly number[]> {
      await check(declaration);
      return nextRuns({ ...declaration, nextDue: firstDue(declaration, clock) }, count);
    },
    takeOver: (now: readonly ScheduleDeclaration[]) => takeOver(store, now, clock),
    /** Immediately, outside its hours too. Null while the previous run is unfinished. */
    runNow: (schedule: Schedule) => runner.startNow(schedule),
    close: polling.close,
  };
}

/** The file overrides schedules of the same name; a run that was due while the server was down stays due. */
async function takeOver(
  store: ScheduleStore,
  declared: readonly ScheduleDeclaration[],
  clock: Clock,
): Promise<void> {
  const nameOf = ({ layer, name }: { layer: string; name: string }) => JSON.stringify([layer, name]);
  const missing = new Map(declared.map((declaration) => [nameOf(declaration), declaration]));
  for (const known of await store.list(null)) {
    const declaration = missing.get(nameOf(known));
    missing.delete(nameOf(known));
    if (declaration) {
      const sameTimes = known.cron === declaration.cron && known.timeZone === declaration.timeZone;
      const first = firstDue(declaration, clock);
      const nextDue = sameTimes && first !== null ? Math.min(known.nextDue ?? first, first) : first;
      await store.replace(known.id, { declaration, origin: CONFIGURATION, nextDue });
    } else if (known.origin === CONFIGURATION) await store.remove(known.id);
  }
  for (const declaration of missing.values()) {
    const nextDue = firstDue(declaration, clock);
    await store.create(
      { declaration, origin: CONFIGURATION, createdBy: CONFIGURATION, nextDue },
      clock.now(),
    );
  }
}

function firstDue(declaration: ScheduleDeclaration, clock: Clock): number | null {
  return declaration.enabled ? createTimetable(declaration).dueAfter(clock.now()) : null;
}

interface ScheduleRunnerOptions extends Env {
  readonly store: ScheduleStore;
  readonly tasks: Pick<TaskService, 'create' | 'get' | 'cancel' | 'pause' | 'resume'>;
  readonly selections: Pick<SelectionWork, 'invalidateDraft'>;
  /** Called for a run that could not start its task, or whose task failed; perhaps more than once. */
  readonly onFailed?: ((schedule: Schedule, run: ScheduleRun) => void) | undefined;
}

/** Runs schedules. Interrupted work is done once by the next poll, not twice. */
export function createScheduleRunner(options: ScheduleRunnerOptions) {
  const { store, tasks, selections, onFailed, clock, log } = options;
  /** The id of the last schedule that `bringForward` has checked. */
  let checked = 0;

  async function advanceAll(): Promise<void> {
    for (const schedule of await store.dueOrUnderWay(clock.now())) {
      await advance(schedule).catch((error: unknown) =>
        log.error(
          { err: error, layer: schedule.layer, schedule: schedule.name },
          'a schedule could not be run',
        ),
      );
      await nextTurn();
    }
    await bringForward();
  }

  /** A clock that was ahead has put schedules off: none is due later than the first time from now on. */
  async function bringForward(): Promise<void> {
    const some = await store.waiting(clock.now(), checked, CHECKED_AT_ONCE);
    checked = some.length < CHECKED_AT_ONCE ? 0 : (some.at(-1)?.id ?? 0);
    for (const schedule of some) {
      const first = createTimetable(schedule).dueAfter(clock.now());
      if (first !== null && first < (schedule.nextDue ?? first)) await store.bringForward(schedule, first);
      await nextTurn();
    }
  }

  async function startNow(schedule: Schedule): Promise<ScheduleRun | null> {
    if (await follow(schedule)) return null;
    const run = await start(schedule, clock.now());
    await store.record(schedule.id, run, schedule.nextDue);
    return run;
  }

  async function advance(schedule: Schedule): Promise<void> {
    const unfinished = await follow(schedule);
    const now = clock.now();
    if (!schedule.enabled || schedule.nextDue === null || schedule.nextDue > now) return;
    const timetable = createTimetable(schedule);
    if (timetable.mayBeginAt(now) > now) return;
    const dueAt = timetable.latestDue(schedule.nextDue, now);
    const run = unfinished ? skipped(dueAt, unfinished) : await start(schedule, dueAt);
    await store.record(schedule.id, run, timetable.dueAfter(now));
  }

  /** Holds, stops or resumes the unfinished run by its hours; returns it if it is still unfinished. */
  async function follow(schedule: Schedule): Promise<ScheduleRun | null> {
    const run = await store.openRun(schedule.id);
    if (!run) return null;
    const change = (state: ScheduleRun['state'], detail: string | null) =>
      store.changeRun(schedule.id, run.dueAt, state, detail);
    const task = run.taskId === null ? null : await tasks.get(run.taskId);
    if (!task || isFinal(task.state)) {
      const hasFailed = task?.outcome === 'failed';
      if (hasFailed) onFailed?.(schedule, { ...run, detail: task.reason });
      await change(hasFailed ? 'failed' : 'over', task?.reason ?? null);
      return null;
    }
    const now = clock.now();
    const { mayBeginAt } = createTimetable(schedule);
    const opens = mayBeginAt(now);
    const isHeld = run.state === 'held';
    if (opens <= now && isHeld) {
      await tasks.resume(task.id);
      await change('started', null);
    }
    // What a user did counts more than hours: ran the schedule outside them, paused its task, or resumed a held one.
    const isByHand = [run.dueAt, run.at].every((time) => mayBeginAt(time) > time);
    const isResumed = isHeld && run.detail !== HOLDING;
    if (opens <= now || isByHand || isResumed || task.state === 'paused' || schedule.overrun === 'finish')
      return run;
    if (schedule.overrun === 'stop') {
      await tasks.cancel({ ids: [task.id], states: ['pending', 'running'] }, `schedule ${schedule.name}`);
      await change('over', 'stopped when its hours were over');
      return null;
    }
    // Recorded first: a task that was paused without it would never be resumed.
    await change('held', HOLDING);
    await tasks.pause(task.id);
    await change('held', `waits until ${isoTime(opens)}`);
    return run;
  }

  /** The key makes one task of a run, however often it is begun. */
  async function start(schedule: Schedule, dueAt: number): Promise<ScheduleRun> {
    const { id, layer, name, work, draft } = schedule;
    const key = { text: `schedule-${id}-${dueAt}`, digest: null };
    try {
      if (work === 'invalidate') return await invalidate({ ...draft, layer }, dueAt);
      const task = await tasks.create({ ...draft, layer, type: work, key }, scheduleAuthor(name));
      return { dueAt, at: clock.now(), state: 'started', taskId: task.id, detail: null };
    } catch (error) {
      if (!isTilewardenError(error)) throw error;
      log.warn({ layer, schedule: name, reason: error.message }, 'a schedule could not start its task');
      const failed = runWithoutTask(dueAt, 'failed', error.message);
      onFailed?.(schedule, failed);
      return failed;
    }
  }

  /** A repeat does no harm. */
  async function invalidate(draft: TaskDraft, dueAt: number): Promise<ScheduleRun> {
    const tiles = await selections.invalidateDraft(draft);
    return runWithoutTask(dueAt, 'over', `${tiles} tiles marked as stale`);
  }

  function skipped(dueAt: number, unfinished: ScheduleRun): ScheduleRun {
    return runWithoutTask(dueAt, 'skipped', `the run of ${isoTime(unfinished.dueAt)} is not over yet`);
  }

  function runWithoutTask(dueAt: number, state: ScheduleRun['state'], detail: string): ScheduleRun {
    return { dueAt, at: clock.now(), state, taskId: null, detail };
  }

  return { advanceAll, startNow };
}
