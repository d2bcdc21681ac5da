import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerUnderTest } from '../../test/faults/server-under-test.ts';
import { type ProcessUse, ProcessWatch } from './process-watch.ts';

export interface SeedOrder {
  readonly folder: string;
  readonly wmsUrl: string;
  readonly wmsLayer: string;
  readonly zoom: number;
  readonly format: 'image/png' | 'image/jpeg';
}

export interface SeedResult extends ProcessUse {
  /** From the request to its end, the start of the program not counted where it is a server. */
  readonly seconds: number;
  /** Of the files that hold tiles, once the program has ended. */
  readonly diskBytes: number;
}

export interface Seeder {
  readonly name: string;
  /** Null: it comes with us. */
  readonly program: string | null;
  seed(order: SeedOrder): Promise<SeedResult>;
}

const THREADS = 2;
export const MAPCACHE = '/usr/bin/mapcache_seed';
const MAPPROXY = '/usr/bin/mapproxy-seed';
const QUALITY = 80;

const tilewarden: Seeder = {
  name: 'Tilewarden',
  program: null,
  async seed({ folder, wmsUrl, wmsLayer, zoom, format }) {
    const config = join(folder, 'tilewarden.yaml');
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      config,
      `
upstreams: { '${new URL(wmsUrl).host}': { concurrency: 8, allowPrivate: true } }
layers:
  - { name: bench, source: { type: wms, url: '${wmsUrl}', layers: ${wmsLayer} }, formats: [${format}], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }
tasks: { workers: ${THREADS} }
`,
    );
    const watch = new ProcessWatch();
    const server = await ServerUnderTest.start(join(folder, 'data'), config);
    let ended = false;
    try {
      await untilDone(server, await server.seed('bench', { type: 'seed', zoomStop: 0, threadCount: 1 }));
      watch.restart();
      const began = Date.now();
      const order = { type: 'reseed', zoomStop: zoom, threadCount: THREADS };
      const endedAt = await untilDone(server, await server.seed('bench', order));
      const seconds = (endedAt - began) / 1000;
      const use = watch.stop();
      await server.end('SIGTERM');
      ended = true;
      return { seconds, ...use, diskBytes: bytesBelow(join(folder, 'data', 'stores')) };
    } finally {
      watch.stop();
      if (!ended) await server.end('SIGTERM');
    }
  },
};

/** Resolves to when it ended, in milliseconds since 1970: to ask often would be work for the server. */
async function untilDone(server: ServerUnderTest, id: number): Promise<number> {
  for (;;) {
    const task = (await server.tasks()).find((one) => one.id === id);
    if (task?.state === 'done') return Date.parse(task.endedAt ?? '');
    if (task?.state === 'aborted') throw new Error(`the task was aborted: ${task.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const mapCache: Seeder = {
  name: 'MapCache',
  program: MAPCACHE,
  async seed({ folder, wmsUrl, wmsLayer, zoom, format }) {
    const config = join(folder, 'mapcache.xml');
    mkdirSync(folder, { recursive: true });
    writeFileSync(config, mapCacheConfig(folder, wmsUrl, wmsLayer, format));
    const grid = ['-g', 'GoogleMapsCompatible', '-z', `0,${zoom}`, '-M', '4,4'];
    const times = await timed(MAPCACHE, ['-c', config, '-t', 'bench', ...grid, '-n', `${THREADS}`, '-f']);
    return { ...times, diskBytes: bytesBelow(join(folder, 'tiles')) };
  },
};

/** As fast as it can be set, in the store that it is fastest with. */
export function mapCacheConfig(folder: string, wmsUrl: string, wmsLayer: string, format: string): string {
  mkdirSync(join(folder, 'tiles'), { recursive: true });
  const params = `<FORMAT>${format}</FORMAT><LAYERS>${wmsLayer}</LAYERS>`;
  return `<mapcache>
  <source name="wms" type="wms"><getmap><params>${params}</params></getmap><http><url>${wmsUrl}</url></http></source>
  <cache name="sqlite" type="sqlite3"><dbfile>${join(folder, 'tiles', 'tiles.sqlite3')}</dbfile></cache>
  <format name="png" type="PNG"><compression>fast</compression></format>
  <format name="jpeg" type="JPEG"><quality>${QUALITY}</quality></format>
  <tileset name="bench"><source>wms</source><cache>sqlite</cache><grid>GoogleMapsCompatible</grid>
    <format>${format === 'image/png' ? 'png' : 'jpeg'}</format><metatile>4 4</metatile></tileset>
  <service type="wmts" enabled="true"/><service type="tms" enabled="true"/>
  <lock_dir>${folder}</lock_dir>
</mapcache>`;
}

const mapProxy: Seeder = {
  name: 'MapProxy',
  program: MAPPROXY,
  async seed({ folder, wmsUrl, wmsLayer, zoom, format }) {
    const [config, seed] = [join(folder, 'mapproxy.yaml'), join(folder, 'seed.yaml')];
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      config,
      `
sources:
  wms: { type: wms, req: { url: '${wmsUrl}', layers: ${wmsLayer} }, image: { format: ${format} }, supported_srs: ['EPSG:3857'] }
caches:
  bench: { sources: [wms], grids: [GLOBAL_WEBMERCATOR], format: ${format}, request_format: ${format}, meta_size: [4, 4], meta_buffer: 0, cache: { type: file, directory: '${join(folder, 'tiles')}' } }
globals: { cache: { base_dir: '${folder}' }, image: { paletted: false, formats: { image/jpeg: { encoding_options: { jpeg_quality: ${QUALITY} } } } } }
`,
    );
    writeFileSync(seed, `seeds:\n  all: { caches: [bench], levels: { from: 0, to: ${zoom} } }\n`);
    const times = await timed(MAPPROXY, ['-f', config, '-s', seed, '-c', `${THREADS}`]);
    return { ...times, diskBytes: bytesBelow(join(folder, 'tiles')) };
  },
};

export const SEEDERS: readonly Seeder[] = [tilewarden, mapCache, mapProxy].filter(
  ({ program }) => program === null || existsSync(program),
);

async function timed(program: string, args: readonly string[]): Promise<Omit<SeedResult, 'diskBytes'>> {
  const watch = new ProcessWatch();
  const began = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const [code] = await once(child, 'close');
  const seconds = (performance.now() - began) / 1000;
  const use = watch.stop();
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaint.slice(-500)}`);
  return { seconds, ...use };
}

/** What the files take on disk: in blocks, for a file of 100 bytes does not take 100. */
export function bytesBelow(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += statSync(join(entry.parentPath, entry.name)).blocks * 512;
  }
  return sum;
}
