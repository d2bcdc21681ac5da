import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { mergedConfiguration, snippetOf } from '../fixtures/configurations.ts';
import { untilStored } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openNginx } from '../fixtures/nginx.ts';
import { sharedMapServer } from '../fixtures/shared-services.ts';
import { whenFileOver } from '../fixtures/when-over.ts';
import { runTilewarden } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

interface Document {
  readonly layers?: readonly object[];
}

/** A tile with one layer and no feature: version 2, name `roads`, extent 4096. */
const VECTOR_TILE = Buffer.from('1a0c78020a05726f616473288020', 'hex');

/** As written, except for addresses of map servers. */
function configurationOf(mapServer: string, vectorWms: string): string {
  return mergedConfiguration([
    snippetOf('mapserver', 'yaml').replace(/'http:.*map'/, `'${mapServer}'`),
    snippetOf('vector-tiles-over-wms', 'yaml').replace(/'http:.*wms'/, `'${vectorWms}'`),
    snippetOf('nginx', 'yaml'),
    `layers: [{ name: closed, source: { type: world }, access: authenticated, expireClients: 3600 }]`,
  ]);
}

async function openVectorWms(asked: URLSearchParams[]): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    asked.push(new URL(url, 'http://wms').searchParams);
    response.setHeader('Content-Type', 'application/vnd.mapbox-vector-tile').end(VECTOR_TILE);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenFileOver(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/wms`;
}

describe('recipes', needs('mapserver', 'nginx'), () => {
  const asked: URLSearchParams[] = [];
  let server: OpenServer;
  let mapServer: string;
  let front: string;

  beforeAll(async () => {
    mapServer = (await sharedMapServer()).url;
    const config = configurationOf(mapServer, await openVectorWms(asked));
    server = await openServer({ config, outlivesTest: true });
    front = await openNginx(snippetOf('nginx', 'nginx'), server.url);
  });

  async function tile(path: string, headers: Record<string, string> = {}) {
    const response = await fetch(`${front}/tiles/${path}`, { headers });
    const of = (name: string) => response.headers.get(name);
    const bytes = Buffer.from(await response.arrayBuffer());
    return {
      status: response.status,
      type: of('content-type'),
      cache: of('x-cache'),
      nginx: of('x-nginx-cache'),
      bytes,
    };
  }

  it('tiles of MapServer are cached by the server and by nginx', async () => {
    const miss = { status: 200, type: 'image/png', cache: 'MISS', nginx: 'MISS' };
    expect(await tile('land/1/0/0.png')).toMatchObject(miss);
    await untilStored(server);
    expect(await tile('land/1/1/0.png')).toMatchObject({ ...miss, cache: 'HIT' });
    expect(await tile('land/1/0/0.png')).toMatchObject({ ...miss, nginx: 'HIT' });
  });

  it('layers of MapServer are imported from its capabilities', async () => {
    const { code, stdout } = await runTilewarden(['import', mapServer, '--layer', 'land']);
    expect([code, (load(stdout) as Document).layers]).toMatchObject([
      0,
      [{ name: 'land', source: { type: 'wms' } }],
    ]);
  });

  it('vector tiles of a WMS are requested one by one and passed on unchanged', async () => {
    const { bytes, ...answer } = await tile('roads-vector/2/1/1.pbf');
    expect(answer).toMatchObject({ status: 200, type: 'application/vnd.mapbox-vector-tile', cache: 'MISS' });
    expect(bytes).toEqual(VECTOR_TILE);
    expect(asked.map((query) => query.get('WIDTH') ?? query.get('width'))).toEqual(['256']);
  });

  it('nginx does not cache tiles of closed layers', async () => {
    const { authorization } = server;
    for (const cache of ['MISS', 'HIT']) {
      expect(await tile('closed/0/0/0.png', { authorization })).toMatchObject({
        status: 200,
        cache,
        nginx: 'MISS',
      });
    }
    expect((await tile('closed/0/0/0.png')).status).toBe(401);
  });

  it("GeoNode's request for a changed layer truncates its tiles", async () => {
    expect((await tile('land/3/4/4.png')).status).toBe(200);
    const response = await fetch(`${front}/geoserver/gwc/rest/masstruncate`, {
      method: 'POST',
      headers: { authorization: server.authorization, 'content-type': 'text/xml' },
      body: '<truncateLayer><layerName>land</layerName></truncateLayer>',
    });
    expect(response.status).toBe(200);
    const behind = await fetch(`${server.url}/tiles/land/3/4/4.png`);
    expect(behind.headers.get('x-cache')).toBe('MISS');
  });

  it('capabilities behind nginx have the address of nginx', async () => {
    const text = await (await fetch(`${front}/service/wmts?REQUEST=GetCapabilities`)).text();
    expect(text).toContain(`${front}/service/wmts`);
    expect(text).not.toContain(server.url);
  });
});
