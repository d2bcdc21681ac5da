import type { Database, Statements } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';
import type { Caller, Role } from './caller.ts';
import { externalCaller } from './claims.ts';
import type { LoginSecrets } from './oidc-provider.ts';
import { SEEN_EVERY_MS, SESSION_IDLE_MS, SESSION_LIFE_MS } from './session-store.ts';

const LOCK = 'external-sessions';
/** Milliseconds between the beginning of a sign-in and its end. */
export const LOGIN_LASTS_MS = 10 * 60_000;
const MAX_LOGINS = 10_000;

export interface PendingLogin extends LoginSecrets {
  /** A path of this server. */
  readonly returnTo: string;
}

export type ExternalSessions = ReturnType<typeof createExternalSessions>;

/** Sign-ins by way of an OpenID Connect issuer: those that have begun, and the sessions of those that have ended. */
export function createExternalSessions(database: Database, clock: Clock) {
  return {
    /** Remembers a sign-in; the secret goes into a cookie of the browser that began. */
    async beginLogin(login: PendingLogin): Promise<string> {
      const browser = createSecret();
      const now = clock.now();
      const { state, ...rest } = login;
      const row = {
        state: hashSecret(state),
        browser: hashSecret(browser),
        document: JSON.stringify(rest),
        at: now,
      };
      await database.transaction(LOCK, async (query) => {
        await removeOldLogins(query, now);
        await query.insertInto('oidc_logins').values(row).execute();
      });
      return browser;
    },

    /** Null: unknown, too old, used before, or of another browser. It is good once. */
    async endLogin(state: string, browser: string): Promise<PendingLogin | null> {
      const row = await database.change
        .deleteFrom('oidc_logins')
        .where('state', '=', hashSecret(state))
        .where('browser', '=', hashSecret(browser))
        .where('at', '>', clock.now() - LOGIN_LASTS_MS)
        .returningAll()
        .executeTakeFirst();
      return row ? { ...JSON.parse(row.document), state } : null;
    },

    /** What goes into the cookie; kept nowhere but there. */
    async begin(account: string, rights: Pick<Caller, 'name' | 'role' | 'layers'>): Promise<string> {
      const secret = createSecret();
      const now = clock.now();
      const { name, role, layers } = rights;
      await database.transaction(LOCK, async (query) => {
        await query
          .deleteFrom('oidc_sessions')
          .where(({ eb, or }) =>
            or([eb('seen_at', '<', now - SESSION_IDLE_MS), eb('created_at', '<', now - SESSION_LIFE_MS)]),
          )
          .execute();
        await query
          .insertInto('oidc_sessions')
          .values({
            hash: hashSecret(secret),
            account,
            name,
            role,
            layers: JSON.stringify(layers),
            created_at: now,
            seen_at: now,
          })
          .execute();
      });
      return secret;
    },

    /** Null: there is no such session, or it has ended. `peek`: it does not count as a use. */
    async find(secret: string, peek = false): Promise<Caller | null> {
      const now = clock.now();
      const hash = hashSecret(secret);
      const row = await database.query
        .selectFrom('oidc_sessions')
        .selectAll()
        .where('hash', '=', hash)
        .executeTakeFirst();
      if (!row || now - row.seen_at > SESSION_IDLE_MS || now - row.created_at > SESSION_LIFE_MS) return null;
      if (!peek && now - row.seen_at >= SEEN_EVERY_MS) {
        await database.change
          .updateTable('oidc_sessions')
          .set({ seen_at: now })
          .where('hash', '=', hash)
          .execute();
      }
      const { name, account } = row;
      return externalCaller('oidc', account, {
        name,
        role: row.role as Role,
        layers: JSON.parse(row.layers) as string[],
      });
    },

    async end(secret: string): Promise<void> {
      await database.change.deleteFrom('oidc_sessions').where('hash', '=', hashSecret(secret)).execute();
    },
  };
}

async function removeOldLogins(query: Statements, now: number): Promise<void> {
  await query
    .deleteFrom('oidc_logins')
    .where('at', '<', now - LOGIN_LASTS_MS)
    .execute();
  const oldest = await query
    .selectFrom('oidc_logins')
    .select('at')
    .orderBy('at', 'desc')
    .offset(MAX_LOGINS)
    .limit(1)
    .executeTakeFirst();
  if (oldest) await query.deleteFrom('oidc_logins').where('at', '<=', oldest.at).execute();
}
