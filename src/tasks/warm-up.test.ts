import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { systemClock } from '../lib/clock.ts';
import { createDeferred } from '../lib/deferred.ts';
import { silentLogger } from '../lib/logger.ts';
import { createLeaseStore } from './store/lease-store.ts';
import { TaskRunner } from './task-runner.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

/** A worker whose warm-up ends only when it is no longer wanted. */
function openWarmingWorker({ database, harness }: TaskFixture) {
  const env = { clock: systemClock, random: () => 0.5, log: silentLogger };
  const seen: AbortSignal[] = [];
  const worker = new TaskRunner({
    ...env,
    database,
    catalog: { layer: () => harness.tiles.bound },
    pipeline: harness.pipeline,
    leases: createLeaseStore({ database, ...env }),
    owner: 'warming',
    threads: 2,
    workers: 1,
    exporter: null,
    announceStored: async () => {},
    async warmUp(woken) {
      const ended = createDeferred<void>();
      woken.addEventListener('abort', () => ended.resolve());
      seen.push(woken);
      await ended.promise;
    },
  });
  return { worker, seen };
}

it('a task is performed by a worker that is still warming up', async () => {
  // The service performs none itself.
  fixture = await openTaskFixture({ tasks: { maxThreads: 0 } });
  const { worker, seen } = openWarmingWorker(fixture);
  await eventually(
    'the warm-up runs',
    () => seen.length,
    (count) => count === 1,
  );
  const { id } = await fixture.service.create({ layer: 'roads', zoomStart: 0, zoomStop: 2 }, author('me'));
  expect(await fixture.ended(id)).toMatchObject({ state: 'done', tilesProcessed: 21n });
  await worker.close();
});

it('a worker that is warming up can be stopped', async () => {
  fixture = await openTaskFixture();
  const { worker, seen } = openWarmingWorker(fixture);
  await eventually(
    'the warm-up runs',
    () => seen.length,
    (count) => count === 1,
  );
  await worker.close();
  expect(seen[0]?.aborted).toBe(true);
});
