import type { Database, Statements } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';

export const SESSION_IDLE_MS = 30 * 60_000;
export const SESSION_LIFE_MS = 12 * 60 * 60_000;
/** The last use of a session is written no more often than this. */
export const SEEN_EVERY_MS = 60_000;
const MAX_PER_USER = 20;
const LOCK = 'sessions';

export type SessionStore = ReturnType<typeof createSessionStore>;

/** Who is logged in to the console. Kept in the database, so that a restart ends no session. */
export function createSessionStore(database: Database, clock: Clock) {
  return {
    /** What goes into the cookie; kept nowhere but there. */
    async begin(userName: string): Promise<string> {
      const secret = createSecret();
      const now = clock.now();
      const row = { hash: hashSecret(secret), user_name: userName, created_at: now, seen_at: now };
      await database.transaction(LOCK, async (query) => {
        await removeEnded(query, now);
        await removeOldest(query, userName);
        await query.insertInto('sessions').values(row).execute();
      });
      return secret;
    },

    /** The user's name; null when the session has ended. */
    async find(secret: string): Promise<string | null> {
      const row = await lasting(secret);
      if (row && clock.now() - row.seen_at >= SEEN_EVERY_MS) await markSeen(row.hash, clock.now());
      return row?.user_name ?? null;
    },

    /** The same, without counting as a use. */
    async peek(secret: string): Promise<string | null> {
      return (await lasting(secret))?.user_name ?? null;
    },

    async end(secret: string): Promise<void> {
      await database.transaction(LOCK, (query) =>
        query.deleteFrom('sessions').where('hash', '=', hashSecret(secret)).execute(),
      );
    },
  };

  async function lasting(secret: string): Promise<Schema['sessions'] | null> {
    const now = clock.now();
    const row = await database.query
      .selectFrom('sessions')
      .selectAll()
      .where('hash', '=', hashSecret(secret))
      .executeTakeFirst();
    const ended = !row || now - row.seen_at > SESSION_IDLE_MS || now - row.created_at > SESSION_LIFE_MS;
    return ended ? null : row;
  }

  async function markSeen(hash: string, now: number): Promise<void> {
    await database.transaction(LOCK, (query) =>
      query.updateTable('sessions').set({ seen_at: now }).where('hash', '=', hash).execute(),
    );
  }
}

async function removeEnded(query: Statements, now: number): Promise<void> {
  await query
    .deleteFrom('sessions')
    .where(({ eb, or }) =>
      or([eb('seen_at', '<', now - SESSION_IDLE_MS), eb('created_at', '<', now - SESSION_LIFE_MS)]),
    )
    .execute();
}

async function removeOldest(query: Statements, userName: string): Promise<void> {
  const rows = await query
    .selectFrom('sessions')
    .select('hash')
    .where('user_name', '=', userName)
    .orderBy('seen_at', 'desc')
    .offset(MAX_PER_USER - 1)
    .limit(1000)
    .execute();
  if (rows.length === 0) return;
  await query
    .deleteFrom('sessions')
    .where(
      'hash',
      'in',
      rows.map(({ hash }) => hash),
    )
    .execute();
}
