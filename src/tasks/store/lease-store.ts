import type { Database, Statements } from '../../db/database.ts';
import type { Clock } from '../../lib/clock.ts';
import { inBatches } from '../../lib/in-batches.ts';
import type { Random } from '../../lib/random.ts';
import { freeLeases, type LeaseHolder } from './free-leases.ts';
import type { Lease, LeaseWish, Report } from './lease.ts';
import { reportProgress } from './report-progress.ts';
import { takeLease } from './take-lease.ts';
import { changeTasks, TASKS_CHANGED, updateTask, WORK } from './task-rows.ts';

/** Tasks that turn out to have nothing left are ended on the way; more of them wait for the next call. */
const MAX_LOOKS = 100;

interface LeaseStoreOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
}

export type LeaseStore = ReturnType<typeof createLeaseStore>;

export function createLeaseStore({ database, clock, random }: LeaseStoreOptions) {
  const record = (reports: readonly Report[]) =>
    changeTasks(database, [TASKS_CHANGED], (query) =>
      reportProgress(query, reports, { now: clock.now(), random }),
    );
  return {
    async take(wish: LeaseWish): Promise<Lease | null> {
      for (let look = 0; look < MAX_LOOKS; look++) {
        const lease = await changeTasks(database, [], (query) => takeLease(query, wish, clock.now()));
        if (lease === 'again') continue;
        if (lease) await database.notify(TASKS_CHANGED);
        return lease;
      }
      return null;
    },
    report: inBatches(record).add,
    /** Takes back what a holder had. `crashed`: it died at work, and the piece may be what killed it. */
    free: (holder: LeaseHolder, crashed: boolean): Promise<number> =>
      changeTasks(database, WORK, (query) => freeLeases(query, holder, crashed, clock.now())),
    /** After a start, when no holder can be alive: every piece is free, every running task is pending again. */
    adopt: (): Promise<void> => changeTasks(database, WORK, (query) => adoptAll(query, clock.now())),
    beats: (): Promise<readonly { readonly token: number; readonly beat: number }[]> =>
      database.query
        .selectFrom('task_leases')
        .select(['token', 'beat'])
        .where('owner', 'is not', null)
        .execute(),
  };
}

async function adoptAll(query: Statements, now: number): Promise<void> {
  await freeLeases(query, 'everybody', false, now);
  const running = await query.selectFrom('tasks').select('id').where('state', '=', 'running').execute();
  for (const { id } of running) {
    await updateTask(query, id, { state: 'pending' });
  }
}
