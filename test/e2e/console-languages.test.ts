import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { whenFileOver } from '../fixtures/when-over.ts';
import { openConsole } from './console-browser.ts';
import { ADMIN_PASSWORD } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const PAGES = [
  ...[
    'overview',
    'layers',
    'layers/world',
    'add',
    'gridsets',
    'gridsets?new=25832',
    'seed/world',
    'tasks',
    'schedules',
    'schedules/new',
    'quota',
  ],
  ...['inspect/world?tile=0/0/0', 'upstreams', 'changes', 'accounts', 'keys', 'audit', 'about'],
];

const CONFIG = `
layers:
  - { name: world, source: { type: world } }
  - { name: dead, source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: a } }
changes:
  - { name: hook, type: webhook, secret: a-secret-of-some-length, layers: [world], action: invalidate }
`;

describe('the console of a German browser', needs('chromium'), () => {
  let server: OpenServer;
  let page: Page;
  let complaints: () => readonly string[];
  const loaded: string[] = [];

  beforeAll(async () => {
    server = await openServer({ config: CONFIG, outlivesTest: true });
    const narrow = { locale: 'de-CH', viewport: { width: 400, height: 800 } };
    const opened = await openConsole(await sharedBrowser(), server.url, narrow);
    whenFileOver(() => opened.close());
    ({ page, complaints } = opened);
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`${server.url}/#/`);
    await page.getByLabel('Name').fill('admin');
    await page.getByLabel('Passwort').fill(ADMIN_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Übersicht', level: 1 }).waitFor();
  });

  it('the quota of a German console takes a decimal comma, and no thousands', async () => {
    await page.goto(`${server.url}/#/quota`);
    const limit = page.getByRole('textbox', { name: 'Limit für alle Layer' });
    const error = page.getByText('Muss eine Zahl über 0 ohne Einheit sein');
    await limit.fill('1.024');
    await error.waitFor();
    await limit.fill('2,5');
    await error.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Speichern' }).click();
    await page.getByText('Gespeichert.').waitFor();
    const answer = await fetch(`${server.url}/api/v1/quota`, {
      headers: { authorization: server.authorization },
    });
    expect(await answer.json()).toMatchObject({ globalQuota: { value: 2.5 } });
  });

  it('the console of a German browser is in German and loads no other translation', async () => {
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect(loaded.filter((path) => /\/(de|fr|es)-[^/]*\.js$/.test(path)).join()).toMatch(
      /^\/assets\/de-[^,]*$/,
    );
  });

  it('addresses for clients are explained in German', async () => {
    await page.goto(`${server.url}/#/layers/world`);
    const addresses = page.getByRole('region', { name: 'Adressen für Clients' });
    await addresses.getByText('Kacheln', { exact: true }).waitFor();
    await addresses.getByText(/^Für jeden Client, .* In QGIS: Browser › XYZ Tiles/).waitFor();
    expect(await addresses.textContent()).not.toMatch(/\b(rows|address of|picture of|clients of)\b/);
  });

  it('cron descriptions and numbers follow the language and region of the browser', async () => {
    await page.goto(`${server.url}/#/schedules/new`);
    await page.getByText('Um 22:00').waitFor();
    await page.goto(`${server.url}/#/seed/world?gridSet=EPSG:900913`);
    await page.getByLabel('Bis Zoomstufe').fill('8');
    await page
      .getByText(/87['’]381/)
      .first()
      .waitFor();
  });

  it('no page in German is wider than a narrow window', async () => {
    for (const path of PAGES) {
      await page.goto(`${server.url}/#/${path}`);
      await eventually(`${path} is there`, async () => (await page.getByText('Wird geladen…').count()) === 0);
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 400]);
    }
    expect(complaints()).toEqual([]);
  });

  it('failures of map servers and actions of feeds are in German', async () => {
    await fetch(`${server.url}/tiles/dead/0/0/0.png`);
    await page.goto(`${server.url}/#/upstreams`);
    await page.getByText('keine Verbindung: 1').waitFor();
    await page.goto(`${server.url}/#/changes`);
    await page.getByText('webhook · invalidiert').waitFor();
  });

  it('the audit log of a German console describes a change in German', async () => {
    const layer = { name: 'own', source: { type: 'world' }, gridSets: ['EPSG:900913'] };
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const body = JSON.stringify(layer);
    expect((await fetch(`${server.url}/api/v1/layers`, { method: 'POST', headers, body })).status).toBe(201);
    await page.goto(`${server.url}/#/audit`);
    await page.getByText('Layer hinzugefügt').waitFor();
    expect(await page.getByText('added layer own').count()).toBe(0);
  });

  it('a user switches the console to French, and it stays French after a reload', async () => {
    await page.goto(`${server.url}/#/overview`);
    await page.getByRole('button', { name: 'Menü' }).click();
    await page.getByLabel('Sprache').selectOption('Français');
    await page.getByRole('heading', { name: 'Vue d’ensemble', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Vue d’ensemble', level: 1 }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('fr');
  });
});
