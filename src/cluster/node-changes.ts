import type { Database } from '../db/database.ts';
import { ifLate } from '../lib/clock.ts';
import { orAborted } from '../lib/deferred.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { NodeRegistry } from './node-registry.ts';

interface NodeNewsOptions extends Env {
  readonly database: Database;
  readonly registry: Pick<NodeRegistry, 'heard' | 'othersHeard'>;
  /** Channels of the database on which others tell that there is something. */
  readonly channels: readonly string[];
  /** Milliseconds that copies may be shown while the database cannot be asked whether they are still right. */
  readonly staleMs: number;
}

/** Milliseconds. Copies are shown for this long after the database was asked; then it is asked before. */
const CURRENT_FOR = 4000;
/** So long others wait for a node that does not answer; clocks run unevenly. */
const WAITED_FOR = CURRENT_FOR + 1000;
/** Between polls without a notification: each takes as much processor time as some hundred hits. */
const INTERVAL = 2000;
/** A database that takes longer to say what has changed is away. */
const PATIENCE = 3000;
/** A reader waits no longer than this for an answer. */
const READER_PATIENCE = 500;
const POLL = 100;
/** A change was made; a node has applied it. */
const CHANGED = 'node-news';
const HEARD = 'node-news-heard';

export type NodeChanges = ReturnType<typeof createNodeChanges>;

/** What other nodes have changed, as far as this one has copies of it. */
export function createNodeChanges(options: NodeNewsOptions) {
  const { database, registry, channels, staleMs, clock, log } = options;
  const takers: (() => Promise<void>)[] = [];
  /** Another node waits for this one to receive a change. */
  let called = true;
  let asking: Promise<void> | null = null;
  let away = false;
  /** When the latest question that was answered was asked, by both clocks: neither may have stood still. */
  let asked = { monotonic: Number.NEGATIVE_INFINITY, now: Number.NEGATIVE_INFINITY };

  function age(): number {
    return Math.max(clock.monotonic() - asked.monotonic, clock.now() - asked.now);
  }

  async function askNow(): Promise<void> {
    const begun = { monotonic: clock.monotonic(), now: clock.now() };
    try {
      const late = new AbortController();
      const giveUp = () => late.abort(new Error(`The database has not answered within ${PATIENCE} ms.`));
      await ifLate(clock, PATIENCE, giveUp, () => orAborted(askAll(begun), late.signal));
      away = false;
    } catch (error) {
      away = true;
      throw error;
    }
  }

  async function askAll(begun: typeof asked): Promise<void> {
    const wasCalled = called;
    called = false;
    const at = await database.now();
    for (const takeUp of takers) await takeUp();
    // First, so that no node shows copies by a question that others do not know of, and do not wait for.
    await registry.heard(at);
    asked = begun;
    if (wasCalled) await database.notify(HEARD);
  }

  /** One question at a time. Who asks while one is under way, and must know what came since, asks another. */
  function ask(): Promise<void> {
    asking ??= askNow().finally(() => {
      asking = null;
    });
    return asking;
  }

  let isFollowing = false;

  return {
    /** Takes up in this node what was removed, replaced or declared, and durable before the call; in the order of calls. */
    onAsked(takeUp: () => Promise<void>): void {
      takers.push(takeUp);
    },
    /** From now on this node follows the others; until then it shows no copies. */
    async follow(): Promise<{ close(): Promise<void> }> {
      await ask();
      isFollowing = true;
      const failure = 'changes of other nodes cannot be read';
      const asks = openRepeater(ask, { clock, log, pause: INTERVAL, failure });
      const wake = () => {
        called = true;
        asks.wake();
      };
      const stopListening = [CHANGED, ...channels].map((channel) => database.listen(channel, wake));
      return {
        async close() {
          for (const stop of stopListening) stop();
          await asks.close();
        },
      };
    },
    /** Whether copies may be shown without asking. */
    isCurrent: (): boolean =>
      clock.now() - asked.now < CURRENT_FOR && clock.monotonic() - asked.monotonic < CURRENT_FOR,
    /** The database could not be asked a moment ago. */
    isAway: (): boolean => away,
    /** Asks, if need be, and says whether copies may be shown: they are right, or the database is away and not for too long. */
    async mayShow(): Promise<boolean> {
      if (!isFollowing) return false;
      if (age() < CURRENT_FOR) return true;
      if (!away) await Promise.race([ask().catch(() => {}), clock.sleep(READER_PATIENCE)]);
      return age() < Math.max(CURRENT_FOR, staleMs);
    },
    /** Resolves when every node knows what was durable before the call, or shows no copies until it has asked. */
    async waitForAllNodes(): Promise<void> {
      const since = await database.now();
      const woken = { heard: new AbortController() };
      const stop = database.listen(HEARD, () => woken.heard.abort());
      try {
        await database.notify(CHANGED);
        for (;;) {
          woken.heard = new AbortController();
          if ((await registry.othersHeard(WAITED_FOR)).every((at) => at >= since)) return;
          await clock.sleep(POLL, woken.heard.signal).catch(() => {});
        }
      } finally {
        stop();
      }
    },
  };
}
