import { afterEach, beforeEach, expect, it } from 'vitest';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const EXCEPTION = `<?xml version='1.0' encoding="UTF-8"?>
<ServiceExceptionReport version="1.1.1"><ServiceException code="x"><![CDATA[
Image handling error: out of memory &lt;4 GB, api_key=hunter2 for open-sesame ]]>${'.'.repeat(600)}</ServiceException></ServiceExceptionReport>`;

let wms: MockWms;
let server: OpenServer;

beforeEach(async () => {
  wms = await openMockWms();
  server = await openServer({
    config: `layers:
  - name: roads
    source: { type: wms, url: '${wms.url}?token=hunter2', layers: roads, headers: { X-Access: open-sesame } }
`,
    flags: { 'no-auth': 'true' },
  });
});

afterEach(async () => {
  await wms.close();
});

async function call(path: string, body?: unknown) {
  const answer = await fetch(new URL(path, server.url), {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  return { status: answer.status, text: await answer.text() };
}

const json = async (path: string) => JSON.parse((await call(path)).text);

async function seed(): Promise<number> {
  const task = { layer: 'roads', zoomStop: 0, tileFailureRetryCount: 0, totalFailuresBeforeAborting: 1 };
  const { id } = JSON.parse((await call('/api/v1/tasks', task)).text);
  await expect.poll(async () => (await json(`/api/v1/tasks/${id}`)).state).toBe('aborted');
  return id;
}

/** As shown to callers with a role. */
const WORDS = {
  status: 200,
  text: expect.stringMatching(/^Image handling error: out of memory <4 GB, api_key=\*\*\* for \*\*\* \.+…$/),
  address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/wms\?.*LAYERS=roads/i),
};

it('errors of a map server are shown in task, layer and tile inspector, not to tile clients', async () => {
  wms.answer = { status: 200, headers: { 'content-type': 'application/vnd.ogc.se_xml' }, body: EXCEPTION };
  const task = await json(`/api/v1/tasks/${await seed()}`);
  expect(task.errors.at(-1)).toMatchObject({ z: 0, upstream: WORDS });
  expect(task.errors.at(-1).upstream.text).toHaveLength(300);
  const layer = await json('/api/v1/layers/roads');
  expect(layer.lastFailure).toMatchObject({ reason: 'service-exception', upstream: WORDS });
  const tile = await json('/api/v1/layers/roads/tiles/EPSG:900913/0/0/0');
  expect(tile.lastFailure).toMatchObject({ reason: 'service-exception', upstream: WORDS });
  expect(JSON.stringify([task, layer, tile])).not.toMatch(/hunter2|sesame/);
  const answer = await call('/tiles/roads/0/0/0.png');
  expect([answer.status, answer.text]).toEqual([502, expect.not.stringContaining('out of memory')]);
});

it('a task shows status and text of an error response, and none without a response', async () => {
  wms.answer = { status: 404, body: '<html><style>p {}</style><p>No   such\nmap</p></html>' };
  const refused = await json(`/api/v1/tasks/${await seed()}`);
  expect(refused.errors.at(-1).upstream).toMatchObject({ status: 404, text: 'No such map' });
  wms.answer = 'reset';
  const broken = await json(`/api/v1/tasks/${await seed()}`);
  expect(broken.errors.at(-1).upstream).toEqual({ status: null, text: null, address: WORDS.address });
});

it('a host lists its layers and their last error, also if every response is an exception', async () => {
  wms.answer = { status: 200, headers: { 'content-type': 'application/vnd.ogc.se_xml' }, body: EXCEPTION };
  await call('/tiles/roads/0/0/0.png');
  const { upstreams } = await json('/api/v1/upstreams');
  expect(upstreams).toMatchObject([
    {
      layers: ['roads'],
      state: 'healthy',
      lastError: { layer: 'roads', reason: 'service-exception', upstream: WORDS },
    },
  ]);
});
