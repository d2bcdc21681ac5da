import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { ADMIN_PASSWORD } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** With characters that are special in a shell, a query and a script. */
const LAYER = "the 'land' & sea";
const INSPECT = `inspect/${encodeURIComponent(LAYER)}?gridSet=EPSG:900913&format=image/png`;

const HOURS = {
  name: 'TIME',
  type: 'time',
  values: '2026-01-01T00:00:00Z/2026-01-01T05:00:00Z/PT1H',
  default: 'latest',
};

/** A map server whose pictures are never twice the same, and one that is down. */
async function openUpstream(): Promise<Server> {
  let shade = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://upstream');
    if (pathname === '/down') return void response.writeHead(503).end('down');
    shade += 40;
    const [width, height] = [Number(searchParams.get('WIDTH')), Number(searchParams.get('HEIGHT'))];
    const pixels = Buffer.from(Uint8Array.from({ length: 3 * width * height }, (_, at) => at + shade));
    void sharp(pixels, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer()
      .then((picture) => response.writeHead(200, { 'content-type': 'image/png' }).end(picture));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
  return server;
}

function configOf(upstream: string): string {
  const grids = { formats: ['image/png'], gridSets: [{ name: 'EPSG:900913', zoomStop: 6 }] };
  const source = (path: string) => ({ type: 'wms', url: `http://${upstream}${path}`, layers: 'x' });
  return JSON.stringify({
    upstreams: { [upstream]: { concurrency: 2, allowPrivate: true } },
    layers: [
      {
        name: LAYER,
        title: 'Land and sea',
        source: source('/wms?apikey=SECRET'),
        metatile: [2, 2],
        ...grids,
      },
      { name: 'roads', title: 'Roads', source: source('/down'), ...grids },
      { name: 'rain', title: 'Rain', source: source('/wms'), parameters: [HOURS], ...grids },
    ],
  });
}

describe('layers and tiles in the console', needs('chromium'), () => {
  let upstream: Server;
  let server: OpenServer;
  let browser: Browser;
  let open: ConsolePage;

  beforeAll(async () => {
    upstream = await openUpstream();
    const { port } = upstream.address() as AddressInfo;
    server = await openServer({
      config: configOf(`127.0.0.1:${port}`),
      expectedLog: /the source of layer roads failed/,
    });
    browser = await sharedBrowser();
    open = await openConsole(browser, server.url);
    await open.signIn();
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
    upstream?.close();
    upstream?.closeAllConnections();
  });

  /** Deeper than the public map shows, which makes tiles of its own: those of the block of 5/1/1. */
  async function seed(): Promise<number> {
    const draft = { layer: LAYER, type: 'seed', gridSet: 'EPSG:900913', format: 'image/png' };
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const at = `${server.url}/api/v1/tasks`;
    const bounds = [-18_700_000, 17_600_000, -17_600_000, 18_700_000];
    const body = JSON.stringify({ ...draft, zoomStart: 5, zoomStop: 5, bounds });
    const { id } = (await (await fetch(at, { method: 'POST', headers, body })).json()) as { id: number };
    await eventually('the seed is done', async () => {
      const task = (await (await fetch(`${at}/${id}`, { headers })).json()) as { state: string };
      return task.state === 'done';
    });
    return id;
  }

  it('the layer list filters layers with failures and shows the reason', async () => {
    await fetch(`${server.url}/tiles/roads/0/0/0.png`);
    const { page } = open;
    await open.go('layers', 'Layers');
    await page.getByLabel(/Only layers with failures since \d\d:\d\d \(server start\): 1/).check();
    const list = page.getByRole('region', { name: 'List of layers' });
    await list.getByText('1 failure', { exact: true }).waitFor();
    await list.getByText(/cannot serve now\. HTTP 503\./).waitFor();
    expect(await list.getByRole('listitem').count()).toBe(1);
    await open.go('layers/roads', 'Roads');
    await page.getByText(/^1 failure since \d\d:\d\d \(server start\)\. Latest/).waitFor();
  });

  it('the tile inspector names the task of a tile, compares a new one, and confirms deletion', async () => {
    const task = await seed();
    const { page } = open;
    await open.go(`${INSPECT}&tile=5/1/1`, 'Tile inspector');
    await page.getByRole('link', { name: `Task #${task}` }).waitFor();
    expect(await page.getByText('apikey=***').count()).toBe(1);
    await page.getByRole('button', { name: 'Replace and compare' }).click();
    await page.getByRole('figure').filter({ hasText: 'Difference 100 % of the pixels' }).waitFor();
    await page.getByText('a client’s request', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete tile…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^1 tile \(.*\) will be deleted/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete this tile and all zooms below…' }).click();
    await dialog.getByText('zooms 5 to 6').waitFor();
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${LAYER} to confirm`).fill(LAYER);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('1 tile deleted.').waitFor();
    await page.getByText('This tile is not cached.').waitFor();
    await open.go(`${INSPECT}&tile=5/0/0`, 'Tile inspector');
    await page.getByText('a client’s request', { exact: true }).waitFor();
    await open.go(`inspect/roads?gridSet=EPSG:900913&format=image/png&tile=5/1/1`, 'Tile inspector');
    await page.getByRole('button', { name: 'Replace and compare' }).click();
    await page.getByText(/^The tile could not be fetched: .*it cannot serve now/).waitFor();
  });

  it('the public map lists at most fifty layers, and finds the others by typing', async () => {
    const source = { type: 'world' };
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    for (let number = 1; number <= 60; number++) {
      const body = JSON.stringify({ name: `map-${number}`, title: `Map number ${number}`, source });
      const { status } = await fetch(`${server.url}/api/v1/layers`, { method: 'POST', headers, body });
      expect(status).toBe(201);
    }
    const own = await openConsole(browser, server.url);
    whenOver(() => own.close());
    const { page } = own;
    await page.goto(`${server.url}/`);
    const field = page.locator('#landing').getByLabel('Layer');
    await field.waitFor();
    expect(await page.locator('#landing datalist option').count()).toBe(50);
    await field.fill('number 60');
    await field.press('Enter');
    await page.waitForURL(/#layer=map-60$/);
    await page.locator('footer a[href="layers/map-60"]').waitFor();
    expect(await field.inputValue()).toBe('map-60');
    expect(own.complaints()).toEqual([]);
  });

  it('the slider of a layer with times shows another one on the map', async () => {
    const { page } = open;
    await open.go('layers/rain', 'Rain');
    const slider = page.getByRole('slider', { name: /^Time/ });
    expect(await slider.getAttribute('aria-valuetext')).toBe('2026-01-01T05:00:00Z');
    const tile = page.waitForRequest(/tiles\/rain\/.*TIME=2026-01-01T01%3A00%3A00Z/);
    await slider.fill('1');
    await tile;
    expect(await slider.getAttribute('aria-valuetext')).toBe('2026-01-01T01:00:00Z');
  });

  it('commands copied from the console work unchanged', needs('chromium', 'curl', 'gdal'), async () => {
    const { page } = open;
    await open.go(`layers/${encodeURIComponent(LAYER)}`, 'Land and sea');
    const commandOf = async (name: string) => {
      const place = page.locator('details').filter({ has: page.getByText(name, { exact: true }) });
      return (await place.locator('pre').textContent()) ?? '';
    };
    const folder = temporaryFolder();
    const run = async (command: string) => {
      const signed = command.replace('NAME:PASSWORD', `'admin:${ADMIN_PASSWORD}'`);
      return (await promisify(execFile)('sh', ['-c', signed], { cwd: folder })).stdout;
    };
    await run(await commandOf('curl: a tile'));
    expect((await sharp(readFileSync(join(folder, 'tile.png'))).metadata()).width).toBe(256);
    expect(await run(await commandOf('curl: seed the first zooms'))).toContain('"state":"pending"');
    await run(await commandOf('GDAL'));
    expect((await sharp(readFileSync(join(folder, 'map.png'))).metadata()).width).toBe(800);
  });

  it('the browser reports no error on the pages of layers and tiles', () => {
    expect(open.complaints()).toEqual([]);
  });
});
