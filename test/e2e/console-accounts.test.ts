import { beforeAll, describe, expect, it } from 'vitest';
import { inTurn } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { openConsole, openOwnSession } from './console-browser.ts';
import { ADMIN_PASSWORD } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const ROSA = { 'x-user': 'rosa', 'x-groups': 'staff' };
const PASSWORD = 'a sentence of hers';

describe('accounts in the console', needs('chromium'), () => {
  let server: OpenServer;
  beforeAll(async () => {
    const access = { proxyLogin: { user: 'X-User', groups: 'X-Groups', roles: { staff: 'admin' } } };
    const config = JSON.stringify({ server: { trustedProxies: ['127.0.0.1'] }, access });
    server = await openServer({ config, outlivesTest: true });
    await post('/api/v1/users', { name: 'vera', password: PASSWORD, role: 'viewer' });
  });

  async function post(path: string, body: object, headers: object = { authorization: server.authorization }) {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    expect(response.ok, `${path} ${response.status}`).toBe(true);
    return response;
  }
  const status = async (headers: Record<string, string>) =>
    (await fetch(`${server.url}/api/v1/me`, { headers })).status;

  it('an administrator signs out a user, and removes an external account with its token', async () => {
    const signedIn = await post('/api/v1/session', { name: 'vera', password: PASSWORD }, {});
    const vera = { cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' };
    const created = await post('/api/v1/tokens', { name: 'nightly', role: 'viewer' }, ROSA);
    const { token } = (await created.json()) as { token: string };
    const bearer = { authorization: `Bearer ${token}` };
    expect([await status(vera), await status(bearer)]).toEqual([200, 200]);

    const console = await openOwnSession(server.url);
    const { page } = console;
    await console.go('accounts', 'Accounts');
    await page.getByRole('button', { name: 'Sign out vera?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('The sessions of vera have ended.').waitFor();
    expect(await status(vera)).toBe(401);
    await page.getByRole('button', { name: 'Delete rosa?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'External accounts' }).waitFor({ state: 'detached' });
    expect(await status(bearer)).toBe(401);
    await console.go('audit', 'Audit log');
    await page.getByText('proxy:rosa').first().waitFor();
    expect(console.complaints()).toEqual([]);
    expect(await console.accessibilityFaults()).toEqual([]);
  });

  const titles = [
    ['de-DE', 'Externe Konten'],
    ['fr-FR', 'Comptes externes'],
    ['es-ES', 'Cuentas externas'],
    ['en-GB', 'External accounts'],
  ] as const;
  it.each(inTurn(titles))('external accounts are listed in the language %s', async (locale, title) => {
    await post('/api/v1/tokens', { name: 'nightly', role: 'viewer' }, ROSA);
    const console = await openConsole(await sharedBrowser(), server.url, { locale });
    whenOver(() => console.close());
    const data = { name: 'admin', password: ADMIN_PASSWORD };
    await console.page.request.post(`${server.url}/api/v1/session`, { data });
    await console.page.goto(`${server.url}/#/accounts`);
    await console.page.getByRole('heading', { name: title }).waitFor();
    expect(await console.accessibilityFaults()).toEqual([]);
  });
});
