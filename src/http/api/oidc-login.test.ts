import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { ANNA, catalogOf, layerNamed, openAccountApp } from '../../../test/fixtures/http-app.ts';
import { type OidcIssuer, openOidcIssuer, signInAt } from '../../../test/fixtures/oidc-issuer.ts';
import { createOidcProvider } from '../../access/oidc-provider.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { returnPath } from './oidc-login.ts';

const CLAIMS: Readonly<Record<string, object>> = {
  anna: { preferred_username: 'anna', groups: ['readers', 'admins'] },
  vera: { preferred_username: 'vera', groups: 'readers', layers: ['ours'] },
  nora: { preferred_username: 'nora', groups: ['constructor', 'others'] },
};

let issuer: OidcIssuer;
beforeAll(async () => {
  issuer = await openOidcIssuer((name) => CLAIMS[name] ?? {});
});
afterAll(() => issuer.close());

const LAYERS = [layerNamed('world'), layerNamed('ours', { access: 'authenticated' })];

async function open(settings = {}, clock?: Clock, at = issuer, fetch = globalThis.fetch) {
  const oidc = { ...at.settings, ...settings };
  const opened = await openAccountApp({ deps: { catalog: catalogOf(LAYERS) } }, { oidc, fetch }, clock);
  const get = (url: string, headers: Record<string, string> = {}) =>
    opened.app.inject({ method: 'GET', url, headers: { host: 'localhost', ...headers } });
  const begin = async (path = '/login/oidc') => {
    const answer = await get(path);
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
    return { answer, cookie, address: String(answer.headers.location) };
  };
  const signIn = async (name: string, path?: string) => {
    const { cookie, address } = await begin(path);
    const back = (await signInAt(at.url, address, name)).replace('http://localhost', '');
    const answer = await get(back, { cookie });
    const cookies = [answer.headers['set-cookie'] ?? []].flat();
    const session = { cookie: cookies.find((each) => each.startsWith('tilewarden='))?.split(';')[0] ?? '' };
    return { answer, back, cookie, session };
  };
  const me = async (headers: Record<string, string>) => {
    const answer = await get('/api/v1/me', headers);
    return answer.statusCode === 200 ? answer.json() : answer.statusCode;
  };
  return { ...opened, get, begin, signIn, me };
}

const now = () => Math.floor(Date.now() / 1000);

function tokenOf({ url }: OidcIssuer) {
  return { iss: url, aud: 'tilewarden', sub: 'robot', exp: now() + 300, groups: ['operators'] };
}

describe('signing in with OpenID Connect', () => {
  it('a browser without script signs in, returns to a closed page, and signs out at the issuer too', async () => {
    const { signIn, me, get, app, accounts } = await open();
    const { answer, session } = await signIn('anna', '/login/oidc?return=%2Flayers%2Fours%3Fa%3D1');
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/layers/ours?a=1']);
    expect(await me(session)).toEqual({
      name: 'anna',
      role: 'admin',
      layers: ['*'],
      via: 'oidc',
      passwordIsInitial: false,
    });
    expect((await get('/layers/ours', session)).statusCode).toBe(200);
    const [entry] = await accounts.audit.read({ limit: 1 } as never);
    expect(entry).toMatchObject({ action: 'login', actor: 'anna', via: 'oidc', outcome: 'done' });
    const headers = { host: 'localhost', ...session };
    const out = await app.inject({ method: 'DELETE', url: '/api/v1/session', headers });
    expect(out.statusCode).toBe(200);
    expect(out.json().logoutUrl).toMatch(`${issuer.url}/session/end`);
    expect(await me(session)).toBe(401);
  });

  it('an account of the issuer is never the local account of the same name', async () => {
    const { signIn, accounts, app, me } = await open();
    const { session } = await signIn('anna');
    await accounts.users.add({
      name: 'other',
      password: 'a long enough sentence',
      role: 'admin',
      layers: ['*'],
    });
    await accounts.users.remove('anna');
    expect((await me(session)).via).toBe('oidc');
    const changed = await app.inject({
      method: 'PUT',
      url: '/api/v1/me/password',
      headers: { host: 'localhost', 'content-type': 'application/json', ...session },
      payload: JSON.stringify({ current: 'a', password: 'another long sentence' }),
    });
    expect(changed.statusCode).toBe(403);
  });

  it('a state is good once, and only in the browser that began', async () => {
    const { begin, get, signIn } = await open();
    const { back, cookie, answer } = await signIn('anna');
    expect(answer.statusCode).toBe(303);
    expect((await get(back, { cookie })).statusCode).toBe(400);
    const [first, second] = [await begin(), await begin()];
    const returned = (await signInAt(issuer.url, first.address, 'anna')).replace('http://localhost', '');
    expect((await get(returned, { cookie: second.cookie })).statusCode).toBe(400);
    expect((await get(returned)).statusCode).toBe(400);
    const forged = returned.replace(/state=[^&]*/, 'state=x');
    expect((await get(forged, { cookie: first.cookie })).statusCode).toBe(400);
    expect((await get(returned, { cookie: first.cookie })).statusCode).toBe(303);
  });

  it('a sign-in that has begun belongs to its browser alone: another server with the same secret ends it', async () => {
    const [here, there] = [await open(), await open()];
    const { cookie, address } = await here.begin();
    const back = (await signInAt(issuer.url, address, 'anna')).replace('http://localhost', '');
    expect((await there.get(back, { cookie })).statusCode).toBe(303);
  });

  it('a code that was used before is refused, also with a new state', async () => {
    const { begin, get, signIn } = await open();
    const { back } = await signIn('anna');
    const fresh = await begin();
    const state = new URL(fresh.address).searchParams.get('state') ?? '';
    const replayed = back.replace(/state=[^&]*/, `state=${state}`);
    const answer = await get(replayed, { cookie: fresh.cookie });
    expect(answer.statusCode).toBe(400);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('callbacks that fail are limited by their address, and the issuer is not asked for each', async () => {
    let tokenRequests = 0;
    const counting: typeof globalThis.fetch = (input, init) => {
      if (init?.method === 'POST') tokenRequests++;
      return globalThis.fetch(input, init);
    };
    const { begin, get, app } = await open({}, undefined, issuer, counting);
    const { cookie, address } = await begin();
    const state = new URL(address).searchParams.get('state') ?? '';
    const statuses: number[] = [];
    for (let i = 0; i < 30; i++) {
      const answer = await get(`/login/oidc/callback?code=forged${i}&state=${state}`, { cookie });
      statuses.push(answer.statusCode);
    }
    expect(statuses.slice(0, 5)).toEqual([400, 400, 400, 400, 400]);
    expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429]);
    expect(tokenRequests).toBeLessThanOrEqual(10);
    expect(app.log.filter(({ level }) => level === 'warn').length).toBeLessThanOrEqual(10);
  });

  it('a user without a known group is refused, and layers come from the claim that lists them', async () => {
    const { signIn } = await open();
    const refused = (await signIn('nora')).answer;
    expect([refused.statusCode, refused.headers['set-cookie']]).toEqual([403, undefined]);
    const scoped = await open({ layersClaim: 'layers' });
    expect(await scoped.me((await scoped.signIn('vera')).session)).toMatchObject({
      role: 'viewer',
      layers: ['ours'],
    });
    expect(await scoped.me((await scoped.signIn('anna')).session)).toMatchObject({ layers: [] });
  });

  it.each([
    ['/a/b?c=d', '/a/b?c=d'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['/a\r\nSet-Cookie: x=y', '/'],
    ['/\t/evil.example', '/'],
    ['/a/..//evil.example', '/'],
    ['', '/'],
  ])('a sign-in that is to return to %j returns to %j', (requested, returned) => {
    expect(returnPath(requested)).toBe(returned);
  });

  it('a sign-in that is to return to a path of 2,000 characters returns to the start page', () => {
    expect(returnPath(`/${'a'.repeat(2000)}`)).toBe('/');
  });
});

describe('bearer tokens of an OpenID Connect issuer', () => {
  const good = () => tokenOf(issuer);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it('a valid bearer token is a caller with the role of its groups, in a header only', async () => {
    const { me, get } = await open();
    const token = await issuer.sign(good());
    expect(await me(bearer(token))).toMatchObject({ name: 'robot', role: 'operator', via: 'jwt' });
    const basic = `Basic ${Buffer.from(`x:${token}`).toString('base64')}`;
    expect(await me({ authorization: basic })).toMatchObject({ via: 'jwt' });
    expect((await get(`/api/v1/me?access_token=${token}`)).statusCode).toBe(401);
    expect((await get('/rest/layers.json', bearer(token))).statusCode).toBe(200);
    expect((await get('/api/v1/users', bearer(token))).statusCode).toBe(403);
  });

  it('hostile bearer tokens are refused with 401, and one without a role with 403 that says so', async () => {
    const { me, get } = await open();
    const secret = Buffer.from(await exportSPKI(issuer.publicKey));
    const { privateKey: strange } = await generateKeyPair('RS256');
    const { exp: _, ...endless } = good();
    const { sub: __, ...stranger } = good();
    const byOtherKey = new SignJWT(good()).setProtectedHeader({ alg: 'RS256', kid: 'first' });
    const hostile = {
      'alg none': new UnsecuredJWT(good()).encode(),
      'HS256 with the public key': await new SignJWT(good())
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(secret),
      'another key': await byOtherKey.sign(strange),
      'another audience': await issuer.sign({ ...good(), aud: 'others' }),
      'another issuer': await issuer.sign({ ...good(), iss: 'https://evil.example' }),
      expired: await issuer.sign({ ...good(), exp: now() - 61 }),
      'not yet valid': await issuer.sign({ ...good(), nbf: now() + 120 }),
      'a logout token': await issuer.sign(good(), { typ: 'logout+jwt' }),
      'a token of events': await issuer.sign({ ...good(), events: {} }),
      'no exp': await issuer.sign(endless),
      'no sub': await issuer.sign(stranger),
      'a changed payload': (await issuer.sign(good())).replace(
        /\.[^.]+\./,
        (part) => `.${part.slice(1, -2)}A.`,
      ),
    };
    for (const [name, token] of Object.entries(hostile))
      expect([name, await me(bearer(token))]).toEqual([name, 401]);
    expect(await me(bearer(await issuer.sign({ ...good(), exp: now() - 30 })))).toMatchObject({ via: 'jwt' });
    for (const typ of ['JWT', 'at+jwt', 'application/at+JWT'])
      expect(await me(bearer(await issuer.sign(good(), { typ })))).toMatchObject({ via: 'jwt' });
    const roleless = await get('/api/v1/me', bearer(await issuer.sign({ ...good(), groups: ['others'] })));
    expect([roleless.statusCode, roleless.body]).toEqual([403, expect.stringContaining('role')]);
  });
});

describe('an OpenID Connect issuer that is away or changes its keys', () => {
  async function openStub() {
    const pairs = { a: await generateKeyPair('ES256'), b: await generateKeyPair('ES256') };
    const state = { away: false, keys: ['a'] as ('a' | 'b')[], fetched: 0 };
    const server = createServer(async (request, response) => {
      if (state.away) return void response.writeHead(503).end();
      if (request.url?.includes('openid-configuration')) {
        const issuer = url;
        const document = {
          issuer,
          jwks_uri: `${url}/keys`,
          authorization_endpoint: `${url}/a`,
          token_endpoint: `${url}/t`,
        };
        return void response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
      }
      state.fetched++;
      const keys = await Promise.all(
        state.keys.map(async (kid) => ({ ...(await exportJWK(pairs[kid].publicKey)), kid })),
      );
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const clock = createVirtualClock();
    const token = (kid: 'a' | 'b' | 'c') =>
      new SignJWT({ sub: 'robot' })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuer(url)
        .setAudience('tilewarden')
        .setExpirationTime(Math.floor(clock.now() / 1000) + 3600)
        .sign(pairs[kid === 'c' ? 'a' : kid].privateKey);
    const settings = { ...issuer.settings, issuer: url };
    const provider = createOidcProvider(settings, { clock, log: silentLogger });
    return { state, clock, token, provider, settings };
  }

  it('unknown key ids fetch the keys again at most once in 30 seconds, and known keys go on without', async () => {
    const { state, clock, token, provider } = await openStub();
    expect(await provider.claimsOf(await token('a'))).not.toBeNull();
    for (let i = 0; i < 5; i++) expect(await provider.claimsOf(await token('c'))).toBeNull();
    expect(state.fetched).toBe(1);
    state.keys = ['a', 'b'];
    clock.advance(30_000);
    expect(await provider.claimsOf(await token('b'))).not.toBeNull();
    expect(state.fetched).toBe(2);
    state.away = true;
    clock.advance(300_000);
    expect(await provider.claimsOf(await token('c'))).toBeNull();
    expect(await provider.claimsOf(await token('a'))).not.toBeNull();
  });

  it('a withdrawn signing key is trusted for five minutes at most, also for tokens that were accepted', async () => {
    const { state, clock, token, provider } = await openStub();
    const [accepted, later] = [await token('a'), await token('a')];
    expect(await provider.claimsOf(accepted)).not.toBeNull();
    state.keys = ['b'];
    clock.advance(299_000);
    expect(await provider.claimsOf(accepted)).not.toBeNull();
    expect(state.fetched).toBe(1);
    clock.advance(2000);
    expect(await provider.claimsOf(accepted)).toBeNull();
    expect(await provider.claimsOf(later)).toBeNull();
    expect(state.fetched).toBe(2);
  });

  it('known keys go on for an hour while the issuer is away, and no longer', async () => {
    const { state, clock, token, provider } = await openStub();
    const accepted = await token('a');
    expect(await provider.claimsOf(accepted)).not.toBeNull();
    state.away = true;
    clock.advance(3_599_000);
    expect(await provider.claimsOf(accepted)).not.toBeNull();
    clock.advance(2000);
    await expect(provider.claimsOf(accepted)).rejects.toThrow('cannot be reached');
    await expect(provider.claimsOf(await token('a'))).rejects.toThrow('cannot be reached');
    state.away = false;
    clock.advance(30_000);
    expect(await provider.claimsOf(accepted)).not.toBeNull();
  });

  it('an accepted bearer token ends at its time, and with the keys that signed it', async () => {
    const { state, clock, token, provider } = await openStub();
    const [first, second] = [await token('a'), await token('b')];
    expect(await provider.claimsOf(first)).not.toBeNull();
    clock.advance(3_659_000);
    expect(await provider.claimsOf(first)).not.toBeNull();
    clock.advance(2000);
    expect(await provider.claimsOf(first)).toBeNull();
    const third = await token('a');
    expect(await provider.claimsOf(third)).not.toBeNull();
    state.keys = ['b'];
    clock.advance(30_000);
    // An unknown key fetches the keys again.
    expect(await provider.claimsOf(second)).toBeNull();
    expect(await provider.claimsOf(third)).toBeNull();
    expect(await provider.claimsOf(await token('b'))).not.toBeNull();
  });

  it('sign-in is 503 with a page while the issuer is away, and works again by itself', async () => {
    const { state, settings } = await openStub();
    const clock = createVirtualClock();
    const opened = await openAccountApp({}, { oidc: settings });
    state.away = true;
    const answer = await opened.app.request('GET', '/login/oidc');
    expect([answer.status, answer.headers['content-type']]).toEqual([503, expect.stringContaining('html')]);
    expect((await opened.get('/api/v1/me', ANNA)).status).toBe(200);
    expect((await opened.app.request('GET', '/readyz')).status).toBe(200);
    const provider = createOidcProvider(settings, { clock, log: silentLogger });
    await expect(provider.begin('http://localhost/')).rejects.toThrow('cannot be reached');
    state.away = false;
    await expect(provider.begin('http://localhost/')).rejects.toThrow('cannot be reached');
    clock.advance(2000);
    expect((await provider.begin('http://localhost/')).url).toContain('code_challenge=');
  });
});

describe('an OpenID Connect issuer that is killed after sign-ins', () => {
  it('a browser is not sent to an issuer that was killed, neither to sign in nor to sign out', async () => {
    const clock = { ...systemClock, skipped: 0, monotonic: () => systemClock.monotonic() + clock.skipped };
    const own = await openOidcIssuer((name) => CLAIMS[name] ?? {});
    onTestFinished(() => own.close());
    const { app, signIn, me, begin, get } = await open({}, clock, own);
    const { session } = await signIn('anna');
    const other = await signIn('anna');
    const bearer = { authorization: `Bearer ${await own.sign(tokenOf(own))}` };
    expect(await me(bearer)).toMatchObject({ via: 'jwt' });

    await own.close();
    clock.skipped += 2000;
    const { answer } = await begin('/login/oidc?return=/layers/ours');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.body).toContain('href="/#/overview"');
    expect(answer.body).toContain('href="/login/oidc?return=%2Flayers%2Fours"');
    const headers = { host: 'localhost', ...session };
    const out = await app.inject({ method: 'DELETE', url: '/api/v1/session', headers });
    expect([out.statusCode, out.json()]).toEqual([200, { logoutUrl: null }]);
    expect(await me(other.session)).toMatchObject({ via: 'oidc' });
    expect(await me(bearer)).toMatchObject({ via: 'jwt' });
    expect((await get('/api/v1/me', ANNA)).statusCode).toBe(200);

    await own.reopen();
    clock.skipped += 2000;
    expect((await signIn('anna')).answer.statusCode).toBe(303);
  });
});
