import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { createTokenSecret, hashSecret } from './api-token.ts';
import type { Role } from './caller.ts';
import { checkAccount, checkExpiry } from './user.ts';

/** Authenticates a script without a user's password. */
export interface ApiToken {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
  /** Patterns of layer names; `*` matches any text. */
  readonly layers: readonly string[];
  readonly createdBy: string;
  /** The owning external account; null: a local user, or none. */
  readonly account: string | null;
  readonly createdAt: number;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** To the minute. */
  readonly lastUsedAt: number | null;
}

export type TokenDraft = Pick<ApiToken, 'name' | 'role' | 'layers' | 'expiresAt'>;

const LOCK = 'accounts';
const MAX_TOKENS = 10_000;

export type TokenStore = ReturnType<typeof createTokenStore>;

/** Only administrators own tokens. `isAdministrator`: whether an external account is one now. */
export function createTokenStore(
  database: Database,
  clock: Clock,
  isAdministrator: (account: string) => Promise<boolean>,
) {
  return {
    /** Returns the secret, which is not stored. Throws `request-invalid`, or `account-conflict`, for a former administrator too. */
    async create(draft: TokenDraft, createdBy: string, account: string | null = null) {
      const [now, secret] = [clock.now(), createTokenSecret()];
      const { name, role, layers, expiresAt } = draft;
      checkAccount(draft);
      checkExpiry(expiresAt, now);
      const row = {
        name,
        hash: hashSecret(secret),
        role,
        layers: JSON.stringify(layers),
        created_by: createdBy,
        account,
        created_at: now,
        expires_at: expiresAt,
      };
      const token = await database.transaction(LOCK, async (query) => {
        if (!(await mayOwn(query, createdBy, account)))
          throw new TilewardenError('account-conflict', `${createdBy} is no longer an administrator.`);
        const all = query.selectFrom('tokens').select(({ fn }) => fn.countAll<number>().as('count'));
        const { count } = await all.executeTakeFirstOrThrow();
        if (count >= MAX_TOKENS) throw new TilewardenError('account-conflict', 'There are too many tokens.');
        return tokenOf(await query.insertInto('tokens').values(row).returningAll().executeTakeFirstOrThrow());
      });
      return { token, secret };
    },

    /** Null for an unknown or expired secret, and for one whose external owner is no longer an administrator. */
    async find(secret: string): Promise<ApiToken | null> {
      const row = await database.query
        .selectFrom('tokens')
        .selectAll()
        .where('hash', '=', hashSecret(secret))
        .executeTakeFirst();
      if (!row || (row.expires_at !== null && row.expires_at <= clock.now())) return null;
      return row.account === null || (await isAdministrator(row.account)) ? tokenOf(row) : null;
    },

    async list(): Promise<readonly ApiToken[]> {
      const rows = await database.query.selectFrom('tokens').selectAll().orderBy('id').execute();
      return rows.map(tokenOf);
    },

    /** Throws `account-unknown`. */
    revoke: (id: number): Promise<ApiToken> =>
      database.transaction(LOCK, async (query) => {
        const row = await query.deleteFrom('tokens').where('id', '=', id).returningAll().executeTakeFirst();
        if (row) return tokenOf(row);
        throw new TilewardenError('account-unknown', 'There is no such token.');
      }),

    async markUsed(id: number): Promise<void> {
      await database.transaction(LOCK, (query) =>
        query.updateTable('tokens').set({ last_used_at: clock.now() }).where('id', '=', id).execute(),
      );
    },
  };
}

/**
 * Under the lock of removal and demotion, which revoke tokens: none is created afterwards. No user's name has a colon;
 * an owner with one is the console, or a server without accounts.
 */
async function mayOwn(query: Statements, name: string, account: string | null): Promise<boolean> {
  const user = query.selectFrom('users').select('name').where('name', '=', name).where('role', '=', 'admin');
  if (account === null) return name.includes(':') || (await user.executeTakeFirst()) !== undefined;
  const external = query.selectFrom('external_accounts').select('id').where('account', '=', account);
  return (await external.executeTakeFirst()) !== undefined;
}

function tokenOf(row: RowOf<'tokens'>): ApiToken {
  return {
    id: row.id,
    name: row.name,
    role: row.role as Role,
    layers: JSON.parse(row.layers) as string[],
    createdBy: row.created_by,
    account: row.account,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
