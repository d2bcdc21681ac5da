/** A move from MapProxy, proved by the access logs of MapProxy itself and of an nginx before it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDrawingServer } from '../fixtures/drawing-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { freePort } from '../fixtures/network.ts';
import { openNginx } from '../fixtures/nginx.ts';
import { isAnswering, openDaemon } from '../fixtures/processes.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { runTilewarden, startServer } from './server.ts';

/** As its template writes it, with a layer of two grids. */
const mapProxyYaml = (wms: string) => `
services:
  demo:
  tms: { use_grid_names: true, origin: nw }
  kml: { use_grid_names: true }
  wmts: { restful: true, kvp: true }
  wms: { md: { title: Old maps }, srs: ['EPSG:3857', 'EPSG:4326', 'EPSG:25832'] }
layers:
  - { name: osm, title: OSM, sources: [osm_cache] }
  - { name: photo, title: Photo, sources: [photo_cache] }
caches:
  osm_cache: { grids: [webmercator, utm], sources: [osm_wms], format: image/png, meta_size: [1, 1], meta_buffer: 0 }
  photo_cache: { grids: [webmercator], sources: [photo_wms], format: image/jpeg, meta_size: [1, 1], meta_buffer: 0 }
sources:
  osm_wms: { type: wms, req: { url: '${wms}/wms', layers: osm } }
  photo_wms: { type: wms, req: { url: '${wms}/wms', layers: photo } }
grids:
  webmercator: { base: GLOBAL_WEBMERCATOR }
  utm: { srs: 'EPSG:25832', bbox: [280000, 5235000, 1304000, 6259000], res: [4000, 2000, 1000], origin: sw }
globals: { image: { paletted: false } }
`;

const MAP = 'SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&STYLES=&WIDTH=256&HEIGHT=256';
const TILE = 'SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&STYLE=';
const TILES_AND_MAPS = [
  `/service?${MAP}&LAYERS=osm&SRS=EPSG:3857&FORMAT=image/png&BBOX=0,6261721.357121639,1252344.2714243277,7514065.628545966`,
  `/service?${MAP}&LAYERS=osm&SRS=EPSG:25832&FORMAT=image/png&BBOX=280000,5235000,1304000,6259000`,
  `/service?${TILE}&LAYER=photo&FORMAT=image/jpeg&TILEMATRIXSET=webmercator&TILEMATRIX=5&TILEROW=10&TILECOL=16`,
  `/service?${TILE}&LAYER=osm&FORMAT=image/png&TILEMATRIXSET=utm&TILEMATRIX=1&TILEROW=1&TILECOL=0`,
  '/wmts/osm/webmercator/5/16/10.png',
  '/wmts/photo/webmercator/05/16/10.jpeg',
  '/wmts/osm/utm/1/1/0.png',
  '/tms/1.0.0/osm/webmercator/4/16/21.png',
  '/tms/1.0.0/osm/utm/2/2/1.png',
  '/tiles/osm/webmercator/5/16/10.png',
  '/tiles/osm/webmercator/5/16/10.png?origin=nw',
  '/tiles/osm/webmercator/5/16/21.png?origin=sw',
  '/tiles/1.0.0/osm/utm/2/2/1.png?origin=sw',
];
const DOCUMENTS = [
  '/service?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetCapabilities',
  '/service?SERVICE=WMS&VERSION=1.3.0&REQUEST=GetCapabilities',
  '/service?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetCapabilities',
  '/wmts/1.0.0/WMTSCapabilities.xml',
  '/tms/1.0.0/',
  '/tms/1.0.0/osm/webmercator',
];
const PAGES = ['/', '/demo/', '/demo/static/site.css'];
const COMPARED = TILES_AND_MAPS.length + DOCUMENTS.length;

/** With its own access log. */
async function openMapProxy(file: string, log: string): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  const script = 'exec mapproxy-util serve-develop -b "$0" "$1" > "$2" 2>&1';
  const args = ['-c', script, address, file, log];
  const daemon = await openDaemon('sh', args, { isReady: () => isAnswering(`http://${address}`) });
  whenOver(() => daemon.end('SIGKILL'));
  return `http://${address}`;
}

describe('a move from MapProxy', needs('mapproxy', 'nginx'), () => {
  it('every address in its access logs is answered as before', async () => {
    const drawing = await openDrawingServer();
    whenOver(() => drawing.close());
    drawing.wave = 8;
    const folder = temporaryFolder();
    const file = join(folder, 'mapproxy.yaml');
    writeFileSync(file, mapProxyYaml(drawing.origin));
    const [log, ownLog] = [join(folder, 'nginx.log'), join(folder, 'mapproxy.log')];
    const mapProxy = await openMapProxy(file, ownLog);
    const nginx = await openNginx(
      `server { listen 80; access_log "${log}" combined; location /mapproxy/ { proxy_pass ${mapProxy}/; } }`,
      '',
    );
    for (const path of [...TILES_AND_MAPS, ...DOCUMENTS, ...PAGES]) {
      const response = await fetch(`${nginx}/mapproxy${path}`);
      expect([response.status, (await response.arrayBuffer()).byteLength > 0], path).toEqual([200, true]);
    }

    const { stdout } = await runTilewarden(['import', file]);
    const config = `server: { compatibility: [mapproxy] }\n${stdout}`;
    const { url } = await startServer({ config, args: ['--no-auth'] });
    const compare = (old: string, requests: string, ...more: readonly string[]) =>
      runTilewarden(['import', '--compare', old, '--requests', requests, '--server', url, ...more]);
    const page = join(folder, 'page.html');
    const all = new RegExp(`same +${COMPARED}\ndiffers +0\nonly-old +0\nonly-new +0\nneither +0\n`);
    const linesOf = () => readFileSync(log, 'utf8').trim().split('\n').length;
    await eventually('the log of nginx', linesOf, (lines) => lines > COMPARED + PAGES.length);
    const behind = await compare(`${nginx}/mapproxy`, log, '--page', page);
    expect(behind.stdout).toMatch(all);
    expect(behind.code).toBe(0);
    expect(readFileSync(page, 'utf8')).toContain('Comparison of two servers');

    const direct = await compare(mapProxy, ownLog);
    expect(direct.stdout).toMatch(all);
    expect(direct.code).toBe(0);
  });
});
