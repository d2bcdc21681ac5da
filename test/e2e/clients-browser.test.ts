import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join, normalize } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { decodeImage, type RasterImage } from '../../src/raster/decode-image.ts';
import { createReaderKey } from '../fixtures/accounts.ts';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openHttpServer } from '../fixtures/network.ts';
import { sharedBrowser, sharedMapServer } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const SIDE = 512;
const HALF = 20037508.34;
const LAYER = "the 'land' & sea";
/** The share of pixels that may differ by more than a shade: browsers smooth edges. */
const RESAMPLED = 0.01;
const SHADE = 24;

interface Place {
  readonly gridSet: string;
  readonly srs: string;
  readonly bounds: readonly [number, number, number, number];
}

/** All of them fill 512 pixels at a level of their grid. */
const MERCATOR: Place = {
  gridSet: 'EPSG:900913',
  srs: 'EPSG:3857',
  bounds: [-HALF / 2, -HALF / 2, HALF / 2, HALF / 2],
};
const DEGREES: Place = { gridSet: 'EPSG:4326', srs: 'EPSG:4326', bounds: [-45, 0, 45, 90] };
const FRANCE: Place = { gridSet: 'LAMB93', srs: 'EPSG:2154', bounds: [0, 6000000, 1024000, 7024000] };

const CONFIG = (url: string) => `
stores:
  default: { type: memory }
upstreams:
  '127.0.0.1': { concurrency: 2, allowPrivate: true }
gridSets:
  - { name: LAMB93, srs: 2154, extent: [0, 6000000, 1300000, 7200000], resolutions: [4000, 2000, 1000] }
layers:
  - name: ${JSON.stringify(LAYER)}
    source: { type: wms, url: '${url}', layers: land }
    formats: [image/png]
    gridSets: [{ name: EPSG:900913, zoomStop: 5 }, EPSG:4326, LAMB93, { name: WorldCRS84Quad, zoomStop: 5 }]
    metatile: [4, 4]
    retina: true
  - name: closed
    access: authenticated
    source: { type: wms, url: '${url}', layers: land }
    gridSets: [{ name: EPSG:900913, zoomStop: 5 }]
`;

const PAGE = (
  head: string,
) => `<!doctype html><html><head><meta charset="utf-8"><link rel="icon" href="data:,">${head}
<style>body { margin: 0 } #map { width: ${SIDE}px; height: ${SIDE}px; background: #f0f }
.leaflet-control-container, .maplibregl-control-container, .ol-control { display: none }</style>
</head><body><div id="map"></div></body></html>`;
const LEAFLET = PAGE(
  '<link rel="stylesheet" href="/leaflet/dist/leaflet.css"><script src="/leaflet/dist/leaflet.js"></script>',
);
const MAPLIBRE = PAGE(
  '<link rel="stylesheet" href="/maplibre-gl/dist/maplibre-gl.css"><script type="importmap">{ "imports": { "maplibre-gl": "/maplibre-gl/dist/maplibre-gl.mjs" } }</script>',
);
const HTML = 'text/html';
const TYPES: Readonly<Record<string, string>> = {
  '.mjs': 'text/javascript',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
};

/** Serves the pages, and below `/{package}/` the files of these packages. */
function openModuleServer(
  packages: readonly string[],
  pages: ReadonlyMap<string, { readonly type: string; readonly body: string }>,
) {
  const require = createRequire(import.meta.url);
  const folders = new Map(packages.map((name) => [name, dirname(require.resolve(`${name}/package.json`))]));
  return openHttpServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://here');
    const page = pages.get(pathname);
    if (page) return void response.setHeader('Content-Type', page.type).end(page.body);
    const [, name = '', ...rest] = normalize(pathname).split('/');
    const folder = folders.get(name);
    const file = folder && (await readFile(join(folder, ...rest)).catch(() => null));
    if (!file) return void response.writeHead(404).end();
    response.setHeader('Content-Type', TYPES[extname(pathname)] ?? 'application/octet-stream').end(file);
  });
}

describe('the page of a layer', needs('chromium', 'mapserver'), () => {
  let folder: string;
  const snippets = new Map<string, string>();
  const pages = new Map<string, { type: string; body: string }>([
    ['/openlayers', { type: HTML, body: PAGE('') }],
    ['/leaflet', { type: HTML, body: LEAFLET }],
    ['/maplibre', { type: HTML, body: MAPLIBRE }],
  ]);
  let mapServer: { readonly url: string };
  let server: OpenServer;
  let modules: Awaited<ReturnType<typeof openModuleServer>>;
  let browser: Browser;
  /** Shows the page of the layer. */
  let page: Page;

  beforeAll(async () => {
    browser = await sharedBrowser();
    mapServer = await sharedMapServer();
    folder = temporaryFolder();
    server = await openServer({ config: CONFIG(mapServer.url) });
    modules = await openModuleServer(['leaflet', 'maplibre-gl'], pages);
    page = await browser.newPage();
    page.setDefaultTimeout(WAIT_TIMEOUT_MS);
    const complaints = complaintsOf(page);
    await page.goto(`${server.url}/layers/${encodeURIComponent(LAYER)}`);
    for (const block of await page.locator('pre').all()) {
      snippets.set((await block.getAttribute('id')) ?? '', (await block.textContent()) ?? '');
    }
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(snippets.size);
    expect(
      await page.locator('img.preview').evaluate((image) => 'naturalWidth' in image && image.naturalWidth),
    ).toBe(256);
    expect(complaints).toEqual([]);
  });
  afterAll(async () => {
    await page?.close();
    await modules?.close();
  });

  function snippet(id: string): string {
    return snippets.get(id) ?? expect.fail(`no snippet ${id}`);
  }

  /** Runs what a user would paste into a page, and what shows the place afterwards. */
  async function show(client: string, code: string, density = 1): Promise<RasterImage> {
    const path = `/${client}-${pages.size}.js`;
    pages.set(path, { type: 'text/javascript', body: code });
    const page = await browser.newPage({
      deviceScaleFactor: density,
      viewport: { width: SIDE, height: SIDE },
    });
    page.setDefaultTimeout(WAIT_TIMEOUT_MS);
    try {
      const complaints = complaintsOf(page);
      await page.goto(`${modules.url}/${client}`);
      await page.addScriptTag({ url: path, type: 'module' });
      await page.waitForFunction('globalThis.shown === true');
      const picture = await page.screenshot({ clip: { x: 0, y: 0, width: SIDE, height: SIDE } });
      expect(complaints).toEqual([]);
      return await decodeImage(picture, { maxPixels: (SIDE * density) ** 2 });
    } finally {
      await page.close();
    }
  }

  async function drawnUpstream({ srs, bounds }: Place, density = 1): Promise<RasterImage> {
    const size = SIDE * density;
    const query = `SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=land&STYLES=&FORMAT=image/png&SRS=${srs}&BBOX=${bounds}&WIDTH=${size}&HEIGHT=${size}&MAP_RESOLUTION=${72 * density}`;
    const answer = await fetch(`${mapServer.url}?${query}`);
    expect(answer.headers.get('content-type')).toBe('image/png');
    return decodeImage(Buffer.from(await answer.arrayBuffer()), { maxPixels: size * size });
  }

  it.each([MERCATOR, DEGREES, FRANCE])(
    'the OpenLayers snippet on the page of a layer shows $gridSet as MapServer draws it',
    async (place) => {
      const [minX, minY, maxX, maxY] = place.bounds;
      await page.goto(`${server.url}/layers/${encodeURIComponent(LAYER)}?gridSet=${place.gridSet}`);
      const pasted = await page.locator('#openlayers').textContent();
      const code = `${pasted}
view.setCenter([${(minX + maxX) / 2}, ${(minY + maxY) / 2}]);
view.setResolution(${(maxX - minX) / SIDE});
map.once('rendercomplete', () => { globalThis.shown = true; });`;
      expectSame(await show('openlayers', await bundled(code)), await drawnUpstream(place));
    },
  );

  const atHome = `map.setView([0, 0], 2, { animate: false });`;
  const whenLoaded = `map.eachLayer((layer) => layer.on('load', () => { globalThis.shown = true; }));`;

  it.each([1, 2])('the Leaflet snippet on the page of a layer works at density %i', async (density) => {
    const code = `${snippet('leaflet')}\n${whenLoaded}\n${atHome}\n`;
    const still = code.replace(
      `L.map('map')`,
      `L.map('map', { fadeAnimation: false, zoomAnimation: false })`,
    );
    expectSame(await show('leaflet', still, density), await drawnUpstream(MERCATOR, density));
  });

  it('the MapLibre snippet on the page of a layer works', async () => {
    const code = `${snippet('maplibre')}
map.jumpTo({ center: [0, 0], zoom: 1 });
map.once('idle', () => { globalThis.shown = true; });`;
    expectSame(await show('maplibre', code), await drawnUpstream(MERCATOR));
  });

  it('OpenLayers and MapLibre show a closed layer on another site with a key in the address', async () => {
    const origins = [new URL(modules.url).origin];
    const key = await createReaderKey(server.url, server.authorization, ['closed'], { origins });
    const openLayers = `import Map from 'ol/Map.js';
import View from 'ol/View.js';
import WMTSCapabilities from 'ol/format/WMTSCapabilities.js';
import TileLayer from 'ol/layer/Tile.js';
import WMTS, { optionsFromCapabilities } from 'ol/source/WMTS.js';
const answer = await fetch('${server.url}/service/wmts?REQUEST=GetCapabilities&key=${key}');
const capabilities = new WMTSCapabilities().read(await answer.text());
const source = new WMTS(optionsFromCapabilities(capabilities, { layer: 'closed', matrixSet: 'EPSG:900913' }));
const view = new View({ center: [0, 0], resolution: ${HALF / SIDE} });
const map = new Map({ target: 'map', layers: [new TileLayer({ source })], view });
map.once('rendercomplete', () => { globalThis.shown = true; });`;
    const mapLibre = `import * as maplibregl from 'maplibre-gl';
const map = new maplibregl.Map({
  container: 'map', center: [0, 0], zoom: 1,
  style: {
    version: 8,
    sources: { closed: { type: 'raster', tileSize: 256, url: '${server.url}/tiles/closed.json?key=${key}' } },
    layers: [{ id: 'closed', type: 'raster', source: 'closed' }],
  },
});
map.once('idle', () => { globalThis.shown = true; });`;
    const drawn = await drawnUpstream(MERCATOR);
    expectSame(await show('openlayers', await bundled(openLayers)), drawn);
    expectSame(await show('maplibre', mapLibre), drawn);
  });

  it(
    'the GDAL snippets on the page of a layer work, by WMTS and by OGC API – Tiles',
    needs('chromium', 'mapserver', 'gdal'),
    async () => {
      const run = (command: string) => runShell(command, folder);
      const read = async (name: string) =>
        decodeImage(await readFile(join(folder, name)), { maxPixels: 2 ** 20 });
      await run(snippet('gdal'));
      const whole = await read('map.png');
      expect([whole.width, whole.height]).toEqual([800, 800]);
      expect(coloursIn(whole)).toBeGreaterThan(2);
      const window = '-projwin -45 90 45 0 -outsize 512 512 -oo TILEMATRIXSET=WorldCRS84Quad';
      await run(`gdal_translate -of PNG ${window} 'OGCAPI:${snippet('ogc-api')}' ogcapi.png`);
      expectSame(await read('ogcapi.png'), await drawnUpstream(DEGREES));
    },
  );
});

/** As a build tool would, with the projection of France. */
async function bundled(code: string): Promise<string> {
  const projections = `import proj4 from 'proj4';
import { register } from 'ol/proj/proj4.js';
proj4.defs('EPSG:2154', '+proj=lcc +lat_0=46.5 +lon_0=3 +lat_1=49 +lat_2=44 +x_0=700000 +y_0=6600000 +ellps=GRS80 +units=m');
register(proj4);`;
  const files: Readonly<Record<string, string>> = {
    entry: `import 'projections';\nimport 'snippet';`,
    projections,
    snippet: code,
  };
  const build = await rolldown({
    input: 'entry',
    plugins: [
      {
        name: 'what-was-pasted',
        resolveId: (id) => (id in files ? { id: join(import.meta.dirname, id), external: false } : null),
        load: (id) => files[id.slice(import.meta.dirname.length + 1)] ?? null,
      },
    ],
  });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  return output[0].code;
}

function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return complaints;
}

async function runShell(command: string, folder: string): Promise<void> {
  const env = {
    ...process.env,
    GDAL_DEFAULT_WMS_CACHE_PATH: join(folder, 'gdal-cache'),
    GDAL_PAM_ENABLED: 'NO',
  };
  const child = await started(
    spawn('sh', ['-c', command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const [code] = await once(child, 'close');
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/error/i);
}

function expectSame(seen: RasterImage, drawn: RasterImage): void {
  expect([seen.width, seen.height]).toEqual([drawn.width, drawn.height]);
  let different = 0;
  for (let i = 0; i < seen.pixels.length; i += 4) if (differs(seen.pixels, drawn.pixels, i)) different++;
  expect(different / (seen.width * seen.height)).toBeLessThan(RESAMPLED);
  expect(coloursIn(seen)).toBeGreaterThan(2);
}

function differs(a: Buffer, b: Buffer, at: number): boolean {
  for (let place = at; place < at + 3; place++) {
    if (Math.abs((a[place] ?? 0) - (b[place] ?? 0)) > SHADE) return true;
  }
  return false;
}

function coloursIn({ pixels }: RasterImage): number {
  const words = new Set<number>();
  for (let i = 0; i < pixels.length; i += 4) words.add(pixels.readUInt32LE(i));
  return words.size;
}
