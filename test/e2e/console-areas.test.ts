import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type ConsolePage, holdRequests, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const SQUARE = '{"type":"Polygon","coordinates":[[[0,0],[40,0],[40,40],[0,40],[0,0]]]}';

/** In the browser: pixels of the map in the colour of an area's outline. */
const OUTLINE_PIXELS = `(() => {
  let found = 0;
  for (const canvas of document.querySelectorAll('#console .map canvas')) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4)
      if ([163, 72, 11].every((value, part) => Math.abs(value - data[at + part]) < 12)) found += 1;
  }
  return found;
})()`;

interface Task {
  readonly id: number;
  readonly format: string;
  readonly parameters: object;
  readonly area: object | null;
}

describe('areas in the console', needs('chromium'), () => {
  let server: OpenServer;
  let open: ConsolePage;
  beforeAll(async () => {
    // On a busy machine the built-in map takes long to draw.
    const lost = '{ name: lost, file: lost.gpkg, table: parcels }';
    const away = `{ name: away, postgres: { url: 'postgres://gis:x@127.0.0.1:9/gis', query: select geom from licence } }`;
    const config = `areas: [{ name: square, bounds: [0, 0, 40, 40] }, ${lost}, ${away}]\n`;
    server = await openServer({ config, expectedLog: /source of layer world failed|could not be read/ });
    open = await openConsole(await sharedBrowser(), server.url);
    await open.signIn();
  });
  afterAll(async () => {
    await open?.close();
    await server?.stop();
  });

  async function get<T>(path: string): Promise<T> {
    const { authorization } = server;
    return (await fetch(`${server.url}/api/v1/${path}`, { headers: { authorization } })).json() as T;
  }

  it('the seed form seeds an area from GeoJSON in all formats and styles', async () => {
    const { page } = open;
    await open.go('seed/world?gridSet=EPSG:900913&zoomStop=0', 'Seed and truncate');
    await page.getByText('Area from GeoJSON').click();
    await page.getByLabel('Polygons in degrees, longitude first').fill('{"type":"Point"}');
    await page.getByText('Enter GeoJSON with a Polygon').waitFor();
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true);
    expect(await page.locator('pre').count()).toBe(0);
    await page.getByLabel('Polygons in degrees, longitude first').fill(SQUARE);
    await page.getByText('Polygon area with 4 corners').waitFor();
    await page.getByLabel(/All formats and parameter values \(9 combinations\)/).check();
    expect((await page.locator('pre').textContent())?.match(/^curl /gm)).toHaveLength(1);
    expect(await open.accessibilityFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    const { tasks } = await get<{ tasks: Task[] }>('tasks');
    expect(new Set(tasks.map(({ format, parameters }) => JSON.stringify([format, parameters]))).size).toBe(9);
    expect(tasks.every(({ area }) => area !== null)).toBe(true);
    await eventually('they are done', async () => {
      const { tasks: now } = await get<{ tasks: { state: string }[] }>('tasks');
      return now.every(({ state }) => state === 'done');
    });
  });

  it('the page of a task draws the outline of its area on the map', async () => {
    const { page } = open;
    const { tasks } = await get<{ tasks: Task[] }>('tasks');
    await open.go(`tasks/${tasks[0]?.id}`, 'Seed world');
    const outline = () => page.evaluate<number>(OUTLINE_PIXELS);
    await eventually('the outline is drawn', outline, (pixels) => pixels > 200);
  });

  it('the map of the seed form keeps its place while the estimate arrives', async () => {
    const { page } = open;
    const release = await holdRequests(page, 'POST', '**/api/v1/tasks');
    await open.go('seed/world?gridSet=EPSG:900913&zoomStop=3', 'Seed and truncate');
    const map = page.locator('#console .map');
    await page.getByText('Estimating…').waitFor();
    const before = await map.boundingBox();
    await release();
    await page.getByText('Upstream requests').waitFor();
    expect(before).not.toBeNull();
    expect(await map.boundingBox()).toEqual(before);
    expect(open.complaints()).toEqual([]);
  });

  it('the seed form accepts bounds in degrees', async () => {
    const { page } = open;
    await open.go('seed/world?gridSet=EPSG:900913&zoomStop=2', 'Seed and truncate');
    await page.getByLabel('Bounds in').selectOption('degrees');
    for (const [name, value] of Object.entries({ West: 0, South: 0, East: 40, North: 40 })) {
      await page.getByLabel(name).fill(String(value));
    }
    const text = (await page.locator('pre').textContent()) ?? '';
    expect(text).toContain('"areaCrs":"EPSG:4326"');
    expect(text).toContain('[40,40]');
  });

  it('an area of the list is chosen in the forms of tasks and exports', async () => {
    const { page } = open;
    await open.go('areas', 'Areas');
    await page.getByRole('link', { name: 'Seed and truncate: square' }).click();
    await page.getByRole('heading', { name: 'Seed and truncate', level: 1 }).waitFor();
    const area = page.getByLabel('Within the area');
    expect(await area.inputValue()).toBe('square');
    await page.getByRole('combobox', { name: 'Grid set', exact: true }).selectOption('EPSG:4326');
    expect(await area.inputValue()).toBe('square');
    await eventually('the request names it', async () =>
      ((await page.locator('pre').textContent()) ?? '').includes('"area":"square"'),
    );
    await page.getByRole('combobox', { name: 'Type', exact: true }).selectOption('export');
    await eventually('an export does too', async () =>
      /api\/v1\/exports.*"area":"square"/s.test((await page.locator('pre').textContent()) ?? ''),
    );
    await area.selectOption('everywhere');
    await page.getByLabel('Bounds in').waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('a task and a schedule keep the name of their area', async () => {
    const { page } = open;
    const { authorization: auth } = server;
    const send = async (method: string, path: string, body: object) => {
      const headers = { authorization: auth, 'content-type': 'application/json' };
      const answer = await fetch(`${server.url}/api/v1/${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      return (await answer.json()) as { id: number; area: object; areaName: string | null };
    };
    const body = { layer: 'world', zoomStop: 1, area: 'square' };
    const { id } = await send('POST', 'tasks', body);
    await eventually(
      'it is done',
      async () => (await get<{ state: string }>(`tasks/${id}`)).state === 'done',
    );
    await open.go(`tasks/${id}`, 'Seed world');
    await page.getByText('area with 4 corners').waitFor();
    await page.getByRole('link', { name: 'square', exact: true }).waitFor();
    expect(await page.locator('pre').textContent()).toContain('"area":"square"');
    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByLabel('Within the area').waitFor();
    expect(page.url()).toContain('area=square');
    const times = { ...body, name: 'nightly', cron: '0 22 * * *' };
    const { id: schedule, area } = await send('POST', 'schedules', times);
    const crs = { areaCrs: 'grid-set' };
    const off = await send('PUT', `schedules/${schedule}`, { ...times, area, ...crs, enabled: false });
    expect(off.areaName).toBe('square');
    const other = JSON.parse(SQUARE);
    expect((await send('PUT', `schedules/${schedule}`, { ...times, area: other })).areaName).toBeNull();
    await send('PUT', `schedules/${schedule}`, times);
    await open.go(`schedules/${schedule}?edit`, 'Edit nightly');
    expect(await page.getByLabel('Within the area').inputValue()).toBe('square');
    expect(open.complaints()).toEqual([]);
  });

  it('the console lists areas, draws one on the map, and limits a key to it', async () => {
    const { page } = open;
    await open.go('areas', 'Areas');
    await page.getByText('lost.gpkg: there is no such file').waitFor();
    await page.getByText('The database cannot be reached: nothing listens there.').waitFor();
    await page.getByRole('link', { name: 'square', exact: true }).click();
    await page.getByRole('heading', { name: 'square' }).waitFor();
    await page.locator('canvas').first().waitFor();
    expect(await open.accessibilityFaults()).toEqual([]);
    await open.go('keys', 'Keys');
    await page.getByLabel('Name').fill('portal');
    await page.getByLabel('Areas').fill('square');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('cell', { name: 'square' }).waitFor();
    expect(open.complaints()).toEqual([]);
  });

  it('the console limits a user to an area', async () => {
    const { page } = open;
    await open.go('accounts', 'Accounts');
    const form = page.getByRole('form', { name: 'Add user' });
    await form.getByLabel('Name').fill('guest');
    await form.getByLabel('Password', { exact: true }).fill('a long password');
    await form.getByLabel(/^Password.+/).fill('a long password');
    await form.getByLabel('Areas').fill('elsewhere');
    await form.getByText('elsewhere').waitFor();
    await form.getByLabel('Areas').fill('square');
    await form.getByRole('button', { name: 'Add user' }).click();
    await page.getByRole('row', { name: 'guest' }).getByRole('cell', { name: 'square' }).waitFor();
    await page.getByRole('button', { name: 'Edit guest' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Role').selectOption('operator');
    expect(await dialog.getByLabel('Areas').count()).toBe(0);
    await dialog.getByLabel('Role').selectOption('viewer');
    expect(await dialog.getByLabel('Areas').inputValue()).toBe('square');
    await dialog.getByLabel('Areas').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: 'guest' }).getByRole('cell', { name: 'everywhere' }).waitFor();
    expect(await get('users')).toMatchObject({
      users: expect.arrayContaining([expect.objectContaining({ name: 'guest', areas: null })]),
    });
    await page.getByRole('button', { name: 'Edit guest' }).click();
    await dialog.getByLabel('Areas').fill('square');
    await dialog.getByLabel('Role').selectOption('operator');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await get('users')).toMatchObject({
      users: expect.arrayContaining([
        expect.objectContaining({ name: 'guest', role: 'operator', areas: null }),
      ]),
    });
  });

  it('the seed form invalidates an area', async () => {
    const { page } = open;
    await open.go('seed/world?gridSet=EPSG:900913&type=invalidate&zoomStop=2', 'Seed and truncate');
    await page.locator('.big', { hasText: /^[1-9]\d*$/ }).waitFor();
    await page.getByRole('button', { name: 'Invalidate' }).click();
    await page.getByText(/^[1-9]\d* tiles invalidated\.$/).waitFor();
  });

  it('the console exports cached tiles and offers the file for download', async () => {
    const { page } = open;
    await open.go('layers/world', 'The world');
    await page.getByRole('link', { name: 'Export…' }).click();
    await page.getByRole('heading', { name: 'Seed and truncate', level: 1 }).waitFor();
    await page.getByRole('combobox', { name: 'Grid set' }).selectOption('EPSG:900913');
    await page.getByLabel('File format').selectOption('pmtiles');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByRole('heading', { name: 'The world', level: 1 }).waitFor();
    const card = page.getByRole('region', { name: 'Exports' });
    const link = card.getByRole('link', { name: /^Download/ });
    await link.waitFor();
    const downloading = page.waitForEvent('download');
    await link.click();
    const file = join(temporaryFolder(), 'export.pmtiles');
    await (await downloading).saveAs(file);
    expect(readFileSync(file).subarray(0, 7).toString()).toBe('PMTiles');
    expect(await open.accessibilityFaults()).toEqual([]);
    await card.getByRole('button', { name: 'Delete' }).click();
    await card.getByText('No exports.').waitFor();
    expect(open.complaints()).toEqual([]);
  });
});
