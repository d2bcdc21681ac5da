import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole, openOwnSession } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

describe('the console does what it shows', needs('chromium'), () => {
  let wms: MockWms;
  let server: OpenServer;
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
    server = await openServer({ config: JSON.stringify({ upstreams, layers }), expectedLog: /flaky/ });
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
    return (answer.status === 204 ? null : await answer.json()) as T;
  }

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const layerField = () => page.getByRole('combobox', { name: 'Layer' });

  it('an unknown layer is an error: its form cannot be submitted by button or by Enter', async () => {
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

  it('a layer name that begins with another name can be typed without losing the focus', async () => {
    const source = { type: 'wms', url: wms.url, layers: 'roads' };
    await api('layers', 'POST', { name: 'roads-old', source, gridSets: ['EPSG:900913'] });
    await open.go('seed/flaky', 'Seed and truncate');
    await layerField().focus();
    await page.keyboard.type('roads');
    await page.getByText('Press Enter to choose roads, or go on typing.').waitFor();
    expect(await button('Start').isDisabled()).toBe(true);
    await page.keyboard.type('-old');
    await eventually('the longer name is chosen', () => page.url().includes('#/seed/roads-old'));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('roads');
    await page.keyboard.press('Enter');
    await eventually('Enter chooses the shorter name', () => page.url().endsWith('#/seed/roads'));
    await page.keyboard.type('x');
    await page.getByText('There is no layer roadsx.').waitFor();
    await page.goBack();
    await eventually(
      'going back chooses again',
      async () => (await layerField().inputValue()) === 'roads-old',
    );
    await eventually('it may start', () => button('Start').isEnabled());
    await api('layers/roads-old', 'DELETE');
  });

  it('the layer field accepts typing while the page of the chosen layer still loads', async () => {
    const held = 'document.documentElement.dataset.held';
    const content = `addEventListener('hashchange', (event) => ${held} && event.stopImmediatePropagation())`;
    const own = await openOwnSession(server.url, (page) => page.addInitScript({ content }));
    await own.go('seed/flaky', 'Seed and truncate');
    const field = own.page.getByRole('combobox', { name: 'Layer' });
    await field.focus();
    await own.page.evaluate(`${held} = 'yes'`);
    await own.page.keyboard.type('roadsx');
    expect(await field.inputValue()).toBe('roadsx');
    await own.page.evaluate(`delete ${held}`);
    await own.page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))");
    await own.page.getByText('There is no layer roadsx. Did you mean roads?').waitFor();
    expect(await field.inputValue()).toBe('roadsx');
  });

  it('a new schedule shows its next runs without a name, and keeps its input for another layer', async () => {
    await open.go('schedules/new?layer=flaky', 'New schedule');
    await page.getByText(/Next runs \(/).waitFor();
    await page.getByLabel('Time zone').fill('Berlin');
    await page.getByText(/^timeZone must be an IANA name/).waitFor();
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByText(/Next runs \(Europe\/Berlin\)/).waitFor();
    await page.getByLabel('Run from').fill('22:00');
    await layerField().fill('roads');
    await eventually('the layer is chosen', () => page.url().includes('layer=roads'));
    await eventually('its form is there', async () => (await page.getByLabel('Run from').count()) === 1);
    expect(await page.getByLabel('Run from').inputValue()).toBe('22:00');
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Europe/Berlin');
  });

  it('drawn bounds survive a change of unit, and four empty fields mean the whole layer', async () => {
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

  async function perform(task: object): Promise<number> {
    const { id } = await api<{ id: number }>('tasks', 'POST', task);
    await eventually('the task is over', async () =>
      /done|aborted/.test((await api<{ state: string }>(`tasks/${id}`)).state),
    );
    return id;
  }

  it('a failed task stays in the warnings and in its filter, however many tasks come after it', async () => {
    await open.go('about', 'About');
    wms.answer = ({ parameters }) => (parameters.get('LAYERS') === 'flaky' ? 'xml' : 'good');
    const failed = await perform({ layer: 'flaky', zoomStop: 0, tileFailureRetryCount: 0 });
    const others = Array.from({ length: 60 }, () => api('tasks', 'POST', { layer: 'roads', zoomStop: 0 }));
    await Promise.all(others);
    await open.go('overview', 'Overview');
    await page.getByText('1 task of the last 24 hours had failures.').waitFor();
    await page.getByRole('link', { name: 'See them and retry' }).click();
    await page.getByRole('link', { name: `#${failed}`, exact: true }).waitFor();
    expect(await page.getByRole('region', { name: 'List of tasks' }).getByRole('listitem').count()).toBe(1);
    await page.getByLabel('Type').selectOption('truncate');
    await page.getByText('No tasks match.').waitFor();
    expect(await button('Show more').count()).toBe(0);
  });

  it('Stop all obeys every filter, shows the number of tasks, and is disabled without any', async () => {
    await eventually('nothing runs', async () => {
      const { tasks } = await api<{ tasks: unknown[] }>('tasks?state=running,pending');
      return tasks.length === 0;
    });
    wms.answer = 'hang';
    const { id } = await api<{ id: number }>('tasks', 'POST', {
      layer: 'roads',
      type: 'reseed',
      zoomStop: 9,
    });
    await eventually(
      'it runs',
      async () => (await api<{ state: string }>(`tasks/${id}`)).state === 'running',
    );
    await open.go('tasks?type=truncate', 'Tasks');
    await page.getByText('No tasks match.').waitFor();
    expect(await button('Stop all').isDisabled()).toBe(true);
    await page.getByLabel('Type').selectOption('reseed');
    await button('Stop 1 running task…').waitFor();
    await layerField().fill('rodas');
    await page.getByText('There is no layer rodas. Did you mean roads?').waitFor();
    expect(await button('Stop 1 running task…').isDisabled()).toBe(true);
    await layerField().fill('roads');
    await button('Stop 1 running task…').click();
    await page.getByRole('dialog').getByText('Type: Reseed. Layer: roads.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop all' }).click();
    await page.getByText('Stopping 1 task.').waitFor();
    wms.reset();
    await eventually(
      'it is stopped',
      async () => (await api<{ state: string }>(`tasks/${id}`)).state === 'aborted',
    );
    await eventually('there is nothing left to stop', () => button('Stop all').isDisabled());
  });

  it('a seed by use says when there is no use, sends its share, and its task says it', async () => {
    const source = { type: 'wms', url: wms.url, layers: 'roads' };
    await api('layers', 'POST', { name: 'unused', source, gridSets: ['EPSG:900913'] });
    // The map of the form would be a use.
    await page.route('**/tiles/unused/**', (route) => route.fulfill({ status: 200, body: '' }));
    await open.go('seed/unused', 'Seed and truncate');
    await page.getByLabel('Most used pages first').check();
    await page.getByText('None of these tiles has been requested so far').waitFor();
    expect(await button('Start').isDisabled()).toBe(true);
    await api('layers/unused', 'DELETE');
    await open.go('seed/roads?order=use&share=0.8', 'Seed and truncate');
    const share = page.getByLabel('Share of the use, in percent');
    expect(await share.inputValue()).toBe('80');
    await share.fill('0');
    await page.getByText('Enter a number above 0, at most 100.').waitFor();
    expect(await button('Start').isDisabled()).toBe(true);
    await share.fill('70');
    await eventually('the use is counted', () => button('Start').isEnabled());
    await button('Start').click();
    await page.getByRole('heading', { name: 'Seed roads', level: 1 }).waitFor();
    await page.getByRole('region', { name: 'Request' }).getByText('70 %').waitFor();
  });

  it('a schedule is edited as the server has it now, not as the page before showed it', async () => {
    const body = { layer: 'roads', name: 'shared', zoomStart: 0, zoomStop: 1, enabled: false };
    const { id } = await api<{ id: number }>('schedules', 'POST', { ...body, cron: '0 3 1 1 *' });
    await open.go(`schedules/${id}`, 'shared');
    await api(`schedules/${id}`, 'PUT', { ...body, cron: '0 4 1 1 *' });
    await page.getByRole('link', { name: 'Edit…' }).click();
    const cron = page.getByLabel('Cron expression');
    await cron.waitFor();
    expect(await cron.inputValue()).toBe('0 4 1 1 *');
    await api(`schedules/${id}`, 'DELETE');
  });

  it('truncations and exports preset the zooms that have tiles, and show their count first', async () => {
    await perform({ layer: 'roads', zoomStop: 3 });
    const zooms = () =>
      Promise.all(['From zoom', 'To zoom'].map((name) => page.getByLabel(name).inputValue()));
    await open.go('seed/roads?type=truncate', 'Seed and truncate');
    await page.locator('.big', { hasText: /^85$/ }).waitFor();
    expect(await zooms()).toEqual(['0', '3']);
    await page.getByLabel('From zoom').fill('10');
    await page.getByLabel('To zoom').fill('12');
    await page.locator('.big', { hasText: /^0$/ }).waitFor();
    expect(await button('Truncate…').isDisabled()).toBe(true);
    await page.getByLabel('From zoom').fill('3');
    await page.locator('.big', { hasText: /^64$/ }).waitFor();
    await button('Truncate…').click();
    await page
      .getByRole('dialog')
      .getByText(/^64 cached tiles \(\d.* KiB\) of roads will be deleted\./)
      .waitFor();
    await page.keyboard.press('Escape');
    await open.go('layers/roads', 'roads');
    await page.getByRole('link', { name: 'Export…' }).click();
    await page.locator('.big', { hasText: /^85$/ }).waitFor();
    expect(await zooms()).toEqual(['0', '3']);
  });

  it('Enter in a field starts nothing, and a confirmed truncation starts one task', async () => {
    await eventually('nothing runs', async () => {
      const { tasks } = await api<{ tasks: unknown[] }>('tasks?state=running,pending');
      return tasks.length === 0;
    });
    const truncations = async () => (await api<{ tasks: unknown[] }>('tasks?type=truncate')).tasks.length;
    const before = (await api<{ tasks: { id: number }[] }>('tasks?limit=1')).tasks[0]?.id ?? 0;
    await open.go('seed/roads?zoomStart=3&zoomStop=3', 'Seed and truncate');
    await eventually('it may start', () => button('Start').isEnabled());
    await page.getByLabel('To zoom').press('Enter');
    await page.getByRole('combobox', { name: 'Type' }).selectOption('truncate');
    await button('Truncate…').click();
    await page.getByRole('dialog').getByLabel('Type roads to confirm').fill('roads');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Truncate roads', level: 1 }).waitFor();
    expect(await truncations()).toBe(1);
    expect((await api<{ tasks: { id: number }[] }>('tasks?limit=1')).tasks[0]?.id).toBe(before + 1);
  });

  it('the seed form warns of a seed that does not fit the quota', async () => {
    const quota = await api<object>('quota');
    await api('quota', 'PUT', { enabled: true, globalQuota: { value: 50, units: 'MiB' } });
    await open.go('seed/roads?zoomStart=0&zoomStop=12', 'Seed and truncate');
    await page
      .locator('.notice.bad', { hasText: /^Does not fit: .+ are needed, and the quota is 50.0 MiB\./ })
      .waitFor();
    await open.go('overview', 'Overview');
    expect(await page.getByText(/quota is/i).count()).toBe(0);
    await api('quota', 'PUT', quota);
  });

  it('layers are added several in one step or one by hand, and each error states what to do', async () => {
    await open.go('add', 'Add layer');
    const address = page.getByLabel('Address of a WMS or WMTS');
    await address.fill('http://10.1.2.3:8090/wms');
    await button('Read capabilities').click();
    const refusal = page.getByRole('alert').filter({ hasText: '10.1.2.3:8090 is a private address.' });
    await refusal.getByText(/^10\.1\.2\.3:8090 is a private address\. Allow it in \/.*\.yaml/).waitFor();
    await refusal
      .getByText("upstreams: { '10.1.2.3:8090': { allowPrivate: true } }", { exact: true })
      .waitFor();
    expect(await page.getByText('is a private address').count()).toBe(1);
    await button('Reload the file and read again').waitFor();
    const source = { type: 'wms', url: wms.url, layers: 'roads' };
    const layers = ['first', 'second', 'roads'].map((name) => ({
      name,
      source,
      formats: ['image/png'],
      gridSets: ['EPSG:900913'],
    }));
    await page.route('**/api/v1/import', (route) =>
      route.fulfill({ json: { layers, gridSets: [], missing: [], withoutGridSet: [], report: [] } }),
    );
    await address.fill(wms.url);
    await button('Read capabilities').click();
    await page.getByLabel('Select all 3').check();
    await button('Add 3 layers').click();
    await page.getByText('2 layers added.').waitFor();
    await page.getByText(/^roads was not added: /).waitFor();
    expect(await page.getByLabel('Select roads').isChecked()).toBe(true);
    await page.unroute('**/api/v1/import');
    const { layers: listed } = await api<{ layers: { name: string }[] }>('layers');
    expect(listed.map(({ name }) => name).sort()).toEqual(['first', 'flaky', 'roads', 'second']);

    await button('Enter manually').click();
    await eventually('the form is in view and has the focus', async () => {
      const isInView = await page.evaluate(
        'document.activeElement?.getBoundingClientRect().top < innerHeight',
      );
      return (await page.getByLabel('Name', { exact: true }).count()) === 1 && isInView === true;
    });
    const json = page.getByLabel('All settings (JSON)');
    await json.fill('{\n  "name": "third",\n  "formats": ["image/png",],\n}');
    await page.getByText(/^Invalid JSON: Unexpected token/).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('new-layer');
    expect(await button('Save layer').isDisabled()).toBe(true);
    await json.fill('{ "name": "third", "formats": ["image/png"], "gridSets": ["EPSG:900913"] }');
    await page.getByLabel('Address', { exact: true }).fill(wms.url);
    await page.getByLabel('Layers', { exact: true }).fill('roads');
    await button('Save layer').click();
    await page.getByRole('heading', { name: 'third', level: 1 }).waitFor();
  });

  it('a changed source asks about existing tiles, and the audit log can revert the change', async () => {
    const source = { type: 'wms', url: wms.url, layers: 'roads' };
    const layer = { name: 'mine', source, formats: ['image/png'], gridSets: ['EPSG:900913'] };
    await api('layers', 'POST', layer);
    await perform({ layer: 'mine', zoomStop: 2 });
    await open.go('add/mine', 'Edit mine');
    await page.getByLabel('Layers', { exact: true }).fill('flaky');
    await button('Save layer').click();
    await page.getByText(/21 cached tiles \(.*\) show it as it was:/).waitFor();
    expect(await page.getByRole('radio', { name: /^Mark them as stale/ }).isChecked()).toBe(true);
    await page.getByRole('radio', { name: 'Delete them' }).check();
    await button('Save anyway').click();
    await page.getByRole('heading', { name: 'mine', level: 1, exact: true }).waitFor();
    // The map of the layer makes new tiles of other zooms.
    await eventually('the tile of zoom 0 is gone', async () => {
      const { stored } = await api<{ stored: unknown }>('layers/mine/tiles/EPSG:900913/0/0/0');
      return stored === null;
    });
    const layersOf = async () =>
      (await api<{ document: { source: { layers: string } } }>('layers/mine')).document.source.layers;
    expect(await layersOf()).toBe('flaky');
    await open.go('audit', 'Audit log');
    const entry = page.getByRole('row').filter({ hasText: 'changed layer mine' });
    await entry.getByText('Changes').click();
    await entry.getByText(/"layers":"roads"/).waitFor();
    await entry.getByRole('button', { name: 'Restore…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('restored layer mine').waitFor();
    expect(await layersOf()).toBe('roads');
  });
});
