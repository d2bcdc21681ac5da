import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole, WINDOW } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const CONFIG = `
upstreams: { '127.0.0.1': { allowPrivate: true } }
areas: [{ name: europe, bounds: [-10, 35, 30, 60] }]
layers:
  - { name: world, title: The world, source: { type: world }, gridSets: [EPSG:900913], fullWMS: true }
  - { name: outlines, source: { type: world }, gridSets: [EPSG:900913] }
  - { name: city, source: { type: world }, gridSets: [{ name: EPSG:900913, extent: [1080000, 7070000, 1130000, 7110000] }] }
`;

/** One finger: down on the first, up on the second. */
async function dragByTouch(page: Page, from: Locator, to: Locator): Promise<void> {
  const devices = await page.context().newCDPSession(page);
  await devices.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const [start, end] = [await from.boundingBox(), await to.boundingBox()];
  if (!start || !end) throw new Error('a grip is not shown');
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', share: number) => {
    const point = { x: start.x + 4, y: start.y + 4 + (end.y - start.y) * share };
    return devices.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: type === 'touchEnd' ? [] : [point],
    });
  };
  await touch('touchStart', 0);
  for (const share of [0.2, 0.5, 0.8, 1]) await touch('touchMove', share);
  await touch('touchEnd', 1);
  await devices.send('Emulation.setTouchEmulationEnabled', { enabled: false });
  await devices.detach();
}

describe('adding a layer in the console', needs('chromium'), () => {
  let server: OpenServer;
  let console: ConsolePage;

  beforeAll(async () => {
    // It reads its own WMS: a map service like any other.
    server = await openServer({ config: CONFIG });
    console = await openConsole(await sharedBrowser(), server.url);
    await console.signIn();
  });
  afterAll(async () => {
    await console?.close();
    await server?.stop();
  });

  async function layer(name: string) {
    const path = `${server.url}/api/v1/layers/${encodeURIComponent(name)}`;
    const answer = await fetch(path, { headers: { authorization: server.authorization } });
    return { status: answer.status, json: answer.ok ? await answer.json() : null };
  }

  it('a layer is added from the capabilities of a service, with a preview on a map', async () => {
    const { page } = console;
    await console.go('layers', 'Layers');
    await page.getByRole('link', { name: 'Add layer' }).click();
    await page.getByRole('heading', { name: 'Add layer', level: 1 }).waitFor();
    await page.getByLabel('Address of a WMS or WMTS').fill(`${server.url}/service/wms`);
    await page.getByRole('button', { name: 'Read capabilities' }).click();
    const tile = page.waitForResponse((response) => response.url().includes('/api/v1/preview/EPSG'));
    await page.getByRole('button', { name: /The world/ }).click();
    await page.getByLabel('Name', { exact: true }).fill('copied world');
    expect((await tile).headers()['content-type']).toBe('image/png');
    expect(await console.accessibilityFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'The world', level: 1 }).waitFor();
    expect((await layer('copied world')).json).toMatchObject({
      origin: 'database',
      document: { source: { type: 'wms', layers: 'world' } },
    });
    expect(console.complaints()).toEqual([]);
  });

  it('a layer is changed, disabled and deleted in the console', async () => {
    const { page } = console;
    await console.go('add/copied%20world', 'Edit copied world');
    await page.getByRole('textbox', { name: 'Title', exact: true }).fill('Another world');
    await fetch(`${server.url}/tiles/copied%20world/0/0/0.png`);
    await eventually('its tile is stored', async () => {
      const { authorization } = server;
      const answer = await fetch(`${server.url}/api/v1/usage`, { headers: { authorization } });
      const { layers } = (await answer.json()) as { layers: { name: string }[] };
      return layers.some(({ name }) => name === 'copied world');
    });
    const png = page.getByRole('checkbox', { name: 'image/png', exact: true });
    await png.uncheck();
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByText('no longer offers, which stay on disk: 1.').waitFor();
    expect((await layer('copied world')).json).toMatchObject({ title: 'The world' });
    await png.check();
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'Another world', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Disable…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    await page.getByText('This layer is disabled: requests for its tiles are refused.').waitFor();
    expect((await layer('copied world')).json).toMatchObject({ document: { enabled: false } });
    await page.getByRole('button', { name: 'Delete layer…' }).click();
    await page.getByLabel('Type copied world to confirm').fill('copied world');
    await page.getByRole('button', { name: 'Delete copied world' }).click();
    await page.getByRole('heading', { name: 'Layers', level: 1 }).waitFor();
    await eventually('it is gone', async () => (await layer('copied world')).status === 404);
  });

  it('the layer form has fields for formats, grid sets and parameter filters', async () => {
    const { page } = console;
    await console.go('add', 'Add layer');
    await page.getByRole('button', { name: 'Enter manually' }).click();
    await page.getByRole('checkbox', { name: 'image/webp' }).check();
    await page.getByRole('checkbox', { name: 'image/png', exact: true }).uncheck();
    await page.getByLabel('Another grid set').fill('EPSG:4326');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByLabel('To zoom').nth(1).fill('7');
    await page.getByRole('button', { name: 'Add a parameter filter' }).click();
    await page.getByLabel('Default value', { exact: true }).fill('light');
    await page.getByLabel('Values', { exact: true }).fill('light, dark');
    await page.getByLabel('Values', { exact: true }).blur();
    const text = page.getByLabel('All settings (JSON)');
    expect(JSON.parse(await text.inputValue())).toMatchObject({
      formats: ['image/webp'],
      gridSets: ['EPSG:900913', { name: 'EPSG:4326', zoomStop: 7 }],
      parameters: [{ name: 'STYLES', default: 'light', values: ['light', 'dark'] }],
    });
    await page.getByRole('button', { name: 'Remove: EPSG:900913' }).click();
    await page.getByRole('button', { name: 'Remove: STYLES' }).click();
    expect(JSON.parse(await text.inputValue())).toMatchObject({
      gridSets: [{ name: 'EPSG:4326', zoomStop: 7 }],
      parameters: [],
    });
    expect(await console.accessibilityFaults()).toEqual([]);
  });

  it('a grid set added to a layer has the extent of its others', async () => {
    const { page } = console;
    await console.go('add?copy=city', 'Copy city');
    await page.getByLabel('Another grid set').fill('EPSG:4326');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Remove: EPSG:4326' }).waitFor();
    const { gridSets } = JSON.parse(await page.getByLabel('All settings (JSON)').inputValue());
    const [west, south, east, north] = gridSets[1].extent.map(Math.round);
    expect([west, south, east, north]).toEqual([10, 53, 10, 54]);
  });

  it('a taken name is refused while it is typed, and a refusal goes when its field is corrected', async () => {
    const { page } = console;
    await console.go('add?copy=city', 'Copy city');
    const name = page.getByLabel('Name', { exact: true });
    const refusal = page.getByText('comes from the configuration file').first();
    await name.fill('world');
    await refusal.waitFor();
    await name.fill('own');
    await refusal.waitFor({ state: 'detached' });
    await page.route('**/api/v1/layers', (route) => route.fulfill({ status: 409, body: 'Refused.' }));
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByText('Refused.').waitFor();
    await page.unrouteAll();
    await page.getByRole('textbox', { name: 'Title', exact: true }).fill('Own');
    await page.getByText('Refused.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'Own', level: 1 }).waitFor();
    await console.go('add?copy=own', 'Copy own');
    await name.fill('own');
    await page.getByText('name is already used').first().waitFor();
    console.complaints();
  });

  it('a layer that another user has changed is loaded again, and the changes of this one are kept', async () => {
    const { page } = console;
    await console.go('add/own', 'Edit own');
    const title = page.getByRole('textbox', { name: 'Title', exact: true });
    await title.fill('Mine');
    const { document } = (await layer('own')).json as { document: object };
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const body = JSON.stringify({ ...document, attribution: 'Theirs' });
    const path = `${server.url}/api/v1/layers/own`;
    expect((await fetch(path, { method: 'PUT', headers, body })).status).toBe(200);
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByText('was changed in the meantime').waitFor();
    await eventually('both changes are shown', async () => {
      const shown = JSON.parse(await page.getByLabel('All settings (JSON)').inputValue());
      return shown.title === 'Mine' && shown.attribution === 'Theirs';
    });
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'Mine', level: 1 }).waitFor();
    expect((await layer('own')).json).toMatchObject({ document: { title: 'Mine', attribution: 'Theirs' } });
    console.complaints();
  });

  it('layers are put together with a preview, reordered by dragging and by keyboard', async () => {
    const { page } = console;
    await console.go('layers', 'Layers');
    // Of invalid settings that other tests typed.
    console.complaints();
    await console.go('add', 'Add layer');
    await page.getByRole('button', { name: 'Put layers together' }).click();
    await page.getByText('Enter the address and layers of the source to see a preview.').waitFor();
    for (const name of ['world', 'outlines']) {
      await page.getByLabel('Add a layer').fill(name);
      await page.getByRole('button', { name: `Move up: ${name}` }).waitFor();
    }
    const text = page.getByLabel('All settings (JSON)');
    const parts = async () => JSON.parse(await text.inputValue()).source.of;
    expect(await parts()).toEqual([{ layer: 'world' }, { layer: 'outlines' }]);
    const upper = page.getByRole('listitem', { name: 'outlines' });
    const tile = page.waitForResponse((answer) =>
      /preview\/EPSG.*0\.25/.test(decodeURIComponent(answer.url())),
    );
    await upper.getByRole('slider', { name: 'Opacity' }).fill('0.25');
    expect((await tile).headers()['content-type']).toBe('image/png');
    await upper.getByText('Where it is drawn').click();
    await upper.getByLabel('Drawn at').selectOption('some zooms');
    await upper.getByLabel('From').fill('1');
    await upper.getByLabel('Within the area').selectOption('europe');
    await upper.getByLabel('Transparent colour').fill('#ffffff');
    await upper.getByLabel('Tolerance (0 to 255)').fill('3');
    const outlines = {
      layer: 'outlines',
      opacity: 0.25,
      zooms: [1, 18],
      within: 'europe',
      transparentColor: '#ffffff',
      tolerance: 3,
    };
    expect(await parts()).toEqual([{ layer: 'world' }, outlines]);
    await upper.locator('.grip').dragTo(page.getByRole('listitem', { name: 'world' }).locator('.grip'));
    expect(await parts()).toEqual([outlines, { layer: 'world' }]);
    // And by a finger, which brings it back and down again.
    const grip = (name: string) => page.getByRole('listitem', { name }).locator('.grip');
    await page.setViewportSize({ ...WINDOW, height: 3000 });
    for (const name of ['world', 'outlines']) {
      await dragByTouch(page, grip('outlines'), grip('world'));
      await eventually(`${name} is at the bottom`, async () => (await parts())[0].layer === name);
    }
    await page.setViewportSize(WINDOW);
    await page.getByRole('button', { name: 'Move up: outlines' }).focus();
    await page.keyboard.press('Enter');
    await eventually('it is on top again', async () => (await parts())[1].layer === 'outlines');
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Move down: outlines');
    await page.getByLabel('WMS answers any box and size, composed from tiles').check();
    await page.getByLabel('Further CRS of WMS').fill('EPSG:25832');
    await page.getByLabel('Name', { exact: true }).fill('both');
    expect(await console.accessibilityFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'both', level: 1 }).waitFor();
    await page.getByRole('region', { name: 'Source' }).getByText('world, outlines').waitFor();
    expect((await layer('both')).json).toMatchObject({
      document: { source: { type: 'layers', of: [{ layer: 'world' }, outlines] }, wmsCrs: ['EPSG:25832'] },
    });
    expect(console.complaints()).toEqual([]);
  });

  it('a button of the console reloads the configuration file', async () => {
    const { page } = console;
    await console.go('layers', 'Layers');
    await page.getByRole('button', { name: 'Reload configuration file' }).click();
    await page.getByText('Configuration reloaded.').waitFor();
  });

  it('the layer form shows the faults of an address and of a declaration', async () => {
    const { page } = console;
    await console.go('add', 'Add layer');
    await page.getByLabel('Address of a WMS or WMTS').fill(`${server.url}/healthz`);
    await page.getByRole('button', { name: 'Read capabilities' }).click();
    await page.getByText('The answer is not XML').waitFor();
    await page.getByRole('button', { name: 'Enter manually' }).click();
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByText('source.url must be an http or https address').first().waitFor();
  });
});
