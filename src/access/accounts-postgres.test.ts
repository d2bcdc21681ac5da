import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../test/fixtures/accounts.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { systemClock } from '../lib/clock.ts';

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
