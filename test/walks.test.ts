import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LAYER, shareOpenTaskServer } from './e2e/task-server.ts';
import { whenOver } from './fixtures/when-over.ts';

/** Files of the steps, and files that only answer a question on the way, by heading of `docs/architecture/walks.md`. */
const walks = readWalks();
/** They run before the request, on threads or only in servers of several processes, or are tables. */
const ELSEWHERE =
  /^src\/(http\/server|raster\/metatile-cutter|db\/process-feed|app\/parent|app\/open-worker|cli\/child-process|http\/gwc\/gwc-routes)\.ts$/;
/** Tools and vocabulary that every file uses. */
const VOCABULARY = /^src\/(lib|domain)\//;
const REPETITIONS = 10;

function readWalks() {
  const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'architecture', 'walks.md'), 'utf8');
  const sections = text.split('\n## ').slice(1);
  return sections.map((section) => {
    const [steps = '', helpers = ''] = section.split('\nOn the way');
    const filesIn = (part: string) => [...part.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, path = '']) => path);
    return { steps: [...new Set(filesIn(steps))], helpers: filesIn(helpers) };
  });
}

/** Counts the calls of functions in this process, by V8. */
async function openRecorder() {
  const session = new Session();
  session.connect();
  whenOver(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const take = async () => (await session.post('Profiler.takePreciseCoverage')).result;
  /** Files of `src` with a function that was called. */
  return async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    await take();
    await work();
    const called = (await take()).filter(({ functions }) => functions.some(({ ranges }) => ranges[0]?.count));
    return called.flatMap(({ url }) => /src\/[^?]+\.ts$/.exec(url) ?? []);
  };
}

const shared = shareOpenTaskServer();

it('the walks through the code are short', () => {
  const [hit = 0, miss = 0, seed = 0, , setting = 0] = walks.map(({ steps }) => steps.length);
  expect(hit).toBeLessThanOrEqual(14);
  expect(hit + miss).toBeLessThanOrEqual(40);
  expect(seed).toBeLessThanOrEqual(30);
  expect(setting).toBeLessThanOrEqual(6);
});

it('a hit, a miss and a seed run the files of their walks, and a hit no others', async () => {
  const { server } = shared;
  const [hit, miss, seed] = walks;
  if (!hit || !miss || !seed) throw new Error('walks.md has too few sections');
  const record = await openRecorder();
  const agent = new Agent({ keepAlive: true });
  whenOver(() => agent.destroy());
  const read = async (y: number) => {
    const request = get(`${server.url}/tiles/${LAYER}/EPSG:900913/6/4/${y}.png`, { agent });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
  };
  const recordAll = async (rows: readonly number[]) => {
    const runs: (readonly string[])[] = [];
    for (const y of rows) {
      runs.push(await record(() => read(y)));
      await server.untilStored();
    }
    return runs;
  };
  const misses = await recordAll(Array.from({ length: REPETITIONS }, (_, i) => 4 * i));
  const hits = await recordAll(Array.from({ length: REPETITIONS }, () => 0));
  const seeding = await record(async () =>
    server.over(await server.start({ gridSet: 'EPSG:900913', zoomStart: 0, zoomStop: 2 })),
  );
  const unrun = (steps: readonly string[], ...runs: (readonly string[])[]) =>
    steps.filter((path) => !ELSEWHERE.test(path) && !runs.some((run) => run.includes(path)));
  expect(unrun(hit.steps, ...misses, ...hits)).toEqual([]);
  expect(unrun(miss.steps, ...misses)).toEqual([]);
  expect(unrun(seed.steps, seeding)).toEqual([]);
  // What the server does by itself now and then is not in every run.
  const [first = [], ...others] = hits;
  const always = first.filter((path) => others.every((run) => run.includes(path)));
  const named = [...hit.steps, ...hit.helpers];
  expect(always.filter((path) => !VOCABULARY.test(path) && !named.includes(path))).toEqual([]);
});
