import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { started } from '../../scripts/steps.mjs';
import { type ProcessUse, ProcessWatch } from '../harness/processes.ts';
import { startTask, untilDone } from '../harness/request.ts';
import { startServer, upstreamLimits, wmsLayer } from '../harness/server.ts';

export interface SeedOrder {
  /** Empty. */
  readonly folder: string;
  /** A WMS with a layer `land`. */
  readonly wmsUrl: string;
  readonly zoom: number;
  readonly format: 'image/png' | 'image/jpeg';
}

export interface SeedResult extends ProcessUse {
  /** From the request to its end; the start of a server does not count. */
  readonly seconds: number;
  /** The blocks of all files with tiles, after the end of the program. */
  readonly diskBytes: number;
}

interface Seeder {
  readonly name: string;
  /** Null for Tilewarden. */
  readonly program: string | null;
  seed(order: SeedOrder): Promise<SeedResult>;
}

const THREADS = 2;
export const MAPCACHE = '/usr/bin/mapcache_seed';
export const MAPPROXY = '/usr/bin/mapproxy-seed';
const QUALITY = 80;

const tilewarden: Seeder = {
  name: 'Tilewarden',
  program: null,
  async seed({ folder, wmsUrl, zoom, format }) {
    const limits = upstreamLimits(wmsUrl, 'concurrency: 8');
    const config = `${limits}tasks: { workers: ${THREADS} }\nlayers:${wmsLayer('bench', wmsUrl, format)}\n`;
    const watch = new ProcessWatch();
    const data = join(folder, 'data');
    const { url, stop } = await startServer({ data, config: `log: { level: error }\n${config}` });
    const seed = async (seedRequest: object) =>
      untilDone(url, await startTask(url, 'bench', { name: 'bench', ...seedRequest }));
    try {
      await seed({ type: 'seed', zoomStop: 0, threadCount: 1 });
      watch.restart();
      const start = Date.now();
      const end = await seed({ type: 'reseed', zoomStop: zoom, threadCount: THREADS });
      const use = watch.stop();
      await stop();
      return { seconds: (end - start) / 1000, ...use, diskBytes: bytesBelow(join(data, 'stores')) };
    } finally {
      watch.stop();
      await stop();
    }
  },
};

const mapCache: Seeder = {
  name: 'MapCache',
  program: MAPCACHE,
  async seed({ folder, wmsUrl, zoom, format }) {
    const config = join(folder, 'mapcache.xml');
    writeFileSync(config, mapCacheConfig(folder, wmsUrl, format));
    return await measure(MAPCACHE, mapCacheArguments(config, `0,${zoom}`), join(folder, 'tiles'));
  },
};

export function mapCacheArguments(config: string, zooms: string): string[] {
  const tiles = ['-t', 'bench', '-g', 'GoogleMapsCompatible', '-z', zooms, '-M', '4,4'];
  return ['-c', config, ...tiles, '-n', `${THREADS}`, '-f', '-q'];
}

/** Its fastest settings, and its fastest store. */
export function mapCacheConfig(folder: string, wmsUrl: string, format: string): string {
  mkdirSync(join(folder, 'tiles'), { recursive: true });
  const params = `<FORMAT>${format}</FORMAT><LAYERS>land</LAYERS>`;
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
  async seed({ folder, wmsUrl, zoom, format }) {
    const [config, seed, tiles] = ['mapproxy.yaml', 'seed.yaml', 'tiles'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    writeFileSync(
      config,
      `
sources:
  wms: { type: wms, req: { url: '${wmsUrl}', layers: land }, image: { format: ${format} }, supported_srs: ['EPSG:3857'] }
caches:
  bench: { sources: [wms], grids: [GLOBAL_WEBMERCATOR], format: ${format}, request_format: ${format}, meta_size: [4, 4], meta_buffer: 0, cache: { type: file, directory: '${tiles}' } }
globals: { cache: { base_dir: '${folder}' }, image: { paletted: false, formats: { image/jpeg: { encoding_options: { jpeg_quality: ${QUALITY} } } } } }
`,
    );
    writeFileSync(seed, `seeds:\n  all: { caches: [bench], levels: { from: 0, to: ${zoom} } }\n`);
    return await measure(MAPPROXY, ['-f', config, '-s', seed, '-c', `${THREADS}`], tiles);
  },
};

export const SEEDERS: readonly Seeder[] = [tilewarden, mapCache, mapProxy].filter(
  ({ program }) => program === null || existsSync(program),
);

export async function measure(program: string, args: readonly string[], tiles: string): Promise<SeedResult> {
  const watch = new ProcessWatch();
  const start = performance.now();
  const child = await started(spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] }));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = await once(child, 'close');
  const seconds = (performance.now() - start) / 1000;
  const use = watch.stop();
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${errors.slice(-500)}`);
  return { seconds, ...use, diskBytes: bytesBelow(tiles) };
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0);
}
