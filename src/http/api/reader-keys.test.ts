import { describe, expect, it } from 'vitest';
import { ANNA, catalogOf, hit, layerNamed, openAccountApp } from '../../../test/fixtures/http-app.ts';
import { createParameterFilter } from '../../domain/parameter-filter.ts';

const LAYERS = [
  layerNamed('world'),
  layerNamed('ours', { access: 'authenticated' }),
  layerNamed('staff', { access: 'admin' }),
  layerNamed('painted', {
    access: 'authenticated',
    parameters: [createParameterFilter({ name: 'KEY', defaultValue: 'red', values: ['red', 'blue'] })],
  }),
];

/** Requests of each service for a tile of a layer, or for a document about it. */
const SERVICES = [
  '/tiles/{layer}.json',
  '/tiles/{layer}/0/0/0.png',
  '/tiles/{layer}/0/0/0',
  '/service/wmts?REQUEST=GetCapabilities&LAYER={layer}',
  '/service/wmts?REQUEST=GetTile&LAYER={layer}&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:0&TILEROW=0&TILECOL=0',
  '/service/wmts/rest/{layer}/EPSG:4326/EPSG:4326:0/0/0?format=image/png',
  '/service/wmts/rest/{layer}/tilejson/png',
  '/service/wms?REQUEST=GetCapabilities&LAYERS={layer}',
  '/service/wms?REQUEST=GetMap&LAYERS={layer}&SRS=EPSG:4326&BBOX=-180,-90,0,90&WIDTH=256&HEIGHT=256&FORMAT=image/png',
  '/service/tms/1.0.0/{layer}',
  '/service/tms/1.0.0/{layer}/0/0/0.png',
  '/service/gmaps?LAYERS={layer}&zoom=0&x=0&y=0&format=image/png',
  '/service/kml/{layer}.kml',
  '/ogc/collections/{layer}',
  '/ogc/collections/{layer}/map/tiles',
  '/ogc/collections/{layer}/map/tiles/EPSG:4326/0/0/0?f=png',
];

/** Documents that list layers. */
const LISTS = [
  '/tiles.json',
  '/service/wmts?REQUEST=GetCapabilities',
  '/service/wmts/rest/WMTSCapabilities.xml',
  '/service/wms?REQUEST=GetCapabilities',
  '/service/tms/1.0.0',
  '/ogc/collections',
];

async function open(draft: object = {}, read = hit) {
  const opened = await openAccountApp({ deps: { catalog: catalogOf(LAYERS), pipeline: { read } } });
  const create = async (more: object) => {
    const body = { name: 'portal', layers: ['ours', 'paint*'], ...more };
    const answer = await opened.send('POST', '/api/v1/keys', body);
    return {
      status: answer.status,
      text: answer.text,
      ...JSON.parse(answer.status === 201 ? answer.text : '{}'),
    };
  };
  const { id, key } = await create(draft);
  const get = (url: string, headers = {}) => opened.app.request('GET', url, { headers });
  return { ...opened, create, id, key: String(key), get };
}

function withKey(url: string, pair: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${pair}`;
}

describe('the page of a layer with a reader key', () => {
  it('the page opens, and every address on it that needs the key works with it', async () => {
    const { get, key } = await open();
    const { status, text, headers } = await get(`/layers/ours?format=image/png&key=${key}`);
    expect([status, headers['cache-control']]).toEqual([200, 'private, no-cache']);
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    const linked = [...text.matchAll(/(?:href|src)="http:\/\/[^/]+(\/[^"]*)"/g)].map(([, path = '']) =>
      path.replaceAll('&amp;', '&'),
    );
    const needing = linked.filter((path) => !path.startsWith('/#'));
    expect(needing.length).toBeGreaterThan(5);
    for (const path of needing) expect([path, (await get(path)).status]).toEqual([path, 200]);
    const addresses = text.match(/http:\/\/[^\s<&']+\/(tiles|service|ogc)\/[^\s<']*/g) ?? [];
    expect(addresses.filter((address) => !address.includes(`key=${key}`))).toEqual([]);
    expect(text).not.toContain('NAME:PASSWORD');
  });

  it('a reader key opens no page of another layer, and a wrong one none', async () => {
    const { get, key } = await open();
    const [staff, unknown] = [await get(`/layers/staff?key=${key}`), await get(`/layers/none?key=${key}`)];
    expect([staff.status, unknown.status, staff.text]).toEqual([403, 403, unknown.text]);
    expect((await get('/layers/ours?key=twk_wrong')).status).toBe(401);
    expect((await get('/layers/ours', { 'x-api-key': key })).text).not.toContain(key);
    expect((await get(`/layers/painted?KEY=blue&authkey=${key}`)).text).toContain('KEY=blue');
  });
});

describe('keys for readers', () => {
  it('a reader key is shown once and listed without its secret', async () => {
    const { create, get, key, id, accounts } = await open();
    expect(key).toMatch(/^twk_[\w-]{43}$/);
    const { keys } = JSON.parse((await get('/api/v1/keys', ANNA)).text);
    expect(keys).toEqual([
      {
        id,
        name: 'portal',
        layers: ['ours', 'paint*'],
        areas: null,
        origins: null,
        ratePerSecond: null,
        requestsPerDay: null,
        expiresAt: null,
        createdAt: expect.any(String),
        lastUsedAt: null,
        requestsToday: 0,
      },
    ]);
    await get(`/tiles/ours/0/0/0.png?key=${key}`);
    const list = (await get('/api/v1/keys', ANNA)).text;
    expect(JSON.parse(list).keys[0]).toMatchObject({
      lastUsedAt: expect.stringMatching(/^2\d{3}-/),
      requestsToday: 1,
    });
    expect(list).not.toContain(key);
    expect(JSON.stringify(await accounts.audit.read({ limit: 100 } as never))).not.toContain(key);
    const limited = await create({ ratePerSecond: 3, requestsPerDay: 9, origins: ['https://a.example'] });
    expect(limited).toMatchObject({ status: 201, ratePerSecond: 3, requestsPerDay: 9 });
  });

  it.each([
    [{ layers: [] }, 'layers'],
    [{ layers: null }, 'layers'],
    [{ layers: 'ours' }, 'layers'],
    [{ layers: [''] }, 'layers'],
    [{ name: '' }, 'name'],
    [{ name: 'two\nlines' }, 'name'],
    [{ areas: [] }, 'areas'],
    [{ areas: ['none'] }, 'area'],
    [{ origins: [] }, 'origins'],
    [{ origins: ['https://a.example/'] }, 'origins'],
    [{ origins: ['*'] }, 'origins'],
    [{ origins: ['null'] }, 'origins'],
    [{ ratePerSecond: 0 }, 'ratePerSecond'],
    [{ ratePerSecond: 1.5 }, 'ratePerSecond'],
    [{ requestsPerDay: -1 }, 'requestsPerDay'],
    [{ requestsPerDay: '5' }, 'requestsPerDay'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ expires: null }, 'expires'],
  ])('a reader key with %j is refused, naming the field %s', async (draft, field) => {
    const { create, get } = await open();
    const answer = await create(draft);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(field);
    expect(JSON.parse((await get('/api/v1/keys', ANNA)).text).keys).toHaveLength(1);
  });

  it('a reader key opens its layers in every service, closed ones included, and no other', async () => {
    const { get, key } = await open();
    const forbidden = new Set<string>();
    for (const path of SERVICES) {
      const ask = (layer: string) => get(withKey(path.replace('{layer}', layer), `key=${key}`));
      const opened = await ask('ours');
      expect([path, opened.status]).toEqual([path, 200]);
      expect(opened.headers['access-control-allow-origin']).toBe('*');
      expect(opened.headers['cross-origin-resource-policy']).toBe('cross-origin');
      expect(opened.headers['cache-control']).toContain('private');
      for (const other of ['world', 'staff', 'none']) {
        const refused = await ask(other);
        expect([path, other, refused.status]).toEqual([path, other, 403]);
        expect(refused.headers['access-control-allow-origin']).toBe('*');
        forbidden.add(refused.text.replace(/^\{.*"detail":"(.*)"\}\n$/s, '$1\n'));
      }
      expect((await get(path.replace('{layer}', 'ours'))).status).toBe(401);
    }
    expect(forbidden.size).toBe(1);
  });

  it.each(['key', 'KEY', 'AuthKey', 'access_token'])(
    'a reader key is taken from ?%s=, before and behind other parameters',
    async (name) => {
      const { get, key } = await open();
      for (const query of [
        `${name}=${key}`,
        `a=1&${name}=${key}`,
        `${name}=${key}&a=1`,
        `a=1&${name}=${key}&b=2`,
      ]) {
        expect((await get(`/tiles/ours/0/0/0.png?${query}`)).status).toBe(200);
      }
    },
  );

  it('documents list only the layers of the reader key, and carry it if it came in the address', async () => {
    const { get, key } = await open();
    for (const path of LISTS) {
      const byAddress = await get(withKey(path, `authkey=${key}`));
      const byHeader = await get(path, { 'x-api-key': key });
      for (const { status, text, headers } of [byAddress, byHeader]) {
        expect([path, status]).toEqual([path, 200]);
        expect(text).toContain('ours');
        expect(text).not.toMatch(/staff|world/);
        expect(headers['cache-control']).toContain('private');
      }
      expect(byHeader.text).not.toContain(key);
      expect(byHeader.headers.vary).toContain('X-Api-Key');
      const own = byAddress.text.match(/http:\/\/localhost\/[^"'<>\s]*/g) ?? [];
      expect(own.filter((address) => !address.includes(`authkey=${key}`))).toEqual([]);
      if (path !== '/tiles.json') expect(own.length).toBeGreaterThan(0);
    }
    const tileJson = JSON.parse((await get(`/tiles/ours.json?key=${key}`)).text);
    expect(tileJson.tiles).toEqual([`http://localhost/tiles/ours/{z}/{x}/{y}.png?key=${key}`]);
    expect((await get(`/tiles/ours.json`, { 'x-api-key': key })).text).not.toContain(key);
  });

  it('an unknown, deleted or expired reader key is a 401, on public layers and documents too', async () => {
    const { get, send, create, key, id } = await open();
    const { key: other } = await create({ layers: ['*'] });
    expect((await send('DELETE', `/api/v1/keys/${id}`, null)).status).toBe(204);
    expect((await send('DELETE', `/api/v1/keys/${id}`, null)).status).toBe(404);
    const pairs = [
      `key=${key}`,
      'key=',
      'access_token=x',
      `key=${key}&authkey=${other}`,
      `key=twk_${'a'.repeat(43)}`,
    ];
    for (const pair of pairs) {
      const refused = await get(withKey('/tiles/world/0/0/0.png', pair));
      expect([pair, refused.status]).toEqual([pair, 401]);
      expect(refused.headers['access-control-allow-origin']).toBe('*');
      expect(refused.headers['cache-control']).toBe('no-store');
    }
    for (const path of ['/service/tms', '/ogc', '/service/wmts?REQUEST=GetCapabilities']) {
      expect([path, (await get(withKey(path, 'key=x'))).status]).toEqual([path, 401]);
    }
    expect((await get(`/tiles/world/0/0/0.png?key=${other}`)).status).toBe(200);
  });

  it('wrong reader keys are throttled by address; valid ones, and public tiles without a key, are not', async () => {
    const { get, key, app } = await open();
    const statuses: number[] = [];
    for (let i = 0; i < 15; i++) statuses.push((await get(`/tiles/world/0/0/0.png?key=wrong${i}`)).status);
    expect(statuses[0]).toBe(401);
    const throttled = await get('/tiles/world/0/0/0.png?key=wrong');
    expect([throttled.status, Number(throttled.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await get('/tiles/world/0/0/0.png')).status).toBe(200);
    expect((await get(`/tiles/ours/0/0/0.png?key=${key}`)).status).toBe(200);
    expect((await get('/api/v1/me', ANNA)).status).toBe(200);
    const elsewhere = { remoteAddress: '192.0.2.7' };
    expect((await app.request('GET', '/tiles/world/0/0/0.png?key=wrong', elsewhere)).status).toBe(401);
    expect(JSON.stringify(app.log)).not.toContain('wrong');
  });

  it('the origins of a reader key are compared exactly with Origin, else with the origin of Referer', async () => {
    const { get, key } = await open({ origins: ['https://maps.example.org'] });
    const ask = async (headers: Record<string, string>) =>
      (await get(`/tiles/ours/0/0/0.png?key=${key}`, headers)).status;
    expect(await ask({ origin: 'https://maps.example.org' })).toBe(200);
    expect(await ask({ referer: 'https://maps.example.org/a/b?c=d' })).toBe(200);
    expect(await ask({})).toBe(403);
    expect(await ask({ origin: 'null' })).toBe(403);
    expect(await ask({ origin: 'https://maps.example.org.evil.example' })).toBe(403);
    expect(await ask({ origin: 'http://maps.example.org' })).toBe(403);
    expect(await ask({ origin: 'https://evil.example', referer: 'https://maps.example.org/' })).toBe(403);
    expect(await ask({ referer: 'https://maps.example.org@evil.example/' })).toBe(403);
  });

  it('a request over the limit of a reader key is refused with 429 and Retry-After', async () => {
    const { get, create } = await open();
    const { key: daily } = await create({ requestsPerDay: 3 });
    const { key: slow } = await create({ ratePerSecond: 1 });
    for (const [key, most] of [
      [daily, 3],
      [slow, 11],
    ] as const) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => get(`/tiles/ours/0/0/0.png?key=${key}`)),
      );
      const refused = answers.filter(({ status }) => status === 429);
      expect(answers.length - refused.length).toBeLessThanOrEqual(most);
      expect(answers[0]?.status).toBe(200);
      expect(refused.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true);
    }
  });

  it('a layer keeps a parameter of its own called KEY, and takes the reader key by another name', async () => {
    const values: unknown[] = [];
    const { get, key } = await open({}, async (tiles, tile, signal) => {
      values.push(Object.fromEntries(tiles.selection.values));
      return hit(tiles, tile, signal);
    });
    const wmts =
      '/service/wmts?REQUEST=GetTile&LAYER=painted&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:0&TILEROW=0&TILECOL=0';
    for (const path of ['/tiles/painted/0/0/0.png', wmts]) {
      expect((await get(withKey(path, 'key=blue'))).status).toBe(401);
      expect((await get(withKey(path, `key=${key}`))).status).toBe(401);
      expect((await get(withKey(path, `key=blue&authkey=${key}`))).status).toBe(200);
      expect((await get(withKey(path, `authkey=${key}`))).status).toBe(200);
      expect((await get(withKey(path, 'key=blue'), { 'x-api-key': key })).status).toBe(200);
    }
    expect(values.map((each) => JSON.stringify(each))).toEqual(
      ['blue', 'red', 'blue', 'blue', 'red', 'blue'].map((each) => expect.stringContaining(each)),
    );
    const tileJson = JSON.parse((await get(`/tiles/painted.json?authkey=${key}`)).text);
    expect(tileJson.tiles).toEqual([`http://localhost/tiles/painted/{z}/{x}/{y}.png?authkey=${key}`]);
  });

  it('a reader key gives no administrative right, and a browser asks for its header without one', async () => {
    const { app, key } = await open();
    for (const path of ['/api/v1/layers', '/rest/layers.json', '/metrics', '/api/v1/keys']) {
      const answer = await app.request('GET', `${path}?key=${key}`, { headers: { 'x-api-key': key } });
      expect([path, answer.status]).toEqual([path, 401]);
    }
    const preflight = await app.request('OPTIONS', '/tiles/ours/0/0/0.png', {
      headers: {
        origin: 'https://maps.example.org',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-api-key',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-headers']?.toLowerCase()).toContain('x-api-key');
    expect(preflight.headers['access-control-allow-origin']).toBe('*');
    expect((await app.request('OPTIONS', '/tiles/ours/0/0/0.png')).status).toBe(405);
  });

  it('no reader key is read in an address that is too long', async () => {
    const { get } = await open();
    expect((await get(`/tiles/ours/0/0/0.png?${'a'.repeat(8192)}&key=wrong`)).status).toBe(414);
  });

  it('only administrators see, create and delete reader keys', async () => {
    const { send, accounts } = await open();
    for (const role of ['viewer', 'operator'] as const) {
      const { secret } = await accounts.tokens.create(
        { name: role, role, layers: ['*'], expiresAt: null },
        'anna',
      );
      const headers = { authorization: `Bearer ${secret}` };
      for (const [method, path] of [
        ['GET', '/api/v1/keys'],
        ['POST', '/api/v1/keys'],
        ['DELETE', '/api/v1/keys/1'],
      ] as const) {
        const body = method === 'POST' ? { name: 'x', layers: ['*'] } : undefined;
        expect((await send(method, path, body, headers)).status).toBe(403);
      }
    }
  });
});
