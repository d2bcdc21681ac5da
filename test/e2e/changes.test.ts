import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changesSql } from '../../src/changes/feeds/changes-sql.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const SECRET = 'for tests only';
/** In web mercator; Zurich is in 6/33/22, Hamburg in 6/33/20. */
const ZURICH = [8.5, 47.3, 8.6, 47.4];
/** The same in the CRS of web mercator. */
const MERCATOR = [946_000, 5_988_000, 957_000, 6_005_000];

let folder: string;
let wms: MockWms;
let rss: Server;
let feedText = '';
let feedStatus = 200;
let feedRequests: string[] = [];
/** Their keys. */
const purges: string[][] = [];
let gis: pg.Client;
let server: OpenServer;

beforeAll(async () => {
  folder = temporaryFolder();
  await mkdir(join(folder, 'expired'));
  wms = await openMockWms();
  rss = createServer((request, response) => {
    if (request.method === 'PURGE') purges.push(String(request.headers['xkey-purge']).split(' '));
    else feedRequests.push(request.url ?? '');
    response.writeHead(feedStatus, { 'content-type': 'application/xml' }).end(feedText);
  });
  await new Promise<void>((resolve) => rss.listen(0, '127.0.0.1', resolve));
  const gisDatabase = await createPostgresDatabase();
  gis = new pg.Client({ connectionString: gisDatabase });
  await gis.connect();
  await gis.query(changesSql({ source: null, table: 'public.tile_changes' }));
  feedText = '<feed xmlns="http://www.w3.org/2005/Atom"/>';
  const source = `source: { type: wms, url: '${wms.url}', layers: roads }, metatile: [1, 1], gutter: 0`;
  await writeFile(
    join(folder, 'tilewarden.yaml'),
    `server: { surrogateKeys: xkey }
purge: [{ name: cdn, url: 'http://127.0.0.1:${(rss.address() as AddressInfo).port}/' }]
layers:
  - { name: roads, gridSets: [EPSG:900913, EPSG:4326], formats: [image/png, image/jpeg], ${source} }
  - { name: above, gridSets: [EPSG:900913], source: { type: layer, layer: roads }, metatile: [1, 1] }
  - { name: lists, gridSets: [EPSG:900913], ${source} }
  - { name: entries, gridSets: [{ name: EPSG:900913, zoomStop: 18 }], ${source} }
  - { name: rows, gridSets: [{ name: EPSG:900913, zoomStop: 18 }], ${source} }
  - { name: acts, gridSets: [{ name: EPSG:900913, zoomStop: 18 }], ${source} }
changes:
  - { name: hook, type: webhook, secret: { env: HOOK_SECRET }, layers: [roads, lists] }
  - { name: many, type: webhook, secret: { env: HOOK_SECRET }, layers: [acts, entries, rows] }
  - { name: again, type: webhook, secret: { env: HOOK_SECRET }, layers: [acts] }
  - { name: remover, type: webhook, secret: { env: HOOK_SECRET }, layers: [acts], action: truncate }
  - { name: renewer, type: webhook, secret: { env: HOOK_SECRET }, layers: [acts], action: renew }
  - { name: osm, type: tile-list, folder: ./expired, layers: [lists], buffer: 0 }
  - { name: feed, type: georss, url: 'http://127.0.0.1:${(rss.address() as AddressInfo).port}/c?since={since}', intervalSeconds: 1, layers: [entries] }
  - { name: edits, type: postgres, url: { env: GIS }, table: public.tile_changes, layers: [rows] }
`,
  );
  server = await openServer({
    flags: { config: join(folder, 'tilewarden.yaml'), 'no-auth': 'true' },
    env: { HOOK_SECRET: SECRET, GIS: gisDatabase },
  });
});

afterAll(async () => {
  await gis.end();
  await wms.close();
  rss.close();
});

async function cache(layer: string, ...tiles: readonly string[]): Promise<readonly (string | null)[]> {
  const all: (string | null)[] = [];
  for (const tile of tiles) {
    const answer = await fetch(new URL(`tiles/${layer}/${tile}`, server.url));
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    all.push(answer.headers.get('x-cache'));
  }
  return all;
}

/** Until a seed or a request has put them into the cache. */
async function cached(layer: string, ...tiles: readonly string[]): Promise<void> {
  await eventually(
    'the tiles are hits',
    () => cache(layer, ...tiles),
    (seen) => seen.every((one) => one === 'HIT'),
  );
  await untilStored(server);
}

function signatureOf(body: string): string {
  return `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
}

async function post(
  body: unknown,
  headers: Record<string, string> = {},
  name = 'hook',
): Promise<{ readonly status: number; readonly text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(new URL(`api/v1/changes/${name}`, server.url), {
    method: 'POST',
    body: text,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': signatureOf(text),
      ...headers,
    },
  });
  return { status: answer.status, text: await answer.text() };
}

interface FeedDocument {
  readonly name: string;
  readonly state: string;
  readonly lastError: string | null;
  readonly received: number;
  readonly applied: number;
}

async function auditOf(feed: string, limit: number): Promise<readonly object[]> {
  const answer = await fetch(new URL(`api/v1/audit?actor=feed:${feed}&limit=${limit}`, server.url));
  return ((await answer.json()) as { entries: readonly object[] }).entries;
}

async function feedNamed(name: string): Promise<FeedDocument> {
  const answer = await fetch(new URL('api/v1/changes', server.url));
  const { changes } = (await answer.json()) as { changes: readonly FeedDocument[] };
  const feed = changes.find((one) => one.name === name);
  if (!feed) throw new Error(`there is no feed ${name}`);
  return feed;
}

describe('a webhook', () => {
  it('a webhook renews exactly the tiles of its area, in all grid sets, formats and layers', async () => {
    const near = ['6/33/22.png', '6/33/22.jpeg', 'EPSG:4326/6/67/15.png', '0/0/0.png'];
    const far = ['6/33/20.png', 'EPSG:4326/6/67/13.png'];
    await cached('roads', ...near, ...far);
    await cached('above', '6/33/22.png', '6/33/20.png');
    const { status, text } = await post({ bounds: ZURICH });
    expect([status, JSON.parse(text)]).toEqual([202, { id: expect.any(Number), repeated: false }]);
    const before = wms.requests.length;
    expect(await cache('roads', ...far)).toEqual(['HIT', 'HIT']);
    expect(await cache('above', '6/33/20.png')).toEqual(['HIT']);
    expect(wms.requests.length).toBe(before);
    expect(await cache('roads', ...near)).toEqual(Array(near.length).fill('MISS'));
    expect(await cache('above', '6/33/22.png')).toEqual(['MISS']);
  });

  it.each<[string, string, object | string, boolean]>([
    [
      'a truncated area',
      'api/v1/layers/roads/truncate',
      { bounds: MERCATOR, gridSets: ['EPSG:900913'] },
      true,
    ],
    [
      'an invalidated area',
      'api/v1/layers/roads/invalidate',
      { bounds: MERCATOR, gridSets: ['EPSG:900913'] },
      true,
    ],
    [
      'a truncated layer',
      'masstruncate',
      '<truncateLayer><layerName>roads</layerName></truncateLayer>',
      false,
    ],
    [
      'an area that a task truncates',
      'rest/seed/roads.json',
      {
        seedRequest: {
          name: 'roads',
          type: 'truncate',
          format: 'image/png',
          bounds: { coords: { double: MERCATOR } },
          gridSetId: 'EPSG:900913',
        },
      },
      true,
    ],
  ])('%s is also renewed in layers that are drawn from it', async (_case, path, body, isArea) => {
    await cached('roads', '6/33/22.png', '6/33/20.png', '3/4/2.png');
    await cached('above', '6/33/22.png', '6/33/20.png', '3/4/2.png');
    const isXml = typeof body === 'string';
    const answer = await fetch(new URL(path, server.url), {
      method: 'POST',
      body: isXml ? body : JSON.stringify(body),
      headers: { 'content-type': isXml ? 'text/xml' : 'application/json' },
    });
    expect(answer.status).toBe(200);
    const far = isArea ? 'HIT' : 'MISS';
    expect(await cache('above', '6/33/20.png', '6/33/22.png', '3/4/2.png')).toEqual([far, 'MISS', 'MISS']);
  });

  it('a webhook changes only the layers that its body names', async () => {
    await cached('roads', '6/33/22.png');
    await cached('lists', '6/33/22.png');
    expect((await post({ bounds: ZURICH, layers: ['lists'] })).status).toBe(202);
    expect(await cache('roads', '6/33/22.png')).toEqual(['HIT']);
    expect(await cache('lists', '6/33/22.png')).toEqual(['MISS']);
  });

  it('a webhook follows the shape of a geometry, not the box around it', async () => {
    const tiles = ['6/32/23.png', '6/36/18.png', '6/36/23.png'];
    await cached('roads', ...tiles);
    const line = {
      type: 'LineString',
      coordinates: [
        [1, 43],
        [25, 59],
      ],
    };
    expect((await post({ type: 'Feature', geometry: line, properties: null })).status).toBe(202);
    expect(await cache('roads', ...tiles)).toEqual(['MISS', 'MISS', 'HIT']);
  });

  it('a webhook accepts bounds in another CRS, and whole layers', async () => {
    await cached('roads', '6/33/20.png', '6/33/22.png');
    const utm = { bounds: [560_000, 5_930_000, 570_000, 5_940_000], srs: 'EPSG:25832' };
    expect((await post(utm)).status).toBe(202);
    expect(await cache('roads', '6/33/20.png', '6/33/22.png')).toEqual(['MISS', 'HIT']);
    expect((await post({ whole: true })).status).toBe(202);
    expect(await cache('roads', '6/33/20.png', '6/33/22.png')).toEqual(['MISS', 'MISS']);
  });

  it('a webhook returns the first id for a repeated event and changes nothing, and the id with another body is another event', async () => {
    const first = JSON.parse((await post({ bounds: ZURICH }, { 'x-event-id': 'edit 7' })).text);
    await cached('roads', '6/33/22.png');
    const second = JSON.parse((await post({ bounds: ZURICH }, { 'x-event-id': 'edit 7' })).text);
    expect(second).toEqual({ id: first.id, repeated: true });
    expect(await cache('roads', '6/33/22.png')).toEqual(['HIT']);
    const other = await post({ bounds: [8.4, 47.3, 8.5, 47.4] }, { 'x-event-id': 'edit 7' });
    expect(JSON.parse(other.text).repeated).toBe(false);
    const refused = await post({ bounds: [1] }, { 'x-event-id': 'edit 8' });
    expect(refused.status).toBe(400);
    expect(JSON.parse((await post({ bounds: ZURICH }, { 'x-event-id': 'edit 8' })).text).repeated).toBe(
      false,
    );
  });

  it('a webhook accepts an empty collection, which changes nothing', async () => {
    await cached('roads', '6/33/22.png');
    expect((await post({ type: 'FeatureCollection', features: [] })).status).toBe(202);
    expect(await cache('roads', '6/33/22.png')).toEqual(['HIT']);
  });

  it.each<[string, unknown, RegExp]>([
    ['an empty body', '', /empty/],
    ['what is not JSON', '{', /JSON/],
    ['a list', [], /must be a GeoJSON/],
    ['an empty object', {}, /must be a GeoJSON/],
    ['an unknown member', { bounds: ZURICH, colour: 1 }, /colour/],
    ['an empty list of layers', { bounds: ZURICH, layers: [] }, /layers/],
    ['null in place of layers', { whole: true, layers: null }, /layers/],
    ['layers of others', { whole: true, layers: ['above'] }, /layers names above; the feed has roads, lists/],
    ['whole: false', { whole: false }, /whole/],
    ['whole beside bounds', { whole: true, bounds: ZURICH }, /bounds/],
    ['reversed bounds', { bounds: [8.6, 47.3, 8.5, 47.4] }, /bounds.*antimeridian/],
    ['bounds that are not finite', '{"bounds":[0,0,1e999,1]}', /bounds/],
    ['three bounds', { bounds: [0, 0, 1] }, /bounds/],
    ['bounds of another CRS', { bounds: [950_000, 6_000_000, 960_000, 6_010_000] }, /bounds.*longitudes/],
    ['an unknown CRS', { bounds: ZURICH, srs: 'EPSG:999999' }, /srs/],
    [
      'a position of another CRS',
      { type: 'Point', coordinates: [950_000, 6_000_000] },
      /coordinates.*longitudes/,
    ],
    [
      'a CRS member',
      { type: 'Point', coordinates: [8, 47], crs: { type: 'name', properties: { name: 'EPSG:3857' } } },
      /crs/,
    ],
    ['an unknown type', { type: 'Circle', coordinates: [8, 47] }, /type must be one of/],
    [
      'a ring of two positions',
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
        ],
      },
      /coordinates\[0\].*3 positions/,
    ],
    ['a feature that is none', { type: 'FeatureCollection', features: [{ type: 'Point' }] }, /features\[0\]/],
  ])('a webhook refuses %s with a 400 that names the field and changes nothing', async (_, body, message) => {
    const { applied } = await feedNamed('hook');
    const { status, text } = await post(body);
    expect([status, text]).toEqual([400, expect.stringMatching(message)]);
    expect((await feedNamed('hook')).applied).toBe(applied);
  });

  it('a webhook shows its state in the list, in the metrics and in the audit log', async () => {
    const feed = await feedNamed('hook');
    expect(feed).toEqual({
      name: 'hook',
      type: 'webhook',
      layers: ['roads', 'lists'],
      action: 'invalidate',
      state: 'ok',
      lastAt: expect.any(String),
      lastError: null,
      received: feed.applied,
      applied: expect.any(Number),
      pending: 0,
    });
    const metrics = await (await fetch(new URL('metrics', server.url))).text();
    expect(metrics).toContain(`tilewarden_changes_applied_total{feed="hook"} ${feed.applied}`);
    const [entry] = await auditOf('hook', 1);
    expect(entry).toMatchObject({ action: 'change', outcome: 'done', source: '127.0.0.1' });
  });

  it('a webhook that does not exist is refused like one that does, and so is a feed of another kind', async () => {
    const known = await post({ whole: true }, { 'x-hub-signature-256': signatureOf('another body') });
    expect(known.status).toBe(401);
    for (const name of ['nothing', 'osm']) expect(await post({ whole: true }, {}, name)).toEqual(known);
  });

  it('a webhook with the headers of Standard Webhooks is in force once, and is refused when its signed time is over', async () => {
    const body = JSON.stringify({ bounds: ZURICH });
    const signed = (id: string, ageSeconds: number) => {
      const time = String(Math.floor(Date.now() / 1000) - ageSeconds);
      const signature = createHmac('sha256', SECRET).update(`${id}.${time}.${body}`).digest('base64');
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': time,
        'webhook-signature': `v1,x v1,${signature}`,
      };
      return { 'x-hub-signature-256': '', ...headers };
    };
    const captured = signed('msg_1', 0);
    const first = await post(body, captured);
    expect(JSON.parse(first.text)).toMatchObject({ repeated: false });
    expect(JSON.parse((await post(body, captured)).text)).toMatchObject({ repeated: true });
    expect((await post(body, signed('msg_2', 301))).status).toBe(401);
    expect((await post(body, { ...captured, 'webhook-id': 'msg_3' })).status).toBe(401);
    expect((await post(body, { ...captured, 'webhook-timestamp': String(Date.now()) })).status).toBe(401);
  });

  it('a webhook answers 401 to missing and wrong signatures, then 429, but accepts right ones', async () => {
    const wrong = { 'x-hub-signature-256': signatureOf('another body') };
    expect((await post({ whole: true }, { 'x-hub-signature-256': '' })).status).toBe(401);
    for (let i = 0; i < 12; i++) await post({ whole: true }, wrong);
    expect((await post({ whole: true }, wrong)).status).toBe(429);
    expect((await post({ type: 'FeatureCollection', features: [] })).status).toBe(202);
  });
});

describe('what a change does', () => {
  const HAMBURG = [9.9, 53.5, 10, 53.6];
  const read = async <Document>(path: string, body?: object): Promise<Document> => {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const headers = { 'content-type': 'application/json' };
    return (await (await fetch(new URL(path, server.url), { ...init, headers })).json()) as Document;
  };
  const storedTiles = async () =>
    (await read<{ tiles: number }>('api/v1/layers/acts/truncate', { dryRun: true })).tiles;

  it('a replay applies the changes of the last hour again, with a line in the audit log', async () => {
    await post({ bounds: ZURICH }, {}, 'again');
    await post({ type: 'Point', coordinates: [10, 53.5] }, {}, 'again');
    await cached('acts', '6/33/22.png', '6/33/20.png', '6/40/22.png');
    const before = await feedNamed('again');
    expect(await read('api/v1/changes/again/replay', {})).toEqual({ changes: 2 });
    expect(await cache('acts', '6/33/22.png', '6/33/20.png', '6/40/22.png')).toEqual(['MISS', 'MISS', 'HIT']);
    expect(await feedNamed('again')).toEqual(before);
    const { entries } = await read<{ entries: object[] }>('api/v1/audit?limit=1');
    expect(entries).toMatchObject([
      { target: 'feed:again', summary: 'replayed 2 changes of the last hour of again', outcome: 'done' },
    ]);
    const unknown = await fetch(new URL('api/v1/changes/nothing/replay', server.url), { method: 'POST' });
    expect(unknown.status).toBe(404);
  });

  it('a change of three layers purges each of its places once, and no other', async () => {
    type Deliveries = { deliveries: { state: string }[] };
    const delivered = async () => (await read<Deliveries>('api/v1/deliveries')).deliveries;
    const areOver = (all: Deliveries['deliveries']) => all.every(({ state }) => state === 'delivered');
    const keysOf = async (layer: string, tile: string) => {
      const { headers } = await fetch(new URL(`tiles/${layer}/${tile}`, server.url));
      return String(headers.get('xkey')).split(' ');
    };
    // No other test changes Tokyo; purges of other changes may be sent in between. A page of a lower zoom is the whole world.
    const layers = ['acts', 'entries', 'rows'];
    const elsewhere = await Promise.all(layers.map((layer) => keysOf(layer, '18/100/100.png')));
    const tokyo = await Promise.all(layers.map((layer) => keysOf(layer, '18/232798/103209.png')));
    const places = tokyo.map((keys, i) => keys.filter((key) => !elsewhere[i]?.includes(key)));
    expect((await post({ type: 'Point', coordinates: [139.7, 35.7] }, {}, 'many')).status).toBe(202);
    const times = (key: string) => purges.filter((keys) => keys.includes(key)).length;
    await eventually('all of it is purged', () => places.every((keys) => keys.some((key) => times(key) > 0)));
    await eventually('every purge is delivered', delivered, areOver);
    // One request, unless the purge of another change is sent meanwhile, which takes what is known so far.
    for (const keys of places) expect(Math.max(...keys.map(times))).toBe(1);
    const ofTokyo = purges.filter((purge) => places.flat().some((key) => purge.includes(key))).flat();
    for (const keys of elsewhere) expect(keys.some((key) => ofTokyo.includes(key))).toBe(false);
  });

  it('a change with action truncate removes its tiles and no others', async () => {
    await cached('acts', '6/33/22.png', '6/33/20.png');
    const before = await storedTiles();
    expect((await post({ bounds: ZURICH }, {}, 'remover')).status).toBe(202);
    await eventually('one tile less is stored', storedTiles, (tiles) => tiles === before - 1);
    expect(await cache('acts', '6/33/20.png', '6/33/22.png')).toEqual(['HIT', 'MISS']);
  });

  it('a change with action renew makes its tiles by a task before a client requests them', async () => {
    await cached('acts', '6/33/20.png', '5/16/10.png');
    const before = await storedTiles();
    expect((await post({ bounds: HAMBURG }, {}, 'renewer')).status).toBe(202);
    type Tasks = { tasks: { state: string; createdBy: string; onlyStale: boolean }[] };
    await eventually(
      'the tasks of the feed are done',
      () => read<Tasks>('api/v1/tasks?layer=acts'),
      ({ tasks }) => tasks.length > 0 && tasks.every(({ state }) => state === 'done'),
    );
    expect((await read<Tasks>('api/v1/tasks?layer=acts')).tasks[0]).toMatchObject({
      createdBy: 'feed:renewer',
      onlyStale: true,
    });
    expect(await storedTiles()).toBe(before);
    expect(await cache('acts', '6/33/20.png', '5/16/10.png')).toEqual(['HIT', 'HIT']);
  });
});

describe('a tile list', () => {
  it('a tile list is applied when it is stable, moved to applied/, and bad lines are reported', async () => {
    await cached('lists', '6/33/22.png', '8/134/89.png', '6/34/22.png', '6/33/20.png');
    await mkdir(join(folder, 'expired', '20260101'), { recursive: true });
    await mkdir(join(folder, 'expired', 'applied'), { recursive: true });
    await writeFile(join(folder, 'expired', 'applied', 'a.tiles'), 'taken');
    await writeFile(join(folder, 'expired', '20260101', 'a.tiles'), '6/33/22\r\n\nnonsense\n7/128/0\n');
    await eventually('the file is moved', async () =>
      existsSync(join(folder, 'expired', 'applied', 'a.tiles.1')),
    );
    const seen = await cache('lists', '6/33/22.png', '8/134/89.png', '6/34/22.png', '6/33/20.png');
    expect(seen).toEqual(['MISS', 'MISS', 'HIT', 'HIT']);
    const feed = await eventually(
      'the bad line is reported',
      () => feedNamed('osm'),
      (one) => one.lastError !== null,
    );
    expect(feed).toMatchObject({ state: 'ok', received: 1, applied: 1 });
    expect(feed.lastError).toContain('20260101/a.tiles, line 4');
    expect(await readdir(join(folder, 'expired', '20260101'))).toEqual([]);
  });
});

describe('the folder of tile lists', () => {
  it('a feed whose folder of tile lists is absent is failing, and no list is lost', async () => {
    const [here, away] = [join(folder, 'expired'), join(folder, 'away')];
    const { applied } = await feedNamed('osm');
    await rename(here, away);
    const failing = await eventually(
      'the feed fails',
      () => feedNamed('osm'),
      (one) => one.state === 'failing',
    );
    expect(failing.lastError).toContain('there is no such folder');
    await writeFile(join(away, 'b.tiles'), '6/33/22\n');
    await rename(away, here);
    await eventually('the list is applied', async () => (await feedNamed('osm')).applied === applied + 1);
    expect(await feedNamed('osm')).toMatchObject({ state: 'ok', lastError: null });
  });
});

describe('a GeoRSS feed', () => {
  const entry = (id: string, updated: string, where: string) =>
    `<entry><id>${id}</id><updated>${updated}</updated>${where}</entry>`;
  const atom = (...entries: readonly string[]) =>
    `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss">${entries.join('')}</feed>`;

  it('a GeoRSS feed applies entries once, again when updated, and polls from the newest on', async () => {
    await cached('entries', '6/33/22.png', '6/33/20.png');
    const zurich = '<georss:point>47.35 8.55</georss:point>';
    feedText = atom(entry('a', '2026-01-01T00:00:00Z', zurich));
    await eventually('the entry is applied', async () => (await feedNamed('feed')).applied === 1);
    expect(await cache('entries', '6/33/22.png', '6/33/20.png')).toEqual(['MISS', 'HIT']);
    await cached('entries', '6/33/22.png');
    feedRequests = [];
    await eventually('the feed is read twice', () => feedRequests.length >= 2);
    expect(feedRequests.at(-1)).toBe(`/c?since=${encodeURIComponent('2026-01-01T00:00:00Z')}`);
    expect(await cache('entries', '6/33/22.png')).toEqual(['HIT']);
    const hamburg = '<georss:where><Point><pos>53.55 10</pos></Point></georss:where>';
    const older = entry('b', '2025-12-31T00:00:00Z', hamburg);
    feedText = atom(
      entry('a', '2026-01-02T00:00:00Z', zurich),
      older,
      entry('c', '2026-01-01T12:00:00Z', ''),
    );
    await eventually('both are applied', async () => (await feedNamed('feed')).applied === 3);
    expect(await cache('entries', '6/33/22.png', '6/33/20.png')).toEqual(['MISS', 'MISS']);
    const state = await feedNamed('feed');
    expect(state).toMatchObject({ state: 'ok', received: 4, lastError: 'entry c: has no geometry' });
  });

  it('a GeoRSS feed is failing while its document is invalid, and works again afterwards', async () => {
    feedText = `<!DOCTYPE feed [<!ENTITY a "aaaa">]>${atom()}`;
    const failing = await eventually(
      'the feed fails',
      () => feedNamed('feed'),
      (one) => one.state === 'failing',
    );
    expect(failing.lastError).toContain('DOCTYPE');
    feedText = '<html/>';
    await eventually(
      'another reason',
      () => feedNamed('feed'),
      (one) => /neither/.test(String(one.lastError)),
    );
    feedStatus = 404;
    const refused = await eventually(
      'a third reason',
      () => feedNamed('feed'),
      (one) => /404/.test(String(one.lastError)),
    );
    expect(refused.lastError).toMatch(/^The server of the feed answered with an error. \(.* answered 404/);
    feedStatus = 200;
    feedText = atom();
    await eventually(
      'the feed works',
      () => feedNamed('feed'),
      (one) => one.state === 'ok',
    );
  });
});

describe('a PostgreSQL table', () => {
  const insert = (values: string) =>
    gis.query(`insert into tile_changes (layer, minx, miny, maxx, maxy, srid) values ${values}`);
  const isEmpty = async () => (await gis.query('select from tile_changes')).rowCount === 0;

  it('a table of changes applies rows in any CRS and deletes them', async () => {
    await cached('rows', '6/33/22.png', '6/33/20.png');
    await insert(`(null, ${ZURICH}, null)`);
    await gis.query('notify "public.tile_changes"');
    await eventually('the row is deleted', isEmpty);
    expect(await cache('rows', '6/33/22.png', '6/33/20.png')).toEqual(['MISS', 'HIT']);
    await cached('rows', '6/33/22.png');
    await insert(`('rows', 560000, 5930000, 570000, 5940000, 25832)`);
    await gis.query('notify "public.tile_changes"');
    await eventually('the row is deleted', isEmpty);
    expect(await cache('rows', '6/33/22.png', '6/33/20.png')).toEqual(['HIT', 'MISS']);
  });

  it('a table of changes deletes, counts and reports bad rows', async () => {
    const before = await feedNamed('edits');
    await cached('rows', '6/33/22.png');
    await insert(`('roads', ${ZURICH}, null), (null, 1, 0, 0, 1, null), (null, 1, 0, null, 1, null),
      (null, 0, 0, 'Infinity', 1, null), (null, 0, 0, 1, 1, 999999)`);
    await gis.query('notify "public.tile_changes"');
    await eventually('the rows are deleted', isEmpty);
    const after = await eventually(
      'it is reported',
      () => feedNamed('edits'),
      (one) => one.lastError !== null,
    );
    expect(after).toMatchObject({
      state: 'ok',
      applied: before.applied,
      received: Number(before.received) + 5,
    });
    expect(await cache('rows', '6/33/22.png')).toEqual(['HIT']);
  });

  it('a table of changes merges a burst of 10,000 rows into a few lines of the audit log', async () => {
    const { applied } = await feedNamed('edits');
    await gis.query(`insert into tile_changes (minx, miny, maxx, maxy)
      select 8 + n % 100 * 0.01, 47 + n / 100 * 0.01, 8 + n % 100 * 0.01 + 0.005, 47 + n / 100 * 0.01 + 0.005
      from generate_series(0, 9999) as n`);
    await gis.query('notify "public.tile_changes"');
    await eventually('the rows are deleted', isEmpty);
    const total = Number(applied) + 10_000;
    await eventually('they are counted', async () => (await feedNamed('edits')).applied === total);
    const entries = await auditOf('edits', 100);
    expect(entries.length).toBeLessThan(10);
  });
});
