import { expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type OpenTaskServer, openTaskServer, openWms } from './task-server.ts';

interface Shown {
  readonly host: string;
  readonly state: string;
  readonly waitingReason: string | null;
  readonly pausedBy: string | null;
  readonly layers: readonly string[];
}

async function act(server: OpenTaskServer, host: string, verb: string) {
  const response = await server.request('POST', `/api/v1/upstreams/${encodeURIComponent(host)}/${verb}`);
  return { status: response.status, body: (await response.json().catch(() => null)) as Shown | null };
}

const tileUrl = (server: OpenTaskServer, z: number) => `${server.url}/tiles/roads/EPSG:900913/${z}/0/0.png`;

it('a paused upstream gets no request, over a restart, and a task waits until it is resumed', async () => {
  const wms = await openWms();
  const { host } = new URL(wms.url);
  const first = await openTaskServer(wms, { expectedLog: /upstream/ });
  const { data } = first;
  expect((await fetch(tileUrl(first, 0))).status).toBe(200);
  await first.untilStored();
  expect(await act(first, host, 'pause')).toMatchObject({
    status: 200,
    body: { host, state: 'paused', waitingReason: 'paused', pausedBy: 'token:tests', layers: ['roads'] },
  });
  const before = wms.requests.length;
  await first.stop();
  const server = await openTaskServer(wms, { data, expectedLog: /upstream/ });
  expect((await fetch(tileUrl(server, 0))).headers.get('x-cache')).toBe('HIT');
  await server.request('POST', '/api/v1/layers/roads/invalidate', '{"zoomStop":0}', 'application/json');
  expect((await fetch(tileUrl(server, 0))).headers.get('x-cache')).toBe('STALE');
  const miss = await fetch(tileUrl(server, 3));
  expect([miss.status, miss.headers.get('retry-after')]).toEqual([503, '60']);
  expect(await miss.text()).toContain('An operator has paused the map source.');
  const id = await server.start({ zoomStop: 2 });
  await eventually(
    'the task waits',
    () => server.task(id),
    ({ waitingFor }) => waitingFor?.reason === 'paused',
  );
  expect((await act(server, host, 'try')).status).toBe(409);
  expect(wms.requests.length).toBe(before);
  expect((await act(server, host, 'resume')).body).toMatchObject({ state: 'healthy', pausedBy: null });
  expect(await server.over(id)).toMatchObject({ state: 'done' });
  const log = (await (await server.request('GET', '/api/v1/audit')).json()) as {
    entries: { target: string; summary: string }[];
  };
  expect(
    log.entries.filter(({ target }) => target === `upstream:${host}`).map(({ summary }) => summary),
  ).toEqual([`resumed upstream ${host}`, `paused upstream ${host}`]);
});

it('a try now sends one request to a failing upstream and reports the result', async () => {
  const wms = await openWms();
  const { host } = new URL(wms.url);
  const server = await openTaskServer(wms, { expectedLog: /upstream|source of layer/ });
  wms.answer = { status: 500, body: 'no' };
  for (let z = 0; z < 5; z++) await fetch(tileUrl(server, z));
  const before = wms.requests.length;
  expect((await act(server, host, 'try')).body).toMatchObject({ state: 'failing', waitingReason: 'failing' });
  expect(wms.requests.length).toBe(before + 1);
  wms.reset();
  expect((await act(server, host, 'try')).body).toMatchObject({ state: 'healthy', waitingReason: null });
  expect(await act(server, 'elsewhere.example.org:80', 'pause')).toMatchObject({ status: 404 });
});

it('an upstream is paused only by operators of all its layers', async () => {
  const wms = await openWms();
  const { host } = new URL(wms.url);
  const server = await openTaskServer(wms);
  const statusFor = async (layers: readonly string[], role: string) => {
    const body = JSON.stringify({ name: role, role, layers });
    const response = await server.request('POST', '/api/v1/tokens', body, 'application/json');
    const { token } = (await response.json()) as { token: string };
    const headers = { authorization: `Bearer ${token}` };
    const path = `${server.url}/api/v1/upstreams/${encodeURIComponent(host)}/pause`;
    return (await fetch(path, { method: 'POST', headers })).status;
  };
  expect(await statusFor(['rivers'], 'operator')).toBe(403);
  expect(await statusFor(['*'], 'viewer')).toBe(403);
  expect(await statusFor(['roads'], 'operator')).toBe(200);
});
