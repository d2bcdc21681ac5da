import { afterEach, describe, expect, it } from 'vitest';
import { createGate, eventually, until } from '../../test/fixtures/eventually.ts';
import {
  author,
  countStored,
  openTaskFixture,
  type TaskFixture,
  type TaskFixtureOptions,
} from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { keyForRequest, type TaskDraft } from './task-draft.ts';
import type { TaskEvent } from './task-watch.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

async function open(options: TaskFixtureOptions = {}): Promise<TaskFixture> {
  fixture = await openTaskFixture(options);
  return fixture;
}

const sourceDown = () => {
  throw new TilewardenError('source-unavailable', 'The map server cannot be reached.');
};

describe('a seed', () => {
  it('a seed fills the cache with the right tiles and ends with processed = total', async () => {
    const { service, harness, ended } = await open();
    const task = await service.create(
      { layer: 'roads', zoomStart: 0, zoomStop: 4, threadCount: 3 },
      author('me'),
    );
    expect(task).toMatchObject({
      state: 'pending',
      tilesTotal: 341n,
      tilesProcessed: 0n,
      secondsRemaining: -1,
    });
    const done = await ended(task.id);
    expect(done).toMatchObject({ state: 'done', reason: null, tilesProcessed: 341n, secondsRemaining: 0 });
    expect(done.counters).toMatchObject({ made: 341, present: 0, failed: 0, upstreamRequests: 23 });
    expect(await countStored(fixture as TaskFixture, 4)).toBe(341);
    for (const [x, y] of [
      [0, 0],
      [7, 3],
      [15, 15],
    ] as const) {
      const tile = await harness.store.get(harness.tiles.set, { z: 4, x, y });
      expect(tile && (await harness.shows(tile.bytes, { z: 4, x, y }))).toBe(true);
    }
  });

  it('a seed leaves existing tiles alone, and counts them', async () => {
    const { service, harness, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    const before = harness.source.requests.length;
    const again = await ended((await service.create({ layer: 'roads', zoomStop: 3 }, author('me'))).id);
    expect(again.counters).toMatchObject({ made: 64, present: 21 });
    expect(harness.source.requests.length - before).toBe(4);
  });

  it('a seed has no more metatiles in flight than threadCount says', async () => {
    const { service, harness, ended } = await open({ tasks: { maxThreads: 8 } });
    const gate = createGate();
    let [inFlight, most] = [0, 0];
    harness.source.answer = async (request) => {
      most = Math.max(most, ++inFlight);
      await gate.opened;
      inFlight--;
      return harness.source.draw(request);
    };
    const { id } = await service.create({ layer: 'roads', zoomStop: 5, threadCount: 3 }, author('me'));
    await until(() => inFlight === 3);
    gate.open();
    await ended(id);
    expect(most).toBe(3);
  });

  it('seeds keep the sum of threads under the limit, and the last ones wait as pending', async () => {
    const { service, harness, ended } = await open({ tasks: { maxThreads: 4 } });
    const gate = createGate();
    let [inFlight, most] = [0, 0];
    harness.source.answer = async (request) => {
      most = Math.max(most, ++inFlight);
      await gate.opened;
      inFlight--;
      return harness.source.draw(request);
    };
    const ids = [];
    for (let i = 0; i < 3; i++) {
      ids.push(
        (
          await service.create(
            { layer: 'roads', zoomStart: 3 + i, zoomStop: 3 + i, threadCount: 2 },
            author('me'),
          )
        ).id,
      );
    }
    await until(() => inFlight >= 4);
    const states = (await service.active(null)).map((task) => task.state);
    expect(states).toEqual(['running', 'running', 'pending']);
    gate.open();
    for (const id of ids) expect((await ended(id)).state).toBe('done');
    expect(most).toBeLessThanOrEqual(4);
  });
});

describe('a reseed', () => {
  it('a reseed replaces existing tiles, and no reader sees the older tile after its end', async () => {
    const { service, harness, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    expect(await harness.shows((await harness.read(2, 1, 1)).bytes, { z: 2, x: 1, y: 1 }, 1)).toBe(true);
    harness.source.version = 2;
    const done = await ended(
      (await service.create({ layer: 'roads', type: 'reseed', zoomStop: 2 }, author('me'))).id,
    );
    expect(done.counters).toMatchObject({ made: 21, present: 0 });
    expect(await harness.shows((await harness.read(2, 1, 1)).bytes, { z: 2, x: 1, y: 1 }, 2)).toBe(true);
  });
});

describe('failures', () => {
  it('failed tiles are tried again off the hot path, and a task that recovers ends without failures', async () => {
    const { service, harness, ended } = await open();
    harness.source.answer = (request, number) => (number < 2 ? sourceDown() : harness.source.draw(request));
    const draft = { layer: 'roads', zoomStop: 3, tileFailureRetryWaitTime: 10 };
    const done = await ended((await service.create(draft, author('me'))).id);
    expect(done).toMatchObject({ state: 'done', reason: null, tilesProcessed: 85n });
    expect(done.counters).toMatchObject({ made: 85, failed: 0 });
    expect(done.errors[0]).toMatchObject({ z: 0, message: 'The map server cannot be reached.' });
  });

  it('tiles that keep failing are counted and reported; the task goes through the rest and ends as aborted', async () => {
    const { service, harness, ended } = await open();
    const broken = (x: number) => x < 0;
    harness.source.answer = (request) =>
      request.metatile.z === 3 && broken(request.bounds.minX) ? sourceDown() : harness.source.draw(request);
    const draft = { layer: 'roads', zoomStop: 3, tileFailureRetryCount: 1, tileFailureRetryWaitTime: 1 };
    const done = await ended((await service.create(draft, author('me'))).id);
    expect(done).toMatchObject({
      state: 'aborted',
      reason: '32 of 85 tiles failed; the last: The map server cannot be reached.',
      tilesProcessed: 85n,
    });
    expect(done.counters).toMatchObject({ made: 53, failed: 32 });
    expect(done.counters.upstreamRequests).toBe(harness.source.requests.length);
    expect(await countStored(fixture as TaskFixture, 3)).toBe(53);

    harness.source.answer = (request) => harness.source.draw(request);
    const retry = await service.retryFailed(done.id, author('me'));
    expect(retry).toMatchObject({ tilesTotal: 32n });
    expect(await ended(retry?.id ?? 0)).toMatchObject({ state: 'done', tilesProcessed: 32n, reason: null });
    expect(await countStored(fixture as TaskFixture, 3)).toBe(85);
    expect(await service.retryFailed(retry?.id ?? 0, author('me'))).toBeNull();
  });

  it('a task whose every tile fails never looks like success, and every upstream request is counted', async () => {
    const { service, harness, ended } = await open();
    harness.source.answer = sourceDown;
    const draft = { layer: 'roads', zoomStop: 3, tileFailureRetryCount: 1, tileFailureRetryWaitTime: 1 };
    const failed = await ended((await service.create(draft, author('me'))).id);
    expect(failed).toMatchObject({
      state: 'aborted',
      tilesProcessed: 85n,
      counters: { failed: 85, made: 0 },
    });
    expect(failed.reason).toBe('85 of 85 tiles failed; the last: The map server cannot be reached.');
    expect(failed.counters.upstreamRequests).toBe(2 * 7);
    expect(harness.source.requests).toHaveLength(2 * 7);
  });

  it('a task that reaches its limit of failures is aborted, with the reason', async () => {
    const { service, harness, ended } = await open();
    harness.source.answer = sourceDown;
    const draft = {
      layer: 'roads',
      tileFailureRetryCount: 0,
      totalFailuresBeforeAborting: 5,
      threadCount: 2,
    };
    const done = await ended((await service.create(draft, author('me'))).id);
    expect(done.state).toBe('aborted');
    expect(done.reason).toMatch(
      /^[56] failures, as many as totalFailuresBeforeAborting allows; the last: The map server cannot be reached\.$/,
    );
    expect(done.tilesProcessed).toBeLessThan(done.tilesTotal);
  });
});

describe('stopping', () => {
  it('a running task is aborted when the answer comes, its upstream requests are cancelled, nothing is written later', async () => {
    const { service, harness } = await open();
    const aborted: unknown[] = [];
    harness.source.answer = (request) =>
      new Promise((_, reject) => {
        request.signal.addEventListener('abort', () => {
          aborted.push(request.metatile);
          reject(request.signal.reason);
        });
      });
    const { id } = await service.create({ layer: 'roads', threadCount: 2, zoomStart: 5 }, author('me'));
    await until(() => harness.source.requests.length === 2);
    const stopped = await service.cancel({ states: ['running'] }, 'me');
    expect(stopped).toMatchObject([{ id, state: 'running' }]);
    expect(await service.get(id)).toMatchObject({ state: 'aborted', reason: 'stopped by me' });
    expect(await service.active(null)).toEqual([]);
    await until(() => aborted.length === 2);
    expect(await countStored(fixture as TaskFixture, 5)).toBe(0);
    expect(harness.source.requests.length).toBe(2);
  });

  it('stopping tasks affects only the layer and the states that were named', async () => {
    const { service, harness } = await open({ tasks: { maxThreads: 1 } });
    harness.source.answer = () => createGate().opened as Promise<never>;
    const first = await service.create({ layer: 'roads' }, author('me'));
    await until(() => harness.source.requests.length === 1);
    const second = await service.create({ layer: 'roads' }, author('me'));
    expect(await service.cancel({ layers: ['other'], states: ['running', 'pending'] }, 'me')).toEqual([]);
    expect(await service.cancel({ layers: ['roads'], states: ['pending'] }, 'me')).toMatchObject([
      { id: second.id },
    ]);
    expect(await service.cancel({ ids: [second.id], states: ['pending', 'running'] }, 'me')).toEqual([]);
    expect((await service.active('roads')).map((task) => task.id)).toEqual([first.id]);
    await service.cancel({ states: ['running'] }, 'me');
  });
});

describe('pausing', () => {
  it('a paused task goes on where it was when it is resumed, and counts nothing twice', async () => {
    const { service, harness, ended } = await open();
    const gate = createGate();
    harness.source.answer = async (request, number) => {
      if (number === 30) await gate.opened;
      return harness.source.draw(request);
    };
    const { id } = await service.create({ layer: 'roads', zoomStop: 5 }, author('me'));
    await until(() => harness.source.requests.length === 31);
    expect(await service.pause(id)).toMatchObject({ state: 'paused' });
    gate.open();
    expect(await service.pause(id)).toBeNull();
    expect(await service.active(null)).toEqual([]);
    expect(await service.resume(id)).toMatchObject({ state: 'pending' });
    const done = await ended(id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: 1365n });
    expect(done.counters.made + done.counters.present).toBe(1365);
    expect(await service.resume(id)).toBeNull();
  });
});

describe('a restart', () => {
  it('a restart takes every task up again with its progress, under the same ids', async () => {
    const opened = await open();
    const { harness, ended } = opened;
    const gate = createGate();
    harness.source.answer = async (request, number) => {
      if (number >= 8) await Promise.race([gate.opened, abortOf(request.signal)]);
      return harness.source.draw(request);
    };
    const first = await opened.service.create({ layer: 'roads', zoomStop: 4 }, author('me'));
    const second = await opened.service.create({ layer: 'roads', zoomStop: 3, type: 'reseed' }, author('me'));
    await until(() => harness.source.requests.length >= 9);
    await opened.restart();
    expect((await opened.service.active(null)).map((task) => task.id)).toEqual([first.id, second.id]);
    gate.open();
    expect(await ended(first.id)).toMatchObject({ state: 'done', tilesProcessed: 341n });
    expect(await ended(second.id)).toMatchObject({ state: 'done', tilesProcessed: 85n });
    const third = await opened.service.create({ layer: 'roads', zoomStop: 0 }, author('me'));
    expect(third.id).toBeGreaterThan(second.id);
  });
});

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

describe('fair turns', () => {
  it('a one-tile task handed in during a long seed ends before it', async () => {
    const { service, harness, ended } = await open({ tasks: { maxThreads: 2 } });
    harness.source.answer = async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return harness.source.draw(request);
    };
    const long = await service.create({ layer: 'roads', threadCount: 64 }, author('me'));
    await until(() => harness.source.requests.length > 10);
    const short = await service.create({ layer: 'roads', type: 'reseed', zoomStop: 0 }, author('me'));
    await ended(short.id);
    expect((await service.get(long.id))?.state).toBe('running');
    await service.cancel({ states: ['running'] }, 'me');
  });
});

describe('events', () => {
  it('events report every end, with rising ids, and a listener that was away gets what it missed', async () => {
    const { service, ended } = await open();
    const received: TaskEvent[] = [];
    const stop = await service.subscribe(null, (event) => received.push(event));
    const { id } = await service.create({ layer: 'roads', zoomStop: 3 }, author('me'));
    await ended(id);
    await until(() => received.some(({ task }) => task.state === 'done'));
    stop();
    const ids = received.map((event) => event.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const missed: TaskEvent[] = [];
    const stopAgain = await service.subscribe((ids[0] ?? 1) - 1, (event) => missed.push(event));
    expect(missed).toMatchObject([{ task: { id, state: 'done' } }]);
    stopAgain();
  });
});

describe('what is asked of the service', () => {
  it('a repeated request with its key returns the first task, whatever the order of its fields', async () => {
    const { service } = await open();
    const draft = { layer: 'roads', zoomStop: 1, parameters: new Map() };
    const { layer, ...rest } = draft;
    const first = await service.create({ ...draft, key: keyForRequest('nightly', draft) }, author('me'));
    const again = { ...draft, key: keyForRequest('nightly', { ...rest, layer }) };
    expect((await service.create(again, author('me'))).id).toBe(first.id);
  });

  it('a different request with a used key is refused', async () => {
    const { service } = await open();
    const keyed = (draft: TaskDraft) => ({ ...draft, key: keyForRequest('deploy', draft) });
    await service.create(keyed({ layer: 'roads', zoomStop: 1 }), author('me'));
    const other = service.create(keyed({ layer: 'roads', zoomStop: 1, type: 'truncate' }), author('me'));
    await expect(other).rejects.toMatchObject({ code: 'key-reused' });
  });

  it('the task service refuses a task when too many are waiting', async () => {
    const { service, harness } = await open({ tasks: { maxUnfinished: 1 } });
    harness.source.answer = (request) => abortOf(request.signal);
    await service.create({ layer: 'roads' }, author('me'));
    await expect(service.create({ layer: 'roads' }, author('me'))).rejects.toMatchObject({
      code: 'too-many-tasks',
    });
  });

  it('the task service reports the pace of running tasks', async () => {
    const { service, harness } = await open({ tasks: { maxThreads: 1 } });
    const big = await service.create({ layer: 'roads' }, author('me'));
    await until(() => harness.source.requests.length > 50);
    const task = await eventually(
      'the pace is known',
      () => service.get(big.id),
      (seen) => (seen?.secondsRemaining ?? -1) >= 0,
    );
    expect(task?.secondsRemaining).toBeGreaterThan(0);
    expect(task?.tilesPerSecond).toBeGreaterThan(0);
    await service.cancel({ states: ['running'] }, 'me');
  });
});
