// Cache hits while a seed runs, beside mod_mapcache while mapcache_seed runs. Needs wrk and Apache with mod_mapcache.
// npm run bench -- seed-hits [--seconds 5] [--connections 8] [--rounds 3] [--processes 2]
// Apache uses all processors; --processes is how many of ours answer, by default as many as there are processors.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { say, temporaryFolder } from '../harness/report.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { type Contestant, type LoadResult, measureLoad } from '../hits/measure-hits.ts';
import { startMapCache } from './mapcache-server.ts';
import { openReplayUpstream } from './replay-upstream.ts';

const READ_ZOOM = 4;
const SEEDED_ZOOM = 5;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
    processes: { type: 'string', default: `${availableParallelism()}` },
  },
});
const load = { seconds: Number(values.seconds), connections: Number(values.connections), zoom: READ_ZOOM };

const folder = temporaryFolder();
const upstream = await openReplayUpstream();
await upstream.replay({ picture: 'drawn', zoom: SEEDED_ZOOM, delayMs: 0 });
const mapCache = await startMapCache(join(folder, 'mapcache'), upstream.url);
const server = await startServerProcess(
  join(folder, 'data'),
  `
log: { level: error }
server: { processes: ${values.processes} }
tasks: { workers: 2 }
upstreams: { '${new URL(upstream.url).host}': { concurrency: 8, allowPrivate: true } }
layers:
  - { name: bench, source: { type: wms, url: '${upstream.url}', layers: a }, formats: [image/png], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }
`,
);
const ours: Contestant = {
  name: 'Tilewarden',
  url: server.url,
  prefix: '/tiles/bench',
  pids: () => [],
  stop: () => server.stop(),
};

async function startTask(request: object): Promise<number> {
  const answer = await fetch(`${server.url}/rest/seed/bench.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ seedRequest: { name: 'bench', gridSetId: 'EPSG:900913', ...request } }),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return Number(answer.headers.get('x-task-id'));
}

async function untilDone(id: number): Promise<void> {
  for (;;) {
    const task = (await (await fetch(`${server.url}/api/v1/tasks/${id}`)).json()) as {
      readonly state: string;
    };
    if (task.state === 'done') return;
    if (task.state === 'aborted') throw new Error(`task ${id} was aborted`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** One task after the other until it is stopped. */
async function keepSeeding(): Promise<() => Promise<void>> {
  let going = true;
  const seeding = (async () => {
    while (going) {
      await untilDone(
        await startTask({ type: 'reseed', zoomStart: SEEDED_ZOOM, zoomStop: SEEDED_ZOOM, threadCount: 2 }),
      );
    }
  })();
  return async () => {
    going = false;
    await seeding;
  };
}

function show(name: string, results: readonly LoadResult[]): LoadResult {
  const sorted = [...results].sort((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  const middle = sorted[Math.floor(sorted.length / 2)] as LoadResult;
  const speeds = sorted.map(({ requestsPerSecond }) => Math.round(requestsPerSecond));
  say(
    `${name.padEnd(28)}${Math.round(middle.requestsPerSecond)} hits/s (${speeds[0]}–${speeds.at(-1)}), p99 ${middle.p99.toFixed(2)} ms`,
  );
  return middle;
}

try {
  await untilDone(await startTask({ type: 'seed', zoomStop: READ_ZOOM, threadCount: 2 }));
  await mapCache.seed(0, READ_ZOOM);
  for (const contestant of [ours, mapCache]) await measureLoad(contestant, { ...load, seconds: 1 });
  const results = { oursIdle: [], theirsIdle: [], oursSeeding: [], theirsSeeding: [] } as Record<
    string,
    LoadResult[]
  >;
  for (let round = 0; round < Number(values.rounds); round++) {
    results.oursIdle?.push(await measureLoad(ours, load));
    results.theirsIdle?.push(await measureLoad(mapCache, load));
    const stopOurs = await keepSeeding();
    results.oursSeeding?.push(await measureLoad(ours, load));
    await stopOurs();
    const stopTheirs = await mapCache.keepSeeding(SEEDED_ZOOM);
    results.theirsSeeding?.push(await measureLoad(mapCache, load));
    await stopTheirs();
  }
  const idle = show('Tilewarden at rest', results.oursIdle ?? []);
  show('mod_mapcache at rest', results.theirsIdle ?? []);
  const seeding = show('Tilewarden while seeding', results.oursSeeding ?? []);
  const theirs = show('mod_mapcache while seeding', results.theirsSeeding ?? []);
  say(
    `while seeding: ${(seeding.requestsPerSecond / theirs.requestsPerSecond).toFixed(2)} × mod_mapcache (aim: at least 1)`,
  );
  say(`p99 while seeding: ${(seeding.p99 / idle.p99).toFixed(2)} × at rest (aim: at most 2)`);
} finally {
  await ours.stop();
  await mapCache.stop();
  await upstream.close();
}
