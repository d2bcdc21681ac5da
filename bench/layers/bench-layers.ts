// 10,000 layers added one by one over GeoWebCache's REST interface: time, event loop, memory, next start.
// npm run bench -- layers [--layers 10000]
import { join } from 'node:path';
import { readOptions } from '../harness/options.ts';
import { judge, quantile, say, temporaryFolder } from '../harness/report.ts';
import { readJson, request } from '../harness/request.ts';
import { startServer } from '../harness/server.ts';

const { layers: count } = readOptions({ layers: 10_000 });
const MAX_MS = 50;
const MAX_BYTES = 30 * 1024;
const MAX_RESTART_MS = 2000;

const options = {
  data: join(temporaryFolder(), 'data'),
  config: 'log: { level: warn }\nlayers: []\n',
  metered: true,
};
const server = await startServer(options);
for (let i = 0; i < 50; i++) await addLayer(`warm-${i}`);
const before = await server.heap();
await server.turns();
const times: number[] = [];
for (let i = 0; i < count; i++) times.push(await addLayer(`topp:layer ${i}`));
const { longest } = await server.turns();
const bytes = ((await server.heap()) - before) / count;
await server.stop();
const second = await startServer(options);
const names = await readJson<string[]>(`${second.url}/rest/layers.json`);
await second.stop();

const ms = (...quantiles: Parameters<typeof quantile>) => `${quantile(...quantiles).toFixed(1)} ms`;
say(`${count} layers added one by one; after a restart there are ${names.length}`);
judge('slowest of all', quantile(times, 1), MAX_MS, 'ms');
say(`median ${ms(times)}, p99 ${ms(times, 0.99)}; the last 1000: median ${ms(times.slice(-1000))}`);
judge('longest turn, of the processor', longest.processor, MAX_MS, 'ms');
say(`longest turn by the clock ${longest.clock.toFixed(1)} ms`);
judge('heap for each layer', bytes, MAX_BYTES, 'bytes');
judge('restart until ready', second.readyAfter, MAX_RESTART_MS, 'ms');

/** Milliseconds. */
async function addLayer(name: string): Promise<number> {
  const body = `<wmsLayer><name>${name}</name>
<metaInformation><title>${name}</title><description>One of many</description></metaInformation>
<mimeFormats><string>image/png</string><string>image/jpeg</string></mimeFormats>
<gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset>
<gridSubset><gridSetName>EPSG:4326</gridSetName><extent><coords><double>-124.7</double><double>24.9</double><double>-66.9</double><double>49.3</double></coords></extent></gridSubset></gridSubsets>
<parameterFilters><stringParameterFilter><key>STYLES</key><defaultValue>a</defaultValue><values><string>a</string><string>b</string></values></stringParameterFilter></parameterFilters>
<wmsUrl><string>http://example.com/wms?</string></wmsUrl><wmsLayers>${name}</wmsLayers></wmsLayer>`;
  const url = `${server.url}/rest/layers/${encodeURIComponent(name)}.xml`;
  const start = performance.now();
  await (await request(url, body, { method: 'PUT' })).text();
  return performance.now() - start;
}
