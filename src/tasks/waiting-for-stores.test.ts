import { afterEach, expect, it } from 'vitest';
import { tile } from '../../test/contracts/tile-store-tools.ts';
import { createSkippingClock } from '../../test/fixtures/clocks.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { guardFreeSpace } from '../storage/guard-free-space.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';

let fixture: TaskFixture | null = null;
afterEach(() => fixture?.close());

it('a task that waits for room on the disk reports which disk, and how little is free', async () => {
  const full = { bsize: 4096, blocks: 1000, bavail: 5, files: 0, ffree: 0 };
  const store = guardFreeSpace(createMemoryStore({ type: 'memory' }), {
    root: '/tiles',
    minFreePercent: 2,
    clock: systemClock,
    log: silentLogger,
    measure: async () => full,
  });
  fixture = await openTaskFixture({ store });
  const { service } = fixture;
  const { id } = await service.create({ layer: 'roads', zoomStop: 2 }, author('me'));
  await expect.poll(async () => (await service.get(id))?.reason).not.toBeNull();
  const task = await service.get(id);
  expect(task).toMatchObject({ state: 'running', tilesProcessed: 0n, waitingFor: { reason: 'store-full' } });
  expect(task?.reason).toBe('The disk of /tiles is full: 0.5 % free, and minFreePercent keeps 2 % free.');
  await service.cancel({ ids: [id], states: ['running'] }, 'me');
});

it.each(['seed', 'truncate'])(
  'a %s waits for a failing store, goes on when it is back, fails nothing and requests nothing twice',
  async (type) => {
    const working = createMemoryStore({ type: 'memory' });
    let isAway = true;
    let refusals = 0;
    const orFail =
      <Input extends unknown[], Output>(work: (...input: Input) => Promise<Output>) =>
      async (...input: Input) => {
        if (!isAway) return work(...input);
        refusals++;
        throw new TilewardenError('store-failed', 'The object store failed.');
      };
    const store = {
      ...working,
      put: orFail(working.put),
      edit: orFail(working.edit),
    };
    const clock = createSkippingClock();
    fixture = await openTaskFixture({ store, serviceClock: clock });
    const { service, harness } = fixture;
    if (type === 'truncate') await working.put(harness.tiles.set, 2, [tile(1, 2, 'a', 100)], 1);
    const { id } = await service.create({ layer: 'roads', type, zoomStop: 2 }, author('me'));
    await expect.poll(async () => (await service.get(id))?.waitingFor?.reason).toBe('store-failed');
    expect(await service.get(id)).toMatchObject({ state: 'running', reason: 'The object store failed.' });
    const before = refusals;
    clock.skip(1000);
    await expect.poll(() => refusals).toBeGreaterThan(before);
    isAway = false;
    clock.skip(2000);
    const task = await fixture.ended(id);
    expect(task).toMatchObject({ state: 'done', tilesProcessed: task.tilesTotal, errors: [] });
    expect(task.counters.failed).toBe(0);
    const asked = fixture.harness.source.requests.map(({ metatile }) => JSON.stringify(metatile));
    expect(asked).toHaveLength(new Set(asked).size);
  },
);
