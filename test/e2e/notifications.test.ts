import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { freePort } from '../fixtures/network.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { startServer } from './server.ts';
import { openServer } from './server-in-process.ts';
import { LAYER, openWms, roadsConfig, speakTo } from './task-server.ts';

const SECRET = 'a shared secret';

interface Received {
  readonly id: string;
  readonly event: string;
  readonly layer: string | null;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Records every POST with a valid signature; the first `failures` of them get a 503. */
async function openReceiver(port: number, failures = 0) {
  const received: Received[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
    expect(request.headers['x-hub-signature-256']).toBe(signature);
    received.push(JSON.parse(body.toString()) as Received);
    response.writeHead(received.length <= failures ? 503 : 204).end();
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  whenOver(() => {
    server.close();
    server.closeAllConnections();
  });
  return received;
}

async function settingsWith(port: number) {
  const wms = await openWms();
  const config = `
tasks: { workers: 1 }
notify: [{ name: ops, url: 'http://127.0.0.1:${port}/hook', secret: '${SECRET}' }]
${roadsConfig(wms)}`;
  const expectedLog = /a delivery failed|source of layer|could not be made|upstream/;
  return { wms, settings: { config, expectedLog } };
}

const SEED = {
  gridSetId: 'EPSG:900913',
  format: 'image/png',
  type: 'seed',
  zoomStart: 0,
  zoomStop: 0,
  tileFailureRetryCount: 0,
};

it('a failed task is reported with the same id until the receiver accepts it', async () => {
  const port = await freePort();
  const received = await openReceiver(port, 2);
  const { wms, settings } = await settingsWith(port);
  const server = speakTo(await openServer(settings));
  wms.answer = 'xml';
  const task = await server.over(await server.start(SEED));
  await eventually(
    'the repeats',
    () => received.length,
    (length) => length === 3,
  );
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  expect(received[0]).toMatchObject({
    event: 'task-failed',
    layer: LAYER,
    details: { task: task.id, type: 'seed' },
  });
  const list = await (await server.request('GET', '/api/v1/deliveries')).text();
  expect(JSON.parse(list).deliveries).toMatchObject([
    { id: received[0]?.id, name: 'ops', kind: 'notification', state: 'delivered', attempts: 3 },
  ]);
  expect(list).not.toContain(SECRET);
  wms.answer = 'good';
  await server.over(await server.start({ ...SEED, type: 'reseed' }));
  const exported = await server.request(
    'POST',
    '/api/v1/exports',
    JSON.stringify({ layer: LAYER, type: 'mbtiles' }),
    'application/json',
  );
  expect(exported.status).toBe(201);
  await eventually(
    'the export',
    () => received.at(-1)?.event,
    (event) => event === 'export-done',
  );
  expect(received).toHaveLength(4);
});

it('a notification survives a kill of the server while the receiver is unreachable', async () => {
  const port = await freePort();
  const data = temporaryFolder();
  const { wms, settings } = await settingsWith(port);
  const server = speakTo(await startServer({ ...settings, data }));
  wms.answer = 'xml';
  await server.over(await server.start(SEED));
  await server.kill();
  const received = await openReceiver(port);
  const again = await openServer({ ...settings, data });
  await eventually(
    'the notification',
    () => received.length,
    (length) => length === 1,
  );
  expect(received[0]).toMatchObject({ event: 'task-failed', layer: LAYER });
  await again.stop();
});

it('a failing host is reported when it is paused and when it recovers', async () => {
  const port = await freePort();
  const received = await openReceiver(port);
  const { wms, settings } = await settingsWith(port);
  const server = speakTo(await openServer(settings));
  wms.answer = { status: 503 };
  const ask = (x: number) => fetch(`${server.url}/tiles/${LAYER}/EPSG:900913/12/${x * 4}/0.png`);
  const events = () => received.map(({ event }) => event);
  let x = 0;
  await eventually(
    'host-failing',
    async () => {
      await ask(x++);
      return events();
    },
    (seen) => seen.includes('host-failing'),
  );
  wms.answer = 'good';
  await eventually(
    'host-recovered',
    async () => {
      await ask(x++);
      return events();
    },
    (seen) => seen.includes('host-recovered'),
  );
  expect(events()).toEqual(['host-failing', 'host-recovered']);
  expect(received[0]?.details).toMatchObject({ host: new URL(wms.url).host });
});
