import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

describe('unsaved input in the console', needs('chromium'), () => {
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

  it('a menu click in an edited form asks before the input is lost', async () => {
    const { page } = open;
    await open.go('add', 'Add layer');
    await page.getByRole('button', { name: 'Enter manually' }).click();
    await page.getByLabel('Name', { exact: true }).fill('typed');
    const menu = page.getByRole('navigation').getByRole('link', { name: 'Quota' });
    await menu.click();
    const question = page.getByRole('dialog', { name: 'Leave this page?' });
    expect(await open.accessibilityFaults()).toEqual([]);
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('typed');
    await menu.click();
    await question.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Quota', level: 1 }).waitFor();
    // Of the invalid address, which the dry run refused.
    open.complaints();
  });

  it('a saved form asks nothing', async () => {
    const { page } = open;
    await open.go('quota', 'Quota');
    await page.getByLabel('Check every').fill('7');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
  });

  it('another language and a reload ask before the input of a form is lost', async () => {
    const { page } = open;
    await open.go('seed/world', 'Seed and truncate');
    await page.getByLabel('Threads').fill('5');
    await page.getByLabel('Language').selectOption('de');
    // The browser's own question, which is answered with no.
    await eventually(
      'it is asked',
      () => open.complaints(),
      (seen) => seen.some((one) => one.startsWith('dialog')),
    );
    expect(await page.getByLabel('Threads').inputValue()).toBe('5');
  });
});
