import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';
import type { Caller, Role } from './caller.ts';
import { externalCaller } from './claims.ts';
import { createSessionTable } from './session-store.ts';

const LOCK = 'external-sessions';

export type ExternalSessions = ReturnType<typeof createExternalSessions>;

/** Sessions of users who have signed in with an OpenID Connect issuer. */
export function createExternalSessions(database: Database, clock: Clock) {
  const table = createSessionTable(database, clock, 'oidc_sessions');
  return {
    /** What goes into the cookie; kept nowhere but there. */
    async begin(account: string, rights: Pick<Caller, 'name' | 'role' | 'layers'>): Promise<string> {
      const secret = createSecret();
      const now = clock.now();
      const { name, role, layers } = rights;
      await database.transaction(LOCK, async (query) => {
        await table.removeEnded(query);
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
      const row = await table.find(secret, peek);
      if (!row) return null;
      const { name, account } = row;
      return externalCaller('oidc', account, {
        name,
        role: row.role as Role,
        layers: JSON.parse(row.layers) as string[],
      });
    },

    end: table.end,
  };
}
