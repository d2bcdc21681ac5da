import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
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

/** Pixels that one line of text has at most. */
const LINE_HEIGHT = 24;
const GRID = { formats: ['image/png'], gridSets: [{ name: 'EPSG:900913', zoomStop: 17 }] };
const SQUARE = [
  [0, 0],
  [4_000_000, 0],
  [4_000_000, 4_000_000],
  [0, 4_000_000],
  [0, 0],
];

function configOf(upstream: string, broken: string): string {
  const source = (host: string) => ({ type: 'wms', url: `http://${host}/wms?apikey=SECRET`, layers: 'r' });
  return JSON.stringify({
    upstreams: { [upstream]: { allowPrivate: true }, [broken]: { allowPrivate: true } },
    layers: [
      { name: 'world', title: 'World', source: source(upstream), ...GRID },
      { name: 'roads', title: 'Roads', source: source(broken), ...GRID },
    ],
  });
}

/** One colour, in the requested size. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { searchParams } = new URL(request.url ?? '', 'http://upstream');
  const [width, height] = [Number(searchParams.get('WIDTH')), Number(searchParams.get('HEIGHT'))];
  const picture = sharp({ create: { width, height, channels: 3, background: '#8ab' } });
  response.writeHead(200, { 'content-type': 'image/png' }).end(await picture.png().toBuffer());
}

async function listen(handler: RequestListener): Promise<Server> {
  const server = createServer(handler);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
  return server;
}

/** Headless browsers have no hidden tabs. */
async function setHidden(tab: Page, hidden: boolean): Promise<void> {
  await tab.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
    document.dispatchEvent(new Event("visibilitychange"))`);
}

function hostOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('forms and tabs of the console', needs('chromium'), () => {
  let upstreams: readonly Server[] = [];
  let server: OpenServer;
  let config: string;
  let open: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    const good = await listen((request, response) => void answer(request, response));
    const broken = await listen((_request, response) => void response.writeHead(503).end('down'));
    upstreams = [good, broken];
    config = configOf(hostOf(good), hostOf(broken));
    server = await openServer({ config, expectedLog: /roads/ });
    open = await openConsole(await sharedBrowser(), server.url);
    page = open.page;
    await open.signIn();
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
    for (const upstream of upstreams) upstream.close();
  });

  async function api<T>(path: string, method = 'GET', body?: object): Promise<T> {
    const answer = await fetch(`${server.url}/api/v1/${path}`, {
      method,
      headers: { authorization: server.authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(answer.ok, `${path}: ${answer.status}`).toBe(true);
    return (await answer.json()) as T;
  }

  /** As the list of tasks shows it. */
  async function letTasksWait(wait: object, others: object = {}): Promise<void> {
    const waitingFor = { until: '2100-01-01T00:00:00Z', ...wait };
    const waits = { state: 'running', outcome: null, endedAt: null, waitingFor, ...others };
    await page.route('**/api/v1/tasks?*', async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as { tasks: object[] };
      const tasks = list.tasks.map((task) => ({ ...task, ...waits }));
      await route.fulfill({ response, json: { ...list, tasks } });
    });
  }

  /** Ends when the task does. */
  async function perform(task: object): Promise<number> {
    const { id } = await api<{ id: number }>('tasks', 'POST', task);
    await eventually('the task is over', async () =>
      /done|aborted/.test((await api<{ state: string }>(`tasks/${id}`)).state),
    );
    return id;
  }

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const curl = () => page.locator('pre').filter({ hasText: 'api/v1/tasks' });

  it('an invalid form has a disabled button and shows no curl command', async () => {
    await perform({ layer: 'world', zoomStop: 0 });
    await open.go('seed/world?type=truncate', 'Seed and truncate');
    await eventually('it may start', () => button('Truncate…').isEnabled());
    await page.getByLabel('Min x').fill('10');
    expect(await button('Truncate…').isDisabled()).toBe(true);
    expect(await curl().count()).toBe(0);
    await open.go('seed/world?type=seed&bounds=0,0,1000,1000', 'Seed and truncate');
    await eventually('it may start', () => button('Start').isEnabled());
    await page.getByLabel('Min x').fill('abc');
    expect(await button('Start').isDisabled()).toBe(true);
    expect(await curl().count()).toBe(0);
    await page.getByLabel('Min x').fill('0');
    await page.getByLabel('To zoom').fill('');
    expect(await button('Start').isDisabled()).toBe(true);
    expect(await curl().count()).toBe(0);
  });

  it('the seed form counts only missing tiles', async () => {
    await perform({ layer: 'world', zoomStop: 2 });
    await open.go('seed/world?zoomStart=0&zoomStop=3', 'Seed and truncate');
    await page.getByText('64 of 85', { exact: false }).waitFor();
  });

  it('a task with a polygon shows it on a map, and is run again and scheduled with it', async () => {
    const task = { layer: 'world', zoomStop: 3, area: { type: 'Polygon', coordinates: [SQUARE] } };
    const id = await perform({ ...task, areaCrs: 'grid-set' });
    await open.go(`tasks/${id}`, 'Seed world');
    await page.getByLabel('Map of the area').locator('canvas').first().waitFor();
    expect(await curl().textContent()).toContain('MultiPolygon');
    await page.getByRole('link', { name: 'Run again…' }).click();
    await eventually('it may start', () => button('Start').isEnabled());
    expect(await curl().textContent()).toContain('"areaCrs":"grid-set"');
    await page.getByRole('link', { name: 'Schedule…' }).click();
    await page.getByRole('heading', { name: 'New schedule' }).waitFor();
    await page.getByLabel('Name').fill('again and again');
    expect(await page.locator('pre').textContent()).toContain('MultiPolygon');
    await page.goBack();
    await button('Start').click();
    await page.getByRole('heading', { name: 'Seed world' }).waitFor();
    const again = await api<{ area: unknown }>(`tasks/${id + 1}`);
    expect(again.area).toEqual((await api<{ area: unknown }>(`tasks/${id}`)).area);
  });

  it('a seed of more than a billion tiles needs a confirmation', async () => {
    await open.go('seed/world?zoomStart=0&zoomStop=17', 'Seed and truncate');
    await eventually('it may start', () => button('Start').isEnabled());
    const before = (await api<{ tasks: unknown[] }>('tasks')).tasks.length;
    await button('Start').click();
    await page.getByRole('dialog').getByText('22.9 billion tiles').waitFor();
    await page.keyboard.press('Escape');
    expect((await api<{ tasks: unknown[] }>('tasks')).tasks).toHaveLength(before);
  });

  it('the layer field finds a layer by name and by title', async () => {
    await open.go('seed/world', 'Seed and truncate');
    const field = page.getByRole('combobox', { name: 'Layer' });
    await field.fill('Roa');
    await eventually(
      'only that one is offered',
      async () => (await page.locator('datalist option').count()) === 1,
    );
    await field.fill('roads');
    await eventually('its form is shown', () => page.url().includes('#/seed/roads'));
    await field.fill('no such layer');
    await page.keyboard.press('Tab');
    await page.getByText('There is no layer no such layer.').waitFor();
  });

  it('the schedule form shows each error of the server at its field', async () => {
    await open.go('schedules/new?layer=world', 'New schedule');
    await page.getByLabel('Name').fill('n'.repeat(201));
    await page.getByLabel('Time zone').fill('Nowhere');
    await button('Save').click();
    const fault = async (label: string) => {
      const id = await page.getByLabel(label).getAttribute('aria-describedby');
      return page.locator(`[id="${id}"]`).textContent();
    };
    await page.locator('[aria-invalid=true]').nth(1).waitFor();
    expect(await fault('Name')).toBe('name must have at most 200 characters.');
    expect(await fault('Time zone')).toMatch(/^timeZone must be an IANA name .*"Nowhere"\.$/);
  });

  it('the schedule form saves after Enter that came before its last answer', async () => {
    const release = await holdRequests(page, 'GET', '**/coverage/**');
    await open.go('about', 'About');
    await open.go('schedules/new?layer=world', 'New schedule');
    await page.getByLabel('Name').fill('early');
    await page.getByText('Next runs').waitFor();
    await page.getByLabel('Name').press('Enter');
    await release();
    await page.getByRole('heading', { name: 'early', level: 1 }).waitFor();
  });

  it('a schedule that is edited or disabled keeps the settings that its form does not show', async () => {
    const hidden = {
      priority: 3,
      tileFailureRetryCount: 2,
      tileFailureRetryWaitTime: 70,
      totalFailuresBeforeAborting: 9,
    };
    const body = { layer: 'world', name: 'kept', cron: '0 3 1 1 *', zoomStart: 0, zoomStop: 1, ...hidden };
    const { id } = await api<{ id: number }>('schedules', 'POST', body);
    const saved = (changes: object) =>
      eventually('the schedule is saved', async () => {
        const found = await api<Record<string, unknown>>(`schedules/${id}`);
        return Object.entries(changes).every(([name, value]) => found[name] === value);
      });
    await open.go(`schedules/${id}?edit=`, 'Edit kept');
    await page.getByLabel('Name').fill('renamed');
    await button('Save').click();
    await saved({ ...hidden, name: 'renamed' });
    await open.go(`schedules/${id}`, 'renamed');
    await button('Disable').click();
    await saved({ ...hidden, name: 'renamed', enabled: false });
  });

  it('a schedule whose form clears "most used first" is saved without its order and share', async () => {
    const body = { layer: 'world', name: 'by use', cron: '0 3 1 1 *', zoomStop: 1, order: 'use', share: 0.5 };
    const { id } = await api<{ id: number }>('schedules', 'POST', body);
    await open.go(`schedules/${id}?edit=`, 'Edit by use');
    await page.getByLabel('Most used pages first').uncheck();
    await button('Save').click();
    await page.getByRole('heading', { name: 'by use', exact: true, level: 1 }).waitFor();
    expect(await api<object>(`schedules/${id}`)).toMatchObject({ order: null, share: null });
  });

  it('the quota form keeps its input when another tab saves, and shows and saves both', async () => {
    const limit = page.getByRole('textbox', { name: 'Limit for all layers' });
    const frequency = page.getByRole('textbox', { name: 'Check every' });
    const entry = { layer: 'world', expirationPolicyName: 'LRU', quota: { value: 7, units: 'GiB' } };
    await open.go('quota', 'Quota');
    await frequency.fill('1.5');
    await page.getByText('Must be a whole number above 0.').waitFor();
    await frequency.fill('42');
    await limit.fill('123');
    // The other change comes when the request is under way: the page cannot have seen it.
    await page.route('**/api/v1/quota', async (route) => {
      if (route.request().method() === 'PUT') await api('quota', 'PUT', { layerQuotas: [entry] });
      await route.continue();
    });
    await button('Save').click();
    await page.getByText(/was changed in the meantime/).waitFor();
    await page.unroute('**/api/v1/quota');
    await page.getByRole('textbox', { name: 'Limit for world' }).waitFor();
    expect([await limit.inputValue(), await frequency.inputValue()]).toEqual(['123', '42']);
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    expect(await api('quota')).toMatchObject({
      globalQuota: { value: 123 },
      cacheCleanUpFrequency: 42,
      layerQuotas: [entry],
    });
  });

  it('the warning about failed tasks links to a list of these tasks only', async () => {
    const id = await perform({ layer: 'roads', zoomStop: 0, tileFailureRetryCount: 0 });
    await open.go('overview', 'Overview');
    await page.getByRole('link', { name: 'See them and retry' }).click();
    await page.getByRole('link', { name: `#${id}`, exact: true }).waitFor();
    expect(await page.getByRole('listitem').filter({ hasText: 'world' }).count()).toBe(0);
  });

  it('the overview names a failing host with its error, and a full disk', async () => {
    await page.route('**/api/v1/usage', async (route) => {
      const answer = await route.fetch();
      const usage = (await answer.json()) as { disks: object[] };
      const disks = usage.disks.map((disk) => ({ ...disk, freePercent: 1.5, storing: false }));
      await route.fulfill({ response: answer, json: { ...usage, disks } });
    });
    await open.go('overview', 'Overview');
    await page.getByText(/127\.0\.0\.1:\d+ is failing \(HTTP 503\)/).waitFor();
    await page.getByText(/disk of store default is full: 1\.5 % free/i).waitFor();
    await page.unroute('**/api/v1/usage');
    await letTasksWait({ host: null, reason: 'store-full', text: 'The disk of /data is full.' });
    await open.go('tasks', 'Tasks');
    await page.getByText('waiting for disk').first().waitFor();
    await page.unroute('**/api/v1/tasks?*');
    await open.go('upstreams', 'Upstreams');
    await page.getByText(/^(Failing|Probing)$/).waitFor();
  });

  it('a task in the list that waits for its host says why', async () => {
    const [, broken] = upstreams.map(hostOf);
    await letTasksWait({ host: broken, reason: 'failing', text: 'The host is failing.' });
    await open.go('tasks', 'Tasks');
    await page
      .getByText(/HTTP 503 \(127\.0\.0\.1:\d+\)\. Next try at/)
      .first()
      .waitFor();
    await page.unroute('**/api/v1/tasks?*');
  });

  it('numbers of tasks with six digits stay on one line, wide and narrow', async () => {
    await letTasksWait({ host: null, reason: 'store-full', text: 'The disk is full.' }, { id: 123_456 });
    await open.go('tasks', 'Tasks');
    await page.reload();
    for (const width of [1500, 1100, 390]) {
      await page.setViewportSize({ width, height: 700 });
      const number = page.getByRole('link', { name: '#123456' }).first();
      const what = page.locator('.task-line', { has: number }).locator('.cut').first();
      const [own, next] = [await number.boundingBox(), await what.boundingBox()];
      expect([width, (own?.height ?? 99) < LINE_HEIGHT]).toEqual([width, true]);
      const end = (own?.x ?? 0) + (own?.width ?? 0);
      expect([width, end <= (next?.x ?? 0)]).toEqual([width, true]);
    }
    await page.setViewportSize(WINDOW);
    await page.unroute('**/api/v1/tasks?*');
  });

  it('the page of a layer shows its source and settings without secrets', async () => {
    await open.go('layers/roads', 'Roads');
    await page.getByText(/^http:\/\/127\.0\.0\.1:\d+\/wms/).waitFor();
    await page.getByText('Gutter').waitFor();
    const text = await page.locator('#content').textContent();
    expect(text).not.toMatch(/SECRET/);
  });

  it('the page of a layer shows zooms without tiles as one line', async () => {
    await open.go('layers/world', 'World');
    await page.getByText('4–17').waitFor();
    expect(await page.getByRole('button', { name: '9', exact: true }).count()).toBe(0);
  });

  it('charts have axes with units, and a tooltip with the value at the pointer', async () => {
    await fetch(`${server.url}/tiles/world/1/0/0.png`);
    await eventually('traffic is counted', async () => {
      const { hits } = await api<{ hits: number[] }>('series');
      return hits.some((count) => count > 0);
    });
    await open.go('overview', 'Overview');
    await page
      .getByText(/requests per \d+ min/i)
      .first()
      .waitFor();
    await page.locator('.plot').first().hover();
    await page.getByRole('tooltip').waitFor();
  });

  it('filters of layers and of the audit log are kept in the address', async () => {
    await open.go('layers', 'Layers');
    await page.getByLabel('Search').fill('roa');
    await page.getByLabel('Sort by').selectOption('size');
    await eventually('they are there', () => /search=roa&order=size/.test(page.url()));
    await page.reload();
    await page.getByText('1 of 2').waitFor();
    await open.go('audit', 'Audit log');
    await page.getByLabel('Outcome').selectOption('refused');
    await eventually('it is there', () => page.url().includes('outcome=refused'));
  });

  it('the focus returns to the button after Escape, and End moves it to the end of a list', async () => {
    await open.go('layers/world', 'World');
    await button('Truncate layer…').press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await eventually(
      'the focus is back',
      async () => (await page.evaluate('document.activeElement.textContent')) === 'Truncate layer…',
    );
    for (let count = 0; count < 60; count++) {
      await api('tasks', 'POST', { layer: 'world', zoomStop: 0 });
    }
    await open.go('tasks', 'Tasks');
    await page.getByRole('region', { name: 'List of tasks' }).getByRole('link').first().focus();
    await page.keyboard.press('End');
    await eventually(
      'the last line has the focus',
      async () => (await page.evaluate('document.activeElement.textContent')) === '#1',
    );
  });

  it('the tile inspector states on its button that fetching replaces the tile', async () => {
    await open.go('inspect/world?tile=0/0/0', 'Tile inspector');
    await button(/replace/i).waitFor();
  });

  it('a form with an expired session asks for a sign-in in place and keeps its fields', async () => {
    const { page: own, go } = await openOwnSession(server.url);
    await go('seed/world', 'Seed and truncate');
    await own.getByLabel('To zoom').fill('1');
    await own.getByLabel('Threads').fill('3');
    await own.context().clearCookies();
    // The page may have requested an estimate in the meantime, and hide the form behind the question.
    await own.getByLabel('From zoom').fill('1', { force: true });
    await own.getByText('Your session has ended.').waitFor();
    await fillInAccount(own);
    await eventually('it may start', () => own.getByRole('button', { name: 'Start' }).isEnabled());
    expect(await own.getByLabel('Threads').inputValue()).toBe('3');
    expect(await own.getByLabel('To zoom').inputValue()).toBe('1');
  });

  it('seven tabs show live updates when they are visible, and a sign-out in one of them', async () => {
    const { page: first } = await openOwnSession(server.url);
    const tabs = [first];
    while (tabs.length < 7) tabs.push(await first.context().newPage());
    for (const tab of tabs) {
      await tab.goto(`${server.url}/#/tasks`);
      await tab.getByText('Live', { exact: true }).waitFor();
      await setHidden(tab, true);
    }
    const id = await perform({ layer: 'world', zoomStop: 0 });
    for (const tab of tabs) {
      expect(await tab.getByRole('link', { name: `#${id}`, exact: true }).count()).toBe(0);
      await setHidden(tab, false);
      await tab.getByRole('link', { name: `#${id}`, exact: true }).waitFor();
      if (tab !== first) await setHidden(tab, true);
    }
    await tabs[6]?.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of tabs.slice(0, 6)) await tab.getByText('You signed out in another tab.').waitFor();
    expect(await first.getByText('connection to the server is lost').count()).toBe(0);
    await first.bringToFront();
    await fillInAccount(first);
    await first.getByText('Live', { exact: true }).waitFor();
  });

  it('a form works again after an outage and keeps a change made during it', async () => {
    await open.go('seed/world', 'Seed and truncate');
    await eventually('it may start', () => button('Start').isEnabled());
    const { port } = new URL(server.url);
    const start = async () => {
      server = await openServer({ config, data: server.data, flags: { port }, expectedLog: /roads/ });
    };
    const refusal = page.getByText('The server cannot be reached.');
    await server.stop();
    await page.getByLabel('To zoom').fill('2');
    await refusal.waitFor();
    await start();
    await eventually('it may start again', () => button('Start').isEnabled());
    expect(await page.getByLabel('To zoom').inputValue()).toBe('2');
    expect(await refusal.count()).toBe(0);
    await server.stop();
    await button('Start').click();
    await refusal.waitFor();
    await start();
    await refusal.waitFor({ state: 'detached' });
  });
});
