import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { describe, expect, it, onTestFinished } from 'vitest';
import { getOrCreate } from '../../src/lib/get-or-create.ts';
import { encodeImage } from '../../src/raster/encode-image.ts';
import { type PlacedTile, writeGeoWebCache, writeMapProxy, writeXyz } from '../fixtures/adopted-caches.ts';
import { writeMbtiles, writeMbtilesRows } from '../fixtures/archives.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { paintImage } from '../fixtures/pictures.ts';
import { sharedAzure } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { freshData, startServer } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const DARK = '?STYLES=dark';

const pictures = new Map<string, Promise<PlacedTile>>();

/** A picture of its own for each place. */
function pictureOf(z: number, x: number, y: number): Promise<PlacedTile> {
  return getOrCreate(pictures, `${z}/${x}/${y}`, () => paintPicture(z, x, y));
}

async function paintPicture(z: number, x: number, y: number): Promise<PlacedTile> {
  const image = paintImage(256, 256, (px, py) => [z * 20, x * 20 + (px >> 6), y * 20 + (py >> 6), 255]);
  return { z, x, y, bytes: await encodeImage(image, { mediaType: 'image/png' }) };
}

async function level(z: number): Promise<readonly PlacedTile[]> {
  const side = Array.from({ length: 2 ** z }, (_, i) => i);
  return Promise.all(side.flatMap((x) => side.map((y) => pictureOf(z, x, y))));
}

interface ShownTask {
  readonly state: string;
  readonly counters: Readonly<Record<string, number>>;
}

interface Fixture {
  readonly wms: MockWms;
  readonly old: string;
  server: OpenServer;
  restart(): Promise<void>;
  tile(
    z: number,
    x: number,
    y: number,
    query?: string,
    gridSet?: string,
  ): Promise<{ cache: string | null; bytes: Buffer }>;
  call(method: string, path: string, body?: unknown): Promise<Response>;
  seed(
    request: object,
  ): Promise<{ readonly state: string; readonly counters: Readonly<Record<string, number>> }>;
}

/** A server in this process with the layer `topp:states`, which adopts the cache of the test. */
async function openFixture(adopt: string, more = ''): Promise<Fixture> {
  const wms = await openMockWms();
  onTestFinished(() => wms.close());
  const [folder, data] = [temporaryFolder(), await freshData({})];
  const old = join(folder, 'old');
  mkdirSync(old);
  const config = join(folder, 'tilewarden.yaml');
  writeFileSync(
    config,
    `
upstreams: { '${new URL(wms.url).host}': { allowPrivate: true } }
${more}
layers:
  - name: topp:states
    source: { type: wms, url: '${wms.url}', layers: states }
    formats: [image/png, image/jpeg]
    gridSets: [EPSG:900913, EPSG:4326]
    parameters: [{ name: STYLES, default: light, values: [light, dark] }]
    adopt: ${adopt}
`,
  );
  const start = () => openServer({ data, flags: { config, 'no-auth': 'true' } });
  const fixture: Fixture = {
    wms,
    old,
    server: await start(),
    async restart() {
      await fixture.server.stop();
      fixture.server = await start();
    },
    async tile(z, x, y, query = '', gridSet = '') {
      const answer = await fixture.call('GET', `tiles/topp:states/${gridSet}${z}/${x}/${y}.png${query}`);
      expect(answer.status).toBe(200);
      return { cache: answer.headers.get('x-cache'), bytes: Buffer.from(await answer.arrayBuffer()) };
    },
    call: (method, path, body) =>
      fetch(new URL(path, fixture.server.url), {
        method,
        // A server that stops would wait for the connections that are kept.
        headers: {
          connection: 'close',
          ...(body !== undefined && {
            'content-type': typeof body === 'string' ? 'text/xml' : 'application/json',
          }),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async seed(request) {
      const answer = await fixture.call('POST', 'api/v1/tasks', { layer: 'topp:states', ...request });
      expect(answer.status).toBe(201);
      const { id } = (await answer.json()) as { id: number };
      return await eventually(
        'the task ends',
        async () => (await fixture.call('GET', `api/v1/tasks/${id}`)).json() as Promise<ShownTask>,
        ({ state }) => state === 'done' || state === 'aborted',
      );
    },
  };
  return fixture;
}

const GEOWEBCACHE = '{ layout: geowebcache, folder: old }';
const STATES = { layer: 'topp:states', gridSet: 'EPSG:900913', extension: 'png' };

describe("a folder of GeoWebCache's", () => {
  it('every tile in a GeoWebCache folder is a hit with its own bytes and no upstream request', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    const tiles = [...(await level(0)), ...(await level(1)), ...(await level(2))];
    writeGeoWebCache(fixture.old, STATES, tiles);
    for (const { z, x, y, bytes } of tiles) {
      expect(await fixture.tile(z, x, y)).toEqual({ cache: 'HIT', bytes });
    }
    expect(fixture.wms.requests).toEqual([]);
  });

  it('tiles of other styles in a GeoWebCache folder are found by the id of their parameters', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    const dark = await pictureOf(1, 0, 1);
    const { createHash } = await import('node:crypto');
    const parametersId = createHash('sha1').update(DARK).digest('hex');
    writeGeoWebCache(fixture.old, { ...STATES, parametersId }, [dark]);
    expect(await fixture.tile(1, 0, 1, DARK)).toEqual({ cache: 'HIT', bytes: dark.bytes });
    expect((await fixture.tile(1, 0, 1)).cache).toBe('MISS');
  });

  it('a seed copies a GeoWebCache folder without upstream requests, and copies count as usage', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    const tiles = await level(3);
    writeGeoWebCache(fixture.old, STATES, tiles);
    const usage = async () => {
      const { layers } = (await (await fixture.call('GET', 'api/v1/usage')).json()) as {
        layers: { name: string; bytes: number }[];
      };
      return layers.find(({ name }) => name === 'topp:states')?.bytes ?? 0;
    };
    expect(await usage()).toBe(0);
    const { state, counters } = await fixture.seed({ type: 'seed', zoomStart: 3, zoomStop: 3 });
    expect([state, counters.present, counters.made, counters.upstreamRequests]).toEqual(['done', 64, 0, 0]);
    expect(fixture.wms.requests).toEqual([]);
    await eventually('the copies are counted', usage, (bytes) => bytes > 0);
  });

  it('a GeoWebCache folder is hidden in truncated areas only, also after a restart', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    const tiles = await level(2);
    writeGeoWebCache(fixture.old, STATES, tiles);
    const shown = async (z: number, x: number, y: number) => {
      const { bytes } = await fixture.tile(z, x, y);
      return tiles.some((old) => old.bytes.equals(bytes)) ? 'old' : 'new';
    };
    expect(await shown(2, 0, 0)).toBe('old');
    const west = {
      type: 'truncate',
      zoomStop: 3,
      gridSet: 'EPSG:900913',
      bounds: [-20037508, -20037508, -1, 20037508],
    };
    expect((await fixture.seed(west)).state).toBe('done');
    expect(await shown(2, 3, 3)).toBe('old');
    await fixture.restart();
    expect([await shown(2, 3, 2), await shown(2, 0, 0)]).toEqual(['old', 'new']);
    const all = '<truncateLayer><layerName>topp:states</layerName></truncateLayer>';
    expect((await fixture.call('POST', 'masstruncate', all)).status).toBe(200);
    expect(await shown(2, 3, 3)).toBe('new');
    await fixture.restart();
    expect([await shown(2, 3, 2), await shown(2, 2, 1)]).toEqual(['new', 'new']);
  });

  it('tiles of a GeoWebCache folder do not return where a reseed replaced them', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    writeGeoWebCache(fixture.old, STATES, await level(1));
    await fixture.seed({ type: 'reseed', zoomStart: 1, zoomStop: 1 });
    await fixture.seed({ type: 'truncate', zoomStart: 1, zoomStop: 1 });
    expect((await fixture.tile(1, 0, 0)).cache).toBe('MISS');
  });
});

describe('other caches', () => {
  it.each([
    ['MapProxy', '{ layout: mapproxy, folder: old, origin: nw }', 'nw'],
    ['MapProxy with rows from below', '{ layout: mapproxy, folder: old }', 'sw'],
  ] as const)('an adopted cache of %s serves its tiles', async (_, adopt, origin) => {
    const fixture = await openFixture(adopt);
    const tiles = await level(2);
    writeMapProxy(fixture.old, origin, tiles);
    for (const { z, x, y, bytes } of tiles)
      expect(await fixture.tile(z, x, y)).toEqual({ cache: 'HIT', bytes });
    expect(fixture.wms.requests).toEqual([]);
  });

  it.each([
    ['from the bottom', 'sw', (rows: number, y: number) => rows - 1 - y],
    ['from the top', 'nw', (_: number, y: number) => y],
  ] as const)(
    'an adopted MBTiles file with rows %s serves tiles of a grid that is not square',
    async (_, origin, rowOf) => {
      const fixture = await openFixture(
        `{ layout: mbtiles, file: old/a.mbtiles, gridSet: EPSG:4326, origin: ${origin} }`,
      );
      const tiles = await Promise.all([0, 1, 2, 3].flatMap((x) => [0, 1].map((y) => pictureOf(1, x, y))));
      const placed = tiles.map((tile) => ({ ...tile, row: rowOf(2, tile.y) }));
      writeMbtilesRows(join(fixture.old, 'a.mbtiles'), 'png', placed);
      for (const { z, x, y, bytes } of tiles)
        expect(await fixture.tile(z, x, y, '', 'EPSG:4326/')).toEqual({ cache: 'HIT', bytes });
      expect(fixture.wms.requests).toEqual([]);
    },
  );

  it('an adopted TMS folder serves tiles behind an XYZ folder and an MBTiles file', async () => {
    const fixture = await openFixture(
      '[{ layout: mbtiles, file: old/a.mbtiles }, { layout: xyz, folder: old/xyz }, { layout: tms, folder: old/tms }]',
    );
    const [archived, plain, fromBelow] = await Promise.all([
      pictureOf(2, 0, 3),
      pictureOf(2, 1, 3),
      pictureOf(2, 2, 3),
    ]);
    writeMbtiles(join(fixture.old, 'a.mbtiles'), 'png', [archived]);
    writeXyz(join(fixture.old, 'xyz'), 'from-top', [plain]);
    writeXyz(join(fixture.old, 'tms'), 'from-bottom', [fromBelow]);
    for (const { z, x, y, bytes } of [archived, plain, fromBelow]) {
      expect(await fixture.tile(z, x, y)).toEqual({ cache: 'HIT', bytes });
    }
  });
});

describe('a layer declared over HTTP', () => {
  const document = {
    name: 'adopter',
    source: { type: 'layer', layer: 'topp:states' },
    gridSets: ['EPSG:900913'],
  };

  it('a layer declared over HTTP adopts only folders that the configuration file allows', async () => {
    const fixture = await openFixture(GEOWEBCACHE, 'adoptFolders: [old]');
    const post = (folder: string) =>
      fixture.call('POST', 'api/v1/layers', { ...document, adopt: { layout: 'geowebcache', folder } });
    for (const folder of ['old', '/etc', `${fixture.old}/..`, `${fixture.old}-2`, join(fixture.old, '..')]) {
      const answer = await post(folder);
      expect([answer.status, (await answer.text()).trim()]).toEqual([
        400,
        `adopt.folder must be an absolute path below one of adoptFolders: ${fixture.old}.`,
      ]);
    }
    expect((await post(fixture.old)).status).toBe(201);
    const tile = await pictureOf(1, 0, 0);
    writeGeoWebCache(fixture.old, { ...STATES, layer: 'adopter' }, [tile]);
    const served = await fetch(new URL('tiles/adopter/1/0/0.png', fixture.server.url));
    expect(Buffer.from(await served.arrayBuffer())).toEqual(tile.bytes);
  });

  it('a layer declared over HTTP adopts nothing if the configuration file allows no folder', async () => {
    const fixture = await openFixture(GEOWEBCACHE);
    const adopt = { layout: 'mbtiles', file: join(fixture.old, 'a.mbtiles') };
    const answer = await fixture.call('POST', 'api/v1/layers', { ...document, adopt });
    expect([answer.status, (await answer.text()).trim()]).toEqual([
      400,
      'adopt.file may name a folder only in the configuration file, or below its adoptFolders.',
    ]);
  });
});

describe('the start of a server', () => {
  it('a server start does not read an adopted folder, and a tile is opened without a listing', async () => {
    const folder = temporaryFolder();
    const old = join(folder, 'old');
    writeGeoWebCache(old, { ...STATES, layer: 'old' }, await level(2));
    const opens = join(folder, 'opens.txt');
    writeFileSync(opens, '');
    const watcher = pathToFileURL(join(import.meta.dirname, '../security/watched-opens.mjs')).href;
    const server = await startServer({
      config: `
layers:
  - name: old
    source: { type: world }
    gridSets: [EPSG:900913]
    adopt: { layout: geowebcache, folder: '${old}' }
`,
      env: { NODE_OPTIONS: `--import ${watcher}`, WATCHED_OPENS: opens },
    });
    const seen = () =>
      readFileSync(opens, 'utf8')
        .split('\n')
        .filter((line) => line.includes(old));
    expect(seen()).toEqual([]);
    const answer = await fetch(`${server.url}/tiles/old/2/1/1.png`);
    expect([answer.status, answer.headers.get('x-cache')]).toEqual([200, 'HIT']);
    expect(seen()).toEqual([`open ${old}/old/EPSG_900913_02/0_0/01_02.png`]);
    await server.stop();
  });
});

describe('a cache in a bucket', () => {
  it('its tiles are hits, and are copied; the source makes what it does not have', async () => {
    const { endpoint, container, account, key } = await sharedAzure();
    const service = new BlobServiceClient(endpoint, new StorageSharedKeyCredential(account, key));
    const { bytes } = await pictureOf(2, 1, 1);
    const blob = 'gwc-of-a-server/topp:states/EPSG:900913/png/default/2/1/2.png';
    await service.getContainerClient(container).uploadBlockBlob(blob, bytes, bytes.length);
    const { tile, wms } = await openFixture(
      '{ layout: geowebcache, bucket: old, folder: gwc-of-a-server }',
      `adoptBuckets: { old: { type: azure, container: ${container}, account: ${account}, key: ${key}, endpoint: '${endpoint}' } }`,
    );
    expect(await tile(2, 1, 1)).toEqual({ cache: 'HIT', bytes });
    expect(wms.requests).toHaveLength(0);
    expect((await tile(2, 1, 0)).cache).toBe('MISS');
  });
});
