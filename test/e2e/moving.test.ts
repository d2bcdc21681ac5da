/** The pages about moving, followed literally: every block of shell commands, in order, in one shell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { encodeImage } from '../../src/raster/encode-image.ts';
import { type PlacedTile, writeGeoWebCache, writeMapProxy } from '../fixtures/adopted-caches.ts';
import { soon } from '../fixtures/eventually.ts';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { freePort } from '../fixtures/network.ts';
import { paintImage } from '../fixtures/pictures.ts';
import { CHEAP_PASSWORDS } from '../fixtures/shared-services-host.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

async function tiles(): Promise<readonly PlacedTile[]> {
  const places = [0, 1, 2].flatMap((z) =>
    Array.from({ length: 4 ** z }, (_, i) => ({ z, x: i % 2 ** z, y: Math.floor(i / 2 ** z) })),
  );
  return Promise.all(
    places.map(async ({ z, x, y }) => {
      const image = paintImage(256, 256, (px) => [z * 80, x * 60 + (px >> 7), y * 60, 255]);
      return { z, x, y, bytes: await encodeImage(image, { mediaType: 'image/png' }) };
    }),
  );
}

/** Runs the commands of the page, then `then`, before the server is ended. */
async function follow(page: string, environment: Readonly<Record<string, string>>, then = '') {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const port = await freePort();
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    block.replaceAll('8080', String(port)),
  );
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'tilewarden'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(join(bin, 'tilewarden'), 0o755);
  const work = join(folder, 'work');
  mkdirSync(work);
  const script = ['set -eu', 'trap "kill %1; wait" EXIT', ...blocks, then].join('\n');
  const env = {
    ...CHEAP_PASSWORDS,
    PATH: `${bin}:${process.env.PATH}`,
    TILEWARDEN_PORT: String(port),
    // By which the keeper of the run finds it.
    TEST_RUN: process.env.TEST_RUN,
    ...environment,
  };
  const shell = await started(spawn('bash', ['-c', script], { cwd: work, env, detached: true }));
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (part) => (output += part));
  onTestFinished(() => {
    if (shell.exitCode === null && shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
  });
  const [code] = await soon(`what ${page} says is done`, once(shell, 'exit'), () => output);
  expect(code, output).toBe(0);
  return { output, read: (file: string) => readFileSync(join(work, file)), blocks };
}

describe('moving', () => {
  it('a move from GeoWebCache works as documented', async () => {
    const wms = await openMockWms();
    onTestFinished(() => wms.close());
    const old = temporaryFolder();
    const layer = (
      name: string,
    ) => `<wmsLayer><name>${name}</name><mimeFormats><string>image/png</string></mimeFormats>
      <gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset></gridSubsets>
      <wmsUrl><string>${wms.url}</string></wmsUrl><wmsLayers>states</wmsLayers></wmsLayer>`;
    writeFileSync(
      join(old, 'geowebcache.xml'),
      `<gwcConfiguration xmlns="http://geowebcache.org/schema/1.14.0"><version>1.14.0</version><backendTimeout>120</backendTimeout>
       <layers>${layer('topp:states')}${layer('img:states')}</layers></gwcConfiguration>`,
    );
    writeFileSync(
      join(old, 'geowebcache-diskquota.xml'),
      '<gwcQuotaConfiguration><enabled>true</enabled><globalExpirationPolicyName>LFU</globalExpirationPolicyName><globalQuota><value>3</value><units>GiB</units></globalQuota></gwcQuotaConfiguration>',
    );
    writeFileSync(join(old, 'users.properties'), 'anna=secret,ROLE_USER\nroot=secret,ROLE_ADMINISTRATOR\n');
    const cached = await tiles();
    writeGeoWebCache(old, { layer: 'topp:states', gridSet: 'EPSG:900913', extension: 'png' }, cached);
    const { read, output } = await follow(
      'moving-from-geowebcache.md',
      { GEOWEBCACHE_CACHE_DIR: old },
      'tilewarden usage',
    );
    expect(read('tile.png')).toEqual(cached.find(({ z, x, y }) => z === 1 && x === 0 && y === 1)?.bytes);
    expect(read('new-passwords.txt').toString()).toMatch(
      /^anna {2}viewer {2}\S{20}\nroot {2}admin {2}\S{20}\n$/,
    );
    expect(output).toContain('3.0 GiB');
    expect(output).not.toContain('secret');
    expect(wms.requests).toEqual([]);
  });

  it('a move from MapProxy works as documented', async () => {
    const wms = await openMockWms();
    onTestFinished(() => wms.close());
    const old = temporaryFolder();
    writeFileSync(
      join(old, 'mapproxy.yaml'),
      `services: { demo: , tms: { use_grid_names: true, origin: nw }, wmts: }
layers: [{ name: osm, title: OSM, sources: [osm_cache] }]
caches: { osm_cache: { grids: [webmercator], sources: [osm_wms] } }
sources: { osm_wms: { type: wms, req: { url: '${wms.url}', layers: osm } } }
grids: { webmercator: { base: GLOBAL_WEBMERCATOR } }
`,
    );
    const cached = await tiles();
    writeMapProxy(join(old, 'cache_data/osm_cache_EPSG3857'), 'nw', cached);
    const { read } = await follow('moving-from-mapproxy.md', { MAPPROXY_DIR: old });
    expect(read('tile.png')).toEqual(cached.find(({ z, x, y }) => z === 1 && x === 0 && y === 1)?.bytes);
    expect(wms.requests).toEqual([]);
  });
});
