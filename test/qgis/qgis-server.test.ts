/** npm run test:qgis: QGIS brings more packages than all other programs that tests drive. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { ADMIN_PASSWORD, type RunningServer, runTilewarden, startServer } from '../e2e/server.ts';
import { snippetOf } from '../fixtures/configurations.ts';
import { untilStored } from '../fixtures/eventually.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { freePort } from '../fixtures/network.ts';
import { isAnswering, openDaemon } from '../fixtures/processes.ts';
import { whenOver } from '../fixtures/when-over.ts';

/** QGIS takes off the last 17 characters of an id. */
const ID_TAIL = '_0123456789abcdef01';
const SRS = '<srs><spatialrefsys><proj4>+proj=longlat +datum=WGS84 +no_defs</proj4></spatialrefsys></srs>';
const SHAPES = {
  buildings: { type: 'Polygon', coordinates: [[[-60, -40], [60, -40], [60, 40], [-60, 40], [-60, -40]]] }, // biome-ignore format: a ring
  streets: { type: 'LineString', coordinates: [[-170, -70], [170, 70]] }, // biome-ignore format: a line
};
const NAMES = Object.keys(SHAPES);

const PROJECT = `<qgis version="3.22.16">
  <layer-tree-group>${NAMES.map((name) => `<layer-tree-layer id="${name}${ID_TAIL}"/>`).join('')}</layer-tree-group>
  <projectlayers>${NAMES.map(layerOf).join('')}</projectlayers>
</qgis>`;

function layerOf(name: string): string {
  const geometry = name === 'streets' ? 'Line' : 'Polygon';
  return `<maplayer type="vector" geometry="${geometry}"><id>${name}${ID_TAIL}</id><datasource>./${name}.geojson</datasource>
    <layername>${name}</layername>${SRS}<provider>ogr</provider></maplayer>`;
}

/** QGIS Server with a project of two layers, by the program that QGIS has for development. */
async function openQgisServer() {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-qgis-'));
  const project = join(folder, 'city.qgs');
  writeFileSync(project, PROJECT);
  for (const [name, geometry] of Object.entries(SHAPES)) {
    writeFileSync(
      join(folder, `${name}.geojson`),
      JSON.stringify({ type: 'Feature', properties: {}, geometry }),
    );
  }
  const host = `127.0.0.1:${await freePort()}`;
  const env = { ...process.env, QT_QPA_PLATFORM: 'offscreen', XDG_RUNTIME_DIR: folder, HOME: folder };
  const isReady = () => isAnswering(`http://${host}/`);
  const daemon = await openDaemon(programPath('qgis-server'), [host], { env, isReady });
  return {
    host,
    project,
    async close(): Promise<void> {
      await daemon.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function tile({ url }: RunningServer, path: string) {
  const response = await fetch(`${url}/tiles/${path}`);
  const [type, cache] = ['content-type', 'x-cache'].map((name) => response.headers.get(name));
  return { status: response.status, type, cache, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe('the recipe for QGIS Server', needs('qgis-server'), () => {
  it('tiles of a project are drawn once, cleared and seeded again as the page says', async () => {
    const qgis = await openQgisServer();
    whenOver(() => qgis.close());
    const config = snippetOf('qgis-server', 'yaml')
      .replaceAll('qgis.internal:80', qgis.host)
      .replaceAll('qgis.internal/', `${qgis.host}/`)
      .replace('/srv/projects/city.qgz', qgis.project);
    const server = await startServer({ config });
    const drawn = await tile(server, 'project/1/1/0.png');
    expect(drawn).toMatchObject({ status: 200, type: 'image/png', cache: 'MISS' });
    await untilStored(server);
    expect(await tile(server, 'project/1/1/1.png')).toMatchObject({ cache: 'HIT' });
    const { pixels } = await decodeImage(drawn.bytes, { maxPixels: 256 * 256 });
    expect(new Set(new Uint32Array(new Uint8Array(pixels).buffer)).size).toBeGreaterThan(2);
    const env = { TILEWARDEN_SERVER: server.url, TILEWARDEN_PASSWORD: ADMIN_PASSWORD };
    for (const line of snippetOf('qgis-server', 'sh').trim().split('\n')) {
      const [, ...args] = line.split(' ');
      expect([line, await runTilewarden(args, { env })]).toMatchObject([line, { code: 0 }]);
    }
    expect(await tile(server, 'project/1/0/0.png')).toMatchObject({ cache: 'HIT' });
  });
});
