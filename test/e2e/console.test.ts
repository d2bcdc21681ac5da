import { createHmac } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { isLong, randomSeed } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import {
  type ConsolePage,
  fillInAccount,
  holdRequests,
  openConsole,
  openOwnSession,
  WINDOW,
} from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const FEED_SECRET = 'for tests only';

const CONFIG = JSON.stringify({
  server: { surrogateKeys: 'xkey' },
  changes: [
    { name: 'parcels', type: 'webhook', secret: FEED_SECRET, layers: ['world'] },
    { name: 'osm', type: 'tile-list', folder: './absent', layers: ['world'] },
  ],
  purge: [{ name: 'cdn', url: 'http://127.0.0.1:1/' }],
  // A seed that is watched should not keep the browser waiting.
  tasks: { workers: 1, maxThreads: 1 },
  layers: [
    {
      name: 'world',
      title: 'World',
      source: { type: 'world' },
      formats: ['image/png', 'image/jpeg'],
      gridSets: [
        { name: 'EPSG:900913', zoomStop: 12 },
        { name: 'EPSG:4326', zoomStop: 12 },
      ],
      parameters: [{ name: 'STYLES', default: 'light', values: ['light', 'dark'] }],
    },
  ],
});

/** The folder of a feed and the CDN do not exist. */
const EXPECTED_LOG = /the change feed is failing|a delivery failed/;

/** Rules that depend on colours and width. */
const VISUAL_RULES = ['color-contrast', 'scrollable-region-focusable', 'link-in-text-block'];

const PAGES: readonly (readonly [path: string, heading: string])[] = [
  ['overview', 'Overview'],
  ['layers', 'Layers'],
  ['layers/world', 'World'],
  ['gridsets', 'Grid sets'],
  ['gridsets?new=25832', 'New grid set'],
  ['seed/world', 'Seed and truncate'],
  ['tasks', 'Tasks'],
  ['tasks/1', 'Seed world'],
  ['schedules', 'Schedules'],
  ['schedules/new', 'New schedule'],
  ['quota', 'Quota'],
  ['inspect/world?tile=0/0/0', 'Tile inspector'],
  ['upstreams', 'Upstreams'],
  ['changes', 'Changes'],
  ['accounts', 'Accounts'],
  ['keys', 'Keys'],
  ['audit', 'Audit log'],
  ['about', 'About'],
];

describe('the console in a real browser', needs('chromium'), () => {
  let server: OpenServer;
  let browser: Browser;
  let open: ConsolePage;

  beforeAll(async () => {
    server = await openServer({ config: CONFIG, expectedLog: EXPECTED_LOG });
    browser = await sharedBrowser();
    open = await openConsole(browser, server.url);
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
  });

  async function api<T>(path: string): Promise<T> {
    const answer = await fetch(`${server.url}/api/v1/${path}`, {
      headers: { authorization: server.authorization },
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as T;
  }

  it('the console opens with the public map, and a sign-in there opens the overview', async () => {
    const { page } = open;
    await page.goto(`${server.url}/`);
    await page.locator('#landing canvas').first().waitFor();
    expect(await page.locator('#landing').getByLabel('Layer').inputValue()).toBe('world');
    await page.getByLabel('STYLES').selectOption('dark');
    await page.waitForURL(/#layer=world&gridSet=EPSG%3A900913&format=png&STYLES=dark$/);
    await page.getByRole('link', { name: /^tiles\/world\/EPSG%3A900913\/.*\.png\?STYLES=dark$/ }).waitFor();
    await page.goto(`${server.url}/#/`);
    await page.getByLabel('Name').fill('admin');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Name or password is wrong.').waitFor();
    expect(open.complaints().filter((text) => !/status of 401/.test(text))).toEqual([]);

    await page.goto(`${server.url}/`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await fillInAccount(page);
    await page.getByText('No active tasks.').waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('a rectangle drawn on the map is seeded, with progress up to its end', async () => {
    const { page } = open;
    await open.go('seed/world', 'Seed and truncate');
    await page.getByLabel('To zoom').fill('3');
    await page.getByRole('button', { name: 'Draw a rectangle' }).click();
    const map = await page.locator('#console .map canvas').first().boundingBox();
    if (!map) throw new Error('no map');
    await page.mouse.move(map.x + map.width * 0.4, map.y + map.height * 0.3);
    await page.mouse.down();
    await page.mouse.move(map.x + map.width * 0.7, map.y + map.height * 0.6, { steps: 4 });
    await page.mouse.up();
    await eventually(
      'the bounds are filled in',
      async () => (await page.getByLabel('Min x').inputValue()) !== '',
    );
    const [west, south, east, north] = await Promise.all(
      ['Min x', 'Min y', 'Max x', 'Max y'].map((label) => page.getByLabel(label).inputValue()),
    );
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'Seed world' }).waitFor();
    await page.getByText('done', { exact: true }).waitFor();
    const task = await api<{ bounds: number[]; state: string; zoomStop: number }>('tasks/1');
    expect(task).toMatchObject({ state: 'done', zoomStop: 3 });
    expect(task.bounds.map(Math.round)).toEqual(
      [west, south, east, north].map((text) => Math.round(Number(text))),
    );
    expect(await page.getByRole('progressbar').first().getAttribute('aria-valuenow')).toBe('100');
    expect(open.complaints()).toEqual([]);
  });

  it('the page of a running task updates by itself and stops the task', async () => {
    const { page } = open;
    await open.go('seed/world', 'Seed and truncate');
    await page.getByLabel('To zoom').fill('12');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'Seed world' }).waitFor();
    await page.getByText('running', { exact: true }).first().waitFor();
    const processed = () => page.locator('.page .small.quiet').first().textContent();
    const first = await processed();
    await eventually('the number of tiles rises by itself', async () => (await processed()) !== first);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByText('stopped', { exact: true }).waitFor();
    expect((await api<{ state: string }>('tasks/2')).state).toBe('aborted');
    expect(open.complaints()).toEqual([]);
  });

  it('the page of a layer shows its cached tiles, and the details of a clicked tile', async () => {
    const { page } = open;
    await open.go('layers/world', 'World');
    await page.getByRole('button', { name: '0', exact: true }).click();
    await page.getByText('Zoom 0', { exact: true }).waitFor();
    const map = await page.locator('#console .map canvas').first().boundingBox();
    if (!map) throw new Error('no map');
    await page.mouse.click(map.x + map.width / 2 + 20, map.y + map.height / 2 + 20);
    const details = page.getByRole('region', { name: /^Tile \d+\/\d+\/\d+$/ });
    await details.getByText('Bounds').waitFor();
    await details.getByText('none: drawn by this server').waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('the quota form shows the expected evictions before it saves, and the cache shrinks', async () => {
    const { page } = open;
    const before = await api<{ bytes: number }>('usage');
    await open.go('quota', 'Quota');
    await page.getByLabel('Enable the quota').check();
    await page.getByRole('textbox', { name: 'Limit for all layers' }).fill('0');
    for (const wrong of ['0', '1,5', 'abc', '10 MB', '-3', '1e3']) {
      await page.getByRole('textbox', { name: 'Limit for all layers' }).fill(wrong);
      await page.getByText('Must be a number above 0, such as 2.5, without a unit.').waitFor();
      await page.getByText('Correct the marked fields first.').waitFor();
      expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    }
    await page.getByRole('textbox', { name: 'Limit for all layers' }).fill('400');
    await page.getByLabel('Unit').first().selectOption('KiB');
    await page.getByText(/will be evicted from all layers/).waitFor();
    await page.getByRole('textbox', { name: 'Check every' }).fill('1');
    await page.getByRole('button', { name: 'Save' }).click();
    const question = page.getByRole('dialog', { name: 'Save and evict tiles?' });
    await question.getByText(/will be evicted from all layers/).waitFor();
    const release = await holdRequests(page, 'GET', '**/api/v1/quota');
    await question.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await page.getByLabel('Enable the quota').isChecked()).toBe(true);
    await release();
    await eventually(
      'tiles are removed',
      () => api<{ bytes: number }>('usage'),
      ({ bytes }) => bytes < before.bytes,
    );
    await page.getByLabel('Enable the quota').uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually('the quota is off', async () => !(await api<{ enabled: boolean }>('quota')).enabled);
    expect(open.complaints()).toEqual([]);
  });

  it('a layer is truncated in the console only after its name is typed', async () => {
    const { page } = open;
    await open.go('layers/world', 'World');
    await page.getByRole('button', { name: 'Truncate layer…' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Truncate world' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type world to confirm').fill('World');
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type world to confirm').fill('world');
    await confirm.click();
    await page.getByText(/tiles deleted\.$/).waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('a schedule is created, run and deleted by keyboard alone, with errors at their fields', async () => {
    const { page } = open;
    await open.go('schedules', 'Schedules');
    await page.getByText('No schedules.').waitFor();
    await page.getByRole('link', { name: 'New schedule…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name').focus();
    await page.keyboard.type('nightly');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('0 22 31 2 1-9');
    await page.keyboard.press('Enter');
    const cron = page.getByLabel('Cron expression');
    await eventually('the field is marked', async () => (await cron.getAttribute('aria-invalid')) === 'true');
    const description = await cron.getAttribute('aria-describedby');
    await page.locator(`[id="${description}"]`).getByText('day of week “1-9” is invalid').waitFor();
    await cron.fill('0 22 * * 1-5');
    await page.getByText('At 22:00, Monday through Friday').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor();

    await page.getByRole('button', { name: 'Run now' }).press('Enter');
    await page.getByText(/^Started task #\d+\.$/).waitFor();
    const remove = page.getByRole('button', { name: 'Delete…' });
    await remove.press('Enter');
    await page.getByRole('dialog', { name: 'Delete nightly?' }).waitFor();
    await page.keyboard.press('Escape');
    await eventually(
      'the focus is back',
      async () => (await page.evaluate('document.activeElement.textContent')) === 'Delete…',
    );
    await remove.press('Enter');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByText('No schedules.').waitFor();
    expect((await api<{ schedules: unknown[] }>('schedules')).schedules).toEqual([]);
    expect(open.complaints().filter((text) => !/status of 400/.test(text))).toEqual([]);
  });

  it('the page of keys shows a new key once, lists it and deletes it', async () => {
    const { page } = open;
    await open.go('keys', 'Keys');
    await page.getByLabel('Name').fill('desktop');
    await page.getByLabel('Requests per day').fill('100000');
    await page.getByRole('button', { name: 'Create key' }).click();
    const notice = page.getByRole('status').filter({ hasText: 'Copy the key now' });
    const key = (await notice.locator('pre').textContent()) ?? '';
    expect((await fetch(`${server.url}/tiles/world/0/0/0.png?key=${key}`)).status).toBe(200);
    const row = page.getByRole('row', { name: 'desktop' });
    await row.getByText('100,000 per day').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('');
    await page.reload();
    await row.waitFor();
    expect(await page.getByText(key).count()).toBe(0);
    await row.getByRole('button', { name: 'Delete desktop?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No keys.').waitFor();
    expect((await fetch(`${server.url}/tiles/world/0/0/0.png?key=${key}`)).status).toBe(401);
    expect(open.complaints()).toEqual([]);
  });

  it('the page of changes shows feeds and deliveries, and the overview a feed that fails', async () => {
    const { page } = open;
    const body = JSON.stringify({ bounds: [8.5, 47.3, 8.6, 47.4] });
    const signature = createHmac('sha256', FEED_SECRET).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
    const sent = await fetch(`${server.url}/api/v1/changes/parcels`, { method: 'POST', headers, body });
    expect(sent.status).toBe(202);
    await open.go('overview', 'Overview');
    await page.getByText(/^Change feed osm is failing: .*absent/).waitFor();
    await page.getByRole('link', { name: 'See changes' }).click();
    const feed = page.getByRole('region', { name: 'Feeds' }).getByRole('row');
    await feed.filter({ hasText: /parcelswebhook · invalidateHealthyworld.*110$/ }).waitFor();
    await feed.filter({ hasText: /osmtile-list · invalidateFailing.*absent.*never000$/ }).waitFor();
    const delivery = page.getByRole('region', { name: 'Deliveries' }).getByRole('row');
    await delivery.filter({ hasText: /cdnPurgepending.*cannot be reached: nothing listens there/ }).waitFor();
    await page.getByRole('link', { name: 'parcels' }).click();
    await page.getByRole('application', { name: 'Map of the changes' }).locator('canvas').first().waitFor();
    const change = page.getByRole('region', { name: 'Changes of the last hour' }).getByRole('row');
    await change.filter({ hasText: /world8\.5, 47\.3, 8\.6, 47\.41$/ }).waitFor();
    await page.getByRole('button', { name: 'Replay the last hour' }).click();
    await page.getByText('Changes applied again: 1.').waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('no page has a serious accessibility fault, in light and dark, wide and narrow', async () => {
    const faults: string[] = [];
    // In the short form each page in one of both at most, in another one in the next run. In German, where words are longer,
    // the width of each is measured in every run.
    const first = randomSeed() % 3;
    for (const [path, heading] of PAGES.filter((_, place) => isLong || place % 3 === first)) {
      await open.go(path, heading);
      faults.push(...(await open.accessibilityFaults()).map((fault) => `${path}: ${fault}`));
    }
    await open.page.emulateMedia({ colorScheme: 'dark' });
    await open.page.setViewportSize({ width: 400, height: 600 });
    for (const [path, heading] of PAGES.filter((_, place) => isLong || (place + 1) % 3 === first)) {
      await open.go(path, heading);
      const found = await open.accessibilityFaults(VISUAL_RULES);
      faults.push(...found.map((fault) => `${path}, dark, narrow: ${fault}`));
      const wider = (await open.page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
      if (wider > 0) faults.push(`${path} is ${wider} pixels wider than 400`);
    }
    await open.page.emulateMedia({ colorScheme: 'light' });
    await open.page.setViewportSize(WINDOW);
    expect(faults).toEqual([]);
    expect(open.complaints()).toEqual([]);
  });

  it('the console takes no more than 350 KB to load', async () => {
    const context = await browser.newContext({ storageState: await open.page.context().storageState() });
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    const page = await context.newPage();
    let bytes = 0;
    page.on('response', (response) => {
      bytes += Number(response.headers()['content-length'] ?? 0);
    });
    await page.goto(`${server.url}/#/overview`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await context.close();
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(350 * 1024);
  });

  it('the console works below a prefix', async () => {
    await open.page.goto(`${server.url}/geoserver/gwc/#/layers/world`);
    await open.page.getByRole('heading', { name: 'World', level: 1 }).waitFor();
    await open.page.locator('#console .map canvas').first().waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('the console asks for a sign-in when the session has ended, and then shows the page', async () => {
    const own = await openOwnSession(server.url);
    await own.go('upstreams', 'Upstreams');
    await own.page.context().clearCookies();
    // By address: the page may query the server at any time, and hides its links then.
    await own.page.goto(`${server.url}/#/about`);
    await own.page.getByText('Your session has ended.').waitFor();
    await fillInAccount(own.page);
    await own.page.getByText('Running since').first().waitFor();
  });

  it('an operator can change its password, and has no actions on layers outside its scope', async () => {
    const { page } = await openOwnSession(server.url, (own) =>
      own.route('**/session.json', async (route) => {
        const { caller, ...rest } = (await (await route.fetch()).json()) as { caller: object };
        const operator = { ...caller, role: 'operator', layers: ['others'] };
        await route.fulfill({ json: { ...rest, caller: operator } });
      }),
    );
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByText('Your password').waitFor();
    await page.goto(`${server.url}/#/seed/world`);
    await page.getByText('You are not allowed to change this layer.').first().waitFor();
    expect(await page.getByText('Schedule…').count()).toBe(0);
  });

  it('a user of an OpenID Connect issuer can sign out, and is offered to sign in there again', async () => {
    const { page } = await openOwnSession(server.url, (own) =>
      own.route('**/session.json', async (route) => {
        const { caller } = (await (await route.fetch()).json()) as { caller: object | null };
        await route.fulfill({ json: { caller: caller && { ...caller, via: 'oidc' }, oidc: true } });
      }),
    );
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with your organisation' }).waitFor();
  });

  it('the console shows a lost connection, and works again when the server is back', async () => {
    const { page } = open;
    await open.go('tasks', 'Tasks');
    await page.getByText('Live', { exact: true }).waitFor();
    const { port } = new URL(server.url);
    await server.stop();
    await page.getByText('The connection to the server is lost.').waitFor();
    server = await openServer({
      config: CONFIG,
      expectedLog: EXPECTED_LOG,
      data: server.data,
      flags: { port },
    });
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByText('The connection to the server is lost.').count()).toBe(0);
    await page.getByRole('link', { name: 'About' }).click();
    await page.getByText('Running since').first().waitFor();
  });
});
