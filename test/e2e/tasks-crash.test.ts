import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { openWms, type ShownTask, startTaskServer, type TaskServer, tilesOf } from './task-server.ts';

const TILES = 341;
/** Of zoom 0 to 4 in blocks of 4 × 4. */
const METATILES = 1 + 1 + 1 + 4 + 16;
const LEASED_ANEW = /a worker process ended; another takes its place/;

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

function isAlive(pid: number): boolean {
  try {
    // A zombie has ended; whoever adopted it has not looked yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function expectComplete(server: TaskServer, id: number): Promise<ShownTask> {
  const task = await server.over(id);
  expect(task).toMatchObject({ state: 'done', reason: null, tilesTotal: TILES, tilesProcessed: TILES });
  expect(task.counters.made + task.counters.present).toBe(TILES);
  expect(task.counters.failed).toBe(0);
  expect(await server.list()).toEqual([]);
  const some = [...tilesOf(0, 4)].filter((_, at) => at % 4 === 0);
  expect(await server.expectTiles(some, { cache: 'HIT' })).toBe(some.length);
  return task;
}

describe('a seed survives', () => {
  it('kill -9 of a worker process', async () => {
    const wms = await openWms();
    const server = await startTaskServer(wms, { expectedLog: LEASED_ANEW });
    const id = await seedHalf(server, wms);
    const before = server.workers();
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await eventually('others take their places', () => {
      const now = server.workers();
      return now.length === before.length && now.every((pid) => !before.includes(pid));
    });
    await expectComplete(server, id);
    await server.stop();
  });

  it('kill -9 of the server', async () => {
    const wms = await openWms();
    const first = await startTaskServer(wms);
    const id = await seedHalf(first, wms);
    const orphans = first.workers();
    expect(orphans.length).toBeGreaterThan(0);
    await first.kill();
    await eventually('its workers end too', () => orphans.every((pid) => !isAlive(pid)));
    const second = await startTaskServer(wms, { data: first.data });
    const [row] = await second.list();
    expect(row?.slice(1, 2)).toEqual([TILES]);
    expect(row?.[3]).toBe(id);
    await expectComplete(second, id);
    await second.stop();
  });

  it('SIGTERM of the server, which hands its pieces back and loses nothing', async () => {
    const wms = await openWms();
    const first = await startTaskServer(wms);
    const id = await seedHalf(first, wms);
    expect((await first.stop()).code).toBe(0);
    const second = await startTaskServer(wms, { data: first.data });
    const task = await expectComplete(second, id);
    // What was finished before the stop was counted then, and is not looked at again.
    expect(task.counters).toMatchObject({ made: TILES, present: 0 });
    expect(wms.requests.length).toBeLessThan(METATILES + 20);
    await second.stop();
  });
});

describe('a truncation survives', () => {
  it('kill -9 of the server, and nothing of what it was to remove is left', async () => {
    const wms = await openWms();
    const first = await startTaskServer(wms);
    await first.over(await first.start({ zoomStop: 4, threadCount: 4 }));
    const id = await first.start({ type: 'truncate', zoomStart: 2, zoomStop: 4 });
    await first.kill();
    const second = await startTaskServer(wms, { data: first.data });
    const task = await second.over(id);
    expect(task).toMatchObject({ state: 'done', tilesTotal: TILES - 5, tilesProcessed: TILES - 5 });
    wms.version++;
    expect(await second.expectTiles(tilesOf(0, 1), { cache: 'HIT', version: wms.version - 1 })).toBe(5);
    const corners = [2, 3, 4].map((z) => ({ z, x: 2 ** z - 1, y: 0 }));
    expect(await second.expectTiles(corners, { cache: 'MISS', version: wms.version })).toBe(3);
    await second.stop();
  });
});
