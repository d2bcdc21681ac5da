/**
 * The console in a real browser, watched: complaints of the browser, and its requests to other
 * hosts than the server, are recorded.
 *
 *   const console = await openConsole(browser, server.url);
 *   await console.signIn();
 *   await console.go('tasks');
 *   expect(console.complaints()).toEqual([]);
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually, WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { ADMIN_PASSWORD } from './server.ts';

export interface ConsolePage {
  readonly page: Page;
  /** By the interface: the form has tests of its own. The page shows the overview. */
  signIn(): Promise<void>;
  /** Opens a page of the console and waits for its heading. */
  go(path: string, heading: string): Promise<void>;
  /**
   * Errors in the browser's console, pages that broke, breaches of the content policy, dialogs, foreign addresses, each
   * returned once.
   */
  complaints(): readonly string[];
  /** Faults that axe finds serious or critical, in one line each; by these rules only, or by all. */
  accessibilityFaults(rules?: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Wide enough for the layout of large screens; without a graphics card every further pixel takes processor. */
export const WINDOW = { width: 1100, height: 640 };
/** Logged by the browser itself about tiles that a broken source cannot make; the page shows the error. */
const EXPECTED = /status of 50[234]/;

/** A separate session, for a test that ends it: the others keep theirs. `prepare` comes before the page is loaded. */
export async function openOwnSession(
  url: string,
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<ConsolePage> {
  const own = await openConsole(await sharedBrowser(), url);
  whenOver(() => own.close());
  await prepare(own.page);
  await own.signIn();
  return own;
}

export async function openConsole(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: WINDOW, ...options });
  context.setDefaultTimeout(WAIT_TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !EXPECTED.test(text)) complaints.push(`console: ${text}`);
    if (/content security policy|refused to/i.test(text)) complaints.push(`policy: ${text}`);
  });
  page.on('pageerror', (error) => complaints.push(`broken: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(`${url}/`) && !address.startsWith('data:'))
      complaints.push(`foreign: ${address}`);
  });

  return {
    page,
    complaints: () => complaints.splice(0),
    async signIn() {
      const data = { name: 'admin', password: ADMIN_PASSWORD };
      const answer = await context.request.post(`${url}/api/v1/session`, { data });
      expect(answer.ok()).toBe(true);
      await page.goto(`${url}/#/overview`);
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    },
    async go(path, heading) {
      await page.goto(`${url}/#/${path}`);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await eventually('all of it is there', async () => (await page.getByText('Loading…').count()) === 0);
    },
    async accessibilityFaults(rules) {
      // Once for each document: its source takes long to compile.
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
      const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
      const { violations } = (await page.evaluate(
        `axe.run(document, ${JSON.stringify(options)})`,
      )) as AxeResults;
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
    },
    close: () => context.close(),
  };
}

/** Requests like these wait until the returned function is called, or the test is over. */
export async function holdRequests(
  page: Page,
  method: string,
  addresses: string,
): Promise<() => Promise<void>> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  whenOver(release);
  await page.route(addresses, async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  return async () => {
    release();
    await page.unrouteAll({ behavior: 'wait' });
  };
}

/** In the sign-in form, on any page. */
export async function fillInAccount(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('admin');
  await page.getByLabel('Password').fill(ADMIN_PASSWORD);
  await page.keyboard.press('Enter');
}
