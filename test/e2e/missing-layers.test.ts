import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const SECRET = 'for tests only';
const MISSING = 'Layer parcels is not declared. Declare it again, or take it out of the layers of this feed.';
const FEED_FAILS = { expectedLog: /the change feed is failing/ };

let wms: MockWms;
let data: string;
let server: OpenServer;

const parcels = () => ({
  name: 'parcels',
  source: { type: 'wms', url: [wms.url], layers: 'a' },
  gridSets: [{ name: 'EPSG:900913', zoomStop: 6 }],
});

/** With a feed of `parcels`, and these layers. */
function writeFile(layers: readonly object[]): string {
  const config = {
    upstreams: { [new URL(wms.url).host]: { allowPrivate: true } },
    layers,
    changes: [{ name: 'hook', type: 'webhook', secret: SECRET, layers: ['parcels'] }],
  };
  const file = join(data, 'tilewarden.yaml');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function start(layers: readonly object[] = []): Promise<void> {
  const file = writeFile(layers);
  server = await openServer({ data, flags: { config: file, 'no-auth': 'true' }, ...FEED_FAILS });
}

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const text = body === undefined ? null : JSON.stringify(body);
  const type = text === null ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(new URL(path, server.url), {
    method,
    body: text,
    headers: { ...type, ...headers },
  });
  const content = await answer.text();
  const isJson = answer.headers.get('content-type') === 'application/json';
  const cache = answer.headers.get('x-cache');
  return { status: answer.status, cache, json: isJson ? JSON.parse(content) : null, text: content };
}

function sendChange() {
  const body = { whole: true };
  const signature = createHmac('sha256', SECRET).update(JSON.stringify(body)).digest('hex');
  return call('POST', '/api/v1/changes/hook', body, { 'x-hub-signature-256': `sha256=${signature}` });
}

async function feed() {
  const { json } = await call('GET', '/api/v1/changes');
  const { state, lastError } = json.changes[0];
  return [state, lastError];
}

describe('a layer that others depend on', () => {
  beforeAll(async () => {
    wms = await openMockWms();
    whenOver(() => wms.close());
  });
  beforeEach(() => {
    data = temporaryFolder();
  });

  it('a server starts with a feed that names a missing layer, and reports the feed as failing', async () => {
    await start();
    expect(await feed()).toEqual(['failing', MISSING]);
    expect((await call('POST', '/api/v1/layers', parcels())).status).toBe(201);
    expect(await feed()).toEqual(['ok', null]);
    const question = await call('DELETE', '/api/v1/layers/parcels?dryRun=true');
    expect(question.json.dependents).toMatchObject({ feeds: ['hook'], schedules: [], tasks: 0 });
    expect((await call('DELETE', '/api/v1/layers/parcels')).status).toBe(204);
    expect(await feed()).toEqual(['failing', MISSING]);
    await eventually('the failing feed is logged', server.log, (log) => log.includes(MISSING));
    await server.stop();
    await start();
    expect(await feed()).toEqual(['failing', MISSING]);
  });

  it('a change that comes while the file lacks the layer holds for the tiles it comes back with', async () => {
    const tile = '/tiles/parcels/1/0/0.png';
    await start([parcels()]);
    await call('GET', tile);
    await untilStored(server);
    await server.stop();
    await start();
    expect((await sendChange()).status).toBe(202);
    await server.stop();
    await start([parcels()]);
    expect((await call('GET', tile)).cache).toBe('MISS');
  });

  it('a layer that others are drawn from is not deleted before those', async () => {
    await start();
    await call('POST', '/api/v1/layers', parcels());
    const above = { ...parcels(), name: 'above', source: { type: 'layer', layer: 'parcels' } };
    expect((await call('POST', '/api/v1/layers', above)).status).toBe(201);
    const refused = await call('DELETE', '/api/v1/layers/parcels');
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining('Tiles of layer above are drawn from the layer parcels'),
    ]);
    await call('DELETE', '/api/v1/layers/above');
    expect((await call('DELETE', '/api/v1/layers/parcels')).status).toBe(204);
  });

  it('a file without a layer that others are drawn from is not applied', async () => {
    await start([parcels()]);
    const above = { ...parcels(), name: 'above', source: { type: 'layer', layer: 'parcels' } };
    await call('POST', '/api/v1/layers', above);
    writeFile([]);
    const body = new URLSearchParams({ reload_configuration: '1' });
    const answer = await fetch(new URL('/rest/reload', server.url), { method: 'POST', body });
    expect(await answer.text()).toContain('layer above, which was declared over HTTP, is drawn from it');
    expect((await call('GET', '/api/v1/layers/parcels')).status).toBe(200);
  });

  it('a deleted layer comes back with its schedules', async () => {
    await start();
    await call('POST', '/api/v1/layers', parcels());
    const nightly = { layer: 'parcels', name: 'nightly', cron: '0 3 * * *', zoomStart: 0, zoomStop: 2 };
    const { json: before } = await call('POST', '/api/v1/schedules', nightly);
    const { json: question } = await call('DELETE', '/api/v1/layers/parcels?dryRun=true');
    expect(question.dependents.schedules).toEqual(['nightly']);
    await call('DELETE', '/api/v1/layers/parcels');
    const { json: audit } = await call('GET', '/api/v1/audit?target=layer:parcels&limit=1');
    const restored = await call('POST', `/api/v1/audit/${audit.entries[0].id}/restore`);
    expect([restored.status, restored.json.schedules]).toEqual([200, ['nightly']]);
    const { json: after } = await call('GET', '/api/v1/schedules?layer=parcels');
    const { id, createdAt, lastRun, ...declared } = before;
    expect(after.schedules).toEqual([expect.objectContaining(declared)]);
  });
});
