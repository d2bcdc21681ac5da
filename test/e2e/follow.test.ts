import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { GEOSERVER_LOGIN, type MockGeoServer, openMockGeoServer } from '../fixtures/mock-geoserver.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

let geoserver: MockGeoServer;
let server: OpenServer;

const SLD = (colour: string) => `<StyledLayerDescriptor version="1.0.0">
  <NamedLayer><UserStyle><Fill>${colour}</Fill></UserStyle></NamedLayer>
</StyledLayerDescriptor>`;

beforeEach(async () => {
  geoserver = await openMockGeoServer();
  geoserver.styles.set('red', SLD('#f00')).set('topp:blue', SLD('#00f')).set('grey', SLD('#888'));
  geoserver.layers.set('topp:states', { title: 'States', style: 'red', styles: ['topp:blue'] });
  geoserver.layers.set('topp:roads', { title: 'Roads', style: 'topp:blue', styles: [] });
  geoserver.layers.set('other:hidden', { title: 'Hidden', style: 'red', styles: [] });
  geoserver.groups.set('topp:both', [
    { layer: 'topp:states', style: null },
    { layer: 'topp:roads', style: 'grey' },
  ]);
});

afterEach(async () => {
  await server.stop();
  await geoserver.close();
});

/** Passes are made on demand: the first comes by itself. */
async function start(changes: object = {}, expectedLog?: RegExp): Promise<void> {
  const follow = {
    name: 'city',
    type: 'geoserver',
    url: geoserver.url,
    every: 86_400,
    layers: ['topp:*'],
    gridSets: ['EPSG:900913'],
    ...GEOSERVER_LOGIN,
    ...changes,
  };
  server = await openServer({
    config: JSON.stringify({ follow: [follow] }),
    flags: { 'no-auth': 'true' },
    ...(expectedLog && { expectedLog }),
  });
  await eventually('the first pass', status, ({ lastAt, state }) => lastAt !== null || state === 'failing');
}

async function call(path: string, init: RequestInit = {}) {
  const response = await fetch(`${server.url}/api/v1/${path}`, init);
  return { status: response.status, body: (await response.json().catch(() => ({}))) as Answer };
}

/** The fields that the tests read. */
interface Answer {
  readonly follow: readonly { readonly state: string; readonly lastAt: string; readonly lastError: string }[];
  readonly entries: readonly { readonly id: string; readonly action: string; readonly layer: string }[];
  readonly passes: readonly { readonly counts: object }[];
  readonly document: object;
  readonly gridSets: readonly { readonly extent: readonly number[] }[];
  readonly parameters: readonly { readonly values: readonly string[] }[];
}

async function status() {
  const [first] = (await call('follow')).body.follow;
  if (!first) throw new Error('no follow');
  return first;
}

/** Layers by action. */
async function pass(query = ''): Promise<Record<string, string[]>> {
  const { status, body } = await call(`follow/city/run${query}`, { method: 'POST' });
  expect(body).toMatchObject({ entries: expect.any(Array) });
  expect(status).toBe(200);
  const actions: Record<string, string[]> = {};
  for (const { action, layer } of body.entries) actions[action] = [...(actions[action] ?? []), layer];
  return actions;
}

const layer = async (name: string) => (await call(`layers/${encodeURIComponent(name)}`)).body;
const edit = async (name: string, document: object) =>
  call(`layers/${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(document),
  });

async function tile(name: string): Promise<string | null> {
  const response = await fetch(`${server.url}/tiles/${encodeURIComponent(name)}/0/0/0.png`);
  await response.arrayBuffer();
  return response.ok ? response.headers.get('x-cache') : String(response.status);
}

async function fillCache(...names: string[]): Promise<void> {
  for (const name of names) await tile(name);
  await untilStored(server);
}

describe('follow', () => {
  it('layers of the server appear, and a layer says where it comes from', async () => {
    await start();
    expect(await status()).toMatchObject({ state: 'ok', layers: 3, pending: 0, lastError: null });
    expect(await layer('topp:states')).toMatchObject({ origin: 'follow', title: 'States' });
    expect((await call('layers/other:hidden')).status).toBe(404);
    expect(await tile('topp:states')).toBe('MISS');
    geoserver.layers.set('topp:rivers', { title: 'Rivers', style: 'red', styles: [] });
    expect(await pass('?dryRun=true')).toEqual({ declared: ['topp:rivers'] });
    expect((await call('layers/topp:rivers')).status).toBe(404);
    expect(await pass()).toEqual({ declared: ['topp:rivers'] });
    expect(await pass()).toEqual({});
    expect(await layer('topp:rivers')).toMatchObject({ title: 'Rivers', enabled: true });
  });

  it('a layer that is gone twice is disabled with its tiles, and enabled when it comes back', async () => {
    await start();
    await fillCache('topp:roads');
    const roads = geoserver.layers.get('topp:roads');
    geoserver.layers.delete('topp:roads');
    expect(await pass()).toEqual({ missed: ['topp:roads'] });
    expect(await layer('topp:roads')).toMatchObject({ enabled: true });
    expect(await pass()).toEqual({ disabled: ['topp:roads'] });
    expect(await layer('topp:roads')).toMatchObject({ enabled: false });
    expect(await pass()).toEqual({});
    if (roads) geoserver.layers.set('topp:roads', roads);
    expect(await pass()).toEqual({ enabled: ['topp:roads'] });
    expect(await tile('topp:roads')).toBe('HIT');
  });

  it.each([
    ['an error', { status: 500 }],
    ['an exception', { status: 200, body: '<ServiceExceptionReport/>' }],
    ['a truncated document', { status: 200, body: '<WMS_Capabilities version="1.3.0"><Capability>' }],
    [
      'a document without layers',
      {
        status: 200,
        body: '<WMS_Capabilities version="1.3.0"><Capability><Request><GetMap/></Request></Capability></WMS_Capabilities>',
      },
    ],
  ])('%s changes nothing, and the follow recovers', async (_, answer) => {
    await start();
    geoserver.capabilities = answer;
    for (const _turn of [1, 2, 3]) {
      expect((await call('follow/city/run', { method: 'POST' })).status).toBeGreaterThanOrEqual(400);
    }
    expect(await layer('topp:roads')).toMatchObject({ enabled: true });
    geoserver.capabilities = null;
    expect(await pass()).toEqual({});
  });

  it('extent, title and styles follow, and what an administrator has set stays', async () => {
    await start();
    const { document } = await layer('topp:states');
    await edit('topp:states', { ...document, title: 'My states', expireClients: 60 });
    const states = { title: 'The states', style: 'red', styles: ['topp:blue', 'grey'] };
    geoserver.layers.set('topp:states', { ...states, degrees: [0, 0, 90, 45] });
    geoserver.saved();
    expect(await pass()).toEqual({ changed: ['topp:states'] });
    const after = await layer('topp:states');
    expect(after).toMatchObject({ title: 'My states', expireClientsSeconds: 60 });
    expect(after.gridSets[0]?.extent[0]).toBeCloseTo(0);
    expect(after.parameters[0]?.values).toEqual(['', 'red', 'topp:blue', 'grey']);
    expect(await pass()).toEqual({});
  });

  it('a layer that an administrator declared, removed or restored is left to the administrator', async () => {
    await start();
    geoserver.layers.set('topp:own', { title: 'Theirs', style: 'red', styles: [] });
    await edit('topp:own', { source: { type: 'world' }, title: 'Ours' });
    expect(await pass()).toEqual({ left: ['topp:own'] });
    await call('layers/topp:states', { method: 'DELETE' });
    expect(await pass()).toEqual({ left: ['topp:own'] });
    expect((await call('layers/topp:states')).status).toBe(404);
    geoserver.layers.delete('topp:roads');
    await pass();
    await pass();
    const { body } = await call('audit?target=layer:topp:roads&limit=1');
    expect(body.entries[0]).toMatchObject({ actor: 'follow:city', summary: 'disabled layer topp:roads' });
    expect((await call(`audit/${body.entries[0]?.id}/restore`, { method: 'POST' })).status).toBe(200);
    await pass();
    expect(await layer('topp:roads')).toMatchObject({ enabled: true });
  });

  it('a changed style outdates exactly the layers and groups drawn with it', async () => {
    await start();
    const all = ['topp:states', 'topp:roads', 'topp:both'];
    await fillCache(...all);
    geoserver.styles.set('grey', SLD('#888').replaceAll('\n', '\r\n  '));
    geoserver.saved();
    expect(await pass()).toEqual({});
    geoserver.styles.set('grey', SLD('#999'));
    geoserver.saved();
    expect(await pass('?dryRun=true')).toEqual({ marked: ['topp:both'] });
    expect(await Promise.all(all.map(tile))).toEqual(['HIT', 'HIT', 'HIT']);
    expect(await pass()).toEqual({ marked: ['topp:both'] });
    expect(await Promise.all(all.map(tile))).toEqual(['HIT', 'HIT', 'MISS']);
    geoserver.styles.set('topp:blue', SLD('#00e'));
    geoserver.saved();
    expect(await pass()).toEqual({ marked: ['topp:states', 'topp:roads'] });
    const states = geoserver.layers.get('topp:states');
    if (states) states.nativeName = 'states_2026';
    geoserver.saved();
    expect(await pass()).toEqual({ marked: ['topp:states', 'topp:both'] });
    expect(await pass()).toEqual({});
    const { body } = await call('follow/city/passes');
    expect(body.passes[0]?.counts).toMatchObject({ marked: 2, changed: 0 });
  });

  it('a server that has changed nothing is asked for its capabilities only', async () => {
    await start();
    const before = geoserver.restRequests();
    expect(before).toBeGreaterThan(0);
    await pass();
    expect(geoserver.restRequests()).toBe(before);
  });

  it('a wrong account is a failing follow that changes nothing', async () => {
    await start({ password: 'wrong' }, /the change feed is failing/);
    expect(await status()).toMatchObject({ state: 'failing', layers: 0 });
    expect((await status()).lastError).toContain('REST');
  });

  it('new layers and gone ones are only reported where that is set', async () => {
    await start({ new: 'report', gone: 'report', prefix: 'gs-' });
    expect(await status()).toMatchObject({ layers: 0, pending: 3 });
    expect((await pass()).new).toEqual(['gs-topp:states', 'gs-topp:roads', 'gs-topp:both']);
  });

  it('an unknown follow is 404', async () => {
    await start();
    expect((await call('follow/nope/run', { method: 'POST' })).status).toBe(404);
    expect((await call('follow/nope/passes')).status).toBe(404);
  });
});
