import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD } from '../../../test/fixtures/accounts.ts';
import { ANNA, openAccountApp } from '../../../test/fixtures/http-app.ts';

describe('entries of the audit log', () => {
  it('only changes by administrators and of passwords count as administrative', async () => {
    const { accounts, send, get } = await openAccountApp();
    await accounts.users.add({ name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'] });
    const vera = { authorization: basic('vera', GOOD_PASSWORD) };
    await send('DELETE', '/api/v1/session', null, vera);
    await send('PUT', '/api/v1/me/password', { current: 'wrong', password: 'x' }, vera);
    await send('POST', '/api/v1/users', {}, vera);
    await send('PUT', '/api/v1/me/password', { current: GOOD_PASSWORD, password: 'another sentence' }, vera);
    await send('POST', '/api/v1/session', { name: 'anna', password: GOOD_PASSWORD });
    await send('PUT', '/api/v1/users/vera', { role: 'operator' });
    const { entries } = JSON.parse((await get('/api/v1/audit')).text);
    expect(entries[0]).toMatchObject({ actor: 'anna', account: 'user:anna' });
    const ofVera = JSON.parse((await get('/api/v1/audit?account=user:vera')).text).entries;
    expect(new Set(ofVera.map(({ actor }: { actor: string }) => actor))).toEqual(new Set(['vera']));
    const rows = await accounts.database.query
      .selectFrom('audit_entries')
      .select(['line', 'account'])
      .where('administrative', '=', 1)
      .orderBy('id')
      .execute();
    const shown = rows.map(({ line, account }) => [account, JSON.parse(line).phase, JSON.parse(line).action]);
    expect(shown).toEqual([
      ['user:vera', 'ended', 'PUT /api/v1/me/password'],
      ['user:anna', 'begun', 'PUT /api/v1/users/{name}'],
      ['user:anna', 'ended', 'PUT /api/v1/users/{name}'],
    ]);
  });

  it('two accounts of an issuer with one name have different accounts in the log', async () => {
    const proxyLogin = { user: 'X-User', groups: 'X-Groups', roles: { staff: 'admin' } as const };
    const { app, get } = await openAccountApp({ options: { trustedProxies: ['127.0.0.1'] } }, { proxyLogin });
    const headers = { 'x-user': 'anna', 'x-groups': 'staff' };
    await app.request('DELETE', '/api/v1/session', { headers });
    await app.request('DELETE', '/api/v1/session', { headers: ANNA });
    const { entries } = JSON.parse((await get('/api/v1/audit')).text);
    expect(entries).toMatchObject([
      { actor: 'anna', account: 'user:anna' },
      { actor: 'anna', account: 'proxy:anna' },
    ]);
  });
});
