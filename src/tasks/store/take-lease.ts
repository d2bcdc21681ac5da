import type { Conditions, Statements } from '../../db/database.ts';
import { dialectOf, nextToken } from '../../db/numbers.ts';
import type { Schema } from '../../db/schema.ts';
import { coverOf, nextPiece, type Piece, pieceAt, stepCount, type TaskPlan } from '../task-plan.ts';
import { finishIfComplete } from './finish-task.ts';
import type { Lease, LeaseWish } from './lease.ts';
import { failedStepOf, lockTasks, planOf, requestOf, type TaskRow, updateTask } from './task-rows.ts';

const RETRY_BATCH = 32;
/** Milliseconds. A longer wait comes from a clock that has been set back, and counts as over. */
const MAX_RETRY_WAIT = 3_600_000 * 2;

/** The next work by fair turn; null when nothing can be done now, `again` when something else may be. */
export async function takeLease(
  query: Statements,
  wish: LeaseWish,
  now: number,
): Promise<Lease | 'again' | null> {
  if (wish.freeThreads < 1) return null;
  const id = await lockNext(query, wish, now);
  return id === null ? null : ((await takeFrom(query, id, wish, now)) ?? 'again');
}

/** Locks a task that is not being changed; if all are, the one whose turn it is. */
async function lockNext(query: Statements, wish: LeaseWish, now: number): Promise<number | null> {
  const next = nextFor(wish, query, now);
  if (dialectOf(query) === 'sqlite') return (await next.executeTakeFirst())?.id ?? null;
  const free = await next.forUpdate('tasks').skipLocked().executeTakeFirst();
  if (free) return free.id;
  const first = await next.executeTakeFirst();
  if (first) await lockTasks(query, [first.id]);
  return first?.id ?? null;
}

/** Excludes tasks whose share the worker already holds. */
function nextFor({ owner, workers, leftovers, resting }: LeaseWish, query: Statements, now: number) {
  const next = nextInTurn(query, now, owner, resting).limit(1);
  if (leftovers) return next;
  return next.where((eb) => {
    const own = eb
      .selectFrom('task_leases')
      .select(({ fn }) => fn.coalesce(fn.sum<number>('threads'), eb.lit(0)).as('own'))
      .whereRef('task_leases.task_id', '=', 'tasks.id')
      .where('task_leases.owner', '=', owner);
    return eb(eb(own, '*', workers), '<', eb.ref('tasks.thread_count'));
  });
}

/**
 * Tasks with work that can be done now and free threads, in the order of their turns. A node, whose name precedes the
 * slash in its workers' names, performs one export at a time.
 */
export function nextInTurn(
  query: Statements,
  now: number,
  owner: string | null,
  except: readonly number[] = [],
) {
  const node = owner?.split('/', 1)[0] ?? '';
  return query
    .selectFrom('tasks')
    .leftJoin(
      (eb) =>
        eb
          .selectFrom('task_leases')
          .select(({ fn }) => ['task_id', fn.sum('threads').as('busy')])
          .where('owner', 'is not', null)
          .groupBy('task_id')
          .as('held'),
      (join) => join.onRef('held.task_id', '=', 'tasks.id'),
    )
    .select(['tasks.id', 'tasks.express', 'tasks.fair_time'])
    .where('tasks.state', 'in', ['pending', 'running'])
    .$if(except.length > 0, (some) => some.where('tasks.id', 'not in', [...except]))
    .where((eb) => {
      const held = eb
        .selectFrom('task_leases')
        .innerJoin('tasks as exported', 'exported.id', 'task_leases.task_id')
        .select('task_leases.piece')
        .where('exported.type', '=', 'export')
        .where('task_leases.owner', 'like', `${node}%`);
      return eb.or([eb('tasks.type', '!=', 'export'), eb.not(eb.exists(held))]);
    })
    .where((eb) => eb.or([eb('held.busy', 'is', null), eb('held.busy', '<', eb.ref('tasks.thread_count'))]))
    .where((eb) =>
      eb.or([
        eb('tasks.next_piece', '<', eb.ref('tasks.piece_count')),
        eb.exists(
          eb
            .selectFrom('task_leases')
            .select('task_leases.piece')
            .whereRef('task_leases.task_id', '=', 'tasks.id')
            .where('task_leases.owner', 'is', null),
        ),
        eb.exists(
          eb
            .selectFrom('task_failures')
            .select('task_failures.id')
            .whereRef('task_failures.task_id', '=', 'tasks.id')
            .where('task_failures.token', 'is', null)
            .where(isDue(now)),
        ),
      ]),
    )
    .orderBy('tasks.express', 'desc')
    .orderBy('tasks.fair_time')
    .orderBy('tasks.id');
}

function isDue(now: number) {
  return ({ eb, or }: Conditions<'task_failures'>) =>
    or([eb('task_failures.retry_at', '<=', now), eb('task_failures.retry_at', '>', now + MAX_RETRY_WAIT)]);
}

/** Takes work from a task, which may have changed before its row was locked. Null: there is none. */
async function takeFrom(query: Statements, id: number, wish: LeaseWish, now: number): Promise<Lease | null> {
  const task = await query.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
  if (!task || (task.state !== 'pending' && task.state !== 'running')) return null;
  const share = Math.ceil(task.thread_count / wish.workers);
  const threads = Math.min(wish.freeThreads, task.thread_count - (await busyThreads(query, id)), share);
  if (threads < 1) return null;
  const taking = { query, task, plan: planOf(task), owner: wish.owner, threads, now };
  const lease = (await takeReturned(taking)) ?? (await takeFailed(taking)) ?? (await takeNext(taking));
  if (task.state === 'pending') {
    await updateTask(query, id, { state: 'running', started_at: task.started_at ?? now });
  }
  if (!lease) await finishIfComplete(query, id, now);
  return lease;
}

async function busyThreads(query: Statements, id: number): Promise<number> {
  const row = await query
    .selectFrom('task_leases')
    .select(({ fn }) => fn.sum('threads').as('busy'))
    .where('task_id', '=', id)
    .where('owner', 'is not', null)
    .executeTakeFirst();
  return Number(row?.busy ?? 0);
}

interface Taking extends Pick<LeaseWish, 'owner'> {
  readonly query: Statements;
  readonly task: TaskRow;
  readonly plan: TaskPlan;
  readonly threads: number;
  readonly now: number;
}

async function takeReturned({ query, task, plan, owner, threads }: Taking): Promise<Lease | null> {
  const waiting = await query
    .selectFrom('task_leases')
    .selectAll()
    .where('task_id', '=', task.id)
    .where('owner', 'is', null)
    .orderBy('piece')
    .limit(1)
    .executeTakeFirst();
  if (!waiting) return null;
  const piece = pieceAt(plan, waiting.piece);
  if (!piece) throw new Error(`Task ${task.id} has no piece ${waiting.piece}.`);
  const careful = waiting.crashes > 0;
  const token = await nextToken(query);
  const granted = careful ? 1 : usable(plan, piece, waiting.done_steps, threads);
  await query
    .updateTable('task_leases')
    .set({ owner, token, threads: granted, beat: 0 })
    .where('task_id', '=', task.id)
    .where('piece', '=', waiting.piece)
    .execute();
  return {
    ...leaseOf(task, plan, token, granted),
    kind: 'piece',
    piece,
    doneSteps: waiting.done_steps,
    careful,
  };
}

function leaseOf(task: TaskRow, plan: TaskPlan, token: number, threads: number) {
  return { token, taskId: task.id, request: requestOf(task), plan, threads };
}

/** No more threads than there are steps: others can use them. */
function usable(plan: TaskPlan, piece: Piece, doneSteps: number, threads: number): number {
  return Math.max(1, Math.min(threads, stepCount(plan, piece) - doneSteps));
}

async function takeFailed({ query, task, plan, owner, threads, now }: Taking): Promise<Lease | null> {
  const due = await query
    .selectFrom('task_failures')
    .selectAll()
    .where('task_id', '=', task.id)
    .where('token', 'is', null)
    .where(isDue(now))
    .orderBy('id')
    .limit(RETRY_BATCH)
    .execute();
  if (due.length === 0) return null;
  const token = await nextToken(query);
  const granted = Math.min(threads, due.length);
  await insertLease(query, { task_id: task.id, piece: -token, token, owner, threads: granted });
  const ids = due.map((row) => row.id);
  await query.updateTable('task_failures').set({ token }).where('id', 'in', ids).execute();
  return { ...leaseOf(task, plan, token, granted), kind: 'retry', steps: due.map(failedStepOf) };
}

async function takeNext({ query, task, plan, owner, threads }: Taking): Promise<Lease | null> {
  const cover = coverOf(plan, requestOf(task));
  const piece = task.next_piece < task.piece_count ? nextPiece(plan, cover, task.next_piece) : null;
  const nextOrdinal = piece ? piece.ordinal + 1 : task.piece_count;
  await query.updateTable('tasks').set({ next_piece: nextOrdinal }).where('id', '=', task.id).execute();
  if (!piece) return null;
  const token = await nextToken(query);
  const granted = usable(plan, piece, 0, threads);
  await insertLease(query, { task_id: task.id, piece: piece.ordinal, token, owner, threads: granted });
  return { ...leaseOf(task, plan, token, granted), kind: 'piece', piece, doneSteps: 0, careful: false };
}

type NewLease = Omit<Schema['task_leases'], 'beat' | 'done_steps' | 'crashes'>;

async function insertLease(query: Statements, lease: NewLease): Promise<void> {
  await query
    .insertInto('task_leases')
    .values({ ...lease, beat: 0, done_steps: 0, crashes: 0 })
    .execute();
}
