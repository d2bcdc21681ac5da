import { afterEach, expect, it, vi } from 'vitest';
import { createGate, eventually } from '../../test/fixtures/eventually.ts';
import {
  author,
  catalogOfOne,
  openTaskFixture,
  type TaskFixture,
  type TaskFixtureOptions,
} from '../../test/fixtures/task-fixture.ts';
import { type Lead, leadAlone } from '../db/database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { countStored, presentTiles } from '../storage/read-tiles.ts';
import { createTaskStore } from '../tasks/store/task-store.ts';
import { type Cleaner, MARKS_RAISED, openCleaner } from './cleaner.ts';
import { placesToMark } from './mark-places.ts';
import type { TileSelection } from './tile-selection.ts';

let fixture: TaskFixture;
let cleaner: Cleaner;
let obeyedByAll = async () => {};
/** Milliseconds that its clock is ahead. */
let later = 0;
let plansRead = 0;

afterEach(async () => {
  later = 0;
  plansRead = 0;
  await cleaner.close();
  await fixture.close();
});

const follows: Lead = () => ({ async close() {} });

async function seeded(leads: boolean, layer: TaskFixtureOptions['layer'] = {}): Promise<void> {
  const forgottenByAll = () => obeyedByAll();
  fixture = await openTaskFixture({ layer: { metatile: { columns: 1, rows: 1 }, ...layer }, forgottenByAll });
  const seed = await fixture.service.create({ layer: 'roads', zoomStart: 0, zoomStop: 3 }, author('tester'));
  await fixture.ended(seed.id);
  cleaner = open(leads ? leadAlone : follows);
}

function open(lead: Lead): Cleaner {
  const { store, tiles } = fixture.harness;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + later,
    monotonic: () => systemClock.monotonic() + later,
  };
  const tasks = createTaskStore(fixture.database);
  return openCleaner({
    catalog: catalogOfOne(tiles.bound, store),
    database: fixture.database,
    lead,
    marksOfTasks: () => {
      plansRead++;
      return tasks.marksRaised();
    },
    dropUnreachable: async () => {},
    clock,
    log: silentLogger,
  });
}

async function remove(selection: TileSelection, type: 'hide' | 'outdate'): Promise<void> {
  const { layer } = fixture.harness.tiles.bound;
  await fixture.removals.remove([
    { layer: layer.name, places: await placesToMark(layer, [selection]), type },
  ]);
  await fixture.database.notify(MARKS_RAISED);
}

const outcome = async (z: number, x: number, y: number) => (await fixture.harness.read(z, x, y)).outcome;

async function storedAgain(z: number, x: number, y: number): Promise<void> {
  expect(await outcome(z, x, y)).toBe('MISS');
  const { store, tiles } = fixture.harness;
  await eventually(
    'the tile is stored',
    () => store.get(tiles.set, { z, x, y }),
    (tile) => tile !== null,
  );
}

/** A triangle in the north-west half of the map. */
function halfOfTheMap() {
  const { minX, minY, maxX, maxY } = fixture.harness.tiles.subset.gridSet.extent;
  const ring = [
    [minX, maxY],
    [maxX, maxY],
    [minX, minY],
    [minX, maxY],
  ] as const;
  return { area: { polygons: [[ring]], crs: 'grid-set' as const } };
}

it('a mark is in force when every process and node has forgotten its tiles', async () => {
  const gate = createGate();
  const waiting = vi.fn(() => gate.opened);
  obeyedByAll = waiting;
  await seeded(false);
  let isInForce = false;
  const inForce = remove({}, 'hide').then(() => {
    isInForce = true;
  });
  await vi.waitUntil(() => waiting.mock.calls.length > 0);
  expect(isInForce).toBe(false);
  gate.open();
  await inForce;
  obeyedByAll = async () => {};
});

it('a mark has tiles renewed before any of them was touched, and none outside its area', async () => {
  await seeded(false);
  await remove(halfOfTheMap(), 'outdate');
  fixture.harness.source.version = 2;
  expect(await outcome(3, 0, 0)).toBe('MISS');
  expect(await outcome(3, 0, 0)).toBe('HIT');
  expect(await outcome(3, 4, 4)).toBe('HIT');
  expect(await outcome(3, 7, 7)).toBe('HIT');
  expect(await outcome(0, 0, 0)).toBe('MISS');
  expect(await fixture.harness.store.marks()).toHaveLength(1);
});

it('thousands of layers are marked in transactions of a few hundred', async () => {
  await seeded(false);
  const mark = vi.spyOn(fixture.harness.store, 'mark');
  const layers = Array.from({ length: 600 }, (_, number) => `layer ${number}`);
  await fixture.removals.remove(layers.map((layer) => ({ layer, places: null, type: 'hide' })));
  const sizes = mark.mock.calls.map(([change]) => (change.type === 'raise' ? change.raises.length : 0));
  expect(sizes).toEqual([256, 256, 88]);
  expect(await fixture.harness.store.marks('layer 599')).toBeGreaterThan(0);
});

it('a marked tile is shown while its source fails, and not while it is only being renewed', async () => {
  await seeded(false, { staleWhileRevalidateSeconds: 1000, staleIfErrorSeconds: 1000 });
  await remove({}, 'outdate');
  fixture.harness.source.version = 2;
  expect(await outcome(2, 1, 1)).toBe('MISS');
  fixture.harness.source.answer = () => Promise.reject(new Error('down'));
  expect(await outcome(2, 2, 2)).toBe('STALE');
});

it('a truncation by a mark hides what is stored until it is stored again', async () => {
  await seeded(false);
  await remove({ zoomStart: 3 }, 'hide');
  const { store, tiles } = fixture.harness;
  expect(await store.get(tiles.set, { z: 3, x: 1, y: 1 })).toBeNull();
  expect(await presentTiles(store, tiles.set, 3, { minX: 0, minY: 0, maxX: 7, maxY: 7 }, 0)).toEqual([]);
  expect(await outcome(2, 1, 1)).toBe('HIT');
  await storedAgain(3, 1, 1);
});

it('marks that a process has left behind are cleaned up by the next one that leads', async () => {
  await seeded(false);
  await remove({ zoomStart: 3 }, 'hide');
  await storedAgain(3, 1, 1);
  await remove({ zoomStop: 2, ...halfOfTheMap() }, 'outdate');
  await cleaner.close();
  cleaner = open(leadAlone);
  const { store, tiles } = fixture.harness;
  await eventually(
    'the marks are closed',
    () => store.marks(),
    (open) => open.length === 0,
  );
  const left = await countStored(store, tiles.set, 3, { minX: 0, minY: 0, maxX: 7, maxY: 7 });
  expect(left.tiles).toBe(1);
  expect(await store.get(tiles.set, { z: 2, x: 0, y: 0 })).toMatchObject({ freshUntil: expect.any(Number) });
  expect(await outcome(2, 3, 3)).toBe('HIT');
});

it('tiles that an unfinished truncation removes are left to it, and cleaned up when it has failed', async () => {
  await seeded(true);
  const { store, tiles } = fixture.harness;
  const gate = createGate();
  const { edit } = store;
  const removal = vi.spyOn(store, 'edit').mockImplementation(async (...call) => {
    if (call[3].type !== 'remove') return edit(...call);
    await gate.opened;
    throw new Error('broken');
  });
  const truncation = await fixture.service.create({ layer: 'roads', type: 'truncate' }, author('tester'));
  await cleanedUp();
  later = 120_000;
  await cleanedUp();
  expect(await store.marks()).toHaveLength(1);
  await createTaskStore(fixture.database).fail(truncation.id, 'the disk is broken', 0);
  gate.open();
  removal.mockRestore();
  later += 120_000;
  await cleanedUp();
  expect(await store.marks()).toHaveLength(0);
  expect((await countStored(store, tiles.set, 3, { minX: 0, minY: 0, maxX: 7, maxY: 7 })).tiles).toBe(0);
});

it('the plans of thirty waiting truncations are read once for all of them, and not again for a minute', async () => {
  await seeded(true);
  const { store } = fixture.harness;
  const gate = createGate();
  const { edit } = store;
  vi.spyOn(store, 'edit').mockImplementation(async (...call) => {
    if (call[3].type === 'remove') await gate.opened;
    return edit(...call);
  });
  for (let count = 0; count < 30; count++)
    await fixture.service.create({ layer: 'roads', type: 'truncate' }, author('tester'));
  try {
    await cleanedUp();
    later = 120_000;
    for (let round = 0; round < 3; round++) await cleanedUp();
    expect(await store.marks()).toHaveLength(30);
    expect(plansRead).toBe(1);
  } finally {
    // The fixture waits for its tasks when it is closed.
    gate.open();
  }
  await eventually(
    'the truncations end',
    () => store.marks(),
    (open) => open.length === 0,
  );
});

/** A later mark has been closed, so the cleaner has seen all that are earlier. */
async function cleanedUp(): Promise<void> {
  const latest = async () =>
    Math.max(0, ...(await fixture.harness.store.marks()).map(({ number }) => number));
  const before = await latest();
  await remove({ zoomStart: 3, zoomStop: 3 }, 'outdate');
  await eventually('the mark is closed', latest, (number) => number <= before);
}
