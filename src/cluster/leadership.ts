import type { DatabaseOptions, Lead } from '../db/database.ts';
import { connectSession, endSession, type SessionClient } from '../db/postgres/session-client.ts';
import { openRepeater } from '../lib/repeat.ts';

interface LeadershipOptions extends DatabaseOptions {
  /** Called when this node begins or ceases to lead. */
  readonly changed: (leads: boolean) => void;
}

/** Milliseconds after which PostgreSQL ends an idle session: a node that was stopped leads no longer. */
const LEASE = 15_000;
/** Milliseconds between signs of life, and between attempts of the others. */
const BEAT = 4000;
const ATTEMPT = 2000;
const TRY = "select pg_try_advisory_lock(hashtext('tilewarden:leader')) as held";

/** One node at a time holds a session-level advisory lock, on a connection that does nothing else. */
export function openLeadership({ location, clock, log, changed }: LeadershipOptions): {
  readonly lead: Lead;
  close(): Promise<void>;
} {
  const terms = new Set<(term: AbortSignal) => void>();
  let term: AbortController | null = null;

  function begin(): void {
    term = new AbortController();
    log.info({}, 'this node now runs the quota, schedules and clean-up for all nodes');
    changed(true);
    for (const tell of terms) tell(term.signal);
  }

  function end(): void {
    if (!term) return;
    term.abort();
    term = null;
    changed(false);
  }

  async function standOnce(stop: AbortSignal): Promise<void> {
    const session = await connectSession(location);
    session.lost.addEventListener('abort', end, { once: true });
    try {
      await session.client.query(`set idle_session_timeout = ${LEASE}`);
      for (let beatAt = clock.monotonic(); !session.lost.aborted && !stop.aborted; ) {
        await beat(session);
        // A node that was stopped for longer than the lease has lost it, whatever its connection reports.
        const now = clock.monotonic();
        if (now - beatAt > LEASE) return;
        beatAt = now;
        const either = AbortSignal.any([stop, session.lost]);
        await clock.sleep(term ? BEAT : ATTEMPT, either).catch(() => {});
      }
    } finally {
      end();
      await endSession(session);
    }
  }

  async function beat({ client, lost }: SessionClient): Promise<void> {
    const { rows } = await client.query<{ held?: boolean }>(term ? 'select 1' : TRY);
    if (!term && rows[0]?.held && !lost.aborted) begin();
  }

  const failure = 'the database cannot be reached; trying again';
  const standing = openRepeater(standOnce, { clock, log, pause: ATTEMPT, failure });
  return {
    lead: (work) => {
      const ending = new AbortController();
      let running = Promise.resolve();
      const run = (signal: AbortSignal) => {
        running = running
          .then(() => work(AbortSignal.any([signal, ending.signal])))
          .catch((error: unknown) => log.error({ err: error }, 'a job of the leading node failed'));
      };
      terms.add(run);
      if (term) run(term.signal);
      return {
        async close() {
          terms.delete(run);
          ending.abort();
          await running;
        },
      };
    },
    close: standing.close,
  };
}
