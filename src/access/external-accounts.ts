import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecret, hashSecret } from './api-token.ts';
import { type Caller, type ExternalIdentity, externalAccount } from './caller.ts';
import type { RightsToday } from './claims.ts';
import { createSessionTable, SESSION_LIFE_MS } from './session-store.ts';

/** The lock of accounts: tokens and sessions are serialized with the removal of their account. */
const LOCK = 'accounts';

export interface ExternalAccount extends Pick<ExternalIdentity, 'issuer' | 'subject' | 'name'> {
  readonly id: number;
  /** Under the current configuration; null: no access. */
  readonly rights: Pick<Caller, 'role' | 'layers'> | null;
  readonly sessions: number;
  readonly tokens: number;
  /** When the claims were issued. */
  readonly signedInAt: number;
}

export type ExternalAccounts = ReturnType<typeof createExternalAccounts>;

/**
 * Accounts of an OpenID Connect issuer or a trusted proxy that have a session or a token here, with the claims of their latest
 * sign-in. Rights are not stored: `rightsToday` derives them from the claims at every use.
 */
export function createExternalAccounts(database: Database, clock: Clock, rightsToday: RightsToday) {
  const sessions = createSessionTable(database, clock, 'oidc_sessions');

  async function identityOf(account: string): Promise<ExternalIdentity | null> {
    const selection = database.query.selectFrom('external_accounts').selectAll();
    const row = await selection.where('account', '=', account).executeTakeFirst();
    return row ? identityIn(row) : null;
  }

  /** Throws `account-unknown`. */
  async function endSessions(query: Statements, id: number) {
    const selection = query.selectFrom('external_accounts').selectAll().where('id', '=', id);
    const row = await selection.executeTakeFirst();
    if (!row) throw new TilewardenError('account-unknown', 'There is no such external account.');
    return { row, sessions: await sessions.endAll(query, row.account) };
  }

  return {
    /** Begins a session. Returns the value of the cookie, which is stored only there. */
    async begin(identity: ExternalIdentity): Promise<string> {
      const secret = createSecret();
      const account = externalAccount(identity);
      const now = clock.now();
      await database.transaction(LOCK, async (query) => {
        await sessions.removeEnded(query);
        await removeUnused(query, now - SESSION_LIFE_MS);
        await remember(query, identity);
        const row = { hash: hashSecret(secret), account, created_at: now, seen_at: now };
        await query.insertInto('oidc_sessions').values(row).execute();
      });
      return secret;
    },

    /** Stores the account, so that it can own tokens. Older claims do not replace newer ones. */
    remember: (identity: ExternalIdentity): Promise<void> =>
      database.transaction(LOCK, (query) => remember(query, identity)),

    /** Null: no open session, or the account has no access any longer. `peek`: does not count as a use. */
    async find(secret: string, peek = false): Promise<Caller | null> {
      const session = await sessions.find(secret, peek);
      const identity = session && (await identityOf(session.account));
      const rights = identity && rightsToday(identity);
      return rights && { name: identity.name, ...rights, via: 'oidc', external: identity };
    },

    /** Whether the account is an administrator under the current configuration, and so may own tokens. */
    async isAdministrator(account: string): Promise<boolean> {
      const identity = await identityOf(account);
      return identity !== null && rightsToday(identity)?.role === 'admin';
    },

    end: sessions.end,

    async list(): Promise<readonly ExternalAccount[]> {
      const rows = await database.query.selectFrom('external_accounts').selectAll().orderBy('name').execute();
      const open = await sessions.countOpen();
      const tokens = await tokenCounts(database);
      return rows.map((row) => ({
        ...identityIn(row),
        id: row.id,
        rights: rightsToday(identityIn(row)),
        sessions: open.get(row.account) ?? 0,
        tokens: tokens.get(row.account) ?? 0,
        signedInAt: row.claims_at,
      }));
    },

    /** Throws `account-unknown`. */
    signOut: (id: number): Promise<{ readonly account: string; readonly sessions: number }> =>
      database.transaction(LOCK, async (query) => {
        const ended = await endSessions(query, id);
        return { account: ended.row.account, sessions: ended.sessions };
      }),

    /** Ends the sessions and revokes the tokens. Throws `account-unknown`. */
    remove: (id: number): Promise<{ readonly account: string }> =>
      database.transaction(LOCK, async (query) => {
        const { account } = (await endSessions(query, id)).row;
        await query.deleteFrom('tokens').where('account', '=', account).execute();
        await query.deleteFrom('external_accounts').where('id', '=', id).execute();
        return { account };
      }),
  };
}

async function remember(query: Statements, identity: ExternalIdentity): Promise<void> {
  const { issuer, subject, name, claims, issuedAt } = identity;
  const latest = { name, claims: JSON.stringify(claims), claims_at: issuedAt };
  await query
    .insertInto('external_accounts')
    .values({ account: externalAccount(identity), issuer, subject, ...latest })
    .onConflict((conflict) =>
      conflict.column('account').doUpdateSet(latest).where('external_accounts.claims_at', '<=', issuedAt),
    )
    .execute();
}

/** Removes accounts without session and token whose last sign-in was before that time. */
async function removeUnused(query: Statements, before: number): Promise<void> {
  const tokenOwners = query.selectFrom('tokens').select('account').where('account', 'is not', null);
  await query
    .deleteFrom('external_accounts')
    .where('claims_at', '<', before)
    .where('account', 'not in', query.selectFrom('oidc_sessions').select('account'))
    .where('account', 'not in', tokenOwners)
    .execute();
}

async function tokenCounts({ query }: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await query
    .selectFrom('tokens')
    .select(({ fn }) => ['account', fn.countAll<number>().as('count')])
    .groupBy('account')
    .execute();
  return new Map(rows.map(({ account, count }) => [account ?? '', Number(count)]));
}

function identityIn({ issuer, subject, name, claims, claims_at: issuedAt }: RowOf<'external_accounts'>) {
  return { issuer, subject, name, claims: JSON.parse(claims) as ExternalIdentity['claims'], issuedAt };
}
