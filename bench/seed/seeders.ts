import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerUnderTest } from '../../test/faults/server-under-test.ts';
import { ProcessorTime } from './processor-time.ts';

export interface SeedTimes {
  /** From the request to its end, the start of the program not counted where it is a server. */
  readonly seconds: number;
  /** Milliseconds of processors that its processes took. */
  readonly processorMs: number;
}

/** Null: the program is not there. */
type Seeder = (folder: string, wmsUrl: string, zoom: number) => Promise<SeedTimes | null>;

const THREADS = 2;
const MAPCACHE = '/usr/bin/mapcache_seed';
const MAPPROXY = '/usr/bin/mapproxy-seed';

export const seedWithTilewarden: Seeder = async (folder, wmsUrl, zoom) => {
  const config = join(folder, 'tilewarden.yaml');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    config,
    `
upstreams: { '${new URL(wmsUrl).host}': { concurrency: 8, allowPrivate: true } }
layers:
  - { name: bench, source: { type: wms, url: '${wmsUrl}', layers: a }, formats: [image/png], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }
tasks: { workers: ${THREADS} }
`,
  );
  const processors = new ProcessorTime();
  const server = await ServerUnderTest.start(join(folder, 'data'), config);
  try {
    await untilDone(server, await server.seed('bench', { type: 'seed', zoomStop: 0, threadCount: 1 }));
    processors.restart();
    const began = performance.now();
    await untilDone(
      server,
      await server.seed('bench', { type: 'reseed', zoomStop: zoom, threadCount: THREADS }),
    );
    return { seconds: (performance.now() - began) / 1000, processorMs: processors.stop() };
  } finally {
    processors.stop();
    await server.end('SIGTERM');
  }
};

async function untilDone(server: ServerUnderTest, id: number): Promise<void> {
  for (;;) {
    const task = (await server.tasks()).find((one) => one.id === id);
    if (task?.state === 'done') return;
    if (task?.state === 'aborted') throw new Error(`the task was aborted: ${task.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const seedWithMapCache: Seeder = async (folder, wmsUrl, zoom) => {
  if (!existsSync(MAPCACHE)) return null;
  const config = join(folder, 'mapcache.xml');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    config,
    `<mapcache>
  <source name="wms" type="wms"><getmap><params><FORMAT>image/png</FORMAT><LAYERS>a</LAYERS></params></getmap>
    <http><url>${wmsUrl}</url></http></source>
  <cache name="files" type="disk"><base>${join(folder, 'tiles')}</base></cache>
  <format name="png" type="PNG"><compression>fast</compression></format>
  <tileset name="bench"><source>wms</source><cache>files</cache><grid>GoogleMapsCompatible</grid>
    <format>png</format><metatile>4 4</metatile></tileset>
  <lock_dir>${folder}</lock_dir>
</mapcache>`,
  );
  const args = [
    '-c',
    config,
    '-t',
    'bench',
    '-g',
    'GoogleMapsCompatible',
    '-z',
    `0,${zoom}`,
    '-n',
    `${THREADS}`,
    '-f',
  ];
  return timed(MAPCACHE, [...args, '-M', '4,4']);
};

export const seedWithMapProxy: Seeder = async (folder, wmsUrl, zoom) => {
  if (!existsSync(MAPPROXY)) return null;
  const [config, seed] = [join(folder, 'mapproxy.yaml'), join(folder, 'seed.yaml')];
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    config,
    `
sources:
  wms: { type: wms, req: { url: '${wmsUrl}', layers: a }, supported_srs: ['EPSG:3857'] }
caches:
  bench: { sources: [wms], grids: [GLOBAL_WEBMERCATOR], format: image/png, meta_size: [4, 4], meta_buffer: 0, cache: { type: file, directory: '${join(folder, 'tiles')}' } }
globals: { cache: { base_dir: '${folder}' }, image: { paletted: false } }
`,
  );
  writeFileSync(seed, `seeds:\n  all: { caches: [bench], levels: { from: 0, to: ${zoom} } }\n`);
  return timed(MAPPROXY, ['-f', config, '-s', seed, '-c', `${THREADS}`]);
};

async function timed(program: string, args: readonly string[]): Promise<SeedTimes> {
  const processors = new ProcessorTime();
  const began = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const [code] = await once(child, 'close');
  const processorMs = processors.stop();
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaint.slice(-500)}`);
  return { seconds: (performance.now() - began) / 1000, processorMs };
}
