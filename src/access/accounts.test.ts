import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts, refuseRows } from '../../test/fixtures/accounts.ts';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import type { Presented } from './authenticator.ts';
import { mayWorkOn } from './caller.ts';
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from './session-store.ts';
import { isKnownToAll, weaknessOf } from './user.ts';

const MARY = { name: 'mary', password: GOOD_PASSWORD, role: 'operator', layers: ['topp:*'] } as const;
const MINUTE = 60_000;

function shows(authorization: string | null, more: Partial<Presented> = {}): Presented {
  return { authorization, session: null, address: '10.0.0.1', ...more };
}

describe('a user', () => {
  it('a user is recognised by name and password', async () => {
    const { users, authenticator } = await openTestAccounts();
    await users.add(MARY);
    expect(await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)))).toEqual({
      name: 'mary',
      role: 'operator',
      layers: ['topp:*'],
      via: 'basic',
    });
    expect(await authenticator.authenticate(shows(basic('mary', 'wrong')))).toBeNull();
    expect(await authenticator.authenticate(shows(basic('Mary', GOOD_PASSWORD)))).toBeNull();
  });

  it('a user signs in over Basic with a password of three parts with dots', async () => {
    const { users, authenticator } = await openTestAccounts();
    await users.add({ ...MARY, password: 'blue.tiger.mountain42' });
    expect(await authenticator.authenticate(shows(basic('mary', 'blue.tiger.mountain42')))).not.toBeNull();
    expect(weaknessOf('eyJhbGciOiJub25lIn0.e30.', 'mary')).toMatch(/looks like/);
  });

  it.each([
    null,
    '',
    'Basic',
    'Basic !!!',
    'Basic bWFyeQ==',
    'Digest username="mary"',
    `Basic ${'A'.repeat(2000)}`,
    'Basic /////w==',
    'Bearer',
    'Bearer a b',
  ])('a caller who shows %j is not recognised as a user', async (authorization) => {
    const { authenticator } = await openTestAccounts();
    expect(await authenticator.authenticate(shows(authorization))).toBeNull();
  });

  it('the password of a user is checked once, however many requests come at the same time', async () => {
    const { users, authenticator } = await openTestAccounts();
    await users.add(MARY);
    const asked = Array.from({ length: 100 }, () =>
      authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD))),
    );
    expect((await Promise.all(asked)).every((caller) => caller?.name === 'mary')).toBe(true);
  });

  it('a user loses the old password and has the new role from the next request on', async () => {
    const { users, authenticator } = await openTestAccounts();
    await users.add(MARY);
    await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)));
    await users.change('mary', { password: 'another long sentence', role: 'viewer' });
    expect(await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)))).toBeNull();
    const now = await authenticator.authenticate(shows(basic('mary', 'another long sentence')));
    expect(now).toMatchObject({ role: 'viewer' });
  });

  it('a user who changes a password that was replaced since it was checked is refused', async () => {
    const { users, authenticator } = await openTestAccounts();
    const mary = await users.add(MARY);
    await users.change('mary', { password: 'set by an administrator' });
    const own = users.change('mary', { password: 'set by an intruder' }, mary);
    await expect(own).rejects.toMatchObject({ code: 'account-conflict' });
    const again = basic('mary', 'set by an administrator');
    expect(await authenticator.authenticate(shows(again))).toMatchObject({ name: 'mary' });
  });

  it('a removed user cannot sign in, and their tokens and sessions end', async () => {
    const { users, tokens, sessions, authenticator } = await openTestAccounts();
    await users.add({ ...MARY, name: 'anna', role: 'admin', layers: ['*'] });
    const session = await sessions.begin(await users.add({ ...MARY, role: 'admin', layers: ['*'] }));
    const { secret } = await tokens.create(
      { name: 'cron', role: 'viewer', layers: ['*'], expiresAt: null },
      'mary',
    );
    await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)));
    await users.remove('mary');
    expect(await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)))).toBeNull();
    expect(await authenticator.authenticate(shows(null, { session }))).toBeNull();
    expect(await authenticator.authenticate(shows(`Bearer ${secret}`))).toBeNull();
  });

  it('a user who is no longer an administrator has no tokens left, and creates none', async () => {
    const { users, tokens, authenticator } = await openTestAccounts();
    await users.add({ ...MARY, role: 'admin', layers: ['*'] });
    await users.add({ ...MARY, name: 'anna', role: 'admin', layers: ['*'] });
    const draft = { name: 'cron', role: 'admin', layers: ['*'], expiresAt: null } as const;
    const { secret } = await tokens.create(draft, 'mary');
    expect(await authenticator.authenticate(shows(`Bearer ${secret}`))).toMatchObject({ owner: 'mary' });
    await users.change('mary', { layers: ['*'] });
    expect(await tokens.list()).toHaveLength(1);
    await users.change('mary', { role: 'viewer' });
    expect(await tokens.list()).toEqual([]);
    const refused = { code: 'account-conflict' };
    await expect(tokens.create(draft, 'mary')).rejects.toMatchObject(refused);
    await users.remove('mary');
    await expect(tokens.create(draft, 'mary')).rejects.toMatchObject(refused);
    await expect(tokens.create(draft, 'mary', 'proxy:mary')).rejects.toMatchObject(refused);
  });

  it('a user is not created twice, without a name, or with a common password', async () => {
    const { users } = await openTestAccounts();
    await users.add(MARY);
    await expect(users.add(MARY)).rejects.toMatchObject({ code: 'account-conflict' });
    for (const name of ['', 'a:b', 'a b', '-a', 'ä', 'a'.repeat(65)]) {
      await expect(users.add({ ...MARY, name })).rejects.toMatchObject({ code: 'request-invalid' });
    }
    await expect(users.add({ ...MARY, name: 'bob', password: 'short' })).rejects.toMatchObject({
      code: 'request-invalid',
    });
    await expect(users.add({ ...MARY, name: 'bob', layers: [] })).rejects.toMatchObject({
      code: 'request-invalid',
    });
  });

  it('the last administrator cannot lose the role', async () => {
    const { users, ensureAdministrator } = await openTestAccounts();
    await ensureAdministrator(GOOD_PASSWORD);
    await users.add(MARY);
    await expect(users.remove('admin')).rejects.toMatchObject({ code: 'account-conflict' });
    await expect(users.change('admin', { role: 'viewer' })).rejects.toMatchObject({
      code: 'account-conflict',
    });
    await users.change('mary', { role: 'admin', layers: ['*'] });
    await users.remove('admin');
    expect((await users.list()).map(({ name }) => name)).toEqual(['mary']);
  });

  it('a client that guesses passwords is slowed down, and cannot lock out known users', async () => {
    const { users, authenticator } = await openTestAccounts(createVirtualClock());
    await users.add(MARY);
    await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)));
    for (let i = 0; i < 10; i++) {
      const guess = shows(basic('mary', `guess ${i}`), { address: '10.6.6.6' });
      expect(await authenticator.authenticate(guess)).toBeNull();
    }
    await expect(
      authenticator.authenticate(shows(basic('mary', 'guess'), { address: '10.6.6.6' })),
    ).rejects.toMatchObject({ code: 'attempts-throttled', retryAfterSeconds: 30 });
    await expect(
      authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD), { address: '10.6.6.6' })),
    ).rejects.toMatchObject({ code: 'attempts-throttled' });
    expect(await authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)))).toMatchObject({
      name: 'mary',
    });
  });

  it('names longer than any user name count as one account, so that none is kept', async () => {
    const { authenticator } = await openTestAccounts(createVirtualClock());
    const guess = (n: number) =>
      authenticator.byPassword(`${'x'.repeat(64)}${n}`, 'guess', `10.0.0.${n % 5}`);
    for (let n = 0; n < 10; n++) expect(await guess(n)).toBeNull();
    await expect(guess(10)).rejects.toMatchObject({ code: 'attempts-throttled' });
  });

  it('failed logins are in the audit log, without the name that was typed', async () => {
    const { users, authenticator, audit } = await openTestAccounts();
    await users.add(MARY);
    await authenticator.authenticate(shows(basic('mary', 'guess one')));
    await authenticator.authenticate(shows(basic('my password', 'guess two')));
    await audit.record({ phase: 'ended', action: 'flush' });
    const logins = await audit.read({ text: 'login', limit: 10 });
    expect(logins).toMatchObject([
      { actor: null, source: '10.0.0.1', outcome: 'refused' },
      { actor: 'mary', source: '10.0.0.1', outcome: 'refused' },
    ]);
    expect(JSON.stringify(logins)).not.toMatch(/guess|my password/);
  });
});

describe('a token', () => {
  const CRON = { name: 'cron', role: 'operator', layers: ['a', 'b*'], expiresAt: null } as const;

  it('a token lets a script in as Bearer and as a Basic password', async () => {
    const { tokens, authenticator } = await openTestAccounts();
    const { secret, token } = await tokens.create(CRON, 'console:root');
    const caller = {
      name: 'token:cron',
      role: 'operator',
      layers: ['a', 'b*'],
      owner: 'console:root',
      via: 'token',
      tokenId: token.id,
    };
    expect(await authenticator.authenticate(shows(`Bearer ${secret}`))).toEqual(caller);
    expect(await authenticator.authenticate(shows(`bearer  ${secret}`))).toEqual(caller);
    expect(await authenticator.authenticate(shows(basic('anything', secret)))).toEqual(caller);
  });

  it('a token works on the layers that it names, not on those whose names begin like them', async () => {
    const { tokens, authenticator } = await openTestAccounts();
    const { secret } = await tokens.create(CRON, 'console:root');
    const caller = await authenticator.authenticate(shows(`Bearer ${secret}`));
    if (!caller) throw new Error('it was not let in');
    const layers = ['a', 'b', 'bc', 'ab', 'a*', 'A', ''].filter((layer) => mayWorkOn(caller, layer));
    expect(layers).toEqual(['a', 'b', 'bc']);
  });

  it('a token is stored nowhere', async () => {
    const { tokens, database, folder } = await openTestAccounts();
    const { secret } = await tokens.create(CRON, 'console:root');
    const rows = await database.query.selectFrom('tokens').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(secret.slice(3));
    expect(readFileSync(`${folder}/tilewarden.db-wal`).includes(secret.slice(3))).toBe(false);
  });

  it('a token ends with its time, or when it is revoked', async () => {
    const clock = createVirtualClock();
    const { tokens, authenticator } = await openTestAccounts(clock);
    const short = await tokens.create({ ...CRON, expiresAt: clock.now() + MINUTE }, 'console:root');
    const long = await tokens.create(CRON, 'console:root');
    clock.advance(MINUTE);
    expect(await authenticator.authenticate(shows(`Bearer ${short.secret}`))).toBeNull();
    expect(await authenticator.authenticate(shows(`Bearer ${long.secret}`))).not.toBeNull();
    await tokens.revoke(long.token.id);
    expect(await authenticator.authenticate(shows(`Bearer ${long.secret}`))).toBeNull();
    await expect(tokens.revoke(long.token.id)).rejects.toMatchObject({ code: 'account-unknown' });
  });

  it('a token that would have expired already is not created', async () => {
    const { tokens } = await openTestAccounts();
    await expect(tokens.create({ ...CRON, expiresAt: 0 }, 'console:root')).rejects.toMatchObject({
      code: 'request-invalid',
    });
  });

  it('a token shows when it was last used', async () => {
    const { tokens, authenticator } = await openTestAccounts();
    const { secret } = await tokens.create(CRON, 'console:root');
    await authenticator.authenticate(shows(`Bearer ${secret}`));
    await expect.poll(async () => (await tokens.list())[0]?.lastUsedAt).toBeGreaterThan(0);
  });
});

describe('a session', () => {
  async function begin() {
    const clock = createVirtualClock();
    const accounts = await openTestAccounts(clock);
    const mary = await accounts.users.add(MARY);
    const session = await accounts.sessions.begin(mary);
    const who = async () =>
      (await accounts.authenticator.authenticate(shows(null, { session })))?.name ?? null;
    return { ...accounts, clock, mary, session, who };
  }

  it('a session ends half an hour after it was last used', async () => {
    const { clock, who } = await begin();
    clock.advance(SESSION_IDLE_MS - MINUTE);
    expect(await who()).toBe('mary');
    clock.advance(SESSION_IDLE_MS - MINUTE);
    expect(await who()).toBe('mary');
    clock.advance(SESSION_IDLE_MS + MINUTE);
    expect(await who()).toBeNull();
  });

  it('a session ends after half a day, used or not', async () => {
    const { clock, who } = await begin();
    for (let passed = 0; passed < SESSION_LIFE_MS; passed += 20 * MINUTE) {
      expect(await who()).toBe('mary');
      clock.advance(20 * MINUTE);
    }
    clock.advance(MINUTE);
    expect(await who()).toBeNull();
  });

  it('a session ends with logging out, and with a new password', async () => {
    const { sessions, users, mary, session, who, authenticator } = await begin();
    const another = await sessions.begin(mary);
    await sessions.end(session ?? '');
    expect(await who()).toBeNull();
    await users.change('mary', { password: 'another long sentence' });
    expect(await authenticator.authenticate(shows(null, { session: another }))).toBeNull();
  });

  it('a session does not count beside an Authorization header', async () => {
    const { session, authenticator } = await begin();
    expect(await authenticator.authenticate(shows(basic('mary', 'wrong'), { session }))).toBeNull();
  });

  it('a session ends when its user has begun twenty more', async () => {
    const { sessions, who, clock, mary } = await begin();
    for (let i = 0; i < 20; i++) {
      clock.advance(1);
      await sessions.begin(mary);
    }
    expect(await who()).toBeNull();
  });

  it.each([
    ['its password is changed', { password: 'another long sentence' }],
    ['its role is changed', { role: 'viewer' }],
    ['the user is removed and added again', null],
  ] as const)('a session does not begin when %s between the check and its beginning', async (_, changes) => {
    const { sessions, users, authenticator, clock } = await begin();
    const caller = await authenticator.byPassword('mary', GOOD_PASSWORD, '10.0.0.1');
    const user = caller && authenticator.userOf(caller);
    if (changes) await users.change('mary', changes);
    else {
      await users.remove('mary');
      clock.advance(1);
      await users.add(MARY);
    }
    expect(user && (await sessions.begin(user))).toBeNull();
  });

  it('a session goes on when its use cannot be written, as on a full disk', async () => {
    const { clock, database, who } = await begin();
    await refuseRows(database, 'update on sessions');
    clock.advance(2 * MINUTE);
    expect(await who()).toBe('mary');
  });
});

describe('the first administrator', () => {
  it('the first administrator gets the configured password', async () => {
    const { ensureAdministrator, authenticator, passwordFile, users } = await openTestAccounts();
    expect(await ensureAdministrator(GOOD_PASSWORD)).toBeNull();
    expect(await authenticator.authenticate(shows(basic('admin', GOOD_PASSWORD)))).toMatchObject({
      role: 'admin',
      layers: ['*'],
    });
    expect(existsSync(passwordFile)).toBe(false);
    expect(await users.find('admin')).toMatchObject({ passwordIsInitial: false });
  });

  it.each(['secret', 'geoserver2026', '123456789012', 'qwertyuiopas'])(
    'the first administrator does not get %j where other machines can try it',
    async (given) => {
      const { ensureAdministrator, users } = await openTestAccounts();
      await expect(ensureAdministrator(given, 'network')).rejects.toMatchObject({ code: 'config-invalid' });
      expect(await users.list()).toEqual([]);
    },
  );

  it('the first administrator may have a short password on loopback, but no well-known one', async () => {
    const { ensureAdministrator, authenticator } = await openTestAccounts();
    await expect(ensureAdministrator('admin', 'loopback')).rejects.toMatchObject({ code: 'config-invalid' });
    await ensureAdministrator('try me', 'loopback');
    expect(await authenticator.authenticate(shows(basic('admin', 'try me')))).toMatchObject({
      role: 'admin',
    });
  });

  it('the first administrator gets a random password by default, kept in the data folder until changed', async () => {
    const { ensureAdministrator, authenticator, passwordFile, users } = await openTestAccounts();
    const password = await ensureAdministrator(null);
    expect(password).toMatch(/^[a-zA-Z2-9]{24}$/);
    expect(readFileSync(passwordFile, 'utf8')).toBe(`${password}\n`);
    expect(statSync(passwordFile).mode & 0o777).toBe(0o600);
    expect(await authenticator.authenticate(shows(basic('admin', password ?? '')))).not.toBeNull();
    expect(await users.find('admin')).toMatchObject({ passwordIsInitial: true });
    await users.change('admin', { password: GOOD_PASSWORD });
    expect(existsSync(passwordFile)).toBe(false);
    expect(await users.find('admin')).toMatchObject({ passwordIsInitial: false });
  });

  it('the first administrator is not made again, nor given another password, by a later start', async () => {
    const { ensureAdministrator, authenticator } = await openTestAccounts();
    await ensureAdministrator(GOOD_PASSWORD);
    expect(await ensureAdministrator('another long sentence')).toBeNull();
    expect(await ensureAdministrator(null)).toBeNull();
    expect(await authenticator.authenticate(shows(basic('admin', GOOD_PASSWORD)))).not.toBeNull();
  });
});

describe('a password', () => {
  it.each([
    'geoserver',
    'GeoWebCache',
    'secured',
    'password123!',
    '1234567890!admin',
    'abcabcabcabc',
    'marymary',
  ])('a password such as %s is too common', (password) => {
    expect(isKnownToAll(password, 'mary')).toBe(true);
  });

  it.each([GOOD_PASSWORD, 'ünïcödé ünïcödé', 'correct-horse-battery', 'x'.repeat(4).concat('9f8e7d6c5b4a')])(
    'a password such as %s is accepted',
    (password) => {
      expect(weaknessOf(password, 'mary')).toBeNull();
    },
  );
});
