// The excess of usage over a quota while a seed writes five times as much, and the time until the quota holds again.
// npm run bench -- quota [--quota MIB] [--seconds 45]. Reads are skewed; least recently used tiles are evicted.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from '../harness/options.ts';
import { openReplayUpstream } from '../harness/replay-upstream.ts';
import { judge, say, temporaryFolder } from '../harness/report.ts';
import { readJson, readUsage, request, stopTasks, untilDone } from '../harness/request.ts';
import { startServer, upstreamLimits, wmsLayer } from '../harness/server.ts';

const options = readOptions({ quota: 100, seconds: 45 });
const MIB = 1024 ** 2;
const limit = options.quota * MIB;
const tolerance = Math.max(limit * 0.01, 64 * MIB);
const PERIOD_SECONDS = 10;
const ZOOM = 12;
/** Tiles along a side of one seeded area. */
const STRIP = 128;
const HALF_WORLD = 20037508.342789244;

const upstream = await openReplayUpstream();
const limits = upstreamLimits(upstream.url, 'concurrency: 32');
const config = `log: { level: warn }\n${limits}layers:${wmsLayer('map', upstream.url)}\n`;
const server = await startServer({ data: join(temporaryFolder(), 'data'), config });
await request(
  `${server.url}/api/v1/quota`,
  {
    enabled: true,
    globalQuota: { value: options.quota, units: 'MiB' },
    globalExpirationPolicyName: 'LRU',
  },
  { method: 'PUT' },
);

const start = performance.now();
const deadline = start + options.seconds * 1000;
const over = new AbortController();
let highest = 0;
const background = [sampleUsage(), readSkewed()];
let written = 0;
for (let strip = 0; written < 5 * limit && strip < 32 && performance.now() < deadline; strip++) {
  written = await seedStrip(strip);
}
const seedEnd = performance.now();
while ((await readUsage(server.url)).bytes > limit) await delay(100);
const excessMs = performance.now() - seedEnd;
over.abort();
await Promise.all(background);
await server.stop();
await upstream.close();

say(`quota ${options.quota} MiB, checked every ${PERIOD_SECONDS} s`);
say(`written: ${(written / MIB).toFixed(1)} MiB in ${((seedEnd - start) / 1000).toFixed(1)} s`);
judge('highest usage', highest / MIB, (limit + tolerance) / MIB, 'MiB');
judge('at or below the quota again after the last tile', excessMs / 1000, PERIOD_SECONDS + 5, 's');

/** Returns the bytes of all strips so far. */
async function seedStrip(strip: number): Promise<number> {
  const size = (2 * HALF_WORLD) / 2 ** ZOOM;
  const west = -HALF_WORLD + strip * STRIP * size;
  const bounds = [west + 1, 20037508 - STRIP * size, west + STRIP * size - 1, 20037507];
  const body = { layer: 'map', type: 'seed', zoomStart: ZOOM, zoomStop: ZOOM, bounds, threadCount: 16 };
  const { id } = await readJson<{ readonly id: number }>(`${server.url}/api/v1/tasks`, body);
  const rest = delay(deadline - performance.now(), 'late', { ref: false });
  if ((await Promise.race([untilDone(server.url, id), rest])) === 'late') await stopTasks(server.url);
  const { bytes, evicted } = await readUsage(server.url);
  return bytes + evicted.bytes;
}

/** Most reads go to a corner of the first strip. */
async function readSkewed(): Promise<void> {
  const near = () => Math.floor(STRIP * Math.random() ** 6);
  for (; !over.signal.aborted; await delay(20))
    await (await fetch(`${server.url}/tiles/map/${ZOOM}/${near()}/${near()}.png`)).arrayBuffer();
}

async function sampleUsage(): Promise<void> {
  for (; !over.signal.aborted; await delay(250))
    highest = Math.max(highest, (await readUsage(server.url)).bytes);
}
