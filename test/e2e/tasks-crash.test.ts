import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { eventually } from '../fixtures/eventually.ts';
import { isAlive } from '../fixtures/processes.ts';
import {
  LAYER,
  openWms,
  pictureOf,
  type ShownTask,
  startTaskServer,
  type TaskServer,
  tilesOf,
} from './task-server.ts';

const TILES = 341;
/** Metatiles of zoom 0 to 4, 4 × 4 tiles each. */
const METATILES = 1 + 1 + 1 + 4 + 16;
const LEASED_ANEW = /a worker process ended; another one is started/;

/** Seeds with an upstream slow enough to be caught in the middle. */
async function seedHalf(server: TaskServer, wms: Awaited<ReturnType<typeof openWms>>): Promise<number> {
  wms.answer = { delayMs: 100 };
  const id = await server.start({ zoomStop: 4, threadCount: 4 });
  await eventually(
    'the seed is in the middle',
    () => wms.requests.length,
    (asked) => asked > METATILES / 2,
  );
  return id;
}

async function expectComplete(server: TaskServer, id: number): Promise<ShownTask> {
  const task = await server.over(id);
  expect(task).toMatchObject({ state: 'done', reason: null, tilesTotal: TILES, tilesProcessed: TILES });
  expect(task.counters.made + task.counters.present).toBe(TILES);
  expect(task.counters.failed).toBe(0);
  expect(await server.list()).toEqual([]);
  const some = [...tilesOf(0, 4)].filter((_, at) => at % 16 === 0);
  expect(await server.expectTiles(some, { cache: 'HIT' })).toBe(some.length);
  return task;
}

/** The servers follow each other on one data folder: the next test ends the servers of the one before. */
describe('a task survives', () => {
  let wms: Awaited<ReturnType<typeof openWms>>;
  let server: TaskServer;
  const start = async (options: Parameters<typeof startTaskServer>[1] = {}) => {
    server = await startTaskServer(wms, options);
  };
  const startAgain = () => start({ data: server.data, outlivesTest: true });

  beforeAll(async () => {
    wms = await openWms();
    await start({ expectedLog: LEASED_ANEW });
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    const all = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
    expect((await server.request('POST', '/masstruncate', all, 'text/xml')).status).toBe(200);
    wms.reset();
  });

  it('a seed survives kill -9 of its worker processes', async () => {
    const id = await seedHalf(server, wms);
    const before = server.workers();
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await eventually('others take their places', () => {
      const now = server.workers();
      return now.length === before.length && now.every((pid) => !before.includes(pid));
    });
    await expectComplete(server, id);
  });

  it.each(['is stopped', 'loses its worker'])(
    'no tile is served from memory that was replaced by a reseed which %s in the middle of a piece',
    async (end) => {
      const tile = { z: 6, x: 4, y: 0 };
      await server.expectTiles([tile], { cache: 'MISS' });
      await server.untilStored();
      wms.reset();
      wms.version = 2;
      // The first metatile of a piece of 16.
      wms.answer = ({ place: { bounds } }) =>
        bounds.minX < -20_037_508 && bounds.maxY > 20_037_508 ? 'hang' : 'good';
      await server.start({ type: 'reseed', zoomStart: 6, zoomStop: 6, threadCount: 2 });
      await eventually(
        'only the first metatile is missing',
        () => wms.active === 1 && wms.requests.length === 16,
      );
      if (end === 'is stopped') {
        await server.request('POST', '/rest/seed', 'kill_all=all', 'application/x-www-form-urlencoded');
      } else for (const pid of server.workers()) process.kill(pid, 'SIGKILL');
      const shown = async () => decodeImage((await server.tile(tile)).bytes, { maxPixels: 256 * 256 });
      const picture = pictureOf(tile, 'EPSG:900913', 2);
      await expect.poll(async () => (await shown()).pixels.equals(picture), { timeout: 10_000 }).toBe(true);
      await server.request('POST', '/rest/seed', 'kill_all=all', 'application/x-www-form-urlencoded');
    },
  );

  it('a seed survives kill -9 of the server', async () => {
    const id = await seedHalf(server, wms);
    const orphans = server.workers();
    expect(orphans.length).toBeGreaterThan(0);
    await server.kill();
    await eventually('its workers end too', () => orphans.every((pid) => !isAlive(pid)));
    await startAgain();
    const [row] = await server.list();
    expect(row?.slice(1, 2)).toEqual([TILES]);
    expect(row?.[3]).toBe(id);
    await expectComplete(server, id);
  });

  it('a seed survives SIGTERM of the server without repeating finished pieces', async () => {
    const id = await seedHalf(server, wms);
    expect((await server.stop()).code).toBe(0);
    await startAgain();
    const task = await expectComplete(server, id);
    // Steps that were finished before the stop are counted, and not checked again.
    expect(task.counters).toMatchObject({ made: TILES, present: 0 });
    expect(wms.requests.length).toBeLessThan(METATILES + 20);
  });

  it('a truncation survives kill -9 of the server and leaves no tile of its range', async () => {
    await server.over(await server.start({ zoomStop: 4, threadCount: 4 }));
    const id = await server.start({ type: 'truncate', zoomStart: 2, zoomStop: 4 });
    await server.kill();
    await startAgain();
    const task = await server.over(id);
    expect(task).toMatchObject({ state: 'done', tilesTotal: TILES - 5, tilesProcessed: TILES - 5 });
    wms.version++;
    expect(await server.expectTiles(tilesOf(0, 1), { cache: 'HIT', version: wms.version - 1 })).toBe(5);
    const corners = [2, 3, 4].map((z) => ({ z, x: 2 ** z - 1, y: 0 }));
    expect(await server.expectTiles(corners, { cache: 'MISS', version: wms.version })).toBe(3);
  });
});
