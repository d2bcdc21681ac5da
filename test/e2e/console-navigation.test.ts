import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole, WINDOW } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const PASSWORD = 'a long password';

describe('moving about in the console', needs('chromium'), () => {
  let server: OpenServer;
  let open: ConsolePage;
  beforeAll(async () => {
    server = await openServer();
    open = await openConsole(await sharedBrowser(), server.url);
    await open.signIn();
  });
  afterAll(async () => {
    await open?.close();
    await server?.stop();
  });

  async function post(path: string, body: object) {
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { id: number };
  }

  it('the address of a map server with a password is not part of the address of a page', async () => {
    const { page } = open;
    await page.getByLabel('Address').fill('https://user:secret@maps.invalid/wms');
    await page.getByRole('button', { name: 'Read capabilities' }).click();
    await page.getByRole('heading', { name: 'Add layer', level: 1 }).waitFor();
    expect(await page.getByLabel('Address of a WMS or WMTS').inputValue()).toContain('user:secret');
    expect(page.url()).not.toContain('secret');
    // Of the server that does not exist.
    await page.getByRole('alert').first().waitFor();
    open.complaints();
  });

  it('the focus stays on the page when a stopped task has no button to stop it', async () => {
    const { page } = open;
    const { id } = await post('tasks', { layer: 'world', zoomStart: 8, zoomStop: 12 });
    await open.go(`tasks/${id}`, 'Seed world');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('link', { name: 'Run again' }).waitFor();
    await eventually(
      'the page has the focus',
      () => page.evaluate('document.activeElement.id'),
      (focused) => focused === 'content',
    );
  });

  it('Escape closes the menu of a narrow page, and its button has the focus', async () => {
    const { page } = open;
    await page.setViewportSize({ width: 390, height: 800 });
    const button = page.getByRole('button', { name: 'Menu' });
    await button.click();
    await page.getByRole('navigation').getByRole('link', { name: 'Quota' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('navigation').getByRole('link', { name: 'Quota' }).waitFor({ state: 'hidden' });
    expect(await button.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
    await page.setViewportSize(WINDOW);
    expect(open.complaints()).toEqual([]);
  });

  it('the menu of a viewer offers no work on tiles', async () => {
    await post('users', { name: 'vera', password: PASSWORD, role: 'viewer' });
    const { page } = open;
    await page
      .context()
      .request.post(`${server.url}/api/v1/session`, { data: { name: 'vera', password: PASSWORD } });
    await page.goto('about:blank');
    await open.go('overview', 'Overview');
    const entries = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(entries).toContain('Tasks');
    expect(entries).not.toContain('Seed and truncate');
    expect(await page.getByRole('link', { name: 'Seed a layer' }).count()).toBe(0);
  });
});
