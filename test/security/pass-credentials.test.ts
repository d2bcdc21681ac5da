import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { rawRequest } from './raw-request.ts';

const ANNA = basic('anna');
const BEN = basic('ben');
const EVE = basic('eve');
const TILE = '/tiles/own/3/2/1.png';
const MAP =
  '/service/wmts?REQUEST=GetTile&LAYER=own&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:3&TILEROW=1&TILECOL=2';

function basic(name: string): string {
  return `Basic ${Buffer.from(`${name}:of the map server`).toString('base64')}`;
}

let wms: MockWms;
let server: RunningServer;
beforeAll(async () => {
  wms = await openMockWms();
  const source = `source: { type: wms, url: '${wms.url}', layers: a }, gridSets: [EPSG:900913], expireClients: 60`;
  server = await startServer({
    args: ['--processes', '2'],
    config: `layers:\n  - { name: own, passCredentials: true, ${source} }\n  - { name: shared, ${source} }\n`,
    expectedLog: /the source of layer own failed/,
  });
});
afterAll(() => wms.close());

beforeEach(() => {
  wms.reset();
  wms.answer = ({ headers: { authorization } }) => {
    if (authorization === undefined) return { status: 401 };
    if (authorization === EVE) return { status: 403 };
    return authorization === BEN ? 'blank' : 'good';
  };
});

/** By a connection of its own, so that the processes take turns. */
async function ask(path: string, authorization: string | null, more = '') {
  const own = authorization === null ? '' : `Authorization: ${authorization}\r\n`;
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${own}${more}Connection: close\r\n\r\n`;
  const { status, text } = await rawRequest(server.url, head);
  const [headers = '', body = ''] = text.split('\r\n\r\n');
  return { status, headers, body };
}

const admin = (path: string, body?: object) =>
  fetch(server.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: server.authorization, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

const passedOn = () => wms.requests.map(({ headers }) => headers.authorization ?? null);

describe('a layer with passCredentials', () => {
  it('a layer with passCredentials shows each caller its own tiles in every process', async () => {
    const [good, blank] = [await ask(TILE, ANNA), await ask(TILE, BEN)];
    expect([good.status, blank.status]).toEqual([200, 200]);
    expect(good.body).not.toBe(blank.body);
    for (const [index, path] of [TILE, MAP, TILE, MAP, TILE, MAP].entries()) {
      expect((await ask(path, index < 3 ? ANNA : BEN)).body).toBe(index < 3 ? good.body : blank.body);
    }
    expect(passedOn()).toEqual([ANNA, BEN, ANNA, ANNA, ANNA, BEN, BEN, BEN]);
  });

  it('a layer with passCredentials is not cached by server, proxy or browser', async () => {
    for (let i = 0; i < 2; i++) {
      const { headers } = await ask(TILE, ANNA);
      expect(headers).toMatch(/^X-Cache: BYPASS\r$/m);
      expect(headers).toMatch(/^Cache-Control: private, no-store\r$/m);
      expect(headers).not.toMatch(/^Expires:/m);
      expect(headers).toMatch(/^Access-Control-Allow-Origin: \*\r$/m);
    }
    const usage = await admin('/api/v1/usage');
    const { layers } = (await usage.json()) as { layers: { name: string; bytes: number }[] };
    expect(layers.find(({ name }) => name === 'own')?.bytes ?? 0).toBe(0);
  });

  it('callers of a layer with passCredentials do not share upstream requests', async () => {
    wms.answer = ({ headers }) => (headers.authorization === ANNA ? 'hang' : 'blank');
    const waiting = ask(TILE, ANNA);
    await eventually('a request that hangs', () => wms.active === 1);
    expect((await ask(TILE, BEN)).status).toBe(200);
    wms.release();
    expect((await waiting).status).toBe(200);
    expect(passedOn()).toEqual([ANNA, BEN]);
  });

  it('a layer with passCredentials passes on 401 and 403 to the same caller only', async () => {
    const anonymous = await ask(TILE, null);
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers).toMatch(/^WWW-Authenticate: Basic/m);
    expect((await ask(TILE, EVE)).status).toBe(403);
    expect((await ask(TILE, ANNA)).status).toBe(200);
    const layer = await (await admin('/api/v1/layers/own')).text();
    expect(layer).not.toMatch(/status-40|"lastFailure":\{/);
  });

  it('passCredentials never passes on credentials of this server or other headers', async () => {
    wms.answer = 'good';
    const made = await admin('/api/v1/tokens', {
      name: 'robot',
      role: 'viewer',
      layers: ['*'],
      expiresAt: null,
    });
    const { token } = (await made.json()) as { token: string };
    const inBasic = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
    const wrong = `Basic ${Buffer.from('admin:a mistyped password').toString('base64')}`;
    for (const own of [server.authorization, `Bearer ${token}`, inBasic, wrong, 'Digest username="admin"']) {
      await ask(TILE, own, 'Cookie: a=b\r\nX-Other: c\r\n');
    }
    expect(passedOn()).toEqual([null, null, null, null, null]);
    expect(wms.requests.flatMap(({ headers }) => [headers.cookie, headers['x-other']])).toEqual(
      Array(10).fill(undefined),
    );
    await ask(TILE, 'Bearer of-another-server');
    expect(passedOn().at(-1)).toBe('Bearer of-another-server');
  });

  it('a layer without passCredentials never passes on the header', async () => {
    wms.answer = 'good';
    await ask('/tiles/shared/3/2/1.png', ANNA);
    expect(passedOn()).toEqual([null]);
  });

  it('a layer with passCredentials cannot be seeded, and the error names the reason', async () => {
    const answer = await admin('/rest/seed/own.json', {
      seedRequest: { name: 'own', type: 'seed', format: 'image/png', zoomStop: 1 },
    });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('passCredentials')]);
  });

  it.each([
    [{ fullWMS: true }, 'does not go with fullWMS'],
    [{ onMiss: 'parent' }, 'does not go with onMiss'],
    [{ source: { type: 'world' } }, 'needs a source of type wms, wmts, xyz, arcgis or ogcapi-tiles'],
    [
      { source: { type: 'xyz', url: 'http://a.org/{z}/{x}/{y}.png', username: 'a', password: 'b' } },
      'credentials of the source',
    ],
    [
      { passCredentials: false, source: { type: 'layer', layer: 'own' } },
      'shows its tiles to each caller alone',
    ],
  ])('a layer with passCredentials and %j is rejected', async (more, why) => {
    const source = { type: 'xyz', url: 'http://a.org/{z}/{x}/{y}.png' };
    const answer = await admin('/api/v1/layers?dryRun=true', {
      name: 'new',
      passCredentials: true,
      source,
      gridSets: ['EPSG:900913'],
      ...more,
    });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(why)]);
  });
});
