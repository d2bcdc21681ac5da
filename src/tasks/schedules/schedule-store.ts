import type { Database, Statements } from '../../db/database.ts';
import type { RowOf } from '../../db/schema.ts';
import type { RunState, Schedule, ScheduleDeclaration, ScheduleRun } from './schedule.ts';

interface NewSchedule {
  readonly declaration: ScheduleDeclaration;
  readonly origin: Schedule['origin'];
  readonly createdBy: string;
  readonly nextDue: number | null;
}

const LOCK = 'schedules';
const UNDER_WAY: readonly RunState[] = ['started', 'held'];
const KEPT_RUNS = 200;

export type ScheduleStore = ReturnType<typeof createScheduleStore>;

export function createScheduleStore(database: Database) {
  const { query } = database;

  return {
    async list(layer: string | null): Promise<readonly Schedule[]> {
      let schedules = query.selectFrom('schedules').selectAll();
      if (layer !== null) schedules = schedules.where('layer', '=', layer);
      return (await schedules.orderBy('layer').orderBy('name').execute()).map(scheduleOf);
    },

    /** Schedules due at `now`, and schedules with a run whose task may not be over. */
    async dueOrUnderWay(now: number): Promise<readonly Schedule[]> {
      const underWay = query
        .selectFrom('schedule_runs')
        .select('schedule_id')
        .where('state', 'in', UNDER_WAY);
      const due = query
        .selectFrom('schedules')
        .selectAll()
        .where(({ eb, or }) => or([eb('next_due', '<=', now), eb('id', 'in', underWay)]));
      return (await due.orderBy('layer').orderBy('name').execute()).map(scheduleOf);
    },

    /** Schedules due later, in the order of their ids. */
    async waiting(now: number, afterId: number, limit: number): Promise<readonly Schedule[]> {
      const later = query.selectFrom('schedules').selectAll().where('next_due', '>', now);
      return (await later.where('id', '>', afterId).orderBy('id').limit(limit).execute()).map(scheduleOf);
    },

    /** Does nothing if its time has changed. */
    async bringForward({ id, nextDue }: Schedule, due: number): Promise<void> {
      const schedule = database.change.updateTable('schedules').set({ next_due: due });
      await schedule.where('id', '=', id).where('next_due', '=', nextDue).execute();
    },

    get: (id: number): Promise<Schedule | null> => find(query, id),

    /** Null when the layer has one of that name. */
    create: ({ createdBy, ...schedule }: NewSchedule, now: number): Promise<Schedule | null> =>
      database.transaction(LOCK, async (inside) => {
        const row = await inside
          .insertInto('schedules')
          .values({ ...columnsOf(schedule), created_by: createdBy, created_at: now })
          .onConflict((conflict) => conflict.columns(['layer', 'name']).doNothing())
          .returningAll()
          .executeTakeFirst();
        return row ? scheduleOf(row) : null;
      }),

    /** Null when it is gone, or the layer has another one of that name. */
    replace: (id: number, change: Omit<NewSchedule, 'createdBy'>): Promise<Schedule | null> =>
      database.transaction(LOCK, async (inside) => {
        const { layer, name } = change.declaration;
        const holder = await inside
          .selectFrom('schedules')
          .select('id')
          .where('layer', '=', layer)
          .where('name', '=', name)
          .executeTakeFirst();
        if (holder && holder.id !== id) return null;
        await inside.updateTable('schedules').set(columnsOf(change)).where('id', '=', id).execute();
        return find(inside, id);
      }),

    remove: (id: number): Promise<boolean> =>
      database.transaction(LOCK, async (inside) => {
        await inside.deleteFrom('schedule_runs').where('schedule_id', '=', id).execute();
        const { numDeletedRows } = await inside
          .deleteFrom('schedules')
          .where('id', '=', id)
          .executeTakeFirstOrThrow();
        return numDeletedRows > 0n;
      }),

    /** Newest first. */
    runs: (id: number, limit: number): Promise<readonly ScheduleRun[]> =>
      runsOf(query, id).limit(limit).execute(),

    /** The latest run whose task is not known to be over. */
    async openRun(id: number): Promise<ScheduleRun | null> {
      return (await runsOf(query, id).where('state', 'in', UNDER_WAY).executeTakeFirst()) ?? null;
    },

    /** Both or neither. A run that is recorded already stays as it is. */
    record: (id: number, run: ScheduleRun, nextDue: number | null): Promise<void> =>
      database.transaction(LOCK, async (inside) => {
        const { dueAt: due_at, at, state, taskId: task_id, detail } = run;
        await inside
          .insertInto('schedule_runs')
          .values({ schedule_id: id, due_at, at, state, task_id, detail })
          .onConflict((conflict) => conflict.columns(['schedule_id', 'due_at']).doNothing())
          .execute();
        await inside.updateTable('schedules').set({ next_due: nextDue }).where('id', '=', id).execute();
        await forgetOldRuns(inside, id);
      }),

    async changeRun(id: number, dueAt: number, state: RunState, detail: string | null): Promise<void> {
      const run = database.change.updateTable('schedule_runs').set({ state, detail });
      await run.where('schedule_id', '=', id).where('due_at', '=', dueAt).execute();
    },
  };
}

async function find(query: Statements, id: number): Promise<Schedule | null> {
  const row = await query.selectFrom('schedules').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? scheduleOf(row) : null;
}

function runsOf(query: Statements, id: number) {
  return query
    .selectFrom('schedule_runs')
    .select(['due_at as dueAt', 'at', 'state', 'task_id as taskId', 'detail'])
    .where('schedule_id', '=', id)
    .orderBy('due_at', 'desc')
    .$castTo<ScheduleRun>();
}

async function forgetOldRuns(query: Statements, id: number): Promise<void> {
  const oldest = await runsOf(query, id).offset(KEPT_RUNS).limit(1).executeTakeFirst();
  if (!oldest) return;
  await query
    .deleteFrom('schedule_runs')
    .where('schedule_id', '=', id)
    .where('due_at', '<=', oldest.dueAt)
    .execute();
}

function columnsOf({ declaration, origin, nextDue }: Omit<NewSchedule, 'createdBy'>) {
  const { layer, name, draft, ...rest } = declaration;
  const parameters = draft.parameters && Object.fromEntries(draft.parameters);
  const document = JSON.stringify({ ...rest, draft: { ...draft, parameters } });
  return { layer, name, origin, document, next_due: nextDue };
}

function scheduleOf(row: RowOf<'schedules'>): Schedule {
  const { draft, ...rest } = JSON.parse(row.document) as Omit<
    ScheduleDeclaration,
    'layer' | 'name' | 'draft'
  > & {
    readonly draft: Omit<ScheduleDeclaration['draft'], 'parameters'> & {
      readonly parameters?: Readonly<Record<string, string>>;
    };
  };
  const { parameters, ...plain } = draft;
  return {
    id: row.id,
    layer: row.layer,
    name: row.name,
    ...rest,
    draft: parameters ? { ...plain, parameters: new Map(Object.entries(parameters)) } : plain,
    origin: row.origin as Schedule['origin'],
    createdBy: row.created_by,
    createdAt: row.created_at,
    nextDue: row.next_due,
  };
}
