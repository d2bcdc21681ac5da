import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Statements } from '../../db/database.ts';
import type { Clock } from '../../lib/clock.ts';
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
    report: inBatches(record),
    /** Releases the leases of a holder. `crashed`: it died at work, perhaps because of the piece. */
    free: (holder: LeaseHolder, crashed: boolean): Promise<number> =>
      changeTasks(database, WORK, (query) => freeLeases(query, holder, crashed, clock.now())),
    /** After a start, when no holder can be alive: every piece is free, every running task is pending again. */
    adopt: (): Promise<void> => changeTasks(database, WORK, (query) => adoptAll(query, clock.now())),
    /** Every lease that is held, with its beat. */
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

interface Waiting<Item, Response> {
  readonly item: Item;
  readonly resolve: (answer: Response) => void;
  readonly reject: (error: unknown) => void;
}

/** Batches items submitted in one turn or while a batch runs. If a batch fails, its items are tried one by one. */
function inBatches<Item, Response>(
  work: (items: readonly Item[]) => Promise<readonly Response[]>,
): (item: Item) => Promise<Response> {
  let waiting: Waiting<Item, Response>[] = [];
  let running = false;

  async function perform(batch: readonly Waiting<Item, Response>[]): Promise<void> {
    try {
      const answers = await work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Response);
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else for (const one of batch) await perform([one]);
    }
  }

  async function run(): Promise<void> {
    running = true;
    await nextTurn();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await perform(batch);
    }
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void run();
    });
}
