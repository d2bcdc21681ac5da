import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../e2e/server.ts';
import { type OpenServer, openServer } from '../e2e/server-in-process.ts';
import { pictureLayer } from '../fixtures/configurations.ts';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';

describe('a page of another site in a real browser', needs('chromium'), () => {
  let server: OpenServer;
  let elsewhere: Server;
  let attack = '';
  /** Of a user whose browser has stored the password after its prompt. */
  let withPassword: Page;
  /** Of a user who has logged in on our own page. */
  let withSession: Page;

  beforeAll(async () => {
    server = await openServer({ config: await pictureLayer('small', 0) });
    elsewhere = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(attack);
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const httpCredentials = { username: 'admin', password: ADMIN_PASSWORD };
    withPassword = await openPage({ httpCredentials });
    withSession = await openPage();
    await withSession.goto(`${server.url}/`);
    expect(await withSession.evaluate(logIn, ADMIN_PASSWORD)).toBe(200);
    expect(await withSession.evaluate('document.cookie')).toBe('');
  });

  afterAll(async () => {
    await withPassword?.context().close();
    await withSession?.context().close();
    elsewhere?.close();
    await server?.stop();
  });

  async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await (await sharedBrowser()).newContext(options);
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    return context.newPage();
  }

  /** The browser sends its credentials to our server without asking its user. */
  async function expectSignedIn(page: Page): Promise<void> {
    expect((await page.goto(`${server.url}/api/v1/me`))?.status()).toBe(200);
  }

  /** Opens the attacker's page under a host name; returns the status of our server for its form. */
  async function lure(page: Page, site: string, enctype: string, field: string): Promise<number> {
    await expectSignedIn(page);
    const action = `${server.url}/rest/seed`;
    attack = `<!doctype html><form method="post" action="${action}" enctype="${enctype}"><input name='${field}' value='all'></form><script>document.forms[0].submit()</script>`;
    const answered = page.waitForResponse(action);
    const { port } = elsewhere.address() as AddressInfo;
    await page.goto(`http://${site}:${port}/`).catch(() => null);
    // The next test opens another address in this page.
    await page.waitForURL(action);
    return (await answered).status();
  }

  it.each([
    ['localhost', 'application/x-www-form-urlencoded', 'kill_all'],
    ['localhost', 'text/plain', '{"seedRequest":{},"a":"'],
    ['127.0.0.1', 'application/x-www-form-urlencoded', 'kill_all'],
  ])('a page of %s that posts %s changes nothing with a stored password', async (site, enctype, field) => {
    expect(await lure(withPassword, site, enctype, field)).toBe(403);
  });

  it('a page of another site changes nothing with a session, which the browser does not send', async () => {
    expect(await lure(withSession, 'localhost', 'application/x-www-form-urlencoded', 'kill_all')).toBe(401);
  });

  it('a page on another port of this machine changes nothing with a session', async () => {
    expect(await lure(withSession, '127.0.0.1', 'application/x-www-form-urlencoded', 'kill_all')).toBe(403);
  });

  it('a page of another site cannot read or frame protected resources', async () => {
    await expectSignedIn(withPassword);
    attack = `<!doctype html><iframe src="${server.url}/"></iframe>`;
    const { port } = elsewhere.address() as AddressInfo;
    await withPassword.goto(`http://localhost:${port}/`);
    expect(await withPassword.evaluate(read, `${server.url}/api/v1/users`)).toBe('refused');
    expect(withPassword.frames().some((frame) => frame.url().startsWith(server.url))).toBe(false);
  });

  it('blocked requests of another site are in the audit log', async () => {
    const answer = await fetch(`${server.url}/api/v1/audit?outcome=refused&text=/rest/seed`, {
      headers: { authorization: server.authorization },
    });
    const { entries } = (await answer.json()) as { entries: { actor: string; status: number }[] };
    expect(entries[0]).toMatchObject({ actor: 'admin', status: 403 });
  });

  it('a page of the server itself can do what its user can', async () => {
    await withSession.goto(`${server.url}/`);
    expect(await withSession.evaluate(killAll)).toBe(200);
    expect(await withSession.evaluate(logOut)).toBe(204);
    expect(await withSession.evaluate(whoAmI)).toBe(401);
  });
});

// These run in the browser.

async function logIn(password: string): Promise<number> {
  const answer = await fetch('/api/v1/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'admin', password }),
  });
  return answer.status;
}

async function logOut(): Promise<number> {
  return (await fetch('/api/v1/session', { method: 'DELETE' })).status;
}

async function whoAmI(): Promise<number> {
  return (await fetch('/api/v1/me')).status;
}

async function killAll(): Promise<number> {
  return (await fetch('/rest/seed', { method: 'POST', body: new URLSearchParams({ kill_all: 'all' }) }))
    .status;
}

async function read(url: string): Promise<string> {
  try {
    return await (await fetch(url, { credentials: 'include' })).text();
  } catch {
    return 'refused';
  }
}
