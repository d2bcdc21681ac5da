import type { Database, Statements } from '../../db/database.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { inBatches } from '../../lib/in-batches.ts';
import type { Random } from '../../lib/random.ts';
import { openRepeater, type Repeater } from '../../lib/repeat.ts';
import { freeLeases, type LeaseHolder } from './free-leases.ts';
import type { Lease, LeaseWish, Report } from './lease.ts';
import { reportProgress } from './report-progress.ts';
import { takeLease } from './take-lease.ts';
import { changeTasks, TASKS_CHANGED, updateTask, WORK } from './task-rows.ts';

/** Tasks without remaining work are ended on the way, up to this many in one call. */
const MAX_ATTEMPTS = 100;

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
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const lease = await changeTasks(database, [], (query) => takeLease(query, wish, clock.now()));
        if (lease === 'again') continue;
        // Not awaited: on a slow connection the lease would expire before its work begins.
        if (lease) void database.notify(TASKS_CHANGED);
        return lease;
      }
      return null;
    },
    report: inBatches(record).add,
    /** Takes back the leases of a holder. `crashed`: it died at work, possibly because of the piece. */
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

/** Milliseconds. A holder reports every second; a silent one counts as gone. */
const SILENCE = 15_000;
const POLL_INTERVAL_MS = 2500;
/** A longer pause between polls (a stopped process, an unreachable database) reveals nothing about holders. */
const MAX_PAUSE = 3 * POLL_INTERVAL_MS;

interface Sight {
  readonly beat: number;
  readonly since: number;
}

/**
 * Takes leases back from holders that have gone silent. Silence is what this process has seen by its monotonic
 * clock, so setting the time of day costs no living worker its lease.
 */
export function openLeaseReaper(leases: LeaseStore, { clock, log }: Env): Repeater {
  let sights = new Map<number, Sight>();
  let lastPollAt = clock.monotonic();

  async function poll(): Promise<void> {
    const beats = await leases.beats();
    const now = clock.monotonic();
    const known = now - lastPollAt > MAX_PAUSE ? new Map<number, Sight>() : sights;
    lastPollAt = now;
    sights = new Map();
    for (const { token, beat } of beats) {
      const before = known.get(token);
      const since = before?.beat === beat ? before.since : now;
      sights.set(token, { beat, since });
      if (now - since < SILENCE) continue;
      log.warn({ token }, 'a worker stopped responding; its piece goes to another');
      await leases.free({ token }, true);
    }
  }

  return openRepeater(poll, { clock, log, pause: POLL_INTERVAL_MS, failure: 'checking leases failed' });
}
