import { describe, expect, it } from 'vitest';
import { ANNA, openAccountApp } from '../../../test/fixtures/http-app.ts';

describe('signing in by headers of a proxy', () => {
  const proxyLogin = { user: 'X-Auth-User', groups: 'X-Auth-Groups', roles: { staff: 'operator' } as const };

  it('sign-in headers count from trusted proxies only, and those of others are ignored and logged once', async () => {
    const options = { trustedProxies: ['192.0.2.1'] };
    const { app, warnings } = await openAccountApp({ options }, { proxyLogin });
    const ask = async (headers: Record<string, string | string[]>, remoteAddress = '192.0.2.1') => {
      const request = {
        method: 'GET',
        url: '/api/v1/me',
        headers: { host: 'localhost', ...headers },
        remoteAddress,
      };
      const answer = await app.inject(request as never);
      return answer.statusCode === 200 ? answer.json() : answer.statusCode;
    };
    const rosa = { 'x-auth-user': 'rosa', 'x-auth-groups': 'others, staff' };
    expect(await ask(rosa)).toMatchObject({ name: 'rosa', role: 'operator', layers: ['*'], via: 'proxy' });
    expect(await ask(rosa, '192.0.2.2')).toBe(401);
    expect(await ask(rosa, '192.0.2.2')).toBe(401);
    expect(warnings).toHaveLength(1);
    for (const user of ['', ' ']) expect(await ask({ ...rosa, 'x-auth-user': user })).toBe(401);
    expect(await ask({ ...rosa, 'x-auth-groups': 'others' })).toBe(403);
    expect(await ask({ 'x-auth-user': 'rosa' })).toBe(403);
    expect(await ask({ ...rosa, ...ANNA })).toMatchObject({ name: 'anna', via: 'basic' });
  });

  it.each([
    ['a second user', { user: ['rosa', 'anna'] }],
    ['the same user twice', { user: ['rosa', 'rosa'] }],
    ['a second line of groups', { groups: ['others', 'staff'] }],
    ['a comma in the name', { user: 'rosa,anna' }],
    ['a quote in the name', { user: 'rosa"' }],
    ['a tab in the name', { user: 'ro\tsa' }],
    ['a letter beyond ASCII in the name', { user: 'ros\u00e9' }],
    ['a name of 257 characters', { user: 'r'.repeat(257) }],
    ['a group of 257 characters', { groups: `staff,${'g'.repeat(257)}` }],
  ])('sign-in headers of a trusted proxy with %s are 400', async (_, headers) => {
    const options = { trustedProxies: ['192.0.2.1'] };
    const { app } = await openAccountApp({ options }, { proxyLogin });
    const { user, groups } = { user: 'rosa', groups: 'staff', ...headers };
    const ask = (remoteAddress: string) =>
      app.inject({
        method: 'GET',
        url: '/api/v1/me',
        headers: { host: 'localhost', 'x-auth-user': user, 'x-auth-groups': groups } as never,
        remoteAddress,
      });
    const answer = await ask('192.0.2.1');
    expect([answer.statusCode, answer.body]).toEqual([400, expect.stringMatching('X-Auth-(User|Groups)')]);
    expect((await ask('192.0.2.2')).statusCode).toBe(401);
  });

  it.each(['rosa@example.org', 'GIS\\rosa', 'auth0|5f', 'Rosa Meyer', 'r'.repeat(256)])(
    'a trusted proxy signs in %s',
    async (user) => {
      const { app } = await openAccountApp({ options: { trustedProxies: ['192.0.2.1'] } }, { proxyLogin });
      const headers = { host: 'localhost', 'x-auth-user': user, 'x-auth-groups': 'staff' };
      const request = { method: 'GET', url: '/api/v1/me', headers, remoteAddress: '192.0.2.1' } as const;
      expect((await app.inject(request)).json()).toMatchObject({ name: user, via: 'proxy' });
    },
  );
});
