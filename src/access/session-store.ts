import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';
import type { User } from './user.ts';

export const SESSION_IDLE_MS = 30 * 60_000;
export const SESSION_LIFE_MS = 12 * 60 * 60_000;
/** Shortest interval between updates of a session's last use. */
const SEEN_EVERY_MS = 60_000;
const MAX_PER_USER = 20;
/** The lock of accounts: sessions and changes of their user are serialized. */
const LOCK = 'accounts';

export type SessionStore = ReturnType<typeof createSessionStore>;

/** Sessions of the console. Kept in the database, so that a restart ends none. */
export function createSessionStore(database: Database, clock: Clock) {
  const table = createSessionTable(database, clock, 'sessions');
  return {
    /**
     * Returns the value of the cookie, which is stored only there. Null: the user was changed or removed after it was
     * read, which ended all sessions.
     */
    async begin({ name, changedAt }: Pick<User, 'name' | 'changedAt'>): Promise<string | null> {
      const secret = createSecret();
      const now = clock.now();
      const row = { hash: hashSecret(secret), user_name: name, created_at: now, seen_at: now };
      return database.transaction(LOCK, async (query) => {
        const same = query.selectFrom('users').where('name', '=', name).where('changed_at', '=', changedAt);
        if (!(await same.select('name').executeTakeFirst())) return null;
        await table.removeEnded(query);
        await removeOldest(query, name);
        await query.insertInto('sessions').values(row).execute();
        return secret;
      });
    },

    /** The user's name; null: the session has ended. `peek`: does not count as a use. */
    async find(secret: string, peek = false): Promise<string | null> {
      return (await table.find(secret, peek))?.user_name ?? null;
    },

    end: table.end,

    /** Ends all sessions of the user, and returns how many there were. */
    endAll: (name: string): Promise<number> =>
      database.transaction(LOCK, (query) => table.endAll(query, name)),
  };
}

/** What sessions of local users (`sessions`) and of external accounts (`oidc_sessions`) have in common. */
export function createSessionTable<Table extends 'sessions' | 'oidc_sessions'>(
  database: Database,
  clock: Clock,
  table: Table,
) {
  // For the compiler: both tables have the columns that are used here, except for the account.
  const sessions = table as 'sessions';
  const account = (table === 'sessions' ? 'user_name' : 'account') as 'user_name';
  return {
    /** Null: there is no such session, or it has ended. `peek`: does not count as a use. */
    async find(secret: string, peek = false): Promise<RowOf<Table> | null> {
      const [now, hash] = [clock.now(), hashSecret(secret)];
      const selection = database.query.selectFrom(sessions).selectAll().where('hash', '=', hash);
      const row = await selection.executeTakeFirst();
      if (!row || !isOpen(row, now)) return null;
      const touch = database.change.updateTable(sessions).set({ seen_at: now }).where('hash', '=', hash);
      // On a full disk nothing can be written, but the console must still show that.
      if (!peek && now - row.seen_at >= SEEN_EVERY_MS) await touch.execute().catch(() => {});
      return row as unknown as RowOf<Table>;
    },

    async end(secret: string): Promise<void> {
      await database.change.deleteFrom(sessions).where('hash', '=', hashSecret(secret)).execute();
    },

    /** Ends all sessions of the account, and returns how many were open. */
    async endAll(query: Statements, owner: string): Promise<number> {
      const now = clock.now();
      const rows = await query
        .deleteFrom(sessions)
        .where(account, '=', owner)
        .returning(['seen_at', 'created_at'])
        .execute();
      return rows.filter((row) => isOpen(row, now)).length;
    },

    /** Open sessions by account. */
    async countOpen(): Promise<ReadonlyMap<string, number>> {
      const now = clock.now();
      const rows = await database.query
        .selectFrom(sessions)
        .select(({ fn }) => [account, fn.countAll<number>().as('count')])
        .where('seen_at', '>=', now - SESSION_IDLE_MS)
        .where('created_at', '>=', now - SESSION_LIFE_MS)
        .groupBy(account)
        .execute();
      return new Map(rows.map((row) => [row[account], Number(row.count)]));
    },

    async removeEnded(query: Statements): Promise<void> {
      const now = clock.now();
      await query
        .deleteFrom(sessions)
        .where(({ eb, or }) =>
          or([eb('seen_at', '<', now - SESSION_IDLE_MS), eb('created_at', '<', now - SESSION_LIFE_MS)]),
        )
        .execute();
    },
  };
}

function isOpen(row: Pick<RowOf<'sessions'>, 'seen_at' | 'created_at'>, now: number): boolean {
  return row.seen_at >= now - SESSION_IDLE_MS && row.created_at >= now - SESSION_LIFE_MS;
}

/** Makes room for one more session. The limit is any large number: SQLite has no OFFSET without LIMIT. */
async function removeOldest(query: Statements, userName: string): Promise<void> {
  const oldest = query
    .selectFrom('sessions')
    .select('hash')
    .where('user_name', '=', userName)
    .orderBy('seen_at', 'desc')
    .offset(MAX_PER_USER - 1)
    .limit(1000);
  await query.deleteFrom('sessions').where('hash', 'in', oldest).execute();
}
