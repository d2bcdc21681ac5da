import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../test/fixtures/accounts.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { systemClock } from '../lib/clock.ts';
import { createAuditTable } from './audit-table.ts';

it('users, tokens and sessions are the same in PostgreSQL, and a change in one server counts in the other', async () => {
  const location = await createPostgresDatabase();
  const one = await openTestAccounts(systemClock, location);
  const other = await openTestAccounts(systemClock, location);
  const who = async (authorization: string | null, session: string | null = null) =>
    (await other.authenticator.authenticate({ authorization, session, address: '10.0.0.1' }))?.name ?? null;
  expect(await one.ensureAdministrator(GOOD_PASSWORD)).toBeNull();
  expect(await other.ensureAdministrator('another long sentence')).toBeNull();
  expect(await who(basic('admin', GOOD_PASSWORD))).toBe('admin');

  const { secret, token } = await one.tokens.create(
    { name: 'cron', role: 'viewer', layers: ['*'], expiresAt: Date.now() + 60_000 },
    'admin',
  );
  expect(await who(`Bearer ${secret}`)).toBe('token:cron');
  await one.tokens.revoke(token.id);
  expect(await who(`Bearer ${secret}`)).toBeNull();

  const [admin] = await one.users.list();
  const session = admin ? await one.sessions.begin(admin) : null;
  expect(await who(null, session)).toBe('admin');
  await one.users.change('admin', { password: 'another long sentence' });
  expect(await who(null, session)).toBeNull();
  expect(await who(basic('admin', GOOD_PASSWORD))).toBeNull();
  expect(await who(basic('admin', 'another long sentence'))).toBe('admin');
  await expect(one.users.remove('admin')).rejects.toMatchObject({ code: 'account-conflict' });
});

it('nodes that set up the first administrator at the same moment make one, with one password', async () => {
  const location = await createPostgresDatabase();
  const nodes = [
    await openTestAccounts(systemClock, location),
    await openTestAccounts(systemClock, location),
  ];
  const passwords = await Promise.all(nodes.map((node) => node.ensureAdministrator(null)));
  const [password, ...others] = passwords.filter((made) => made !== null);
  expect(others).toEqual([]);
  const files = nodes.filter((node) => existsSync(node.passwordFile));
  expect(files.map((node) => readFileSync(node.passwordFile, 'utf8'))).toEqual([`${password}\n`]);
  expect(await nodes[0]?.authenticator.byPassword('admin', password ?? '', '10.0.0.1')).toMatchObject({
    role: 'admin',
  });
});

it('external accounts and the bounds of the audit log are the same in PostgreSQL', async () => {
  const location = await createPostgresDatabase();
  const proxyLogin = { user: 'X-User', groups: 'X-Groups', roles: { staff: 'admin' } as const };
  const { externals, tokens, database } = await openTestAccounts(systemClock, location, { proxyLogin });
  const rosa = { issuer: null, subject: 'rosa', name: 'rosa', claims: { groups: ['staff'] }, issuedAt: 2 };
  const session = await externals.begin(rosa);
  await externals.remember({ ...rosa, claims: { groups: [] }, issuedAt: 1 });
  const draft = { name: 'cron', role: 'viewer', layers: ['*'], expiresAt: null } as const;
  const { secret } = await tokens.create(draft, 'proxy:rosa', 'proxy:rosa');
  expect(await externals.find(session)).toMatchObject({ name: 'rosa', role: 'admin' });
  expect(await tokens.find(secret)).not.toBeNull();
  const [account] = await externals.list();
  expect(account).toMatchObject({ name: 'rosa', sessions: 1, tokens: 1 });
  expect(await externals.signOut(account?.id ?? 0)).toEqual({ account: 'proxy:rosa', sessions: 1 });
  await externals.remove(account?.id ?? 0);
  expect([await externals.find(session), await tokens.find(secret)]).toEqual([null, null]);

  const audit = createAuditTable(database, systemClock, null, { ofAccount: 1, inAll: 2, pruneEvery: 1 });
  for (const line of ['a', 'b', 'c'])
    await audit.append([{ line, account: 'user:vera', administrative: false }]);
  const left: string[] = [];
  for await (const line of audit.latestFirst()) left.push(line);
  expect(left).toEqual(['c']);
});
