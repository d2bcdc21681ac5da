/**
 * How long hits take while three maps of 4096 × 4096 are made, beside an idle server, in turns on one server. Needs
 * `npm run build` before.
 *
 *   npm run bench:maps -- [--seconds 4] [--rounds 3]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { FROM_BUILD, startServerProcess } from '../truncate/server-process.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' } },
});
const MAPS_AT_ONCE = 3;
const CONFIGURATION =
  'layers:\n  - { name: world, source: { type: world }, fullWMS: true, gridSets: [EPSG:900913] }\n';
const say = (line: string) => void process.stdout.write(`${line}\n`);

const folder = mkdtempSync(join(tmpdir(), 'tilewarden-maps-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const data = join(folder, 'data');
mkdirSync(data);
const server = await startServerProcess(data, CONFIGURATION, FROM_BUILD);
const one = new Agent({ connections: 1 });
const several = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

const tiles = Array.from({ length: 64 }, (_, at) => `/tiles/world/3/${at % 8}/${Math.floor(at / 8)}.png`);
for (const tile of tiles) await get(tile, one);
// Each of another place, so that none is made for two.
let maps = 0;
const nextMap = () => {
  const shift = maps++ * 1000;
  return get(
    `/service/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=world&STYLES=&SRS=EPSG:900913&BBOX=${shift - 15000000},-15000000,${shift + 15000000},15000000&WIDTH=4096&HEIGHT=4096&FORMAT=image/png`,
    several,
  );
};
await nextMap();

const idle: number[] = [];
const busy: number[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const until = performance.now() + Number(values.seconds) * 1000;
  await hitsInto(idle, () => performance.now() < until);
  let left = MAPS_AT_ONCE;
  const making = Array.from({ length: MAPS_AT_ONCE }, () => nextMap().finally(() => left--));
  await hitsInto(busy, () => left > 0);
  await Promise.all(making);
}
await server.stop();
for (const [what, times] of [
  ['idle', idle],
  [`while ${MAPS_AT_ONCE} maps are made`, busy],
] as const)
  say(
    `${what}: ${times.length} hits, p50 ${partOf(times, 0.5).toFixed(2)} ms, p99 ${partOf(times, 0.99).toFixed(2)} ms`,
  );
say(`p99, maps : idle = ${(partOf(busy, 0.99) / partOf(idle, 0.99)).toFixed(2)}`);
await one.close();
await several.close();

async function get(path: string, dispatcher: Agent): Promise<void> {
  const { statusCode, body } = await request(server.url + path, { dispatcher });
  await body.dump({ limit: Number.MAX_SAFE_INTEGER });
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
}

async function hitsInto(times: number[], goesOn: () => boolean): Promise<void> {
  for (let at = 0; goesOn(); at++) {
    const begun = performance.now();
    await get(tiles[at % tiles.length] ?? '', one);
    times.push(performance.now() - begun);
  }
}

function partOf(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0;
}
