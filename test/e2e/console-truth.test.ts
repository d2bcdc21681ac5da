import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { requirePackage } from '../fixtures/system-packages.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type RunningServer, startServer } from './server.ts';

const program = requirePackage(
  'chromium-headless-shell',
  'chromium-headless-shell',
  'the console does what it shows',
);

describe.skipIf(program === null)('the console does what it shows', () => {
  let wms: MockWms;
  let server: RunningServer;
  let open: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    wms = await openMockWms();
    const grid = { formats: ['image/png'], gridSets: [{ name: 'EPSG:900913', zoomStop: 17 }] };
    const layers = ['roads', 'flaky'].map((name) => ({
      name,
      source: { type: 'wms', url: wms.url, layers: name },
      ...grid,
    }));
    const upstreams = { [new URL(wms.url).host]: { allowPrivate: true } };
    server = await startServer({ config: JSON.stringify({ upstreams, layers }), expectedLog: /flaky/ });
    open = await openConsole(await sharedBrowser(program), server.url);
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

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const layerField = () => page.getByRole('combobox', { name: 'Layer' });

  it('a text that names no layer is a fault: nothing can be started, saved or stopped, and Enter submits nothing', async () => {
    await open.go('seed/roads', 'Seed and truncate');
    await eventually('it may start', () => button('Start').isEnabled());
    await layerField().fill('flakey');
    await page.getByText('There is no layer flakey. Did you mean flaky?').waitFor();
    expect(await button('Start').isDisabled()).toBe(true);
    expect(await page.locator('pre').count()).toBe(0);
    await layerField().blur();
    expect(await layerField().inputValue()).toBe('flakey');
    await layerField().fill('');
    await page.getByText('Choose a layer.').waitFor();
    expect(await button('Start').isDisabled()).toBe(true);

    await open.go('seed/rodas', 'Seed and truncate');
    await page.getByText('There is no layer rodas. Did you mean roads?').waitFor();
    expect(await button('Start').count()).toBe(0);

    await open.go('schedules/new?layer=flaky', 'New schedule');
    await page.getByLabel('Name').fill('Nightly roads');
    await layerField().fill('roa');
    await layerField().press('Enter');
    await eventually('Enter has chosen the layer', () => page.url().includes('layer=roads'));
    await layerField().fill('flakey');
    await layerField().press('Enter');
    await button('Save').click();
    await page.getByText('There is no layer flakey. Did you mean flaky?').waitFor();
    expect((await api<{ schedules: unknown[] }>('schedules')).schedules).toEqual([]);
  });

  it('another unit keeps the bounds that were drawn, and four empty fields mean the whole layer', async () => {
    const request = () => page.locator('pre').filter({ hasText: 'api/v1/tasks' }).textContent();
    await open.go('seed/roads?bounds=0,0,1113194.907933,1118889.974858&zoomStop=2', 'Seed and truncate');
    await page.getByLabel('Bounds in').selectOption('degrees');
    const values = () =>
      Promise.all(['West', 'South', 'East', 'North'].map((name) => page.getByLabel(name).inputValue()));
    expect(await values()).toEqual(['0', '0', '10', '10']);
    expect(await request()).toContain('"areaCrs":"EPSG:4326"');
    await page.getByLabel('Bounds in').selectOption('grid-set');
    expect(Number(await page.getByLabel('Max x').inputValue())).toBeCloseTo(1_113_194.908, 2);
    await button('Clear').click();
    await page.getByLabel('Bounds in').selectOption('degrees');
    expect(await values()).toEqual(['', '', '', '']);
    await eventually('it may start', () => button('Start').isEnabled());
    expect(await request()).not.toMatch(/area|bounds/);
  });
});
