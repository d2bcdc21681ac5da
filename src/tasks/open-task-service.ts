import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../catalog/catalog.ts';
import { countedSet, type ParameterSets } from '../catalog/parameter-sets.ts';
import { type Database, type Lead, leadAlone } from '../db/database.ts';
import { VISITS_PER_TURN } from '../domain/area-cover.ts';
import { invalid, isTilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import { repeat } from '../lib/repeat.ts';
import { Turnstile } from '../lib/semaphore.ts';
import { createPace } from '../lib/yielding.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { placesToMark, withDense } from '../removal/mark-places.ts';
import type { Removals } from '../removal/removals.ts';
import { tilesSince } from '../storage/read-tiles.ts';
import type { TilePlace } from '../storage/store.ts';
import { estimateTask } from './estimate-task.ts';
import { exportIdOf } from './exporter.ts';
import type { LeaseRunOptions } from './lease-run.ts';
import type { UsedPages } from './pages-by-use.ts';
import { partitionOf } from './perform-step.ts';
import { makesTiles, type PlannedTask, planRetry, planTask } from './plan-task.ts';
import { createLeaseStore, type LeaseStore, openLeaseReaper } from './store/lease-store.ts';
import { TASKS_STOPPED, TASKS_WAITING } from './store/task-rows.ts';
import { createTaskStore, type NewTask, type TaskStore } from './store/task-store.ts';
import type { Archive, ArchiveOrder, Task } from './task.ts';
import type { TaskAuthor, TaskDraft } from './task-draft.ts';
import type { TaskFilter, TaskListing } from './task-filter.ts';
import { coverOf, type TaskPlan, type ZoomProgress, zoomProgress } from './task-plan.ts';
import { TaskRunner } from './task-runner.ts';
import { type TaskEvent, TaskWatch } from './task-watch.ts';

/** Limit of attempts to read a consistent position of a running task. */
const POSITION_ATTEMPTS = 3;

export interface TaskSettings {
  /** Worker processes; 0: this node performs no tasks. */
  readonly workers: number;
  /** Metatiles in flight over all tasks of this node. */
  readonly maxThreads: number;
  /** A request's `threadCount` is reduced to this. */
  readonly maxThreadCount: number;
  /** Tasks that may wait or run at the same time; a further one is refused. */
  readonly maxUnfinished: number;
  /** Finished tasks are kept this long, and this many. */
  readonly keepDays: number;
  readonly keepFinished: number;
}

interface TaskServiceOptions extends Env, Partial<Pick<LeaseRunOptions, 'exporter'>> {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: TilePipeline;
  readonly removals: Pick<Removals, 'begin' | 'close' | 'fence'>;
  readonly settings: TaskSettings;
  readonly lead?: Lead;
  /** Starts the processes that work, if there are none; without it tasks run in this process. */
  readonly startWorkers?: (() => void) | undefined;
  /** No worker can be alive: the pieces of former ones are free. */
  readonly adopts?: boolean;
  /** Which combinations of parameter values may be stored; all of them when left out. */
  readonly parameterSets?: Pick<ParameterSets, 'require' | 'requireRoom'>;
  readonly usedPages?: UsedPages;
  readonly random: Random;
}

export type TaskService = Awaited<ReturnType<typeof openTaskService>>;

const DAY = 86_400_000;
/** Milliseconds between searches for finished tasks that are older or more than are kept. */
const HISTORY_INTERVAL = 600_000;
/** Earlier tasks that an estimate of time rests on. */
const EARLIER_TASKS = 5;

/** Tasks as the HTTP interface and the command line see them. Every promise of a change resolves when it is durable. */
export async function openTaskService(options: TaskServiceOptions) {
  const { database, catalog, removals, settings, lead = leadAlone, clock, random, log } = options;
  const store = createTaskStore(database);
  const leases = createLeaseStore({ database, clock, random });
  if (options.adopts) await leases.adopt();
  await store.renumber();
  const watch = new TaskWatch({ database, store, clock, log }, await store.changeHorizon());
  const reaper = openLeaseReaper(leases, { clock, log });
  const forgetOld = () =>
    store.forget({ endedBefore: clock.now() - settings.keepDays * DAY, keep: settings.keepFinished });
  const failure = 'old tasks could not be deleted';
  const history = lead((signal) =>
    repeat(forgetOld, { clock, log, pause: HISTORY_INTERVAL, failure }, signal),
  );
  const runner = options.startWorkers ? null : openOwnRunner(options, leases);
  const start = () => options.startWorkers?.();
  const stopListening = database.listen(TASKS_WAITING, start);
  // The notification of another node's task may be lost.
  await watch.subscribe(null, ({ task }) => {
    if (task.state === 'pending' || task.state === 'running') start();
    if (task.outcome === 'ok' || task.outcome === 'stopped') void endMarks(task);
  });
  if ((await store.active(null)).length > 0) start();
  // Only one of the concurrent counts of areas runs in a turn of the event loop.
  const counting = new Turnstile();
  const plan = (draft: TaskDraft) =>
    planTask(draft, {
      layer: (name) => catalog.layer(name),
      maxThreadCount: settings.maxThreadCount,
      pace: createPace(VISITS_PER_TURN, () => counting.pass()),
      ...(options.usedPages && { usedPages: options.usedPages }),
    });
  const paced = (task: Task | null) => task && watch.withPace(task);

  const record = (tasks: readonly NewTask[]) => store.createAll(tasks, clock.now(), settings.maxUnfinished);
  const room = (author: TaskAuthor, count: number) =>
    store.refuseUnlessRoom(author, count, settings.maxUnfinished);

  /** Changes nothing; call `raise` before the task is recorded. */
  async function newTask(draft: TaskDraft, author: TaskAuthor) {
    const planned = await plan(draft);
    const { request, plan: cut, tilesTotal, tiles } = planned;
    if (request.order === 'use' && tilesTotal === 0n) throw invalid('order use: no use is recorded there.');
    if (makesTiles(request.type)) await options.parameterSets?.require(...countedSet(tiles));
    const archive = draft.archive && { archive: await archiveOf(draft.archive, planned) };
    const task: NewTask = {
      request: { ...request, ...archive },
      plan: cut,
      tilesTotal,
      author,
      key: draft.key ?? null,
    };
    return { task, draft };
  }

  async function createAll(drafts: readonly TaskDraft[], author: TaskAuthor): Promise<readonly Task[]> {
    const planned = await Promise.all(drafts.map((draft) => newTask(draft, author)));
    const earlier = await Promise.all(planned.map(({ task }) => store.byKey(author, task.key)));
    const added = planned.filter((_, index) => !earlier[index]);
    if (added.some(({ task }) => task.request.type === 'truncate')) await room(author, added.length);
    const created = [...(await raiseAndRecord(added))];
    return earlier.flatMap((task) => task ?? created.splice(0, 1));
  }

  async function raiseAndRecord(
    added: readonly { readonly task: NewTask; readonly draft: Pick<TaskDraft, 'buffer'> }[],
  ): Promise<readonly Task[]> {
    const newTasks: NewTask[] = [];
    try {
      for (const { task, draft } of added) {
        newTasks.push({ ...task, plan: { ...task.plan, ...(await raisedFor(task, draft)) } });
      }
      const tasks = await record(newTasks);
      for (const [index, { id }] of tasks.entries()) await closeUnlessKept(newTasks[index], id);
      return tasks;
    } catch (error) {
      // Unless they were refused, the tasks may be recorded: the database's response can be lost.
      const refused = isTilewardenError(error) ? newTasks : [];
      for (const { plan: unused } of refused) await removals.close(unused.raised ?? {});
      throw error;
    }
  }

  /** Closes the marks of a task if an earlier task with the same key is returned instead. */
  async function closeUnlessKept(task: NewTask | undefined, id: number): Promise<void> {
    if (!task?.key || task.request.type !== 'truncate') return;
    const recorded = await store.plan(id);
    if (isDeepStrictEqual(recorded?.raised, task.plan.raised)) return;
    await removals.close(task.plan.raised ?? {});
  }

  /** Raised for a truncation before it is recorded: its tiles are hidden from now on, however late it runs. */
  async function raisedFor(
    { request, plan }: Pick<NewTask, 'request' | 'plan'>,
    { buffer }: Pick<TaskDraft, 'buffer'>,
  ): Promise<Pick<TaskPlan, 'raised'>> {
    const { layer, type, gridSet, area, bounds, zoomStart, zoomStop } = request;
    const bound = catalog.layer(layer);
    // Tiles of an adopted cache must not come back when the new tiles of a reseed are evicted.
    if (type === 'reseed' && bound?.declared?.adopt.length)
      await removals.fence(layer, placesOfPlan(plan, gridSet));
    if (type !== 'truncate') return {};
    // A zoom of an area as readers compare it: see `mark-places.ts`.
    const polygons = { polygons: area ?? [], crs: 'grid-set' as const };
    const selection = {
      gridSets: [gridSet],
      bounds,
      zoomStart,
      zoomStop,
      area: polygons,
      ...(buffer && { buffer }),
    };
    const covered = area && bound ? await placesToMark(bound.layer, [selection]) : null;
    const places = covered ?? placesOfPlan(plan, gridSet);
    return { raised: await removals.begin({ layer, places, type: 'hide', ...partitionOf(request) }) };
  }

  /** Ends the marks of a truncation that is done or was stopped. */
  async function endMarks({ id, request }: Task): Promise<void> {
    if (request.type !== 'truncate') return;
    try {
      await removals.close((await store.plan(id))?.raised ?? {});
    } catch (error) {
      log.warn({ err: error, task: id }, 'could not close the mark of a truncation; retrying later');
    }
  }

  async function archiveOf(order: ArchiveOrder, { request, tiles, levels }: PlannedTask): Promise<Archive> {
    await options.exporter?.refuseUnfit(order.type, request, tiles);
    const since = await tilesSince(tiles.bound.store, tiles.set, levels);
    return { ...order, id: exportIdOf(request, order), store: tiles.bound.declared?.store ?? '', since };
  }

  return {
    /**
     * Throws `layer-unknown`, `request-invalid`, `parameter-refused`, `too-many-tasks`, `too-many-exports` or
     * `key-reused`, and then has changed nothing. Returns an unfinished export of the same order, unless its tiles may
     * have been truncated since.
     */
    create: async (draft: TaskDraft, author: TaskAuthor) => onlyOne(await createAll([draft], author)),
    /** All of them or none. */
    createAll,
    /** Throws `too-many-tasks`: for callers with work to do first that cannot be undone. */
    refuseUnlessRoomFor: (count: number, author: TaskAuthor) => room(author, count),
    /** Stops it and removes it from the list of exports. */
    async removeExport(id: number, by: string): Promise<void> {
      await store.removeExport(id, `deleted by ${by}`, clock.now());
      await database.notify(TASKS_STOPPED);
    },
    /** `combinations`: the number of tasks, one for each format and parameter set. */
    async estimate(draft: TaskDraft, combinations?: number) {
      const planned = await plan(draft);
      const { layer, type } = planned.request;
      if (makesTiles(type)) await options.parameterSets?.requireRoom(...countedSet(planned.tiles));
      const earlier = await store.list({
        layers: [layer],
        types: [type],
        states: ['done'],
        limit: EARLIER_TASKS,
      });
      return estimateTask(planned, earlier, clock.now(), combinations);
    },
    get: async (id: number) => paced(await store.get(id)),
    /** Null: an export, or the sums differ from the task's, since it changes or ended while failed tiles waited. */
    progressByZoom: (task: Task) => progressByZoom(store, task),
    count: store.count,
    layersOf: store.layersOf,
    list: async (filter: TaskListing) => (await store.list(filter)).map((task) => watch.withPace(task)),
    /** Pending and running tasks in id order, of one layer or of all; exports are not among them. */
    async active(layer: string | null): Promise<readonly Task[]> {
      const all = await store.active(layer);
      return all.filter(({ request }) => request.type !== 'export').map((task) => watch.withPace(task));
    },
    /** Stops those that have not ended; returns them as they were before. */
    async cancel(filter: TaskFilter, by: string): Promise<readonly Task[]> {
      const stopped = await store.cancel(filter, `stopped by ${by}`, clock.now());
      if (stopped.length > 0) await database.notify(TASKS_STOPPED);
      for (const task of stopped) await endMarks(task);
      return stopped;
    },
    async pause(id: number): Promise<Task | null> {
      const paused = await store.pause(id);
      if (paused) await database.notify(TASKS_STOPPED);
      return paused;
    },
    resume: store.resume,
    /** A new task over what failed in a finished one. */
    async retryFailed(id: number, author: TaskAuthor): Promise<Task | null> {
      const retry = await planRetry(store, id);
      return retry && onlyOne(await raiseAndRecord([{ task: { ...retry, author, key: null }, draft: {} }]));
    },
    /** `tilesPerSecond`: the total of all running tasks, as far as this server has watched them. */
    async figures() {
      const { state: states, outcome: outcomes } = await store.count({});
      return { states, outcomes, tilesPerSecond: watch.tilesPerSecond() };
    },
    /** Calls back with every change after `afterEventId` (null: from now on); returns a function that unsubscribes. */
    subscribe: (afterEventId: number | null, listener: (event: TaskEvent) => void) =>
      watch.subscribe(afterEventId, listener),
    /** Workers hand their pieces back; unfinished tasks continue at the next start. */
    async close(): Promise<void> {
      stopListening();
      await runner?.close();
      await reaper.close();
      await history.close();
      await watch.close();
    },
  };
}

function openOwnRunner(options: TaskServiceOptions, leases: LeaseStore) {
  return new TaskRunner({
    ...options,
    leases,
    owner: `${process.pid}-${randomUUID().slice(0, 8)}`,
    threads: options.settings.maxThreads,
    workers: 1,
    exporter: options.exporter ?? null,
    // The pipeline has applied its own changes already.
    announceStored: async () => {},
  });
}

function placesOfPlan({ levels }: TaskPlan, gridSet: string): readonly TilePlace[] {
  return levels.flatMap(({ z, rect }) => withDense({ gridSet, z, rect }));
}

function onlyOne(tasks: readonly Task[]): Task {
  const [task] = tasks;
  if (!task) throw new Error('No task was recorded.');
  return task;
}

/** A report may be recorded between two statements: the figures are then inconsistent, and read again. */
async function progressByZoom(
  store: TaskStore,
  { id, request }: Task,
): Promise<readonly ZoomProgress[] | null> {
  const plan = request.type === 'export' ? null : await store.plan(id);
  if (!plan) return null;
  const cover = coverOf(plan, request);
  for (let attempt = 0; attempt < POSITION_ATTEMPTS; attempt++) {
    const before = await store.get(id);
    const zooms = await zoomProgress(plan, cover, await store.position(id));
    if (
      before &&
      sumOf(zooms, 'processed') === before.tilesProcessed &&
      sumOf(zooms, 'tiles') === before.tilesTotal
    )
      return zooms;
  }
  return null;
}

function sumOf(zooms: readonly ZoomProgress[], field: 'tiles' | 'processed'): bigint {
  return zooms.reduce((sum, zoom) => sum + zoom[field], 0n);
}
