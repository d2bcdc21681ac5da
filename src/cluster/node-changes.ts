/**
 * Follows changes of other nodes through the database, so that this one serves no outdated copies. Each node records how
 * far it has applied them. A change is acknowledged when all others have, or were silent until their copies expired.
 */
import type { Database } from '../db/database.ts';
import { changeNumber, completedChanges } from '../db/numbers.ts';
import { type Clock, ifLate } from '../lib/clock.ts';
import { orAborted } from '../lib/deferred.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { NodeRegistry } from './node-registry.ts';

interface NodeChangesOptions extends Env {
  readonly database: Database;
  readonly registry: Pick<NodeRegistry, 'changesApplied' | 'changesAppliedByOthers'>;
  /** Notification channels of the database that announce changes of other nodes. */
  readonly channels: readonly string[];
  /** Milliseconds for which copies may be served while the database is unreachable. */
  readonly staleMs: number;
}

/** Milliseconds for which copies are served after a query for changes; later requests wait for another query. */
const CURRENT_FOR = 4000;
/** Milliseconds that others wait for a silent node: its copies are not current by then, even if clocks run unevenly. */
const WAITED_FOR = CURRENT_FOR + 1000;
/** Milliseconds between polls without a notification: each takes as much processor time as some hundred hits. */
const INTERVAL = 2000;
/** Milliseconds. A database that takes longer for one answer counts as unreachable. */
const TIMEOUT_MS = 3000;
/** A node that was suspended for this long cannot distinguish a failing database from its own absence. */
const STOPPED_MS = 2000;
const BEAT_MS = 500;
const POLL = 100;
/** Channels of the database: a change was made; a node has applied it. */
const CHANGED = 'node-changes';
const APPLIED = 'node-changes-applied';

interface Moment {
  readonly monotonic: number;
  readonly now: number;
}

const moment = (clock: Pick<Clock, 'monotonic' | 'now'>): Moment => ({
  monotonic: clock.monotonic(),
  now: clock.now(),
});

export function createNodeChanges(options: NodeChangesOptions) {
  const { database, registry, channels, staleMs, clock, log } = options;
  const refreshers: (() => Promise<void>)[] = [];
  /** Another node may be waiting for this one to apply a change. */
  let isAwaited = true;
  let polling: Promise<void> | null = null;
  let away = false;
  /** When the latest successful query began. */
  let lastPoll: Moment = { monotonic: Number.NEGATIVE_INFINITY, now: Number.NEGATIVE_INFINITY };
  let lastBeat = moment(clock);
  /** By the monotonic clock. */
  let resumedAt = Number.NEGATIVE_INFINITY;

  /** Milliseconds, by the clock that shows more: either may have stopped during a suspension. */
  function msSince({ monotonic, now }: Moment): number {
    return Math.max(clock.monotonic() - monotonic, clock.now() - now);
  }

  /** Detects a suspension of this process. Called by a timer and by readers in doubt: the first to run afterwards notices. */
  function beat(): void {
    const ms = msSince(lastBeat);
    lastBeat = moment(clock);
    if (ms <= STOPPED_MS) return;
    resumedAt = clock.monotonic();
    log.info({ ms }, 'this process was suspended: it shows no copies before its database has answered');
  }

  function wasStoppedAfter({ monotonic }: Moment): boolean {
    beat();
    return resumedAt >= monotonic;
  }

  async function pollNow(): Promise<void> {
    const begun = moment(clock);
    try {
      await pollAll(begun);
      away = false;
    } catch (error) {
      // A query that was in progress during a suspension fails for that reason alone.
      away ||= !wasStoppedAfter(begun);
      throw error;
    }
  }

  async function pollAll(begun: Moment): Promise<void> {
    const wasAwaited = isAwaited;
    isAwaited = false;
    const below = await inTime(() => completedChanges(database.query));
    for (const refresh of refreshers) await inTime(refresh);
    // Recorded before copies count as current: other nodes do not wait for a node without a recent record.
    await inTime(() => registry.changesApplied(below));
    lastPoll = begun;
    if (wasAwaited) await inTime(() => database.notify(APPLIED));
  }

  function inTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const late = new AbortController();
    const giveUp = () => late.abort(new Error(`The database has not answered within ${TIMEOUT_MS} ms.`));
    return ifLate(clock, TIMEOUT_MS, giveUp, () => orAborted(ask(), late.signal));
  }

  /** One query at a time. A caller that needs changes made since the running one began must poll again. */
  function poll(): Promise<void> {
    polling ??= pollNow().finally(() => {
      polling = null;
    });
    return polling;
  }

  let isFollowing = false;

  return {
    /** `refresh` applies earlier durable removals, replacements and declarations. Called in the order of registration. */
    onChange(refresh: () => Promise<void>): void {
      refreshers.push(refresh);
    },
    /** From now on this node follows the others; until then it serves no copies. */
    async follow(): Promise<{ close(): Promise<void> }> {
      await poll();
      isFollowing = true;
      const failure = 'changes of other nodes cannot be read';
      const polls = openRepeater(poll, { clock, log, pause: INTERVAL, failure });
      const beats = openRepeater(beat, { clock, log, pause: BEAT_MS, failure });
      const wake = () => {
        isAwaited = true;
        polls.wake();
      };
      const stopListening = [CHANGED, ...channels].map((channel) => database.listen(channel, wake));
      return {
        async close() {
          for (const stop of stopListening) stop();
          await beats.close();
          await polls.close();
        },
      };
    },
    /** Whether copies may be served without a query. */
    isCurrent: (): boolean => msSince(lastPoll) < CURRENT_FOR,
    isAway: (): boolean => away,
    /**
     * Queries if necessary. Copies may be served when they are current, or for at most `staleMs` while the database is
     * unreachable, by a node that has been running since its latest query.
     */
    async mayShow(): Promise<boolean> {
      if (!isFollowing) return false;
      if (msSince(lastPoll) < CURRENT_FOR) return true;
      if (!away) await poll().catch(() => {});
      if (msSince(lastPoll) < CURRENT_FOR) return true;
      return away && !wasStoppedAfter(lastPoll) && msSince(lastPoll) < staleMs;
    },
    /** Resolves when every node has applied earlier durable changes, or serves no copies until its next query. */
    async waitForAllNodes(): Promise<void> {
      const since = await changeNumber(database.change);
      const deadline = clock.monotonic() + WAITED_FOR;
      const woken = { applied: new AbortController() };
      const stop = database.listen(APPLIED, () => woken.applied.abort());
      try {
        await database.notify(CHANGED);
        for (;;) {
          woken.applied = new AbortController();
          const others = await registry.changesAppliedByOthers(WAITED_FOR);
          if (others.every((below) => below > since) || clock.monotonic() > deadline) return;
          await clock.sleep(POLL, woken.applied.signal).catch(() => {});
        }
      } finally {
        stop();
      }
    },
  };
}
