import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGate, eventually, until } from '../../test/fixtures/eventually.ts';
import { layerWithDenseTiles } from '../../test/fixtures/pipeline-harness.ts';
import {
  author,
  countStored,
  openTaskFixture,
  type TaskFixture,
  type TaskFixtureOptions,
} from '../../test/fixtures/task-fixture.ts';
import { DatabaseError } from '../db/database.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { resolveTileSet } from '../pipeline/resolve-tile-set.ts';
import { presentTiles } from '../storage/read-tiles.ts';

const WHOLE_ZOOM_3 = { minX: 0, minY: 0, maxX: 7, maxY: 7 };

let fixture: TaskFixture | null = null;

/** Holds removals up. */
let gate = createGate();

afterEach(async () => {
  gate.open();
  await fixture?.close();
  fixture = null;
});

async function open(options: TaskFixtureOptions = {}): Promise<TaskFixture> {
  fixture = await openTaskFixture(options);
  return fixture;
}

describe('a truncate', () => {
  it('a truncate removes the tiles in its range and no others, and counts the whole range', async () => {
    const { service, harness, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 3 }, author('me'))).id);
    await harness.read(3, 7, 7);
    const half = { layer: 'roads', type: 'truncate', coords: [-20037508, -20037508, -1, 20037508] };
    const done = await ended((await service.create({ ...half, zoomStop: 9 }, author('me'))).id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: done.tilesTotal });
    expect(done.counters.removed).toBe(1 + 2 + 8 + 32);
    expect(await countStored(fixture as TaskFixture, 9)).toBe(2 + 8 + 32);
    expect((await harness.read(3, 7, 7)).outcome).toBe('HIT');
    expect((await harness.read(3, 0, 7)).outcome).toBe('MISS');
  });

  it('a truncate takes the dense tiles of the same places along, and those alone when it names them', async () => {
    const { harness, service, ended } = await open({ layer: layerWithDenseTiles() });
    const { subset, set } = harness.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    const tiles = [0, 7].map((x) => ({ x, y: 0, bytes: Buffer.from('old'), createdAt: 1 }));
    const left = async (of: TileSetKey) =>
      (await presentTiles(harness.store, of, 3, WHOLE_ZOOM_3, 0)).map(({ x }) => x);
    const names = { gridSet: dense.gridSet, format: null, parameters: new Map() };
    const readDense = () =>
      harness.pipeline.read(resolveTileSet(harness.tiles.bound, names), { z: 3, x: 0, y: 0 });
    for (const of of [set, dense]) await harness.store.put(of, 3, tiles, 0);
    expect((await readDense()).outcome).toBe('HIT');
    const { minX, minY, maxY } = subset.extent;
    const half = { layer: 'roads', type: 'truncate', coords: [minX, minY, -1, maxY], gridSetId: set.gridSet };
    const done = await ended((await service.create(half, author('me'))).id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: done.tilesTotal, counters: { removed: 2 } });
    expect(await left(set)).toEqual([7]);
    expect(await left(dense)).toEqual([7]);
    expect((await readDense()).outcome).toBe('MISS');
    const named = { layer: 'roads', type: 'truncate', gridSetId: dense.gridSet };
    await ended((await service.create(named, author('me'))).id);
    expect(await left(set)).toEqual([7]);
    expect(await left(dense)).toEqual([]);
  });

  it('a truncate leaves tiles that were stored after it was accepted, however late it runs', async () => {
    const { service, harness, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    const truncation = await service.create({ layer: 'roads', type: 'truncate' }, author('me'));
    await service.pause(truncation.id);
    harness.source.version = 2;
    await ended((await service.create({ layer: 'roads', type: 'reseed', zoomStop: 1 }, author('me'))).id);
    await service.resume(truncation.id);
    await ended(truncation.id);
    for (const tile of [
      { z: 0, x: 0, y: 0 },
      { z: 1, x: 1, y: 1 },
    ]) {
      const found = await harness.store.get(harness.tiles.set, tile);
      expect(found && (await harness.shows(found.bytes, tile, 2))).toBe(true);
    }
    expect(await countStored(fixture as TaskFixture, 9)).toBeGreaterThanOrEqual(1 + 4);
  });

  it('a truncate may come twice', async () => {
    const { service, ended } = await open();
    for (let i = 0; i < 2; i++) {
      const done = await ended((await service.create({ layer: 'roads', type: 'truncate' }, author('me'))).id);
      expect(done.state).toBe('done');
    }
  });

  it('a truncate keeps a tile that was being fetched before it from being stored after it', async () => {
    const { service, harness, ended } = await open();
    const gate = createGate();
    harness.source.answer = async (request) => {
      const answer = harness.source.draw(request);
      await gate.opened;
      return answer;
    };
    const seed = await service.create({ layer: 'roads', zoomStop: 0 }, author('me'));
    await until(() => harness.source.requests.length === 1);
    harness.source.version = 2;
    await ended((await service.create({ layer: 'roads', type: 'truncate' }, author('me'))).id);
    gate.open();
    expect((await ended(seed.id)).state).toBe('done');
    const tile = await harness.store.get(harness.tiles.set, { z: 0, x: 0, y: 0 });
    expect(tile && (await harness.shows(tile.bytes, { z: 0, x: 0, y: 0 }, 2))).toBe(true);
  });
});

describe('tiles of a truncate that has not removed them yet', () => {
  /** Tiles up to zoom 2, and a truncation of them that is held up in its first removal. */
  async function heldUp(options: TaskFixtureOptions = {}) {
    const opened = await open(options);
    const { service, harness, ended } = opened;
    await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    gate = createGate();
    const remove = harness.store.edit.bind(harness.store);
    const removal = vi.spyOn(harness.store, 'edit').mockImplementation(async (...call) => {
      await gate.opened;
      call[4]?.throwIfAborted();
      return remove(...call);
    });
    const outcome = async (z: number, x: number, y: number) => (await harness.read(z, x, y)).outcome;
    const marksEnd = () =>
      eventually(
        'no mark is open',
        () => harness.store.marks(),
        (marks) => marks.length === 0,
      );
    const truncate = (more: object = {}) =>
      service.create({ layer: 'roads', type: 'truncate', ...more }, author('me'));
    return { ...opened, removal, outcome, marksEnd, truncate };
  }

  it('tiles of a pending truncate are hidden as soon as it is accepted, and those made since stay', async () => {
    const { truncate, outcome, ended, marksEnd } = await heldUp();
    expect(await outcome(2, 1, 1)).toBe('HIT');
    const truncation = await truncate({ zoomStart: 1 });
    expect(await outcome(2, 1, 1)).toBe('MISS');
    expect(await outcome(2, 1, 1)).toBe('HIT');
    expect(await outcome(0, 0, 0)).toBe('HIT');
    gate.open();
    expect(await ended(truncation.id)).toMatchObject({ state: 'done' });
    await marksEnd();
    expect(await outcome(2, 1, 1)).toBe('HIT');
    expect(await outcome(1, 0, 0)).toBe('MISS');
  });

  it('a truncate is accepted when every process and node has forgotten its tiles', async () => {
    const forgotten = createGate();
    const waiting = vi.fn(() => forgotten.opened);
    const { truncate } = await heldUp({ forgottenByAll: waiting });
    let isAccepted = false;
    const accepted = truncate({ zoomStart: 1 }).then(() => {
      isAccepted = true;
    });
    await until(() => waiting.mock.calls.length > 0);
    expect(isAccepted).toBe(false);
    forgotten.open();
    await accepted;
    gate.open();
  });

  it('tiles of a pending truncate are made again on request, and not called stale', async () => {
    const { truncate, outcome, ended, harness } = await heldUp();
    const truncation = await truncate();
    const source = createGate();
    harness.source.answer = async (request) => {
      await source.opened;
      return harness.source.draw(request);
    };
    const asked = outcome(2, 1, 1);
    gate.open();
    await ended(truncation.id);
    source.open();
    expect(await asked).toBe('MISS');
  });

  it('tiles outside the area of a pending truncate are shown', async () => {
    const { truncate, outcome, harness } = await heldUp({ layer: { metatile: { columns: 1, rows: 1 } } });
    const { minX, minY, maxX, maxY } = harness.tiles.subset.gridSet.extent;
    const ring = [
      [minX, maxY],
      [maxX, maxY],
      [minX, minY],
      [minX, maxY],
    ] as const;
    await truncate({ area: { polygons: [[ring]], crs: 'grid-set' } });
    expect(await outcome(2, 3, 3)).toBe('HIT');
    expect(await outcome(2, 0, 0)).toBe('MISS');
  });

  it('tiles of a pending truncate are shown again when it is stopped', async () => {
    const { service, truncate, outcome, removal, harness } = await heldUp();
    const truncation = await truncate();
    await until(() => removal.mock.calls.length > 0);
    const closing = createGate();
    const close = harness.store.mark.bind(harness.store);
    const closeMark = vi.spyOn(harness.store, 'mark').mockImplementation(async (change) => {
      await closing.opened;
      return close(change);
    });
    let isAnswered = false;
    const answer = service.cancel({ ids: [truncation.id] }, 'me').then(() => {
      isAnswered = true;
    });
    await until(() => closeMark.mock.calls.length > 0);
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    expect(isAnswered).toBe(false);
    closing.open();
    await answer;
    expect(await outcome(2, 1, 1)).toBe('HIT');
    gate.open();
  });

  it('tiles of a refused truncate stay as they are', async () => {
    const { truncate, outcome, harness } = await heldUp({ tasks: { maxUnfinished: 1 } });
    await truncate({ zoomStop: 0 });
    await expect(truncate()).rejects.toMatchObject({ code: 'too-many-tasks' });
    expect(await outcome(2, 1, 1)).toBe('HIT');
    expect(await harness.store.marks()).toHaveLength(1);
  });

  it('tiles of a truncate stay hidden when it is recorded and the answer of the database is lost', async () => {
    const { database, truncate, outcome, harness, ended } = await heldUp();
    const key = { text: 'again', digest: 'the same' };
    expect(await outcome(2, 1, 1)).toBe('HIT');
    const commit = database.transaction.bind(database);
    const lost = vi.spyOn(database, 'transaction').mockImplementation(async (lock, work) => {
      const result = await commit(lock, work);
      if (lock === 'task-creation') throw new DatabaseError('database-unreachable', 'The connection broke.');
      return result;
    });
    await expect(truncate({ key })).rejects.toThrow('The connection broke.');
    lost.mockRestore();
    harness.source.version = 2;
    const truncation = await truncate({ key });
    expect(await outcome(2, 1, 1)).toBe('MISS');
    gate.open();
    await ended(truncation.id);
    expect(await harness.shows((await harness.read(2, 1, 1)).bytes, { z: 2, x: 1, y: 1 }, 2)).toBe(true);
  });

  it('tiles stay as they are when a truncate repeats an earlier one by its key', async () => {
    const { truncate, outcome, ended, marksEnd, harness } = await heldUp();
    const key = { text: 'again', digest: 'the same' };
    gate.open();
    const first = await truncate({ key });
    await ended(first.id);
    await marksEnd();
    expect(await outcome(2, 1, 1)).toBe('MISS');
    await eventually(
      'it is stored',
      () => harness.store.get(harness.tiles.set, { z: 2, x: 1, y: 1 }),
      (tile) => tile !== null,
    );
    expect((await truncate({ key })).id).toBe(first.id);
    await marksEnd();
    expect(await outcome(2, 1, 1)).toBe('HIT');
  });

  it('stay hidden when what failed of it is done again, and pieces are left that it never came to', async () => {
    const { service, truncate, outcome, ended, removal, harness } = await heldUp();
    gate.open();
    removal.mockImplementation(async () => {
      throw new Error('the disk is broken');
    });
    const rules = { tileFailureRetryCount: 0, totalFailuresBeforeAborting: 0 };
    const failed = await ended((await truncate(rules)).id);
    expect(failed).toMatchObject({ state: 'aborted' });
    removal.mockRestore();
    const retried = await service.retryFailed(failed.id, author('me'));
    expect(await ended(retried?.id ?? 0)).toMatchObject({ state: 'done' });
    // Ends are seen in their order: the mark of a later truncation is closed after that of the one before.
    const [first] = await harness.store.marks();
    await ended((await truncate({ zoomStart: 9, zoomStop: 9 })).id);
    const latest = async () => (await harness.store.marks()).map(({ number }) => number);
    await eventually(
      'the later mark is closed',
      latest,
      (open) => !open.some((one) => one !== first?.number),
    );
    expect(await outcome(2, 1, 1)).toBe('MISS');
  });

  it('a truncate that repeats an earlier one by its key is answered where no further task is allowed', async () => {
    const { truncate } = await heldUp({ tasks: { maxUnfinished: 1 } });
    const key = { text: 'again', digest: 'the same' };
    const first = await truncate({ key });
    expect((await truncate({ key })).id).toBe(first.id);
  });
});
