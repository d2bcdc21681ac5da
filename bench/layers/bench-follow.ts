// Passes of a follow over 10,000 layers of a WMS: one that declares them, one without changes, one with ten. Processor time, event loop.
// npm run bench -- follow [--layers 10000]
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOptions } from '../harness/options.ts';
import { judge, say, temporaryFolder } from '../harness/report.ts';
import { readJson, request } from '../harness/request.ts';
import { startServer } from '../harness/server.ts';

const { layers: count } = readOptions({ layers: 10_000 });
const MAX_PASS_MS = 2000;
const MAX_TURN_MS = 50;
const CHANGED = 10;

let capabilities = capabilitiesOf(0);
const wms = createServer((_, response) => {
  response.setHeader('content-type', 'text/xml');
  response.end(capabilities);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => wms.once('listening', resolve));
const url = `http://127.0.0.1:${(wms.address() as AddressInfo).port}/wms`;

const server = await startServer({
  data: join(temporaryFolder(), 'data'),
  config: `log: { level: warn }\ntasks: { workers: 0 }\nfollow: [{ name: city, type: wms, url: '${url}', every: 86400 }]\n`,
  metered: true,
});
say(`${count} layers, ${(capabilities.length / 2 ** 20).toFixed(1)} MiB of capabilities`);
while ((await status())?.lastAt === null) await sleep(500);
const { processor: declared, longest: first } = await server.turns();
say(`start and the pass that declares them: ${declared.toFixed(0)} ms of the processor`);
say(`longest turn of them, of the processor: ${first.processor.toFixed(0)} ms`);
for (const name of ['nothing changed', 'nothing changed again']) await judgePass(name, 0);
capabilities = capabilitiesOf(CHANGED);
await judgePass(`${CHANGED} changed`, CHANGED);
await judgePass('nothing changed after that', 0);
await server.stop();
wms.close();

async function status() {
  const { follow } = await readJson<{ follow: { lastAt: string | null }[] }>(`${server.url}/api/v1/follow`);
  return follow[0];
}

async function pass() {
  const { processor: before } = await server.turns();
  const response = await request(`${server.url}/api/v1/follow/city/run`, '', { method: 'POST' });
  const { counts } = (await response.json()) as { counts: Record<string, number> };
  const { processor, longest } = await server.turns();
  return { counts, ms: processor - before, turn: longest.processor };
}

async function judgePass(name: string, changed: number): Promise<void> {
  const { counts, ms, turn } = await pass();
  if (counts.changed !== changed || counts.declared !== 0)
    throw new Error(`${name}: ${JSON.stringify(counts)}`);
  judge(`${name}: the pass, of the processor`, ms, MAX_PASS_MS, 'ms');
  judge(`${name}: longest turn, of the processor`, turn, MAX_TURN_MS, 'ms');
}

/** As GeoServer writes them. */
function capabilitiesOf(changed: number): string {
  const layers = Array.from({ length: count }, (_, index) => layer(index, index < changed ? 'newer' : ''));
  return `<?xml version="1.0" encoding="UTF-8"?>
<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms" xmlns:xlink="http://www.w3.org/1999/xlink">
<Service><Name>WMS</Name></Service><Capability><Request><GetMap><Format>image/png</Format><DCPType><HTTP><Get>
<OnlineResource xlink:href="http://127.0.0.1/wms"/></Get></HTTP></DCPType></GetMap></Request>
<Layer><CRS>EPSG:3857</CRS><CRS>EPSG:4326</CRS>${layers.join('\n')}</Layer></Capability></WMS_Capabilities>`;
}

function layer(index: number, title: string): string {
  const west = (index % 300) - 150;
  const south = (index % 120) - 60;
  const box = `minx="${west}" miny="${south}" maxx="${west + 10}" maxy="${south + 5}"`;
  return `<Layer queryable="1" opaque="0">
  <Name>town:layer_${index}</Name>
  <Title>Layer ${index} of the town ${title}</Title>
  <Abstract>Everything that was surveyed for theme ${index}, at a scale of 1 to 500</Abstract>
  <KeywordList><Keyword>features</Keyword><Keyword>layer_${index}</Keyword></KeywordList>
  <CRS>EPSG:25832</CRS><CRS>CRS:84</CRS>
  <EX_GeographicBoundingBox><westBoundLongitude>${west}</westBoundLongitude><eastBoundLongitude>${west + 10}</eastBoundLongitude>
    <southBoundLatitude>${south}</southBoundLatitude><northBoundLatitude>${south + 5}</northBoundLatitude></EX_GeographicBoundingBox>
  <BoundingBox CRS="CRS:84" ${box}/><BoundingBox CRS="EPSG:4326" ${box}/><BoundingBox CRS="EPSG:25832" ${box}/>
  <Style><Name>polygon</Name><Title>Default polygon</Title><Abstract>A sample style that draws a polygon</Abstract>
    <LegendURL width="20" height="20"><Format>image/png</Format>
    <OnlineResource xlink:type="simple" xlink:href="http://127.0.0.1/wms?service=WMS&amp;request=GetLegendGraphic&amp;layer=town%3Alayer_${index}"/></LegendURL></Style>
</Layer>`;
}
