import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** A layer of its own for each test. */
function fresh(name: string) {
  const document = {
    name,
    source: { type: 'wms', url: [wms.url], layers: 'a' },
    formats: ['image/png'],
    gridSets: [{ name: 'EPSG:900913', zoomStop: 6 }],
    parameters: [{ name: 'SEASON', default: '', values: ['a', 'b'] }],
  };
  const path = encodeURIComponent(name);
  return { document, at: `/api/v1/layers/${path}`, tile: `/tiles/${path}/1/0/0.png` };
}

let wms: MockWms;
let data: string;
let server: OpenServer;

const configFile = () => join(data, 'tilewarden.yaml');

const start = async () => {
  server = await openServer({ data, flags: { config: configFile(), 'no-auth': 'true' }, outlivesTest: true });
};

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(new URL(path, server.url), {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
  });
  const text = answer.headers.get('content-type')?.startsWith('image/') ? '' : await answer.text();
  const json = answer.headers.get('content-type') === 'application/json' ? JSON.parse(text) : null;
  return { status: answer.status, headers: answer.headers, text, json };
}

describe('a layer declared over the network', () => {
  beforeAll(async () => {
    wms = await openMockWms();
    data = temporaryFolder();
    const upstreams = `upstreams: { '${new URL(wms.url).host}': { allowPrivate: true } }\n`;
    await writeFile(configFile(), upstreams);
    await start();
  });
  afterAll(async () => {
    await wms.close();
  });

  it('a layer declared over HTTP serves tiles immediately, and after a restart', async () => {
    const { at, tile, ...declared } = fresh('topp:states of america');
    const document = { ...declared.document, source: { type: 'layer', layer: 'world' } };
    expect((await call('GET', tile)).status).toBe(404);
    const created = await call('POST', '/api/v1/layers', document);
    expect([created.status, created.headers.get('etag')]).toEqual([201, expect.stringMatching(/^"v\d+"$/)]);
    expect(created.headers.get('location')).toMatch(/\/api\/v1\/layers\/topp%3Astates%20of%20america$/);
    expect((await call('GET', tile)).status).toBe(200);
    await server.stop();
    await start();
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
    const shown = await call('GET', at);
    expect(shown.json).toMatchObject({ origin: 'database', version: created.json.version, document });
  });

  it('an invalid layer is rejected as a whole, with the messages of the configuration file', async () => {
    const { document, at } = fresh('a.wrong.one');
    const wrong = await call('POST', '/api/v1/layers', { ...document, format: ['image/png'], gutter: -1 });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('format is not a setting; did you mean formats?');
    expect(wrong.text).toContain('gutter must be at least 0');
    const nowhere = await call('PUT', at, { ...document, source: { type: 'layer', layer: 'wrold' } });
    expect([nowhere.status, nowhere.text]).toEqual([400, expect.stringContaining('did you mean world?')]);
    const local = await call('PUT', at, { ...document, title: { env: 'HOME' } });
    expect([local.status, local.text]).toEqual([
      400,
      expect.stringMatching(/^title may refer to this machine/),
    ]);
    expect((await call('GET', at)).status).toBe(404);
  });

  it('a layer is not replaced by a request with an outdated version', async () => {
    const { document, at } = fresh('not replaced');
    const seen = (await call('POST', '/api/v1/layers', document)).headers.get('etag') ?? '';
    expect((await call('POST', '/api/v1/layers', document)).status).toBe(409);
    const tried = await call('POST', '/api/v1/layers?dryRun=true', document);
    expect([tried.status, tried.text]).toEqual([409, expect.stringMatching(/^name is already used/)]);
    const changed = { ...document, title: 'States' };
    expect((await call('PUT', at, changed, { 'if-match': seen })).status).toBe(200);
    expect((await call('PUT', at, document, { 'if-match': seen })).status).toBe(412);
    expect((await call('DELETE', at, undefined, { 'if-match': seen })).status).toBe(412);
    expect((await call('GET', at)).json.title).toBe('States');
  });

  it('a dry run of a layer change reports its effect on existing tiles', async () => {
    const { document, at, tile } = fresh('effects');
    await call('POST', '/api/v1/layers', document);
    await call('GET', tile);
    await call('GET', `${tile}?SEASON=b`);
    const otherDefault = { ...document, parameters: [{ name: 'SEASON', default: 'a', values: ['a', 'b'] }] };
    // Tiles are stored after their responses.
    const plan = () => call('PUT', `${at}?dryRun=true`, otherDefault);
    const counts = { kept: 1, stale: 0, truncated: 1, orphaned: 0 };
    await expect.poll(async () => (await plan()).json.tileSets).toEqual(counts);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
    await call('PUT', at, otherDefault);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('MISS');
    expect((await call('GET', `${tile}?SEASON=b`)).headers.get('x-cache')).toBe('HIT');
    const otherFormat = () => call('PUT', `${at}?dryRun=true`, { ...otherDefault, formats: ['image/jpeg'] });
    const orphans = { kept: 0, stale: 0, truncated: 0, orphaned: 2 };
    await expect.poll(async () => (await otherFormat()).json.tileSets).toEqual(orphans);
  });

  it('a request with an unknown query parameter changes no layer', async () => {
    const { document, at } = fresh('misspelt');
    await call('POST', '/api/v1/layers', document);
    for (const [method, body] of [['DELETE'], ['PUT', { ...document, title: 'other' }]] as const) {
      const answer = await call(method, `${at}?dryrun=true`, body);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('did you mean dryRun?')]);
    }
    const seed = await call('POST', '/api/v1/tasks?dryRun=true', { layer: 'misspelt', zoomStop: 0 });
    expect([seed.status, seed.text]).toEqual([400, expect.stringContaining('dryRun')]);
    expect((await call('GET', at)).json.title).toBe('misspelt');
  });

  it.each(['.', '..', '*'])('a layer cannot be called %s', async (name) => {
    const { document } = fresh(name);
    const answer = await call('POST', '/api/v1/layers', document);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('name must not be')]);
  });

  it('a deleted layer is removed with its tiles', async () => {
    const { document, at, tile } = fresh('goes');
    await call('POST', '/api/v1/layers', document);
    await call('GET', tile);
    expect((await call('DELETE', at)).status).toBe(204);
    expect((await call('GET', tile)).status).toBe(404);
    await call('POST', '/api/v1/layers', document);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('MISS');
    expect((await call('DELETE', '/api/v1/layers/missing')).status).toBe(404);
  });

  it('a layer of the configuration file cannot be replaced or deleted over HTTP', async () => {
    const { document } = fresh('world');
    const answer = await call('PUT', '/api/v1/layers/world', document);
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('configuration file')]);
    expect((await call('DELETE', '/api/v1/layers/world')).status).toBe(409);
  });

  it.each(['127.0.0.1:9000', 'localhost:9000', '10.1.2.3:80', '169.254.169.254:80'])(
    'a layer with the private address %s is rejected unless the configuration file allows it',
    async (host) => {
      const { document, at } = fresh('inside');
      const source = { type: 'wms', url: `http://${host}/wms`, layers: 'a' };
      const answer = await call('POST', '/api/v1/layers', { ...document, source });
      expect([answer.status, answer.text]).toEqual([
        400,
        expect.stringMatching(/is a private address\. Allow it in|to which no request is sent/),
      ]);
      expect((await call('GET', at)).status).toBe(404);
    },
  );

  it('a changed source renews each tile before it is served, despite staleWhileRevalidate', async () => {
    const { document, at, tile } = fresh('moved');
    const old = { ...document, staleWhileRevalidate: 86_400 };
    const next = { ...old, source: { type: 'world' } };
    await call('PUT', at, old);
    expect((await call('GET', tile)).status).toBe(200);
    const plan = (query = '') => call('PUT', `${at}?dryRun=true${query}`, next);
    await expect.poll(async () => (await plan()).json.tiles.affected).toBe(4);
    expect((await plan()).json).toMatchObject({
      tileSets: { kept: 0, stale: 1, truncated: 0, orphaned: 0 },
      tiles: { affected: 4, bytes: expect.any(Number), default: 'stale' },
    });
    expect((await plan('&tiles=keep')).json.tileSets).toMatchObject({ kept: 1, stale: 0 });
    expect((await plan('&tiles=drop')).json.tileSets).toMatchObject({ stale: 0, truncated: 1 });
    expect((await plan('&tiles=fresh')).status).toBe(400);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
    await call('PUT', at, next);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('MISS');
    await expect.poll(async () => (await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
    await call('PUT', `${at}?tiles=keep`, old);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
    await call('PUT', at, { ...old, title: 'Another title' });
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
  });

  it('tiles that a layer change makes wrong cannot be kept', async () => {
    const { document, at, tile } = fresh('other defaults');
    await call('PUT', at, document);
    expect((await call('GET', tile)).status).toBe(200);
    const parameters = [{ name: 'SEASON', default: 'b', values: ['a', 'b'] }];
    const next = { ...document, parameters };
    const dry = () => call('PUT', `${at}?dryRun=true`, next);
    await expect.poll(async () => (await dry()).json.tiles).toMatchObject({ affected: 4, default: 'drop' });
    for (const choice of ['keep', 'stale']) {
      const refused = await call('PUT', `${at}?tiles=${choice}`, next);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('tiles must be drop')]);
    }
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('HIT');
  });

  it('a changed or deleted layer can be restored from the audit log', async () => {
    const { document, at, tile } = fresh('undone');
    await call('PUT', at, document);
    await call('PUT', at, { ...document, title: 'Wrong title' });
    const latest = async () =>
      (await call('GET', `/api/v1/audit?limit=1&target=${encodeURIComponent('layer:undone')}`)).json
        .entries[0];
    expect(await latest()).toMatchObject({
      summary: 'changed layer undone',
      before: { document: { name: 'undone' } },
      after: { document: { title: 'Wrong title' } },
    });
    const restored = await call('POST', `/api/v1/audit/${(await latest()).id}/restore`);
    expect([restored.status, restored.json.document.title]).toEqual([200, undefined]);
    expect((await call('DELETE', at)).status).toBe(204);
    expect(await latest()).toMatchObject({ summary: 'removed layer undone', before: { document } });
    expect((await call('GET', tile)).status).toBe(404);
    expect((await call('POST', `/api/v1/audit/${(await latest()).id}/restore`)).status).toBe(200);
    expect(await latest()).toMatchObject({ summary: 'restored layer undone', before: null });
    expect((await call('GET', tile)).status).toBe(200);
    expect((await call('POST', '/api/v1/audit/none-1/restore')).status).toBe(404);
  });

  it('a deleted layer with secrets is not restored without them', async () => {
    const { document, at } = fresh('secret once');
    const headers = { Authorization: 'Bearer x2' };
    const source = { type: 'wms', url: 'http://maps.test/wms', layers: 'a', headers };
    await call('PUT', at, { ...document, source });
    await call('DELETE', at);
    const log = await call('GET', `/api/v1/audit?limit=1&target=${encodeURIComponent('layer:secret once')}`);
    expect(log.text).not.toContain('x2');
    const refused = await call('POST', `/api/v1/audit/${log.json.entries[0].id}/restore`);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('give them again')]);
    expect((await call('GET', at)).status).toBe(404);
  });

  it('secrets of a layer are never shown, and stay when their mask is sent back', async () => {
    const { document, at } = fresh('secret');
    const source = {
      type: 'wms',
      url: 'http://maps.test/wms',
      layers: 'a',
      headers: { Authorization: 'Bearer x1' },
    };
    await call('POST', '/api/v1/layers', { ...document, source });
    const { text, json } = await call('GET', at);
    expect(text).not.toContain('x1');
    const { name, ...rest } = json.document;
    expect((await call('PUT', at, { ...rest, title: 'New' })).status).toBe(200);
    expect((await call('GET', at)).text).not.toContain('x1');
    await server.stop();
    await start();
    expect((await call('GET', at)).json.title).toBe('New');
  });

  it('a masked secret is rejected if no secret is stored, in a new and in an existing layer', async () => {
    const { document, at } = fresh('copy');
    const source = { type: 'wms', url: 'http://maps.test/wms', layers: 'a' };
    const hidden = { ...document, source: { ...source, username: 'u', password: '********' } };
    for (const dryRun of ['', '?dryRun=true']) {
      const refused = await call('POST', `/api/v1/layers${dryRun}`, hidden);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('again')]);
    }
    expect((await call('GET', at)).status).toBe(404);
    await call('POST', '/api/v1/layers', { ...document, source });
    expect((await call('PUT', at, hidden)).status).toBe(400);
  });

  it('a masked secret is rejected with any address of another server', async () => {
    const { document, at } = fresh('guarded');
    const url = 'http://{s}.good.test/{z}/{x}/{y}?k={key}';
    const secrets = { keys: { key: 'k1' }, username: 'u', password: 'p1' };
    const source = { type: 'xyz', url, subdomains: ['a', 'b'], ...secrets };
    await call('PUT', at, { ...document, source });
    const hidden = { ...source, keys: { key: '********' }, password: '********' };
    const gridSet = (of: string) => ({ gridSets: { 'EPSG:900913': { url: of } } });
    for (const change of [
      gridSet('http://evil.test/{z}/{x}/{y}?k={key}'),
      gridSet('https://a.good.test/{z}/{x}/{y}'),
      { subdomains: ['a', 'evil'] },
      { url: 'http://evil.test\\@a.good.test/{z}/{x}/{y}' },
      { keys: { key: 'evil' }, url: 'http://{key}.good.test/{z}/{x}/{y}' },
    ]) {
      const refused = await call('PUT', at, { ...document, source: { ...hidden, ...change } });
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('another server')]);
    }
    const kept = { ...hidden, ...gridSet('http://b.good.test/new/{z}/{x}/{y}?k={key}') };
    expect((await call('PUT', at, { ...document, source: kept })).status).toBe(200);
  });

  it('a layer with a grid set declared over HTTP loses its tiles when the grid set changes', async () => {
    const { document } = fresh('with a grid');
    const tile = '/tiles/with%20a%20grid/mine/1/0/0.png';
    const grid = { name: 'mine', srs: 3857, extent: [0, 0, 1e6, 1e6], levels: 5 };
    expect((await call('GET', '/api/v1/gridsets/mine')).status).toBe(404);
    const declared = await call('POST', '/api/v1/gridsets', grid);
    expect(declared.status).toBe(201);
    const seen = await call('GET', '/api/v1/gridsets/mine');
    expect(seen.headers.get('etag')).toBe(declared.headers.get('etag'));
    expect(seen.json).toMatchObject({ name: 'mine', origin: 'database', document: grid });
    expect((await call('GET', '/api/v1/gridsets/EPSG:3857')).json).toMatchObject({
      name: 'EPSG:900913',
      origin: 'program',
      version: null,
      document: null,
    });
    await call('POST', '/api/v1/layers', { ...document, gridSets: ['mine'] });
    expect((await call('GET', tile)).status).toBe(200);
    expect((await call('DELETE', '/api/v1/gridsets/mine')).status).toBe(409);
    const wider = { ...grid, extent: [0, 0, 2e6, 2e6] };
    const plan = () => call('PUT', '/api/v1/gridsets/mine?dryRun=true', wider);
    await expect.poll(async () => (await plan()).json.tileSets.truncated).toBe(1);
    await call('PUT', '/api/v1/gridsets/mine', wider);
    expect((await call('GET', tile)).headers.get('x-cache')).toBe('MISS');
    expect((await call('PUT', '/api/v1/gridsets/EPSG:4326', { ...grid, name: 'EPSG:4326' })).status).toBe(
      409,
    );
  });
});
