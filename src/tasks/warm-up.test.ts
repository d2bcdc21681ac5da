import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { createDeferred } from '../lib/deferred.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { LeaseRun } from './lease-run.ts';
import type { Lease } from './store/lease.ts';
import { createLeaseStore } from './store/lease-store.ts';
import { TaskRunner } from './task-runner.ts';

type RunnerOptions = ConstructorParameters<typeof TaskRunner>[0];

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

/** A worker whose warm-up ends only when it is no longer wanted. */
function openWarmingWorker({ database, harness }: TaskFixture, more: Partial<RunnerOptions> = {}) {
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
    ...more,
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

it('a worker keeps its lease while other processes cannot be reached for a moment', async () => {
  fixture = await openTaskFixture({ tasks: { maxThreads: 0 } });
  const errors: unknown[] = [];
  let attempts = 0;
  const announceStored = async () => {
    if (++attempts % 2 === 1) throw new Error('The database is away.');
  };
  const log: Logger = { ...silentLogger, warn() {}, error: (details) => void errors.push(details) };
  const { worker } = openWarmingWorker(fixture, { announceStored, log });
  const { id } = await fixture.service.create({ layer: 'roads', zoomStart: 0, zoomStop: 2 }, author('me'));
  expect(await fixture.ended(id)).toMatchObject({ state: 'done', counters: { made: 21, present: 0 } });
  expect(errors).toEqual([]);
  await worker.close();
});

it('a lease whose report fails in one thread has ended in all of them when its run rejects', async () => {
  fixture = await openTaskFixture({ tasks: { maxThreads: 0 } });
  const { harness, database, service } = fixture;
  harness.source.answer = (request, number) => {
    if (number === 0) throw new TilewardenError('source-unavailable', 'The map server is down.');
    return harness.source.draw(request);
  };
  const env = { clock: systemClock, random: () => 0.5, log: silentLogger };
  const leases = createLeaseStore({ database, ...env });
  const draft = { layer: 'roads', zoomStart: 6, zoomStop: 6, threadCount: 2, tileFailureRetryCount: 0 };
  await service.create(draft, author('me'));
  const lease = await leases.take({ owner: 'me', freeThreads: 2, workers: 1 });
  const run = new LeaseRun(lease as Lease, {
    ...{ ...env, leases, pipeline: harness.pipeline, exporter: null, tilesOf: () => harness.tiles },
    ...{ announceStored: async () => {}, resting: () => [], hostClosed() {}, failTask: async () => {} },
    warn() {},
    crowded() {
      throw new Error('The report fails.');
    },
  });
  await expect(run.run()).rejects.toThrow('The report fails.');
  await setTimeout(300);
  // One for each thread.
  expect(harness.source.requests.length).toBeLessThanOrEqual(2);
});
