import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { openServer } from './server-in-process.ts';
import { speakTo } from './task-server.ts';

type CalledServer = ReturnType<typeof speakTo<Awaited<ReturnType<typeof openServer>>>>;

/** Accepts notifications, and refuses purges. */
function openReceiver(): Promise<Server> {
  const server = createServer((request, response) => {
    response.writeHead(request.method === 'POST' ? 204 : 503).end();
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('the console of a daily operator', needs('chromium'), () => {
  let wms: MockWms;
  let receiver: Server;
  let server: CalledServer;
  let open: ConsolePage;

  beforeAll(async () => {
    wms = await openMockWms();
    receiver = await openReceiver();
    const { port } = receiver.address() as AddressInfo;
    const config = JSON.stringify({
      tasks: { workers: 1 },
      upstreams: { [new URL(wms.url).host]: { allowPrivate: true } },
      notify: [
        { name: 'ops', url: `http://127.0.0.1:${port}/hook`, secret: 'hush', events: ['task-failed'] },
      ],
      purge: [{ name: 'cdn', url: `http://127.0.0.1:${port}/` }],
    });
    server = speakTo(await openServer({ config, expectedLog: /a delivery failed|source of layer|upstream/ }));
    for (const name of ['roads', 'rivers', 'rails']) {
      const source = { type: 'wms', url: wms.url, layers: 'roads' };
      const grids = { formats: ['image/png'], gridSets: ['EPSG:900913'], metatile: [4, 4], gutter: 0 };
      const body = JSON.stringify({ name, title: name, source, ...grids });
      const added = await server.request('POST', '/api/v1/layers', body, 'application/json');
      expect([added.status, added.status === 201 ? '' : await added.text()]).toEqual([201, '']);
    }
    open = await openConsole(await sharedBrowser(), server.url);
    await open.signIn();
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
    await wms?.close();
    receiver?.close();
    receiver?.closeAllConnections();
  });

  it('several selected layers are seeded and disabled by one question each, with a result for each', async () => {
    const { page } = open;
    await open.go('layers', 'Layers');
    for (const name of ['roads', 'rivers']) await page.getByLabel(`Select ${name}`).check();
    await page.getByRole('button', { name: 'Seed (2)' }).click();
    const question = page.getByRole('dialog', { name: 'Seed 2 layers?' });
    await question.getByLabel('To zoom').fill('2');
    await eventually(
      'both estimates',
      () => question.getByText('21 tiles').count(),
      (count) => count === 2,
    );
    await question.getByRole('button', { name: 'Seed' }).click();
    const results = page.getByRole('region', { name: 'Results by layer' }).first();
    await eventually(
      'both results',
      () => results.getByRole('link', { name: /^#\d+$/ }).count(),
      (count) => count === 2,
    );
    const tasks = (await (await server.request('GET', '/api/v1/tasks')).json()) as {
      tasks: { layer: string }[];
    };
    expect(tasks.tasks.map(({ layer }) => layer).sort()).toEqual(['rivers', 'roads']);
    await page.getByRole('button', { name: 'Disable (2)' }).click();
    const disabling = page.getByRole('dialog', { name: 'Disable 2 layers?' });
    await disabling.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Enable (2)' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    await eventually(
      'they are enabled',
      () => results.getByText('enabled', { exact: true }).count(),
      (count) => count === 2,
    );
    await page.getByRole('button', { name: 'Clear selection' }).click();
    await page.getByLabel('Select world').check();
    await page.getByRole('button', { name: 'Disable (1)' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await results
      .getByText(
        'It comes from the configuration file, or is built in while that declares no layers: change it there.',
      )
      .waitFor();
  });

  it('the page of a task shows its progress by zoom', async () => {
    await open.go('tasks/1', 'Seed roads');
    const bars = open.page.getByRole('region', { name: 'Progress by zoom' }).first();
    await eventually(
      'the last zoom is done',
      () => bars.getByText('16 of 16').count(),
      (count) => count > 0,
    );
  });

  it('the map of a layer has a legend of fresh, stale and missing tiles', async () => {
    await open.go('layers/roads', 'roads');
    const legend = open.page.locator('.legend');
    await legend.waitFor();
    const states = ['fresh', 'partly stale', 'stale', 'missing'];
    const counts = states.map((state) => legend.getByText(state, { exact: true }).count());
    expect(await Promise.all(counts)).toEqual([1, 1, 1, 1]);
  });

  it('an upstream is paused after a question, and resumed', async () => {
    const { page } = open;
    const { host } = new URL(wms.url);
    await open.go('upstreams', 'Upstreams');
    await page.getByRole('button', { name: `Pause: ${host}` }).click();
    await page
      .getByRole('dialog', { name: `Pause ${host}?` })
      .getByRole('button', { name: 'Pause' })
      .click();
    await page.getByText(/^by admin, /).waitFor();
    expect((await fetch(`${server.url}/tiles/rails/EPSG:900913/3/0/0.png`)).status).toBe(503);
    await page.getByRole('button', { name: `Resume: ${host}` }).click();
    await page.getByText('Resumed.').waitFor();
    expect((await fetch(`${server.url}/tiles/rails/EPSG:900913/3/0/0.png`)).status).toBe(200);
  });

  it('a test of a target shows that it was accepted, or why not', async () => {
    const { page } = open;
    await open.go('changes', 'Changes');
    await page.getByRole('button', { name: 'Send test: ops' }).click();
    await page.getByText(/^ops accepted the test in /).waitFor();
    await page.getByRole('button', { name: 'Send test: cdn' }).click();
    await page.getByText(/^cdn did not accept the test: .*503/).waitFor();
  });

  it('the pages of a daily operator have no serious accessibility fault, and the browser reports no error', async () => {
    for (const [path, heading] of [
      ['layers', 'Layers'],
      ['upstreams', 'Upstreams'],
      ['changes', 'Changes'],
      ['tasks/1', 'Seed roads'],
    ] as const) {
      await open.go(path, heading);
      expect([path, await open.accessibilityFaults()]).toEqual([path, []]);
    }
    expect(open.complaints()).toEqual([]);
  });
});
