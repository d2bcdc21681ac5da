import type { DatabaseOptions } from '../db/database.ts';
import { connectSession, endSession, type SessionClient } from '../db/postgres/session-client.ts';
import { openRepeater } from '../lib/repeat.ts';
import { createTerms, type Leadership, type TermOptions } from './terms.ts';

/** Milliseconds after which PostgreSQL ends an idle session, so that a suspended node no longer leads. */
const LEASE = 15_000;
/** Milliseconds between heartbeats, and between attempts of the other nodes. */
const BEAT = 4000;
const ATTEMPT = 2000;
const TRY = "select pg_try_advisory_lock(hashtext('tilewarden:leader')) as held";
const FAILURE = 'the database cannot be reached; trying again';

/** The node that leads holds a session-level advisory lock of PostgreSQL, on a connection that does nothing else. */
export function openLeadership({ location, ...options }: DatabaseOptions & TermOptions): Leadership {
  const { clock, log } = options;
  const terms = createTerms(options);

  async function holdSession(stop: AbortSignal): Promise<void> {
    const session = await connectSession(location);
    session.lost.addEventListener('abort', terms.end, { once: true });
    try {
      await session.client.query(`set idle_session_timeout = ${LEASE}`);
      for (let beatAt = clock.monotonic(); !session.lost.aborted && !stop.aborted; ) {
        await beat(session);
        // A node that was suspended for longer than the lease has lost it, even if its connection reports otherwise.
        const now = clock.monotonic();
        if (now - beatAt > LEASE) return;
        beatAt = now;
        const either = AbortSignal.any([stop, session.lost]);
        await clock.sleep(terms.leads() ? BEAT : ATTEMPT, either).catch(() => {});
      }
    } finally {
      terms.end();
      await endSession(session);
    }
  }

  async function beat({ client, lost }: SessionClient): Promise<void> {
    const { rows } = await client.query<{ held?: boolean }>(terms.leads() ? 'select 1' : TRY);
    if (!terms.leads() && rows[0]?.held && !lost.aborted) terms.begin();
  }

  const attempts = openRepeater(holdSession, { clock, log, pause: ATTEMPT, failure: FAILURE });
  return { lead: terms.lead, close: attempts.close };
}
