import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const CONFIG = `
gridSets:
  - { name: utm32, srs: 25832, extent: [-46133, 5048875, 1206211, 6301219], levels: 10 }
layers:
  - { name: world, source: { type: world }, gridSets: [EPSG:900913] }
  - { name: city, source: { type: world }, gridSets: [{ name: EPSG:900913, extent: [1080000, 7070000, 1130000, 7110000] }, utm32] }
`;

describe('maps in the console', needs('chromium'), () => {
  let server: OpenServer;
  let open: ConsolePage;
  beforeAll(async () => {
    server = await openServer({ config: CONFIG, expectedLog: /source of layer \w+ failed/ });
    open = await openConsole(await sharedBrowser(), server.url);
    await open.signIn();
  });
  afterAll(async () => {
    await open?.close();
    await server?.stop();
  });

  it('the map of a layer changes to a CRS that the browser does not know, and back', async () => {
    const { page } = open;
    await fetch(`${server.url}/tiles/city/EPSG:900913/12/2158/1324.png`);
    await open.go('layers/city', 'city');
    const gridSet = page.getByRole('combobox', { name: 'Grid set', exact: true });
    const coverage = (name: string) =>
      page.waitForResponse((answer) => answer.url().includes(`/coverage/${name}`));
    for (const name of ['utm32', 'EPSG%3A900913']) {
      const shown = coverage(name);
      await gridSet.selectOption(decodeURIComponent(name));
      await shown;
      await page.locator('#console .map canvas').first().waitFor();
    }
    expect(open.complaints()).toEqual([]);
  });

  it('the public map moves to a chosen layer that is not in view', async () => {
    const { page } = open;
    await page.goto('about:blank');
    await page.goto(`${server.url}/`);
    const layer = page.getByRole('combobox', { name: 'Layer', exact: true });
    const zoom = async () => Number(await page.locator('footer output').first().textContent());
    await layer.selectOption('city');
    await eventually('the map shows the city', zoom, (shown) => shown >= 10);
    await layer.selectOption('world');
    await page.waitForURL(/layer=world/);
    expect(await zoom()).toBeGreaterThanOrEqual(10);
    expect(open.complaints()).toEqual([]);
  });
});
