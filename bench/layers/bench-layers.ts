// 10,000 layers added one by one over GeoWebCache's REST interface: time, event loop, memory, next start.
// npm run bench -- layers [--layers 10000]
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, startServerProcess } from '../harness/server-process.ts';

const { values } = parseArgs({ options: { layers: { type: 'string', default: '10000' } } });
const count = Number(values.layers);
const MAX_MILLISECONDS = 50;
const MAX_BYTES = 30 * 1024;
const MAX_RESTART = 2000;

const folder = temporaryFolder();
const data = join(folder, 'data');
mkdirSync(data);
const meterFile = join(folder, 'meter');
process.env.TURN_METER = meterFile;
const program = [
  '--expose-gc',
  '--import',
  './bench/layers/collect-garbage.mjs',
  '--import',
  './bench/turns/turn-meter.mjs',
  ...FROM_BUILD,
];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const server = await startServerProcess(data, 'layers: []\n', program);
for (let i = 0; i < 50; i++) await put(`warm-${i}`);
await turns();
const before = await heap();
const took: number[] = [];
for (let i = 0; i < count; i++) took.push(await timed(() => put(`topp:layer ${i}`)));
const { longest } = await turns();
const memory = ((await heap()) - before) / count;
await server.stop();
const again = await startServerProcess(data, 'layers: []\n', program);
const listed = JSON.parse(await ask('GET', `${again.url}/rest/layers.json`)) as string[];
await again.stop();

say(`${count} layers added one by one; after a restart there are ${listed.length}`);
judge('slowest of all', quantile(took, 1), MAX_MILLISECONDS, 'ms');
say(
  `median ${quantile(took).toFixed(1)} ms, p99 ${quantile(took, 0.99).toFixed(1)} ms; the last 1000: median ${quantile(took.slice(-1000)).toFixed(1)} ms`,
);
judge('longest turn, of the processor', longest.processor, MAX_MILLISECONDS, 'ms');
say(`longest turn by the clock ${longest.clock.toFixed(1)} ms`);
judge('heap for each layer', memory, MAX_BYTES, 'bytes');
judge('restart until ready', again.readyAfter, MAX_RESTART, 'ms');

function judge(what: string, value: number, allowed: number, unit: string): void {
  const verdict = value <= allowed ? '' : '  TOO MUCH';
  say(`${what}: ${value.toFixed(1)} ${unit} (allowed ${allowed})${verdict}`);
  if (value > allowed) process.exitCode = 1;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function put(name: string): Promise<void> {
  const body = `<wmsLayer><name>${name}</name>
<metaInformation><title>${name}</title><description>One of many</description></metaInformation>
<mimeFormats><string>image/png</string><string>image/jpeg</string></mimeFormats>
<gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset>
<gridSubset><gridSetName>EPSG:4326</gridSetName><extent><coords><double>-124.7</double><double>24.9</double><double>-66.9</double><double>49.3</double></coords></extent></gridSubset></gridSubsets>
<parameterFilters><stringParameterFilter><key>STYLES</key><defaultValue>a</defaultValue><values><string>a</string><string>b</string></values></stringParameterFilter></parameterFilters>
<wmsUrl><string>http://example.com/wms?</string></wmsUrl><wmsLayers>${name}</wmsLayers></wmsLayer>`;
  const text = await ask('PUT', `${server.url}/rest/layers/${encodeURIComponent(name)}.xml`, body);
  if (text !== 'layer saved') throw new Error(text);
}

async function ask(method: string, url: string, body = ''): Promise<string> {
  const asked = request(url, { method, agent, headers: { 'content-type': 'text/xml' } });
  asked.end(body);
  const [answer] = await once(asked, 'response');
  return (await buffer(answer)).toString();
}

/** Bytes in use after a collection. */
async function heap(): Promise<number> {
  process.kill(server.pid, 'SIGUSR2');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const metrics = await ask('GET', `${server.url}/metrics`);
  return Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(metrics)?.[1]);
}

async function turns(): Promise<{
  readonly longest: { readonly clock: number; readonly processor: number };
}> {
  const answer = await fetch(`http://127.0.0.1:${readFileSync(meterFile, 'utf8')}/`);
  return (await answer.json()) as Awaited<ReturnType<typeof turns>>;
}
