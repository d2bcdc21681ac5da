// Seeding a layer of two cached PNG parts on one grid, beside MapProxy, and one tile of it on request.
// npm run bench -- composed [--picture busy] [--zoom 5] [--rounds 3]
// The upper part has an opacity of 0.5. The parts are cached before; metatiles of 4 × 4 and 2 threads in both.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from '../harness/options.ts';
import type { PictureName } from '../harness/pictures.ts';
import { ProcessWatch } from '../harness/processes.ts';
import { openReplayUpstream } from '../harness/replay-upstream.ts';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { request, startTask, untilDone } from '../harness/request.ts';
import { startServer, upstreamLimits, wmsLayer } from '../harness/server.ts';
import { MAPPROXY, measure } from './seeders.ts';

const { picture, zoom, rounds } = readOptions({ picture: 'busy', zoom: 5, rounds: 3 });
const THREADS = 2;
const OPACITY = 0.5;
const PARTS = ['lower', 'upper'];

interface Figures {
  readonly tilesPerSecond: number;
  /** Of a processor. */
  readonly msPerTile: number;
}

const tiles = (4 ** (zoom + 1) - 1) / 3;
const figuresOf = (count: number, seconds: number, processorMs: number): Figures => ({
  tilesPerSecond: count / seconds,
  msPerTile: processorMs / count,
});
const folder = temporaryFolder();
const upstream = await openReplayUpstream({ picture: picture as PictureName, zoom, delayMs: 0 });
const results = new Map<string, Figures[]>();
try {
  for (let round = 0; round < rounds; round++) {
    await inFolder(async (place) => {
      const { seeded, single } = await ours(place);
      keep('Tilewarden', seeded);
      keep('Tilewarden, tile by tile over HTTP', single);
    });
    if (existsSync(MAPPROXY)) await inFolder(async (place) => keep('MapProxy', await theirs(place)));
  }
  const [speed = 0, , theirSpeed = 0] = [...results].map(([name, all]) => show(name, all));
  if (theirSpeed > 0) say(`we are ${(speed / theirSpeed).toFixed(2)} × as fast (aim: at least 2)`);
} finally {
  await upstream.close();
}

async function inFolder(run: (place: string) => Promise<void>): Promise<void> {
  const place = join(folder, 'run');
  mkdirSync(place);
  await run(place);
  rmSync(place, { recursive: true });
}

function keep(name: string, figures: Figures): void {
  results.set(name, [...(results.get(name) ?? []), figures]);
}

function show(name: string, all: readonly Figures[]): number {
  const speed = quantile(all.map(({ tilesPerSecond }) => tilesPerSecond));
  const processor = quantile(all.map(({ msPerTile }) => msPerTile));
  say(`${name}: ${Math.round(speed)} tiles/s, ${processor.toFixed(2)} CPU ms a tile`);
  return speed;
}

async function ours(place: string): Promise<Record<'seeded' | 'single', Figures>> {
  const of = `[{ layer: lower }, { layer: upper, opacity: ${OPACITY} }]`;
  const composed = (name: string, metatile: number) =>
    `\n  - { name: ${name}, source: { type: layers, of: ${of} }, gridSets: [EPSG:900913], metatile: [${metatile}, ${metatile}] }`;
  const layers = [
    ...PARTS.map((name) => wmsLayer(name, upstream.url)),
    composed('composed', 4),
    composed('single', 1),
  ];
  const limits = upstreamLimits(upstream.url, 'concurrency: 8');
  const config = `log: { level: error }\n${limits}tasks: { workers: ${THREADS} }\nlayers:${layers.join('')}\n`;
  const watch = new ProcessWatch();
  const { url, stop } = await startServer({ data: join(place, 'data'), config });
  const seed = async (name: string) =>
    untilDone(
      url,
      await startTask(url, name, { name, type: 'reseed', zoomStop: zoom, threadCount: THREADS }),
    );
  try {
    for (const name of PARTS) await seed(name);
    watch.restart();
    const start = Date.now();
    const end = await seed('composed');
    const seeded = figuresOf(tiles, (end - start) / 1000, watch.processorMs());
    const across = 2 ** zoom;
    watch.restart();
    const first = performance.now();
    for (let at = 0; at < across * across; at++) {
      const response = await request(
        `${url}/tiles/single/${zoom}/${at % across}/${Math.floor(at / across)}.png`,
      );
      await response.arrayBuffer();
    }
    const single = figuresOf(across * across, (performance.now() - first) / 1000, watch.processorMs());
    return { seeded, single };
  } finally {
    watch.stop();
    await stop();
  }
}

async function theirs(place: string): Promise<Figures> {
  const [config, seed] = [join(place, 'mapproxy.yaml'), join(place, 'seed.yaml')];
  const cache = (name: string, sources: string, more = '') =>
    `  ${name}: { sources: [${sources}], grids: [GLOBAL_WEBMERCATOR], format: image/png, meta_size: [4, 4], meta_buffer: 0${more} }\n`;
  writeFileSync(
    config,
    `
sources:
  wms: { type: wms, req: { url: '${upstream.url}', layers: land }, supported_srs: ['EPSG:3857'] }
caches:
${cache('lower', 'wms')}${cache('upper', 'wms', `, image: { opacity: ${OPACITY} }`)}${cache('composed', 'lower, upper')}
globals: { cache: { base_dir: '${join(place, 'tiles')}' }, image: { paletted: false } }
`,
  );
  const run = async (caches: string) => {
    writeFileSync(seed, `seeds:\n  all: { caches: [${caches}], levels: { from: 0, to: ${zoom} } }\n`);
    return await measure(MAPPROXY, ['-f', config, '-s', seed, '-c', `${THREADS}`], join(place, 'tiles'));
  };
  await run('lower, upper');
  const { seconds, processorMs } = await run('composed');
  return figuresOf(tiles, seconds, processorMs);
}
