import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD, type RunningServer } from '../e2e/server.ts';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { startGuardedServer } from './guarded-server.ts';

describe('a page of another site in a real browser', needs('chromium'), () => {
  let server: RunningServer;
  let browser: Browser;
  let elsewhere: Server;
  let attack = '';

  beforeAll(async () => {
    server = await startGuardedServer();
    browser = await sharedBrowser();
    elsewhere = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(attack);
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  });

  afterAll(async () => {
    elsewhere?.close();
    await server?.stop();
  });

  /** A user whose browser has stored the password after its prompt. */
  async function withPassword(): Promise<BrowserContext> {
    const context = await browser.newContext({
      httpCredentials: { username: 'admin', password: ADMIN_PASSWORD },
    });
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    const answer = await (await context.newPage()).goto(`${server.url}/api/v1/me`);
    expect(answer?.status()).toBe(200);
    return context;
  }

  /** A user who has logged in on our own page. */
  async function withSession(): Promise<BrowserContext> {
    const context = await browser.newContext();
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    const page = await context.newPage();
    await page.goto(`${server.url}/`);
    expect(await page.evaluate(logIn, ADMIN_PASSWORD)).toBe(200);
    expect(await page.evaluate('document.cookie')).toBe('');
    expect((await page.goto(`${server.url}/api/v1/me`))?.status()).toBe(200);
    return context;
  }

  /** Opens the attacker's page under a host name; returns the status of our server for its form. */
  async function lure(
    context: BrowserContext,
    site: string,
    enctype: string,
    field: string,
  ): Promise<number> {
    const action = `${server.url}/rest/seed`;
    attack = `<!doctype html><form method="post" action="${action}" enctype="${enctype}"><input name='${field}' value='all'></form><script>document.forms[0].submit()</script>`;
    const page = await context.newPage();
    const answered = page.waitForResponse(action);
    const { port } = elsewhere.address() as AddressInfo;
    await page.goto(`http://${site}:${port}/`).catch(() => null);
    return (await answered).status();
  }

  it.each([
    ['localhost', 'application/x-www-form-urlencoded', 'kill_all'],
    ['localhost', 'text/plain', '{"seedRequest":{},"a":"'],
    ['127.0.0.1', 'application/x-www-form-urlencoded', 'kill_all'],
  ])('a page of %s that posts %s changes nothing with a stored password', async (site, enctype, field) => {
    const context = await withPassword();
    expect(await lure(context, site, enctype, field)).toBe(403);
    await context.close();
  });

  it('a page of another site changes nothing with a session, which the browser does not send', async () => {
    const context = await withSession();
    expect(await lure(context, 'localhost', 'application/x-www-form-urlencoded', 'kill_all')).toBe(401);
    await context.close();
  });

  it('a page on another port of this machine changes nothing with a session', async () => {
    const context = await withSession();
    expect(await lure(context, '127.0.0.1', 'application/x-www-form-urlencoded', 'kill_all')).toBe(403);
    await context.close();
  });

  it('a page of another site cannot read or frame protected resources', async () => {
    const context = await withPassword();
    attack = `<!doctype html><iframe src="${server.url}/"></iframe>`;
    const page = await context.newPage();
    const { port } = elsewhere.address() as AddressInfo;
    await page.goto(`http://localhost:${port}/`);
    expect(await page.evaluate(read, `${server.url}/api/v1/users`)).toBe('refused');
    expect(page.frames().some((frame) => frame.url().startsWith(server.url))).toBe(false);
    await context.close();
  });

  it('blocked requests of another site are in the audit log', async () => {
    const answer = await fetch(`${server.url}/api/v1/audit?outcome=refused&text=/rest/seed`, {
      headers: { authorization: server.authorization },
    });
    const { entries } = (await answer.json()) as { entries: { actor: string; status: number }[] };
    expect(entries[0]).toMatchObject({ actor: 'admin', status: 403 });
  });

  it('a page of the server itself can do what its user can', async () => {
    const context = await withSession();
    const page = await context.newPage();
    await page.goto(`${server.url}/`);
    expect(await page.evaluate(killAll)).toBe(200);
    expect(await page.evaluate(logOut)).toBe(204);
    expect(await page.evaluate(whoAmI)).toBe(401);
    await context.close();
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
