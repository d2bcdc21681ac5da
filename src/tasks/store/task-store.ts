import type { Database, Statements } from '../../db/database.ts';
import { changeHorizon, changeNumber, dialectOf } from '../../db/numbers.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { RaisedMarks } from '../../removal/removal.ts';
import {
  stateAfter,
  statesBefore,
  type Task,
  type TaskRequest,
  type TaskState,
  type TaskTransition,
  UNFINISHED,
} from '../task.ts';
import { shareOf, type TaskAuthor, type TaskKey } from '../task-draft.ts';
import type { TaskCounts, TaskFilter, TaskListing } from '../task-filter.ts';
import { pieceCount, type TaskPlan, type TaskPosition } from '../task-plan.ts';
import { exportUnderWay, hideExport } from './export-tasks.ts';
import { endTask, returnPieces } from './finish-task.ts';
import type { FailedStep } from './lease.ts';
import {
  changeTasks,
  countTasks,
  failedStepOf,
  filteredTasks,
  lockTasks,
  planOf,
  TASKS_CHANGED,
  taskOf,
  WORK,
} from './task-rows.ts';

export interface NewTask {
  readonly request: TaskRequest;
  readonly plan: TaskPlan;
  readonly tilesTotal: bigint;
  readonly author: TaskAuthor;
  readonly key: TaskKey | null;
}

interface ChangePlace {
  readonly event: number;
  readonly id: number;
}

interface Retention {
  /** Finished before this, milliseconds since 1970: forgotten. */
  readonly endedBefore: number;
  readonly keep: number;
}

/** Tiles; smaller tasks overtake larger ones, so that they end within seconds. */
const EXPRESS_TILES = 256n;
const FINISHED: readonly TaskState[] = ['done', 'aborted'];
const MAX_LIST = 1000;
/** New tasks are recorded one after the other: they are counted, and a key is unique. */
const CREATION = 'task-creation';
const CHANGE = [TASKS_CHANGED];

export type TaskStore = ReturnType<typeof createTaskStore>;

/** Tasks in the database. Every behaviour in `test/contracts/task-store.ts` holds in both dialects. */
export function createTaskStore(database: Database) {
  const { query } = database;

  async function createAll(tasks: readonly NewTask[], now: number, maxUnfinished: number) {
    const create = async (inside: Statements) => {
      const created: Task[] = [];
      for (const task of tasks) created.push(await createTask(inside, task, now, maxUnfinished));
      return created;
    };
    return changeTasks(database, WORK, create, CREATION);
  }

  return {
    /**
     * The tasks, each replaced by an earlier one that its author made with the same key. Throws `too-many-tasks` or
     * `key-reused`, and then has made none.
     */
    createAll,
    /** The task that the author has made with this key. Throws `key-reused`. */
    byKey: async (author: TaskAuthor, key: TaskKey | null): Promise<Task | null> =>
      key && byKey(query, author, key),
    /** Throws `too-many-tasks`. */
    refuseUnlessRoom: (author: TaskAuthor, count: number, maxUnfinished: number): Promise<void> =>
      refuseUnlessRoom(query, author, count, maxUnfinished),

    async get(id: number): Promise<Task | null> {
      const row = await query.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
      return row ? taskOf(row) : null;
    },

    async list(filter: TaskListing): Promise<readonly Task[]> {
      let page = filteredTasks(query, filter).selectAll();
      if (filter.afterId !== undefined) page = page.where('id', '<', filter.afterId);
      const limit = Math.min(filter.limit, MAX_LIST);
      return (await page.orderBy('id', 'desc').limit(limit).execute()).map(taskOf);
    },
    count: (filter: TaskFilter): Promise<TaskCounts> => countTasks(database, filter),
    async layersOf(filter: TaskFilter): Promise<readonly string[]> {
      const rows = await filteredTasks(query, filter).select('layer').distinct().execute();
      return rows.map(({ layer }) => layer);
    },

    async active(layer: string | null): Promise<readonly Task[]> {
      let tasks = query.selectFrom('tasks').selectAll().where('state', 'in', ['pending', 'running']);
      if (layer !== null) tasks = tasks.where('layer', '=', layer);
      return (await tasks.orderBy('id').execute()).map(taskOf);
    },

    /** The tasks that were stopped, as they were before. */
    cancel: (filter: TaskFilter, reason: string, now: number): Promise<readonly Task[]> =>
      changeTasks(database, CHANGE, async (inside) => {
        const unfinished = filteredTasks(inside, filter)
          .selectAll()
          .where('state', 'in', statesBefore('killed'));
        const sorted = unfinished.orderBy('id');
        const rows = await (dialectOf(inside) === 'sqlite' ? sorted : sorted.forUpdate()).execute();
        for (const row of rows) await endTask(inside, row.id, 'killed', reason, now);
        return rows.map(taskOf);
      }),
    /** Null when there is no such task or it is in no state for it. */
    pause: (id: number): Promise<Task | null> =>
      changeTasks(database, CHANGE, async (inside) => {
        const task = await moveTask(inside, id, 'paused', {});
        if (task) await returnPieces(inside, id);
        return task;
      }),
    resume: (id: number): Promise<Task | null> =>
      changeTasks(database, WORK, async (inside) =>
        moveTask(inside, id, 'resumed', { fair_time: await fairTimeNow(inside) }),
      ),
    removeExport: (id: number, reason: string, now: number): Promise<void> =>
      changeTasks(database, CHANGE, (inside) => hideExport(inside, id, reason, now)),
    fail: (id: number, reason: string, now: number): Promise<void> =>
      changeTasks(database, CHANGE, (inside) => endTask(inside, id, 'failed', reason, now)),

    async position(id: number): Promise<TaskPosition> {
      // One statement: a lease that is taken or ends in between would be missing.
      const rows = await query
        .selectFrom('tasks')
        .leftJoin('task_leases', (join) =>
          join.onRef('task_leases.task_id', '=', 'tasks.id').on('task_leases.piece', '>=', 0),
        )
        .select(['tasks.next_piece', 'task_leases.piece', 'task_leases.done_steps'])
        .where('tasks.id', '=', id)
        .execute();
      const failed = await query
        .selectFrom('task_failures')
        .select(['z', ({ fn }) => fn.sum<number | bigint | string>('tiles').as('tiles')])
        .where('task_id', '=', id)
        .where('retry_at', 'is not', null)
        .groupBy('z')
        .execute();
      return {
        nextPiece: rows[0]?.next_piece ?? 0,
        pieces: rows.flatMap(({ piece, done_steps }) =>
          piece === null || done_steps === null ? [] : [{ piece, doneSteps: done_steps }],
        ),
        waiting: failed.map(({ z, tiles }) => ({ z, tiles: BigInt(tiles) })),
      };
    },

    async plan(id: number): Promise<TaskPlan | null> {
      const row = await query.selectFrom('tasks').select('plan').where('id', '=', id).executeTakeFirst();
      return row ? planOf(row) : null;
    },

    /** The marks of unfinished truncations. */
    async marksRaised(): Promise<readonly RaisedMarks[]> {
      const tasks = query.selectFrom('tasks').select('plan');
      const truncations = tasks.where('type', '=', 'truncate').where('state', 'in', UNFINISHED);
      return (await truncations.execute()).map((row) => planOf(row).raised ?? {});
    },

    async givenUp(id: number, limit: number): Promise<readonly FailedStep[]> {
      const rows = await query
        .selectFrom('task_failures')
        .selectAll()
        .where('task_id', '=', id)
        .where('retry_at', 'is', null)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(failedStepOf);
    },

    async changedSince({ event, id }: ChangePlace, limit: number): Promise<readonly Task[]> {
      const rows = await query
        .selectFrom('tasks')
        .selectAll()
        .where(({ eb, refTuple, tuple }) => eb(refTuple('event_id', 'id'), '>', tuple(event, id)))
        .orderBy('event_id')
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(taskOf);
    },

    /** Changes below this number are all visible. */
    changeHorizon: (): Promise<number> => changeHorizon(query),

    /** Resets numbers of changes that are ahead, as after a restore from a backup: they would never be overtaken. */
    renumber: (): Promise<void> =>
      changeTasks(database, [], async (inside) => {
        const now = await changeNumber(inside);
        await inside.updateTable('tasks').set({ event_id: 0 }).where('event_id', '>', now).execute();
      }),

    forget: ({ endedBefore, keep }: Retention): Promise<number> =>
      changeTasks(database, [], async (inside) => {
        const finished = inside.selectFrom('tasks').select('id').where('state', 'in', FINISHED);
        const surplus = await finished.orderBy('id', 'desc').offset(keep).limit(1).executeTakeFirst();
        const gone = await inside
          .deleteFrom('tasks')
          .where('state', 'in', FINISHED)
          .where('export_id', 'is', null)
          .where((eb) => eb.or([eb('ended_at', '<', endedBefore), eb('id', '<=', surplus?.id ?? 0)]))
          .executeTakeFirst();
        return Number(gone.numDeletedRows);
      }),
  };
}

async function createTask(
  query: Statements,
  task: NewTask,
  now: number,
  maxUnfinished: number,
): Promise<Task> {
  const { request, plan, author, key } = task;
  const { archive } = request;
  const earlier =
    (key && (await byKey(query, author, key))) ??
    (archive && (await exportUnderWay(query, archive, author, now)));
  if (earlier) return earlier;
  await refuseUnlessRoom(query, author, 1, maxUnfinished);
  const row = await query
    .insertInto('tasks')
    .values({
      event_id: await changeNumber(query),
      state: 'pending',
      layer: request.layer,
      type: request.type,
      request: JSON.stringify(request),
      plan: JSON.stringify(plan),
      thread_count: request.threadCount,
      weight: 2 ** request.priority,
      express: task.tilesTotal <= EXPRESS_TILES ? 1 : 0,
      fair_time: await fairTimeNow(query),
      piece_count: pieceCount(plan),
      next_piece: 0,
      tiles_total: task.tilesTotal,
      ...NOTHING_DONE,
      created_by: author.name,
      account: author.account,
      created_at: now,
      idempotency_key: key?.text ?? null,
      key_digest: key?.digest ?? null,
      export_id: request.archive?.id ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return taskOf(row);
}

const NOTHING_DONE = {
  tiles_processed: 0,
  made: 0,
  present: 0,
  removed: 0,
  blank: 0,
  failed: 0,
  bytes: 0,
  upstream_requests: 0,
  failures: 0,
  error_samples: '[]',
};

async function byKey(query: Statements, { account }: TaskAuthor, key: TaskKey): Promise<Task | null> {
  const row = await query
    .selectFrom('tasks')
    .selectAll()
    .where('account', '=', account)
    .where('idempotency_key', '=', key.text)
    .executeTakeFirst();
  if (!row) return null;
  const isSame = row.key_digest === null || row.key_digest === key.digest;
  if (isSame) return taskOf(row);
  throw new TilewardenError(
    'key-reused',
    `The idempotency key was used before, for a different request (task ${row.id}); nothing was started. Use a new key, or repeat that request unchanged.`,
  );
}

async function refuseUnlessRoom(
  query: Statements,
  author: TaskAuthor,
  count: number,
  maxUnfinished: number,
): Promise<void> {
  const refusal = (tasks: string) => {
    const message = `At most ${tasks} wait or run at the same time; wait for some to end, or stop them.`;
    return new TilewardenError('too-many-tasks', message);
  };
  if ((await countUnfinished(query, null)) + count > maxUnfinished) throw refusal(`${maxUnfinished} tasks`);
  const share = shareOf(author, maxUnfinished);
  if (share === maxUnfinished || (await countUnfinished(query, author)) + count <= share) return;
  throw refusal(`${share} tasks of one account that is no administrator`);
}

async function countUnfinished(query: Statements, author: TaskAuthor | null): Promise<number> {
  let unfinished = query.selectFrom('tasks').where('state', 'in', UNFINISHED);
  if (author) unfinished = unfinished.where('account', '=', author.account);
  const row = await unfinished.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number(row.count);
}

/** A new task starts level with the others: neither ahead of them for hours nor behind them. */
async function fairTimeNow(query: Statements): Promise<number> {
  const row = await query
    .selectFrom('tasks')
    .select(({ fn }) => fn.min('fair_time').as('least'))
    .where('state', 'in', ['pending', 'running'])
    .executeTakeFirst();
  return row?.least ?? 0;
}

async function moveTask(
  query: Statements,
  id: number,
  transition: TaskTransition,
  more: { fair_time?: number },
): Promise<Task | null> {
  await lockTasks(query, [id]);
  const row = await query.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
  const state = row && stateAfter(row.state as TaskState, transition);
  if (!state) return null;
  const changed = await query
    .updateTable('tasks')
    .set({ state, event_id: await changeNumber(query), ...more })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return taskOf(changed);
}
