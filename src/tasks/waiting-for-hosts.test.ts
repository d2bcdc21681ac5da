import { afterEach, describe, expect, it } from 'vitest';
import { author } from '../../test/fixtures/author.ts';
import { until } from '../../test/fixtures/pipeline-harness.ts';
import { openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { HostClosed } from '../domain/upstream-status.ts';
import type { SourceRequest, SourceResult } from '../sources/tile-source.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

function closedUntil(moment: number): never {
  const cause = new HostClosed('maps.example.org:443', { reason: 'quiet-hours', until: moment });
  throw new TilewardenError('source-busy', 'The map source is paused.', { cause });
}

/** The host is left alone until the moment, as far as the upper zooms go. */
async function open(moment: number, tasks = { maxThreads: 1 }): Promise<TaskFixture> {
  fixture = await openTaskFixture({ tasks });
  const { source } = fixture.harness;
  source.answer = (request: SourceRequest): SourceResult => {
    if (request.metatile.z >= 3 && Date.now() < moment) closedUntil(moment);
    return source.draw(request);
  };
  return fixture;
}

describe('a task whose host is left alone', () => {
  it('a task whose host is left alone names that host, and holds no thread that others could use', async () => {
    const moment = Date.now() + 3_600_000;
    const { service, ended } = await open(moment);
    const resting = await service.create({ layer: 'roads', zoomStart: 3, zoomStop: 4 }, author('me'));
    let waitingFor: unknown = null;
    await until(() => {
      void service.get(resting.id).then((task) => {
        waitingFor = task?.waitingFor ?? null;
      });
      return waitingFor !== null;
    });
    expect(waitingFor).toMatchObject({ host: 'maps.example.org:443', reason: 'quiet-hours', until: moment });
    const other = await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    expect(other).toMatchObject({ state: 'done', tilesProcessed: 21n, waitingFor: null });
    const still = await service.get(resting.id);
    expect(still).toMatchObject({ state: 'running', tilesProcessed: 0n });
    expect(still?.counters.failed).toBe(0);
  });

  it('a task whose host is left alone goes on when the wait is over, and has lost and failed nothing', async () => {
    const { service, ended } = await open(Date.now() + 700, { maxThreads: 3 });
    const { id } = await service.create({ layer: 'roads', zoomStop: 4, threadCount: 3 }, author('me'));
    const done = await ended(id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: 341n, reason: null, waitingFor: null });
    expect(done.counters).toMatchObject({ made: 341, failed: 0 });
    expect(done.errors).toEqual([]);
  });

  it('a task whose host is left alone is taken up again after a longer wait, from where it was', async () => {
    const { service, ended } = await open(Date.now() + 6500, { maxThreads: 2 });
    const { id } = await service.create({ layer: 'roads', zoomStop: 3, threadCount: 2 }, author('me'));
    const done = await ended(id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: 85n, reason: null });
    expect(done.counters).toMatchObject({ made: 85, failed: 0 });
  });
});
