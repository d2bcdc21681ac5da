import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';
import type { Caller, Role } from './caller.ts';
import { externalCaller } from './claims.ts';
import { SEEN_EVERY_MS, SESSION_IDLE_MS, SESSION_LIFE_MS } from './session-store.ts';

const LOCK = 'external-sessions';

export type ExternalSessions = ReturnType<typeof createExternalSessions>;

/** Sessions of those that have signed in by way of an OpenID Connect issuer. */
export function createExternalSessions(database: Database, clock: Clock) {
  return {
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
        // On a full disk nothing can be written, and the console is what shows it.
        await database.change
          .updateTable('oidc_sessions')
          .set({ seen_at: now })
          .where('hash', '=', hash)
          .execute()
          .catch(() => {});
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
