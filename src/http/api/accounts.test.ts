import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, refuseAuditEntries } from '../../../test/fixtures/accounts.ts';
import { ANNA, JSON_BODY, openAccountApp } from '../../../test/fixtures/http-app.ts';
import { createDeferred } from '../../lib/deferred.ts';
import type { TaskService } from '../../tasks/open-task-service.ts';

const MARY = { name: 'mary', password: 'the sentence of mary', role: 'operator', layers: ['topp:*'] };

describe('users over HTTP', () => {
  it('users are created, shown, changed and removed', async () => {
    const { send, get } = await openAccountApp();
    const made = await send('POST', '/api/v1/users', MARY);
    expect(made).toMatchObject({ status: 201, headers: { location: 'http://localhost/api/v1/users/mary' } });
    expect(JSON.parse(made.text)).toMatchObject({ name: 'mary', role: 'operator', layers: ['topp:*'] });
    expect((await get('/api/v1/me', { authorization: basic('mary', MARY.password) })).status).toBe(200);
    expect(await send('PUT', '/api/v1/users/mary', { role: 'viewer' })).toMatchObject({ status: 200 });
    expect(JSON.parse((await get('/api/v1/users/mary')).text)).toMatchObject({ role: 'viewer' });
    expect(JSON.parse((await get('/api/v1/users')).text).users).toMatchObject([
      { name: 'anna' },
      { name: 'mary' },
    ]);
    expect(await send('DELETE', '/api/v1/users/mary', undefined)).toMatchObject({ status: 204, text: '' });
    expect((await get('/api/v1/users/mary')).status).toBe(404);
  });

  it('users never show a password, stored or not', async () => {
    const { send, get } = await openAccountApp();
    await send('POST', '/api/v1/users', MARY);
    const seen = (await get('/api/v1/users')).text + (await get('/api/v1/audit')).text;
    expect(seen).not.toMatch(/scrypt|sentence/);
  });

  it('users are not created from a wrong body, which is named', async () => {
    const { send } = await openAccountApp();
    for (const [body, status, message] of [
      [{ ...MARY, role: 'root' }, 400, 'role'],
      [{ ...MARY, password: 'short' }, 400, 'at least 12 characters'],
      [{ ...MARY, name: 'a:b' }, 400, 'A name has'],
      [{ ...MARY, layers: 'all' }, 400, 'layers'],
      [{ ...MARY, admin: true }, 400, 'admin'],
      [{ name: 'mary' }, 400, 'password'],
      [[], 400, 'The body must be an object, got a list'],
      [{ ...MARY, name: 'anna' }, 409, 'already'],
    ] as const) {
      expect(await send('POST', '/api/v1/users', body)).toMatchObject({
        status,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        text: expect.stringContaining(message),
      });
    }
  });

  it('users who are administrators have no scope: not new, promoted or narrowed, nor do their tokens', async () => {
    const { send, get } = await openAccountApp();
    const refused = { status: 400, text: expect.stringContaining('administrator works on all layers') };
    const scoped = { ...MARY, layers: ['japan'] };
    expect(await send('POST', '/api/v1/users', { ...scoped, role: 'admin' })).toMatchObject(refused);
    expect((await send('POST', '/api/v1/users', { ...scoped, role: 'operator' })).status).toBe(201);
    expect(await send('PUT', '/api/v1/users/mary', { role: 'admin' })).toMatchObject(refused);
    expect(await send('PUT', '/api/v1/users/anna', { layers: ['japan'] })).toMatchObject(refused);
    const token = { name: 'ci', role: 'admin', layers: ['japan'] };
    expect(await send('POST', '/api/v1/tokens', token)).toMatchObject(refused);
    const shown = await get('/api/v1/users/mary');
    expect(JSON.parse(shown.text)).toMatchObject({ role: 'operator', layers: ['japan'] });
    expect((await send('PUT', '/api/v1/users/mary', { role: 'admin', layers: ['*'] })).status).toBe(200);
  });

  it('users are not changed by an empty body', async () => {
    const { send } = await openAccountApp();
    const answer = await send('PUT', '/api/v1/users/anna', {});
    expect(answer).toMatchObject({
      status: 400,
      text: expect.stringContaining('password, role, layers or areas'),
    });
  });

  it('users are read as JSON only', async () => {
    const { app } = await openAccountApp();
    const body = JSON.stringify(MARY);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'text/xml',
    ]) {
      const headers = { ...ANNA, 'content-type': type };
      expect((await app.request('POST', '/api/v1/users', { headers, body })).status, type).toBe(415);
    }
    expect(
      (await app.request('POST', '/api/v1/users', { headers: { ...ANNA, ...JSON_BODY }, body: '{' })).status,
    ).toBe(400);
  });

  it('users keep their last administrator', async () => {
    const { send } = await openAccountApp();
    expect(await send('DELETE', '/api/v1/users/anna', undefined)).toMatchObject({ status: 409 });
  });
});

describe('tokens over HTTP', () => {
  it('tokens are shown once, work, are listed without the secret, and are revoked', async () => {
    const { send, get } = await openAccountApp();
    const made = await send('POST', '/api/v1/tokens', { name: 'cron', role: 'viewer' });
    expect(made.status).toBe(201);
    const { id, token } = JSON.parse(made.text);
    expect(token).toMatch(/^tw_[\w-]{43}$/);
    const cron = { authorization: `Bearer ${token}` };
    expect(JSON.parse((await get('/api/v1/me', cron)).text)).toMatchObject({
      name: 'token:cron',
      via: 'token',
    });
    const listed = (await get('/api/v1/tokens')).text;
    expect(JSON.parse(listed).tokens).toMatchObject([
      { id, name: 'cron', role: 'viewer', createdBy: 'anna' },
    ]);
    expect(listed + (await get('/api/v1/audit')).text).not.toContain(token);
    expect((await send('DELETE', `/api/v1/tokens/${id}`, undefined)).status).toBe(204);
    expect((await get('/api/v1/me', cron)).status).toBe(401);
    expect((await send('DELETE', `/api/v1/tokens/${id}`, undefined)).status).toBe(404);
    expect((await send('DELETE', '/api/v1/tokens/x', undefined)).status).toBe(404);
  });

  it('tokens expire at a time to come, and at nothing else', async () => {
    const { send } = await openAccountApp();
    for (const expiresAt of ['tomorrow', '2020-01-01T00:00:00Z', 5]) {
      const token = { name: 'cron', role: 'viewer', expiresAt };
      expect((await send('POST', '/api/v1/tokens', token)).status).toBe(400);
    }
    const past = { name: 'cron', role: 'viewer', expiresAt: '2020-01-01T00:00:00Z' };
    expect((await send('POST', '/api/v1/tokens', past)).text).toMatch(
      /^expiresAt must be null, for no end, or a time after now, 20\d\d-.*Z\.$/m,
    );
  });
});

describe('a session over HTTP', () => {
  it('a session begins with a cookie that no script reads and no other site sends', async () => {
    const { logIn, get } = await openAccountApp();
    const { answer, cookie, session } = await logIn();
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(cookie).toMatch(/^tilewarden=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(JSON.parse((await get('/api/v1/me', session)).text)).toMatchObject({
      name: 'anna',
      via: 'session',
    });
  });

  it('a session begun over https is bound to it', async () => {
    const { logIn, get } = await openAccountApp({ options: { trustedProxies: ['127.0.0.1'] } });
    const secure = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' };
    const { cookie, session } = await logIn(secure);
    expect(cookie).toMatch(/^__Host-tilewarden=.*; Secure$/);
    expect((await get('/api/v1/me', { ...session, ...secure })).status).toBe(200);
    const planted = { cookie: session.cookie.replace('__Host-', '') };
    expect((await get('/api/v1/me', { ...planted, ...secure })).status).toBe(401);
  });

  it('a failed login behind a proxy counts for the last address in X-Forwarded-For, without a port', async () => {
    const { get, accounts } = await openAccountApp({ options: { trustedProxies: ['127.0.0.1'] } });
    for (const [header, source] of [
      ['203.0.113.9:4711', '203.0.113.9'],
      ['[2001:db8::1]:443', '2001:db8::1'],
      ['[2001:db8::2]', '2001:db8::2'],
      ['2001:db8::3', '2001:db8::3'],
      ['198.51.100.1, 203.0.113.10:4711', '203.0.113.10'],
    ] as const) {
      const wrong = { authorization: basic('anna', 'wrong'), 'x-forwarded-for': header };
      expect((await get('/api/v1/me', wrong)).status).toBe(401);
      expect(JSON.stringify(await accounts.audit.read({ limit: 1 }))).toContain(`"source":"${source}"`);
    }
  });

  it('a session is another one after each login, and over after logging out', async () => {
    const { logIn, get, send } = await openAccountApp();
    const first = await logIn();
    const second = await logIn(first.session);
    expect(second.cookie).not.toBe(first.cookie);
    expect((await get('/api/v1/me', first.session)).status).toBe(401);
    const out = await send('DELETE', '/api/v1/session', undefined, second.session);
    expect(out).toMatchObject({ status: 204 });
    expect(String(out.headers['set-cookie'])).toMatch(/^tilewarden=; Path=\/; Max-Age=0/);
    expect((await get('/api/v1/me', second.session)).status).toBe(401);
  });

  it('a session does not begin with a wrong password, and no browser prompts for one then', async () => {
    const { send } = await openAccountApp();
    const wrong = { name: 'anna', password: 'wrong' };
    const byScript = await send('POST', '/api/v1/session', wrong, {
      'sec-fetch-dest': 'empty',
      'sec-fetch-site': 'same-origin',
    });
    expect(byScript).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Session realm="Tilewarden"' },
    });
    expect(byScript.headers).not.toHaveProperty('set-cookie');
    const unknown = await send('POST', '/api/v1/session', { ...wrong, name: 'unknown' }, {});
    expect(unknown).toMatchObject({ status: 401, text: byScript.text });
  });

  it('a session goes on after its user has changed the password, and no other does', async () => {
    const { logIn, get, send } = await openAccountApp();
    const other = await logIn();
    const own = await logIn();
    const wrong = await send(
      'PUT',
      '/api/v1/me/password',
      { current: 'no', password: 'a new long sentence' },
      own.session,
    );
    expect(wrong.status).toBe(403);
    const body = { current: GOOD_PASSWORD, password: 'a new long sentence' };
    const changed = await send('PUT', '/api/v1/me/password', body, own.session);
    expect(changed.status).toBe(204);
    const renewed = { cookie: String(changed.headers['set-cookie']).split(';')[0] ?? '' };
    expect((await get('/api/v1/me', renewed)).status).toBe(200);
    expect((await get('/api/v1/me', other.session)).status).toBe(401);
    expect((await get('/api/v1/me', ANNA)).status).toBe(401);
  });
});

describe('a client that listens to events', () => {
  async function openListening() {
    const begun = createDeferred<void>();
    const subscribe = async () => {
      begun.resolve();
      return () => {};
    };
    const tasks = { subscribe } as unknown as TaskService;
    const parts = await openAccountApp({ deps: { tasks }, options: { limits: { streamCheckInterval: 10 } } });
    await parts.send('POST', '/api/v1/users', MARY);
    /** Resolves when the stream has begun; `ended` resolves with the response when it ends. */
    const listen = async (headers: Record<string, string>) => {
      const ended = parts.get('/api/v1/events', headers);
      await Promise.race([begun.promise, ended]);
      return { ended };
    };
    return { ...parts, listen };
  }
  const asMary = { authorization: basic('mary', MARY.password) };

  it.each([
    ['is removed', (change: Change) => change('DELETE', '/api/v1/users/mary', undefined)],
    ['gets another role', (change: Change) => change('PUT', '/api/v1/users/mary', { role: 'viewer' })],
    [
      'gets another password',
      (change: Change) => change('PUT', '/api/v1/users/mary', { password: 'another sentence' }),
    ],
  ])('a client that listens to events is cut off when its user %s', async (_what, happens) => {
    const { send, listen } = await openListening();
    const stream = await listen(asMary);
    await happens(send);
    expect((await stream.ended).status).toBe(200);
  });

  it('a client that listens to events by a token is cut off when it is revoked', async () => {
    const { send, listen } = await openListening();
    const made = await send('POST', '/api/v1/tokens', { name: 'cron', role: 'viewer' });
    const { id, token } = JSON.parse(made.text) as { id: number; token: string };
    const stream = await listen({ authorization: `Bearer ${token}` });
    await send('DELETE', `/api/v1/tokens/${id}`, undefined);
    expect((await stream.ended).status).toBe(200);
  });

  it('a client that listens to events in a session is cut off when it ends', async () => {
    const { send, logIn, listen } = await openListening();
    const { session } = await logIn();
    const stream = await listen(session);
    await send('DELETE', '/api/v1/session', undefined, session);
    expect((await stream.ended).status).toBe(200);
  });
});

type Change = (method: string, url: string, body: unknown) => Promise<unknown>;

describe('pages of other sites', () => {
  it('a change is accepted from our own page and from programs, and refused from other sites', async () => {
    const { send, logIn } = await openAccountApp();
    const { session } = await logIn();
    const senders: readonly (readonly [string, Record<string, string>, number])[] = [
      ['a form on another site', { 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' }, 403],
      ['another port of this host', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:9' }, 403],
      ['an old browser on another site', { origin: 'http://evil.example' }, 403],
      ['a page without an origin', { origin: 'null' }, 403],
      ['our own page', { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }, 201],
      ['an old browser on our own page', { origin: 'http://localhost' }, 201],
      ['a user typing an address', { 'sec-fetch-site': 'none' }, 201],
      ['curl', {}, 201],
    ];
    for (const [number, [sender, headers, expected]] of senders.entries()) {
      const user = { ...MARY, name: `mary-${number}` };
      const { status } = await send('POST', '/api/v1/users', user, { ...session, ...headers });
      expect({ sender, status }).toEqual({ sender, status: expected });
    }
  });

  it('a page of another site cannot log a user in', async () => {
    const { logIn } = await openAccountApp();
    expect((await logIn({ 'sec-fetch-site': 'cross-site' })).answer.status).toBe(403);
  });
});

describe('the trace of a change', () => {
  it('an audit entry contains actor, address, action, object, before and after, and outcome', async () => {
    const { send, get } = await openAccountApp();
    await send('POST', '/api/v1/users', MARY);
    await send('PUT', '/api/v1/users/mary', { role: 'viewer', password: 'a new long sentence' });
    await send('PUT', '/api/v1/users/mary', { role: 'none' });
    const { entries } = JSON.parse((await get('/api/v1/audit?target=user:mary')).text);
    const common = { actor: 'anna', source: '127.0.0.1', phase: 'ended', target: 'user:mary' };
    expect(entries).toMatchObject([
      { ...common, action: 'PUT /api/v1/users/{name}', outcome: 'refused', status: 400 },
      {
        ...common,
        path: '/api/v1/users/mary',
        outcome: 'done',
        before: { role: 'operator' },
        after: { role: 'viewer', passwordChanged: true },
      },
      { ...common, action: 'POST /api/v1/users', outcome: 'done', status: 201 },
    ]);
  });

  it('the audit log with a wrong parameter is refused with what is allowed', async () => {
    const { get } = await openAccountApp();
    for (const [query, message] of [
      ['limit=0', 'from 1 to 1000'],
      ['limit=1001', 'from 1 to 1000'],
      ['limit=x', 'from 1 to 1000'],
      ['outcome=good', 'done, refused, failed, unknown'],
      ['since=yesterday', 'since must be a time'],
      ['until=', 'until must be a time'],
    ] as const) {
      const text = expect.stringContaining(message);
      expect(await get(`/api/v1/audit?${query}`)).toMatchObject({ status: 400, text });
    }
  });

  it('an audit entry is on the disk before the answer is sent', async () => {
    const { send, accounts } = await openAccountApp();
    const answer = await send('POST', '/api/v1/users', MARY);
    const rows = await accounts.database.query.selectFrom('audit_entries').select('line').execute();
    const phases = rows
      .map(({ line }) => JSON.parse(line))
      .filter(({ id }) => id === answer.headers['x-request-id']);
    expect(phases).toMatchObject([{ phase: 'begun' }, { phase: 'ended', outcome: 'done' }]);
  });

  it('an audit entry is a condition of the change: without it nothing is done, and tiles go on', async () => {
    const { send, get, accounts } = await openAccountApp();
    const allow = await refuseAuditEntries(accounts.database);
    const refused = await send('POST', '/api/v1/users', MARY);
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect((await get('/api/v1/users/mary')).status).toBe(404);
    expect((await get('/tiles/world/0/0/0.png', {})).status).toBe(200);
    await allow();
    expect((await send('POST', '/api/v1/users', MARY)).status).toBe(201);
  });

  it('an audit entry is left by a forbidden request of a known caller', async () => {
    const { send, get, accounts } = await openAccountApp();
    await accounts.users.add({ name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'] });
    await send('POST', '/api/v1/users', MARY, { authorization: basic('vera', GOOD_PASSWORD) });
    const { entries } = JSON.parse((await get('/api/v1/audit?actor=vera')).text);
    expect(entries).toMatchObject([{ action: 'POST /api/v1/users', outcome: 'refused', status: 403 }]);
  });
});

it('a caller is authenticated before the allowed methods of a path are shown', async () => {
  const { app, send } = await openAccountApp();
  for (const method of ['PUT', 'GET', 'PATCH']) {
    expect((await app.request(method, '/api/v1/session')).status).toBe(401);
  }
  expect((await send('PUT', '/api/v1/session', {})).status).toBe(405);
  const tooLong = { name: 'x'.repeat(65), password: 'x' };
  for (const body of [{}, tooLong])
    expect((await send('POST', '/api/v1/session', body, {})).status).toBe(400);
});
