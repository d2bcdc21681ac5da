// How far usage exceeds a quota while a seed writes five times as much, and how soon it is kept again.
// npm run bench -- quota [--quota MIB] [--policy LRU] [--scope all|layer] [--seconds 45]. Reads are skewed; with
// --scope layer the quota is that of the layer.
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { temporaryFolder } from '../harness/report.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { openReplayUpstream } from '../seed/replay-upstream.ts';

const { values } = parseArgs({
  options: {
    quota: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '45' },
    policy: { type: 'string', default: 'LRU' },
    scope: { type: 'string', default: 'all' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const MIB = 1024 ** 2;
const limit = Number(values.quota) * MIB;
const tolerated = Math.max(limit * 0.01, 64 * MIB);
const PERIOD_SECONDS = 10;
const ZOOM = 12;
/** Tiles along a side of one seeded area. */
const STRIP = 128;
const folder = temporaryFolder(values.folder);
const data = join(folder, 'data');
mkdirSync(data);

const upstream = await openReplayUpstream();
const server = await startServerProcess(
  data,
  `log: { level: warn }
upstreams: { '${new URL(upstream.url).host}': { concurrency: 32, allowPrivate: true } }
layers:
  - name: map
    source: { type: wms, url: '${upstream.url}', layers: map }
    formats: [image/png]
    gridSets: [EPSG:900913]
    metatile: [4, 4]
`,
);

interface Usage {
  readonly bytes: number;
  readonly evicted: { readonly bytes: number; readonly tiles: number };
}

const usage = async () => (await (await fetch(`${server.url}/api/v1/usage`)).json()) as Usage;
const quota = { value: limit / MIB, units: 'MiB' };
await put('/api/v1/quota', {
  enabled: true,
  ...(values.scope === 'layer'
    ? {
        globalQuota: { value: 1, units: 'TiB' },
        layerQuotas: [{ layer: 'map', expirationPolicyName: values.policy, quota }],
      }
    : { globalQuota: quota, globalExpirationPolicyName: values.policy }),
});

const begun = performance.now();
const stop = new AbortController();
const samples: { at: number; bytes: number }[] = [];
const sampling = sample();
const reading = readSkewed();
let written = 0;
const deadline = begun + Number(values.seconds) * 1000;
for (let strip = 0; written < 5 * limit && strip < 32 && performance.now() < deadline; strip++) {
  written = await seedStrip(strip);
}
const seededAfter = performance.now() - begun;
const full = samples.findIndex(({ bytes }) => bytes > limit);
const highest = Math.max(...samples.slice(Math.max(0, full)).map(({ bytes }) => bytes));
const backAfter = await untilBelow();
stop.abort();
await Promise.all([sampling, reading]);
await server.stop();
await upstream.close();

const held = highest <= limit + tolerated && backAfter <= (PERIOD_SECONDS + 5) * 1000;
process.exitCode = held ? 0 : 1;
const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;
process.stdout.write(
  `${[
    `quota                          ${mib(limit)} ${values.policy}, looked at every ${PERIOD_SECONDS} s`,
    `made                           ${mib(written)} in ${(seededAfter / 1000).toFixed(1)} s`,
    `highest usage                  ${mib(highest)}; tolerated ${mib(limit + tolerated)}: ${highest <= limit + tolerated}`,
    `at or below the quota again    ${(backAfter / 1000).toFixed(1)} s after the last tile; allowed ${PERIOD_SECONDS + 5} s`,
  ].join('\n')}\n`,
);

async function seedStrip(strip: number): Promise<number> {
  const size = (2 * 20037508.342789244) / 2 ** ZOOM;
  const west = -20037508.342789244 + strip * STRIP * size;
  const bounds = [west + 1, 20037508 - STRIP * size, west + STRIP * size - 1, 20037507];
  const body = { layer: 'map', type: 'seed', zoomStart: ZOOM, zoomStop: ZOOM, bounds, threadCount: 16 };
  const response = await fetch(`${server.url}/api/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(await response.text());
  const { id } = (await response.json()) as { id: number };
  for (;;) {
    const task = (await (await fetch(`${server.url}/api/v1/tasks/${id}`)).json()) as { state: string };
    if (task.state === 'done') break;
    if (task.state === 'aborted') throw new Error('the seed was aborted');
    if (performance.now() > deadline) {
      await fetch(`${server.url}/api/v1/tasks/${id}`, { method: 'DELETE' });
      break;
    }
    await delay(200);
  }
  const { bytes, evicted } = await usage();
  return bytes + evicted.bytes;
}

/** Most reads go to a corner of the first strip. */
async function readSkewed(): Promise<void> {
  const near = () => Math.floor(STRIP * Math.random() ** 6);
  while (!stop.signal.aborted) {
    await (await fetch(`${server.url}/tiles/map/${ZOOM}/${near()}/${near()}.png`)).arrayBuffer();
    await delay(20);
  }
}

async function sample(): Promise<void> {
  while (!stop.signal.aborted) {
    samples.push({ at: performance.now(), bytes: (await usage()).bytes });
    await delay(250);
  }
}

async function untilBelow(): Promise<number> {
  const from = performance.now();
  while ((await usage()).bytes > limit) await delay(100);
  return performance.now() - from;
}

async function put(path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server.url}${path}`, {
    method: 'PUT',
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(await response.text());
}
