// The longest turn of the event loop in each heavy action, with 5,000 layers and a million pages.
// npm run bench -- turns [--layers 5000] [--schedules 3000] [--pages 1000000] [--seconds 20]
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from '../harness/options.ts';
import { say, sayMachine, temporaryFolder } from '../harness/report.ts';
import { readUsage, request } from '../harness/request.ts';
import { startServer } from '../harness/server.ts';
import { fillPages, ZOOM } from './fill-pages.ts';
import { manyLayers } from './many-layers.ts';

const { layers, schedules, pages, seconds } = readOptions({
  layers: 5000,
  schedules: 3000,
  pages: 1_000_000,
  seconds: 20,
});
const MAX_TURN_MS = 50;
const LAYER = 'layer-0';
/** The built-in map, so that maps of any box need no other server. */
const MAP = 'map';
const MAP_LAYER = `  - { name: ${MAP}, source: { type: world }, fullWMS: true, formats: [image/png], gridSets: [EPSG:900913], parameters: [{ name: ANY, default: A, regex: '[A-Z0-9]+' }] }\n`;
const GET_MAP = `/service/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=${MAP}&STYLES=&SRS=EPSG:900913&BBOX=-15000000,-15000000,15000000,15000000&WIDTH=4096&HEIGHT=4096&FORMAT=image/png`;
const AREA = {
  gridSets: ['EPSG:900913'],
  zoomStart: ZOOM,
  zoomStop: ZOOM,
  bounds: [0, 0, 1000, 1000],
  dryRun: true,
};

const data = join(temporaryFolder(), 'data');
const side = await fillPages(join(data, 'stores', 'default'), LAYER, pages);
sayMachine();
say(`${layers} layers, ${schedules} schedules, ${pages} pages`);
const options = { data, config: manyLayers(layers, schedules) + MAP_LAYER, metered: true };
const server = await startServer(options);
await measure('usage, the first after a start', '/api/v1/usage');
await measure('usage, again', '/api/v1/usage');
await measure('metrics', '/metrics');
await measure('nothing, with schedules', () => delay(seconds * 1000, ''));
await measure('hits on many pages, and saving them', readPages);
await measure('selective truncate, dry run', `/api/v1/layers/${LAYER}/truncate`, AREA);
await measure('invalidate, dry run', `/api/v1/layers/${LAYER}/invalidate`, AREA);
await measure('50 misses with new parameters, several times', createParameterSets);
await measure('list of tile sets, /tiles.json', '/tiles.json');
await measure('OGC collections', '/ogc/collections?f=html');
await measure('WMTS capabilities', '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities');
await measure('GetMap of 4096 × 4096, tiles drawn', GET_MAP);
await measure('GetMap of 4096 × 4096, tiles cached', GET_MAP);
const { bytes } = await readUsage(server.url);
await measure('quota that is kept', () => setQuota(bytes * 1.1));
await measure('quota clean-up', () => setQuota(bytes * 0.9));
await measure('truncateAll', '/masstruncate', '<truncateAll/>');
await server.stop();

/** The action is a request, or a function that returns a note. */
async function measure(
  name: string,
  action: string | (() => Promise<string>),
  body?: object | string,
): Promise<void> {
  const before = await server.turns();
  const start = performance.now();
  const note = await (typeof action === 'string' ? send(action, body) : action()).catch(String);
  const ms = performance.now() - start;
  const { longest, processor } = await server.turns();
  const share = ((processor - before.processor) / ms) * 100;
  const isTooLong = longest.processor > MAX_TURN_MS;
  say(
    `${name.padEnd(44)} longest turn ${longest.processor.toFixed(0).padStart(4)} ms of the processor, ${longest.clock.toFixed(0).padStart(5)} by the clock; took ${ms.toFixed(0).padStart(6)} ms, ${share.toFixed(0).padStart(3)} % of a core ${note}${isTooLong ? '  TOO LONG' : ''}`,
  );
  if (isTooLong) process.exitCode = 1;
}

async function send(path: string, body?: object | string): Promise<string> {
  await (await request(`${server.url}${path}`, body)).arrayBuffer();
  return '';
}

/** Each read on another page, as fast as one client can. */
async function readPages(): Promise<string> {
  const end = performance.now() + seconds * 1000;
  let hits = 0;
  for (let page = 0; performance.now() < end; page = (page + 37) % pages) {
    const [x, y] = [(page % side) * 16, Math.floor(page / side) * 16];
    const response = await fetch(`${server.url}/tiles/${LAYER}/${ZOOM}/${x}/${y}.png`);
    await response.arrayBuffer();
    if (response.ok) hits++;
  }
  return `${hits} hits`;
}

async function createParameterSets(): Promise<string> {
  for (let round = 0; round < 10; round++) {
    const values = Array.from({ length: 50 }, (_, at) => `R${round}V${at}`);
    await Promise.all(values.map((value) => send(`/tiles/${MAP}/1/0/0.png?ANY=${value}`)));
  }
  return '500 sets';
}

async function setQuota(limit: number): Promise<string> {
  const quota = { value: Math.floor(limit), units: 'B' };
  const body = { enabled: true, globalQuota: quota, globalExpirationPolicyName: 'LFU' };
  await request(`${server.url}/api/v1/quota`, body, { method: 'PUT' });
  await delay(seconds * 1000);
  const { evicted } = await readUsage(server.url);
  return `evicted ${evicted.pages} pages`;
}
