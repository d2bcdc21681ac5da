import { expect, it } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { boundsOfTile } from '../../src/domain/grid-set.ts';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, isLong } from '../fixtures/length.ts';
import { openMockWeather } from '../fixtures/mock-sources.ts';
import { wrongShare } from '../fixtures/mock-wms-pixels.ts';
import { openServer } from './server-in-process.ts';

const RUNS = inLength(3, 12);
const STEPS = inLength(8, 80);
const HOUR = 3_600_000;
const BEGIN = Date.parse('2026-01-01T00:00:00Z');
/** Minutes between the steps of a run. */
const STEP_MINUTES = 4;
const TILES = ['0/0/0', '1/0/0', '1/1/0', '1/0/1', '1/1/1'];

/** The steps of one run; a run comes every six hours. */
function stepsOf(run: number): readonly string[] {
  return Array.from({ length: STEPS }, (_, step) =>
    new Date(BEGIN + run * 6 * HOUR + step * STEP_MINUTES * 60_000).toISOString().replace('.000Z', 'Z'),
  );
}

async function isOfStep(bytes: Buffer, path: string, time: string): Promise<boolean> {
  const [z = 0, x = 0, y = 0] = path.split('/').map(Number);
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  if (!gridSet) throw new Error('no grid set');
  const parameters = new Map([
    ['LAYERS', 'rain'],
    ['TIME', time],
  ]);
  const bounds = boundsOfTile(gridSet, z, x, y);
  const place = { srs: 3857, bounds, width: 256, height: 256, parameters };
  return wrongShare(await decodeImage(bytes, { maxPixels: 256 * 256 }), place) === 0;
}

it(`the first request of ${STEPS} new steps of each of ${RUNS} runs is a hit, and never of another step`, async () => {
  const weather = await openMockWeather();
  const server = await openServer({
    config: `
layers:
  - name: radar
    source: { type: wms, url: '${weather.url}', layers: rain }
    gridSets: [{ name: EPSG:900913, zoomStop: 3 }]
    metatile: [2, 2]
    parameters:
      - name: TIME
        type: time
        from: capabilities
        every: 1
        keep: PT13H
        seed: { latest: ${STEPS}, zoomStop: 1 }
`,
  });
  const headers = { authorization: server.authorization };
  const api = async <Answer>(path: string) =>
    (await (await fetch(`${server.url}/api/v1/${path}`, { headers })).json()) as Answer;
  const lastTime = async () => (await api<{ times: { last: string } | null }>('layers/radar')).times?.last;
  const outcomes: (string | null)[] = [];
  const read = async (path: string, time: string | null) => {
    const query = time === null ? '' : `?TIME=${encodeURIComponent(time)}`;
    const answer = await fetch(`${server.url}/tiles/radar/${path}.png${query}`);
    outcomes.push(answer.headers.get('x-cache'));
    return Buffer.from(await answer.arrayBuffer());
  };

  for (let run = 0; run < RUNS; run++) {
    const steps = stepsOf(run);
    weather.publish([...weather.times, ...steps]);
    const latest = await eventually('the run is listed', lastTime, (last) => last === steps.at(-1));
    // The first one is listed before it is seeded: otherwise a new layer would have no times at all.
    if (run === 0) {
      await eventually(
        'the first run is seeded',
        () => api<{ tasks: { state: string }[] }>('tasks?limit=500'),
        ({ tasks }) => tasks.length === STEPS && tasks.every(({ state }) => state === 'done'),
      );
    }
    for (const step of steps) {
      for (const path of TILES) {
        expect(await isOfStep(await read(path, step), path, step), `${path} of ${step}`).toBe(true);
      }
    }
    expect(await isOfStep(await read('0/0/0', null), '0/0/0', latest ?? '')).toBe(true);
  }
  const hits = outcomes.filter((outcome) => outcome === 'HIT').length;
  expect(hits / outcomes.length).toBeGreaterThanOrEqual(0.99);
  const { tasks } = await api<{ tasks: unknown[] }>('tasks?limit=500');
  expect(tasks).toHaveLength(Math.min(500, RUNS * STEPS));
  expect(weather.maps()).toHaveLength(RUNS * STEPS * 2);
  if (!isLong) return;
  await eventually(
    'only the window is stored',
    async () =>
      (await api<{ layers: { name: string; tiles: number }[] }>('usage')).layers.find(
        ({ name }) => name === 'radar',
      )?.tiles ?? 0,
    (tiles) => Math.abs(tiles / (3 * STEPS * TILES.length) - 1) <= 0.01,
  );
});
