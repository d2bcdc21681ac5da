// The longest turn of the event loop in each heavy action, with 5,000 layers and a million pages.
// npm run bench -- turns [--layers 5000] [--schedules 3000] [--pages 1000000] [--seconds 20]; --short takes a minute in all.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { manyLayers } from '../capabilities/many-layers.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, PROJECT, startServerProcess } from '../harness/server-process.ts';
import { fillPages, ZOOM } from './fill-pages.ts';

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    layers: { type: 'string' },
    schedules: { type: 'string' },
    pages: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const sizeOf = (given: string | undefined, short: number, long: number) =>
  Number(given ?? (values.short ? short : long));
const layers = sizeOf(values.layers, 500, 5000);
const schedules = sizeOf(values.schedules, 300, 3000);
const pages = sizeOf(values.pages, 20_000, 1_000_000);
const seconds = sizeOf(values.seconds, 5, 20);
const ALLOWED = 50;
const LAYER = 'layer-0';
/** Drawn here, so that maps of any box need no other server. */
const MAP = 'map';
const MAP_LAYER = `  - { name: ${MAP}, source: { type: world }, fullWMS: true, formats: [image/png], gridSets: [EPSG:900913], parameters: [{ name: ANY, default: A, regex: '[A-Z0-9]+' }] }\n`;

const folder = temporaryFolder();
const data = join(folder, 'data');
mkdirSync(data);
const bundles = await fillPages(join(data, 'stores', 'default'), LAYER, pages);
say(`${layers} layers, ${schedules} schedules, ${bundles * 64} pages in ${bundles} bundles`);

const meterFile = join(folder, 'meter');
process.env.TURN_METER = meterFile;
// By an absolute path: threads load it too, from another working directory.
const program = ['--import', join(PROJECT, 'bench/turns/turn-meter.mjs'), ...FROM_BUILD];
const configuration = withSchedules(manyLayers(layers), schedules) + MAP_LAYER;
const first = await startServerProcess(data, configuration, program);
await timed('usage, of bundles that were never counted', () => get(first.url, '/api/v1/usage'));
await first.stop();
const server = await startServerProcess(data, configuration, program);
const body = (document: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(document),
});
const area = {
  gridSets: ['EPSG:900913'],
  zoomStart: ZOOM,
  zoomStop: ZOOM,
  bounds: [0, 0, 1000, 1000],
  dryRun: true,
};
await timed('usage, the first after a start', () => get(server.url, '/api/v1/usage'));
await timed('usage, again', () => get(server.url, '/api/v1/usage'));
await timed('metrics', () => get(server.url, '/metrics'));
await timed('nothing, with schedules', () => delay(seconds * 1000));
await timed('hits on many pages, and saving them', () => hits(seconds));
await timed('selective truncate, dry run', () =>
  get(server.url, `/api/v1/layers/${LAYER}/truncate`, body(area)),
);
await timed('invalidate, dry run', () => get(server.url, `/api/v1/layers/${LAYER}/invalidate`, body(area)));
await timed('50 misses with new parameters, several times', newParameterSets);
await timed('list of tile sets, /tiles.json', () => get(server.url, '/tiles.json'));
await timed('OGC collections', () => get(server.url, '/ogc/collections?f=html'));
await timed('WMTS capabilities', () => get(server.url, '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities'));
for (const cached of ['drawn', 'cached'])
  await timed(`GetMap of 4096 × 4096, tiles ${cached}`, () =>
    get(
      server.url,
      `/service/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=${MAP}&STYLES=&SRS=EPSG:900913&BBOX=-15000000,-15000000,15000000,15000000&WIDTH=4096&HEIGHT=4096&FORMAT=image/png`,
    ),
  );
const { bytes } = (await (await fetch(`${server.url}/api/v1/usage`)).json()) as { bytes: number };
for (const [what, share] of [
  ['quota that is kept', 1.1],
  ['quota clean-up', 0.9],
] as const) {
  await timed(what, async () => {
    const quota = { value: Math.floor(bytes * share), units: 'B' };
    const answer = await fetch(`${server.url}/api/v1/quota`, {
      ...body({ enabled: true, globalQuota: quota, globalExpirationPolicyName: 'LFU' }),
      method: 'PUT',
    });
    if (!answer.ok) throw new Error(await answer.text());
    await delay(seconds * 1000);
  });
}
const { evicted } = (await (await fetch(`${server.url}/api/v1/usage`)).json()) as {
  evicted: { pages: number };
};
say(`  evicted ${evicted.pages} pages in ${seconds} s`);
await timed('truncateAll', () =>
  get(server.url, '/masstruncate', {
    method: 'POST',
    headers: { 'content-type': 'text/xml' },
    body: '<truncateAll/>',
  }),
);
await server.stop();

async function timed(what: string, action: () => Promise<unknown>): Promise<void> {
  const before = await turns();
  const begun = performance.now();
  const note = await action().then(
    (answer) => (typeof answer === 'number' ? `status ${answer}` : ''),
    (error: Error) => error.message,
  );
  const took = performance.now() - begun;
  const { longest, processor } = await turns();
  const share = ((processor - before.processor) / took) * 100;
  const verdict = longest.processor <= ALLOWED ? '' : '  TOO LONG';
  say(
    `${what.padEnd(44)} longest turn ${longest.processor.toFixed(0).padStart(4)} ms of the processor, ${longest.clock.toFixed(0).padStart(5)} by the clock; took ${took.toFixed(0).padStart(6)} ms, ${share.toFixed(0).padStart(3)} % of a core ${note}${verdict}`,
  );
  if (longest.processor > ALLOWED) process.exitCode = 1;
}

interface Turns {
  readonly longest: { readonly clock: number; readonly processor: number };
  readonly processor: number;
}

async function turns(): Promise<Turns> {
  const answer = await fetch(`http://127.0.0.1:${readFileSync(meterFile, 'utf8')}/`);
  return (await answer.json()) as Turns;
}

async function get(url: string, path: string, options: RequestInit = {}): Promise<number> {
  const answer = await fetch(`${url}${path}`, options);
  await answer.arrayBuffer();
  return answer.status;
}

/** Each on another page, as fast as one caller goes. */
async function hits(forSeconds: number): Promise<string> {
  const until = performance.now() + forSeconds * 1000;
  const side = Math.ceil(Math.sqrt(bundles)) * 8;
  let read = 0;
  for (let page = 0; performance.now() < until; page = (page + 37) % (bundles * 64)) {
    const [x, y] = [(page % side) * 16, Math.floor(page / side) * 16];
    const status = await get(server.url, `/tiles/${LAYER}/${ZOOM}/${x}/${y}.png`);
    if (status === 200) read++;
  }
  return `${read} hits`;
}

async function newParameterSets(): Promise<string> {
  for (let round = 0; round < 10; round++) {
    const values = Array.from({ length: 50 }, (_, at) => `R${round}V${at}`);
    await Promise.all(values.map((value) => get(server.url, `/tiles/${MAP}/1/0/0.png?ANY=${value}`)));
  }
  return '500 sets';
}

/** Once a year, so that none is due. */
function withSchedules(configuration: string, count: number): string {
  let left = count;
  return configuration.replace(/^ {4}expireClients: 7200$/gm, (line) => {
    if (left-- <= 0) return line;
    return `${line}\n    schedules:\n      - { name: yearly, cron: '0 3 1 1 *', timeZone: UTC, type: seed, zoomStart: 0, zoomStop: 1 }`;
  });
}
