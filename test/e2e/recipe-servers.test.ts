/**
 * Recipes whose map servers are not in Debian run before stand-ins that answer as those servers do, as far as their sources and
 * documentation show.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { mergedConfiguration, snippetOf } from '../fixtures/configurations.ts';
import { openMockTiles } from '../fixtures/mock-sources.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { whenFileOver } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** A tile with one layer and no feature: version 2, name `roads`, extent 4096. */
const VECTOR_TILE = Buffer.from('1a0c78020a05726f616473288020', 'hex');
const VECTOR_TYPE = 'application/vnd.mapbox-vector-tile';

/** As martin and tileserver-gl answer: compressed, as protobuf; 204 where there is nothing. */
async function openVectorTiles(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    if (!/^\/(parcels\/2\/1\/1|data\/v3\/2\/1\/1\.pbf)$/.test(url)) return void response.writeHead(204).end();
    const headers = { 'Content-Type': 'application/x-protobuf', 'Content-Encoding': 'gzip' };
    response.writeHead(200, headers).end(gzipSync(VECTOR_TILE));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenFileOver(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function tile({ url }: OpenServer, path: string) {
  const response = await fetch(`${url}/tiles/${path}`);
  const [type, cache] = ['content-type', 'x-cache'].map((name) => response.headers.get(name));
  return { status: response.status, type, cache, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe('recipes for map servers, before stand-ins', () => {
  let server: OpenServer;
  let geoserver: MockWms;

  beforeAll(async () => {
    geoserver = await openMockWms();
    const [styles, vectors] = [await openMockTiles(), await openVectorTiles()];
    whenFileOver(() => Promise.all([geoserver.close(), styles.close()]));
    const config = mergedConfiguration([
      snippetOf('geoserver', 'yaml').replaceAll('geoserver.internal:8080', new URL(geoserver.url).host),
      snippetOf('tileserver-gl', 'yaml')
        .replaceAll('tiles.internal:8080/data', `${vectors}/data`)
        .replaceAll('tiles.internal:8080', new URL(styles.url).host),
      // The feed has tests of its own, with PostGIS.
      snippetOf('martin', 'yaml')
        .replaceAll('martin.internal:3000', vectors)
        .replace(/^changes:.*/ms, ''),
    ]);
    server = await openServer({ config, env: { GEOSERVER_PASSWORD: 'of geoserver' }, outlivesTest: true });
  });

  it('GeoServer is asked with its password, style and filter, and answers of each filter are kept apart', async () => {
    const query = "?CQL_FILTER=STATE_NAME%3D'Ohio'";
    expect(await tile(server, 'topp:states/2/1/1.png')).toMatchObject({ status: 200, cache: 'MISS' });
    expect(await tile(server, `topp:states/2/1/1.png${query}`)).toMatchObject({ status: 200, cache: 'MISS' });
    expect(await tile(server, `topp:states/2/1/1.jpeg${query}`)).toMatchObject({ status: 200 });
    expect((await tile(server, 'topp:states/2/1/1.png?CQL_FILTER=1%3D1')).status).toBe(400);
    const [first, second] = geoserver.requests;
    const login = `Basic ${Buffer.from('tilewarden:of geoserver').toString('base64')}`;
    expect([first?.headers.authorization, second?.headers.authorization]).toEqual([login, login]);
    const asked = ({ parameters }: MockWms['requests'][number]) =>
      ['STYLES', 'CQL_FILTER'].map((name) => parameters.get(name));
    expect(geoserver.requests.slice(0, 2).map(asked)).toEqual([
      ['population', 'INCLUDE'],
      ['population', "STATE_NAME='Ohio'"],
    ]);
  });

  it('images of tileserver-gl are kept, also as WebP, and its compressed vector tiles passed on', async () => {
    for (const cache of ['MISS', 'HIT']) {
      expect(await tile(server, 'streets/2/1/1.png')).toMatchObject({
        status: 200,
        type: 'image/png',
        cache,
      });
    }
    expect(await tile(server, 'streets/2/1/1.webp')).toMatchObject({ status: 200, type: 'image/webp' });
    expect(await tile(server, 'streets-vector/2/1/1.pbf')).toMatchObject({
      type: VECTOR_TYPE,
      bytes: VECTOR_TILE,
    });
    const document = (await (await fetch(`${server.url}/tiles/streets-vector.json`)).json()) as {
      tiles: string[];
    };
    expect(document.tiles[0]).toContain('/tiles/streets-vector/{z}/{x}/{y}.pbf');
  });

  it('vector tiles of martin are kept, and a 204 of martin is an empty tile that is kept too', async () => {
    for (const cache of ['MISS', 'HIT']) {
      expect(await tile(server, 'parcels/2/1/1.pbf')).toMatchObject({
        type: VECTOR_TYPE,
        cache,
        bytes: VECTOR_TILE,
      });
      expect(await tile(server, 'parcels/2/0/0.pbf')).toMatchObject({ cache });
    }
  });
});
