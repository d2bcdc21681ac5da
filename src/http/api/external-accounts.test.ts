import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GOOD_PASSWORD } from '../../../test/fixtures/accounts.ts';
import { ANNA, JSON_BODY, openAccountApp } from '../../../test/fixtures/http-app.ts';
import { type OidcIssuer, openOidcIssuer, signInAt } from '../../../test/fixtures/oidc-issuer.ts';

const CLAIMS: Record<string, object> = {
  olaf: { preferred_username: 'olaf', groups: ['admins'], layers: ['*'] },
  vera: { preferred_username: 'vera', groups: ['readers'] },
};

let issuer: OidcIssuer;
beforeAll(async () => {
  issuer = await openOidcIssuer((name) => CLAIMS[name] ?? {});
});
afterAll(() => issuer.close());

const proxyLogin = { user: 'X-Auth-User', groups: 'X-Auth-Groups', roles: { staff: 'admin' } as const };
const ROSA = { 'x-auth-user': 'rosa', 'x-auth-groups': 'staff' };

type Logins = Parameters<typeof openAccountApp>[1];

/** `logins`: changes of the settings, and the database of an earlier server if it is given. */
async function open(logins: Logins = {}) {
  const options = { trustedProxies: ['127.0.0.1'] };
  const opened = await openAccountApp({ options }, { oidc: issuer.settings, proxyLogin, ...logins });
  const { app, get, accounts } = opened;
  const signIn = async (name: string) => {
    const begun = await get('/login/oidc', { host: 'localhost' });
    const [cookie = ''] = String(begun.headers['set-cookie']).split(';');
    const back = await signInAt(issuer.url, String(begun.headers.location), name);
    const ended = await get(back.replace('http://localhost', ''), { host: 'localhost', cookie });
    return { cookie: String(ended.headers['set-cookie']).split(';')[0] ?? '' };
  };
  const me = async (headers: Record<string, string>) => {
    const { status, text } = await get('/api/v1/me', headers);
    return status === 200 ? JSON.parse(text) : status;
  };
  const list = async () => JSON.parse((await get('/api/v1/external-accounts')).text).accounts;
  const accountId = async (name: string) =>
    (await list()).find((account: { name: string }) => account.name === name)?.id;
  const post = (url: string, headers: Record<string, string> = ANNA) => app.request('POST', url, { headers });
  const createToken = async (headers: Record<string, string>, role = 'operator') => {
    const body = JSON.stringify({ name: 'nightly', role });
    const created = await app.request('POST', '/api/v1/tokens', {
      headers: { ...JSON_BODY, ...headers },
      body,
    });
    return { authorization: `Bearer ${JSON.parse(created.text).token}` };
  };
  const restart = (next: Logins) => open({ ...next, database: accounts.database });
  return { ...opened, signIn, me, list, accountId, post, createToken, restart };
}

describe('a session of an issuer account', () => {
  it('a session has the role that the role map gives its groups today', async () => {
    const first = await open();
    const olaf = await first.signIn('olaf');
    expect(await first.me(olaf)).toMatchObject({ role: 'admin' });
    const lesser = await first.restart({ oidc: { ...issuer.settings, roles: { admins: 'viewer' } } });
    expect(await lesser.me(olaf)).toMatchObject({ name: 'olaf', role: 'viewer', via: 'oidc' });
    const gone = await first.restart({ oidc: { ...issuer.settings, roles: { others: 'admin' } } });
    expect(await gone.me(olaf)).toBe(401);
    const elsewhere = await first.restart({ oidc: { ...issuer.settings, roleClaim: 'roles' } });
    expect(await elsewhere.me(olaf)).toBe(401);
    const scoped = await first.restart({ oidc: { ...issuer.settings, layersClaim: 'layers' } });
    expect(await scoped.me(olaf)).toMatchObject({ role: 'admin', layers: [] });
  });

  it('a session of another issuer is refused, and so is one without an issuer', async () => {
    const first = await open();
    const olaf = await first.signIn('olaf');
    const replaced = await first.restart({ oidc: { ...issuer.settings, issuer: 'https://other.example' } });
    expect(await replaced.me(olaf)).toBe(401);
    expect(await (await first.restart({ oidc: null })).me(olaf)).toBe(401);
    expect(await (await first.restart({})).me(olaf)).toMatchObject({ role: 'admin' });
  });

  it('a later sign-in with fewer groups counts for the sessions before it', async () => {
    const { signIn, me } = await open();
    const olaf = await signIn('olaf');
    const { olaf: before } = CLAIMS;
    CLAIMS.olaf = { preferred_username: 'olaf', groups: ['readers'] };
    await signIn('olaf');
    Object.assign(CLAIMS, { olaf: before });
    expect(await me(olaf)).toMatchObject({ role: 'viewer' });
  });
});

describe('ending sessions of others', () => {
  it('an administrator signs out a local user, whose other users stay signed in', async () => {
    const { logIn, post, me, accounts } = await open();
    await accounts.users.add({ name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'] });
    const { session } = await logIn();
    expect(await me(session)).toMatchObject({ via: 'session' });
    expect((await post('/api/v1/users/vera/sign-out')).text).toBe('{"sessions":0}');
    expect(await me(session)).toMatchObject({ via: 'session' });
    expect((await post('/api/v1/users/anna/sign-out')).text).toBe('{"sessions":1}');
    expect(await me(session)).toBe(401);
    expect((await post('/api/v1/users/unknown/sign-out')).status).toBe(404);
    const [entry] = await accounts.audit.read({ target: 'user:anna', limit: 1 });
    expect(entry).toMatchObject({ action: 'POST /api/v1/users/{name}/sign-out', after: { sessions: 1 } });
  });

  it('an administrator lists the issuer accounts and signs one of them out', async () => {
    const { signIn, list, accountId, post, me } = await open();
    const [first, second, vera] = [await signIn('olaf'), await signIn('olaf'), await signIn('vera')];
    expect(await list()).toMatchObject([
      {
        name: 'olaf',
        via: 'oidc',
        issuer: issuer.url,
        subject: 'olaf',
        role: 'admin',
        sessions: 2,
        tokens: 0,
      },
      { name: 'vera', role: 'viewer', sessions: 1 },
    ]);
    const path = `/api/v1/external-accounts/${await accountId('olaf')}/sign-out`;
    expect((await post(path, vera)).status).toBe(403);
    expect((await post(path)).text).toBe('{"sessions":2}');
    expect([await me(first), await me(second)]).toEqual([401, 401]);
    expect(await me(vera)).toMatchObject({ name: 'vera' });
    expect((await post('/api/v1/external-accounts/999/sign-out')).status).toBe(404);
  });
});

describe('tokens of external administrators', () => {
  it('a token works while its owner is an administrator by the configuration of today', async () => {
    const first = await open();
    const token = await first.createToken(await first.signIn('olaf'), 'admin');
    const tokens = [token, await first.createToken(token)];
    const seen = async ({ me }: typeof first) => Promise.all(tokens.map(me));
    expect(await seen(first)).toMatchObject([{ role: 'admin' }, { role: 'operator' }]);
    const lesser = await first.restart({ oidc: { ...issuer.settings, roles: { admins: 'operator' } } });
    expect(await seen(lesser)).toEqual([401, 401]);
    expect(await seen(await first.restart({ oidc: null }))).toEqual([401, 401]);
    expect(await seen(await first.restart({}))).toMatchObject([{ via: 'token' }, { via: 'token' }]);
  });

  it('removing an external account ends its sessions and revokes its tokens', async () => {
    const { signIn, createToken, app, accountId, me, list } = await open();
    const olaf = await signIn('olaf');
    const [ofSession, ofProxy] = [await createToken(olaf), await createToken(ROSA)];
    const jwt = { iss: issuer.url, aud: 'tilewarden', sub: 'olaf', exp: Date.now() / 1000 + 300 };
    const ofJwt = await createToken({
      authorization: `Bearer ${await issuer.sign({ ...jwt, groups: ['admins'] })}`,
    });
    expect(await list()).toMatchObject([
      { tokens: 2 },
      { name: 'rosa', via: 'proxy', issuer: null, tokens: 1 },
    ]);
    const remove = async (name: string) =>
      app.request('DELETE', `/api/v1/external-accounts/${await accountId(name)}`, { headers: ANNA });
    expect((await remove('olaf')).status).toBe(204);
    expect([await me(olaf), await me(ofSession), await me(ofJwt)]).toEqual([401, 401, 401]);
    expect(await me(ofProxy)).toMatchObject({ via: 'token' });
    expect((await remove('rosa')).status).toBe(204);
    expect(await me(ofProxy)).toBe(401);
    expect(await list()).toEqual([]);
  });

  it('a former bearer token with more groups does not replace the claims of a later sign-in', async () => {
    const { signIn, createToken, me } = await open();
    const vera = await signIn('vera');
    const early = { iss: issuer.url, aud: 'tilewarden', sub: 'vera', iat: 1, exp: Date.now() / 1000 + 300 };
    const token = await createToken({
      authorization: `Bearer ${await issuer.sign({ ...early, groups: ['admins'] })}`,
    });
    expect(await me(vera)).toMatchObject({ role: 'viewer' });
    expect(await me(token)).toBe(401);
  });
});
