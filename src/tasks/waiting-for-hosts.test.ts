import { afterEach, describe, expect, it } from 'vitest';
import { createSkippingClock } from '../../test/fixtures/clocks.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { HostClosed } from '../domain/upstream-status.ts';
import type { SourceRequest, SourceResult } from '../sources/tile-source.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

/** The host is left alone for some time, as far as the upper zooms go. */
async function open(ms: number, tasks = { maxThreads: 1 }) {
  const clock = createSkippingClock();
  const moment = clock.now() + ms;
  const opened = await openTaskFixture({ tasks, serviceClock: clock });
  fixture = opened;
  const { source } = opened.harness;
  source.answer = (request: SourceRequest): SourceResult => {
    if (request.metatile.z >= 3 && clock.now() < moment) closedUntil(moment);
    return source.draw(request);
  };
  /** Resolves when the task has reported what it waits for. */
  const waitOf = (id: number) =>
    eventually(
      'the task waits',
      async () => (await opened.service.get(id))?.waitingFor ?? null,
      (wait) => wait !== null,
    );
  return { ...opened, clock, moment, waitOf };
}

function closedUntil(moment: number): never {
  const cause = new HostClosed('maps.example.org:443', { reason: 'quiet-hours', until: moment });
  throw new TilewardenError('source-busy', 'The map source is paused.', { cause });
}

describe('a task whose host is left alone', () => {
  it('a task whose host is left alone names that host, and holds no thread that others could use', async () => {
    const { service, ended, moment, waitOf } = await open(3_600_000);
    const resting = await service.create({ layer: 'roads', zoomStart: 3, zoomStop: 4 }, author('me'));
    expect(await waitOf(resting.id)).toMatchObject({
      host: 'maps.example.org:443',
      reason: 'quiet-hours',
      until: moment,
    });
    const other = await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    expect(other).toMatchObject({ state: 'done', tilesProcessed: 21n, waitingFor: null });
    const still = await service.get(resting.id);
    expect(still).toMatchObject({ state: 'running', tilesProcessed: 0n });
    expect(still?.counters.failed).toBe(0);
  });

  it.each([
    ['a short wait, which its leases outlast', 3000],
    ['a longer wait, from where it was', 6500],
  ])(
    'a task whose host is left alone goes on after %s, and has lost and failed nothing',
    async (_wait, ms) => {
      const { service, ended, clock, waitOf } = await open(ms, { maxThreads: 3 });
      const { id } = await service.create({ layer: 'roads', zoomStop: 3, threadCount: 3 }, author('me'));
      await waitOf(id);
      clock.skip(ms);
      const done = await ended(id);
      expect(done).toMatchObject({ state: 'done', tilesProcessed: 85n, reason: null, waitingFor: null });
      expect(done.counters).toMatchObject({ made: 85, failed: 0 });
      expect(done.errors).toEqual([]);
    },
  );
});
