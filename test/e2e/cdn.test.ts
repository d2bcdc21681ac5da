import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { freePort } from '../fixtures/network.ts';
import { isAnswering, openDaemon } from '../fixtures/processes.ts';
import { startServer } from './server.ts';
import { LAYER, pictureOf, roadsConfig, speakTo, type TaskServer, type TileAt } from './task-server.ts';

const INSIDE: TileAt = { z: 10, x: 540, y: 340 };
const OUTSIDE: TileAt = { z: 10, x: 100, y: 700 };

/** A real Varnish with its xkey module, in front of a server. */
async function openVarnish(port: number, backend: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-varnish-'));
  const file = join(folder, 'tiles.vcl');
  writeFileSync(file, vclFor(new URL(backend)));
  const args = ['-F', '-j', 'none', '-n', join(folder, 'work'), '-a', `127.0.0.1:${port}`, '-f', file];
  const url = `http://127.0.0.1:${port}`;
  const daemon = await openDaemon(programPath('varnish'), [...args, '-s', 'malloc,64m'], {
    isReady: () => isAnswering(url),
  });
  return {
    url,
    async close(): Promise<void> {
      await daemon.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** As docs/cdn.md has it. */
function vclFor({ hostname, port }: URL): string {
  return `vcl 4.1;
import xkey;
backend tilewarden { .host = "${hostname}"; .port = "${port}"; }
acl purgers { "127.0.0.1"; }
sub vcl_recv {
  if (req.method == "PURGE") {
    if (client.ip !~ purgers) { return (synth(403)); }
    if (!req.http.xkey-purge) { return (synth(400)); }
    set req.http.purged = xkey.purge(req.http.xkey-purge);
    return (synth(200, "Purged " + req.http.purged));
  }
}
sub vcl_deliver {
  if (obj.hits > 0) { set resp.http.X-CDN = "HIT"; } else { set resp.http.X-CDN = "MISS"; }
  unset resp.http.xkey;
}
`;
}

describe('a server behind Varnish', needs('varnish'), () => {
  let wms: MockWms;
  let server: TaskServer;
  let cdn: Awaited<ReturnType<typeof openVarnish>>;
  let cdnPort = 0;

  beforeAll(async () => {
    wms = await openMockWms();
    cdnPort = await freePort();
    const config = `
tasks: { workers: 1 }
server: { surrogateKeys: xkey }
purge: [{ name: cdn, url: 'http://127.0.0.1:${cdnPort}/' }]
${roadsConfig(wms, { layers: '    expireClients: 86400' })}`;
    server = speakTo(await startServer({ config, expectedLog: /a delivery failed/, outlivesTest: true }));
    cdn = await openVarnish(cdnPort, server.url);
  });
  afterAll(async () => {
    await cdn?.close();
    await server?.stop();
    await wms?.close();
  });

  async function seen({ z, x, y }: TileAt) {
    const response = await fetch(`${cdn.url}/tiles/${LAYER}/EPSG:900913/${z}/${x}/${y}.png`);
    const { pixels } = await decodeImage(Buffer.from(await response.arrayBuffer()), { maxPixels: 65_536 });
    const version = [1, 2, 3, 4, 5].find((one) => pixels.equals(pictureOf({ z, x, y }, 'EPSG:900913', one)));
    return { cdn: response.headers.get('x-cdn'), version };
  }

  async function deliveries() {
    const response = await server.request('GET', '/api/v1/deliveries');
    return (
      (await response.json()) as { deliveries: { state: string; attempts: number; lastError: string }[] }
    ).deliveries;
  }

  async function fill(version: number): Promise<void> {
    wms.version = version;
    const all = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
    await server.request('POST', '/masstruncate', all, 'text/xml');
    await eventually('the purge is over', deliveries, (all) =>
      all.every(({ state }) => state === 'delivered'),
    );
    for (const at of [INSIDE, OUTSIDE]) {
      await seen(at);
      expect(await seen(at)).toEqual({ cdn: 'HIT', version });
    }
  }

  const area = { gridSets: ['EPSG:900913'], bounds: boundsAround(INSIDE), zoomStop: 12 };
  const post = (path: string, body: object) =>
    server.request('POST', path, JSON.stringify(body), 'application/json');

  it.each([
    ['invalidate', () => post(`/api/v1/layers/${LAYER}/invalidate`, area)],
    ['truncate', () => post(`/api/v1/layers/${LAYER}/truncate`, area)],
  ])(
    'a client of Varnish gets a new tile after %s of an area, and tiles outside stay hits',
    async (_, change) => {
      await fill(1);
      wms.version = 2;
      expect((await change()).status).toBe(200);
      await eventually(
        'the new picture',
        () => seen(INSIDE),
        ({ version }) => version === 2,
      );
      expect(await seen(OUTSIDE)).toEqual({ cdn: 'HIT', version: 1 });
    },
  );

  it('a tile that is fetched during a change is not cached by Varnish', async () => {
    await fill(1);
    const at = { ...INSIDE, x: INSIDE.x + 32 };
    wms.answer = 'hang';
    const slow = seen(at);
    await eventually(
      'the source is asked',
      () => wms.active,
      (active) => active === 1,
    );
    const changed = { ...area, bounds: boundsAround(at) };
    expect((await post(`/api/v1/layers/${LAYER}/invalidate`, changed)).status).toBe(200);
    await eventually('the purge is over', deliveries, ([last]) => last?.state === 'delivered');
    wms.version = 2;
    wms.answer = 'good';
    wms.release();
    expect((await slow).version).toBe(1);
    expect(await seen(at)).toEqual({ cdn: 'MISS', version: 2 });
  });

  it('a client of Varnish gets a new tile after a task has truncated an area', async () => {
    await fill(1);
    wms.version = 2;
    const { minX, minY, maxX, maxY } = boundsObject(INSIDE);
    const bounds = { coords: { double: [minX, minY, maxX, maxY] } };
    const draft = { gridSetId: 'EPSG:900913', format: 'image/png', type: 'truncate', bounds };
    await server.over(await server.start({ ...draft, zoomStart: 10, zoomStop: 10 }));
    await eventually(
      'the new picture',
      () => seen(INSIDE),
      ({ version }) => version === 2,
    );
    expect(await seen(OUTSIDE)).toEqual({ cdn: 'HIT', version: 1 });
  });

  it('a failed purge is listed with its error, retried, and done when Varnish is back', async () => {
    await fill(1);
    await cdn.close();
    wms.version = 2;
    expect((await post(`/api/v1/layers/${LAYER}/invalidate`, area)).status).toBe(200);
    const [failing] = await eventually('an attempt', deliveries, ([last]) => (last?.attempts ?? 0) > 0);
    expect(failing).toMatchObject({ name: 'cdn', kind: 'purge', state: 'pending' });
    expect(failing?.lastError).toBe('The target cannot be reached: nothing listens there.');
    cdn = await openVarnish(cdnPort, server.url);
    await eventually('the purge is over', deliveries, ([last]) => last?.state === 'delivered');
    expect((await seen(INSIDE)).version).toBe(2);
  });
});

const HALF = 20037508.342789244;

function boundsObject({ z, x, y }: TileAt) {
  const size = (2 * HALF) / 2 ** z;
  const [minX, maxY] = [-HALF + x * size, HALF - y * size];
  const inset = size / 4;
  return { minX: minX + inset, minY: maxY - size + inset, maxX: minX + size - inset, maxY: maxY - inset };
}

function boundsAround(at: TileAt): readonly number[] {
  const { minX, minY, maxX, maxY } = boundsObject(at);
  return [minX, minY, maxX, maxY];
}
