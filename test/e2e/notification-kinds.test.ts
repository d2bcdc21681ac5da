import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';

interface Received {
  readonly event: string;
  readonly layer: string | null;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const received: Received[] = [];
let folder: string;
let wms: MockWms;
let app: App;
const receiver = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  received.push(JSON.parse(body) as Received);
  response.writeHead(204).end();
});

beforeAll(async () => {
  folder = temporaryFolder();
  wms = await openMockWms();
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const source = `gridSets: [EPSG:900913], metatile: [1, 1], gutter: 0, source: { type: wms, url: '${wms.url}', layers: roads }`;
  const config = join(folder, 'tilewarden.yaml');
  await writeFile(
    config,
    `notify: [{ name: ops, url: '${hook}', secret: hush }]
tasks: { workers: 1 }
stores:
  default: { type: bundle }
  full: { type: bundle, minFreePercent: 50 }
  broken: { type: bundle, minFreePercent: 0 }
layers:
  - { name: roads, ${source} }
  - { name: failing, store: broken, ${source} }
changes: [{ name: osm, type: tile-list, folder: ./absent, layers: [roads] }]
`,
  );
  const flags = { config, data: join(folder, 'data'), port: '0', 'no-auth': 'true' };
  const { settings } = await loadSettings({ flags, environment: {}, workingFolder: folder });
  // More than any disk has free.
  Object.assign(settings.stores.full ?? {}, { minFreePercent: 100.1 });
  app = await openApp(settings, { log: silentLogger, clock: systemClock, random: systemRandom });
});

afterAll(async () => {
  await app.close();
  await wms.close();
  receiver.close();
});

async function send(method: string, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(new URL(path, app.url), { method, headers, body: JSON.stringify(body) });
  expect(answer.ok, `${method} ${path}`).toBe(true);
  return (await answer.json()) as Record<string, unknown>;
}

/** Once, even if it lasts long. */
async function reportOf(event: string): Promise<Received | undefined> {
  const [report] = await eventually(
    `the notification ${event}`,
    () => received.filter((one) => one.event === event),
    ({ length }) => length > 0,
  );
  return report;
}

it('a failing change feed is reported with its reason', async () => {
  const report = await reportOf('change-feed-failing');
  expect(report).toMatchObject({ layer: null, details: { feed: 'osm' } });
  expect(report?.message).toMatch(/^The change feed osm is failing: folder .*there is no such folder/);
});

it('a full disk is reported with its store', async () => {
  expect(await reportOf('disk-full')).toMatchObject({
    message: 'The disk of store full is full; tiles are served but not stored.',
    details: { store: 'full', freePercent: expect.any(Number) },
  });
});

it('a store that cannot write tiles is reported with the reason', async () => {
  const segments = join(folder, 'data', 'stores', 'broken', 'segments');
  await rm(segments, { recursive: true, force: true });
  await writeFile(segments, 'not a folder');
  await fetch(new URL('tiles/failing/0/0/0.png', app.url));
  const report = await reportOf('store-failing');
  expect(report).toMatchObject({ details: { store: 'broken' } });
  expect(report?.message).toMatch(/^Tiles cannot be stored in store broken: ./);
  await rm(segments);
});

it('a reached quota is reported with its layer, once while tiles are evicted', async () => {
  const layerQuotas = [{ layer: 'roads', expirationPolicyName: 'LRU', quota: { value: 1, units: 'B' } }];
  await send('PUT', 'api/v1/quota', { enabled: true, cacheCleanUpFrequency: 1, layerQuotas });
  for (const x of [1, 2, 3]) await fetch(new URL(`tiles/roads/2/${x}/0.png`, app.url));
  expect(await reportOf('quota-full')).toMatchObject({
    layer: 'roads',
    message: 'The quota of layer roads is reached; tiles are evicted.',
    details: { quota: 'layer' },
  });
  await send('PUT', 'api/v1/quota', { enabled: false });
});

it('a schedule whose task fails is reported with its run', async () => {
  wms.answer = { status: 500 };
  const body = { layer: 'roads', name: 'nightly', cron: '0 3 * * *', tileFailureRetryCount: 0 };
  const { id } = await send('POST', 'api/v1/schedules', { ...body, zoomStart: 1, zoomStop: 1 });
  await send('POST', `api/v1/schedules/${id}/run`, {});
  const report = await reportOf('schedule-failed');
  expect(report).toMatchObject({ layer: 'roads', details: { schedule: id, task: expect.any(Number) } });
  expect(report?.message).toMatch(/^Schedule nightly of layer roads failed: /);
  expect(received.filter(({ event }) => event === 'quota-full')).toHaveLength(1);
});
