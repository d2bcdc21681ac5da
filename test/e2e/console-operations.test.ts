import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, holdRequests, openConsole, openOwnSession } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const TIMES = Array.from({ length: 500 }, (_, day) => `day-${day}`);
const PASSWORD = 'a long password';

describe('daily work in the console', needs('chromium'), () => {
  let wms: MockWms;
  let server: OpenServer;
  let open: ConsolePage;
  let page: Page;

  const parcels = () => ({
    name: 'parcels',
    source: { type: 'wms', url: [`${wms.url}?map=city.map&token=OPEN-SESAME`], layers: 'a' },
    gridSets: [{ name: 'EPSG:900913', zoomStop: 12 }],
    formats: ['image/png'],
    parameters: [{ name: 'TIME', default: TIMES[0], values: TIMES }],
  });

  beforeAll(async () => {
    wms = await openMockWms();
    const config = {
      upstreams: { [new URL(wms.url).host]: { allowPrivate: true } },
      layers: [{ name: 'world', source: { type: 'world' } }],
      changes: [{ name: 'hook', type: 'webhook', secret: 'for tests only', layers: ['parcels'] }],
    };
    const expectedLog = /the change feed is failing|the source of layer parcels failed/;
    server = await openServer({ config: JSON.stringify(config), expectedLog });
    await api('layers', 'POST', parcels());
    open = await openConsole(await sharedBrowser(), server.url);
    page = open.page;
    await open.signIn();
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
    await wms?.close();
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

  async function perform(task: object): Promise<number> {
    const { id } = await api<{ id: number }>('tasks', 'POST', task);
    await eventually('the task is over', async () =>
      /done|aborted/.test((await api<{ state: string }>(`tasks/${id}`)).state),
    );
    return id;
  }

  const button = (name: string | RegExp) => page.getByRole('button', { name });

  it('an estimate counts invalidated tiles, and of all combinations those that are cached', async () => {
    await perform({ layer: 'parcels', zoomStop: 2 });
    await api('layers/parcels/invalidate', 'POST', { zoomStart: 2, zoomStop: 2 });
    await open.go('seed/parcels?zoomStart=0&zoomStop=2', 'Seed and truncate');
    await page.getByText('16 of 21', { exact: true }).waitFor();
    await page.getByText('Expired or invalidated').waitFor();
    await page.getByLabel('All formats and parameter values (500 combinations)').check();
    await page.getByText('10,495 of 10,500', { exact: true }).waitFor();
    const commands = await page.locator('pre').filter({ hasText: 'api/v1/tasks' }).textContent();
    expect(commands?.match(/curl/g)).toHaveLength(1);
    expect(commands).toContain('"every":true');
  });

  it('the map of a layer opens where tiles are cached, and a click inspects the zoom of the coverage', async () => {
    await perform({ layer: 'parcels', zoomStart: 9, zoomStop: 9, bounds: [9e5, 5.9e6, 1e6, 6e6] });
    await open.go('layers/parcels', 'parcels');
    await page.getByRole('button', { name: '9', exact: true }).click();
    await page.locator('.legend strong', { hasText: 'Zoom 9' }).waitFor();
    await page.locator('.map').focus();
    await page.keyboard.press('Enter');
    await page.getByText(/^Tile 9\/2\d\d\/1\d\d$/).waitFor();
    await page.getByText('?map=city.map').first().waitFor();
    expect(await page.locator('#content').textContent()).not.toContain('OPEN-SESAME');
    const titles = await page.locator('#content section > header h2').allTextContents();
    expect(titles.indexOf('Addresses for clients')).toBeLessThan(titles.indexOf('Tile sets'));
  });

  it('the map of a layer that is cached as a whole does not open at a few tiles of a deep zoom', async () => {
    await api('layers', 'POST', { ...parcels(), name: 'whole', parameters: [] });
    await perform({ layer: 'whole', zoomStop: 4 });
    expect((await fetch(`${server.url}/tiles/whole/12/2148/1360.png`)).status).toBe(200);
    await open.go('layers/whole', 'whole');
    await page.locator('.legend strong', { hasText: /^Zoom [2-5]$/ }).waitFor();
    await page.getByRole('button', { name: '12', exact: true }).waitFor();
    expect(await page.locator('.legend strong').textContent()).toMatch(/^Zoom [2-5]$/);
  });

  it('the question of a truncation names an unfinished seed of the layer', async () => {
    const { host } = new URL(wms.url);
    await api(`upstreams/${host}/pause`, 'POST');
    const reseed = { layer: 'parcels', type: 'reseed', zoomStop: 1 };
    const { id } = await api<{ id: number }>('tasks', 'POST', reseed);
    await open.go('layers/parcels', 'parcels');
    await button('Truncate layer…').click();
    const text = '1 seed of this layer is unfinished: it continues and creates tiles again.';
    await page.getByRole('dialog').getByText(text).waitFor();
    await page.keyboard.press('Escape');
    await api(`tasks/${id}/cancel`, 'POST');
    await api(`upstreams/${host}/resume`, 'POST');
  });

  it('a truncation shows the tiles it has deleted', async () => {
    await perform({ layer: 'parcels', zoomStart: 1, zoomStop: 12, type: 'truncate', every: true });
    await open.go('tasks', 'Tasks');
    const list = page.getByRole('region', { name: 'List of tasks' });
    const row = list.getByRole('listitem').filter({ hasText: 'Truncate' }).first();
    await row.getByText(/tiles deleted$/).waitFor();
    expect(await row.textContent()).not.toContain('million');
    await row.getByRole('link', { name: /^#/ }).click();
    await page.getByText(/^\d+ tiles in .+: [\d.,]+ tiles\/s\.$/).waitFor();
    expect(await page.locator('#content').textContent()).not.toContain('million');
  });

  it('the chart of traffic shows failed requests', async () => {
    wms.answer = 'xml';
    const answer = await fetch(`${server.url}/tiles/parcels/5/16/11.png`);
    expect(answer.ok).toBe(false);
    await eventually('the failure is counted', async () =>
      (await api<{ failed: number[] }>('series')).failed.some((count) => count > 0),
    );
    await open.go('overview', 'Overview');
    await page.locator('.plot-box .legend', { hasText: 'failed' }).waitFor();
    await page.locator('polyline').nth(2).waitFor({ state: 'attached' });
  });

  it('a deletion names what depends on the layer, and its restoration what came back', async () => {
    await api('schedules', 'POST', { layer: 'parcels', name: 'nightly', cron: '0 3 * * *' });
    await open.go('layers/parcels', 'parcels');
    await button('Delete layer…').click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText(/^The layer and its \d+ cached tiles? \([\d.]+ K?i?B\) will be deleted\.$/)
      .waitFor();
    await dialog.getByText('Schedules that will be deleted: nightly.').waitFor();
    await dialog.getByText('Feeds of data changes that will fail, because they name it: hook.').waitFor();
    await dialog.getByLabel('Type parcels to confirm').fill('parcels');
    await dialog.getByRole('button', { name: 'Delete parcels' }).click();
    await page.getByRole('heading', { name: 'Layers', level: 1 }).waitFor();
    await open.go('changes', 'Changes');
    await page.getByText(/^Layer parcels is not declared\./).waitFor();
    // Its secret is not in the log.
    await api('layers', 'POST', { ...parcels(), title: 'again' });
    await open.go('audit', 'Audit log');
    const entry = page.getByRole('row').filter({ hasText: 'removed layer parcels' });
    await entry.getByRole('button', { name: 'Restore…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText(/^Restored\. Schedules: nightly\. Tiles, the quota/).waitFor();
    expect((await api<{ schedules: object[] }>('schedules')).schedules).toHaveLength(1);
  });

  it('a new password is typed twice, and a user typed while another is added stays', async () => {
    await open.go('accounts', 'Accounts');
    const form = page.getByRole('form', { name: 'Add user' });
    const fill = async (name: string, again: string) => {
      await form.getByLabel('Name').fill(name);
      await form.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await form.getByLabel('Password, repeated').fill(again);
    };
    await fill('first', 'another password');
    await form.getByText('The two differ.').waitFor();
    await fill('first', PASSWORD);
    const release = await holdRequests(page, 'POST', '**/api/v1/users');
    await form.getByRole('button', { name: 'Add user' }).click();
    await form.getByLabel('Name').fill('second');
    await release();
    await page.getByText('User first added.').waitFor();
    expect(await form.getByLabel('Name').inputValue()).toBe('second');
    await form.getByRole('button', { name: 'Add user' }).click();
    await page.getByText('User second added.').waitFor();
    expect(await form.getByLabel('Name').inputValue()).toBe('');
  });

  it('a sign-out says that the user has signed out', async () => {
    const { page: own } = await openOwnSession(server.url);
    await own.getByRole('button', { name: 'Sign out' }).click();
    await own.getByText('You have signed out.').waitFor();
    expect(await own.getByText(/another tab/).count()).toBe(0);
  });
});
