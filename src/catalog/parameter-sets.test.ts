import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { createTileEvents, type TileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import type { Store } from '../storage/store.ts';
import { openParameterSets } from './parameter-sets.ts';

let fixture: QuotaFixture;
beforeEach(async () => {
  fixture = await openQuotaFixture();
});
afterEach(() => fixture.close());

/** As another process would have it, over the same database and store. */
function open(most: number, events: TileEvents = createTileEvents()) {
  const sets = openParameterSets({ database: fixture.database, events, clock: systemClock, most });
  const setOf = (id: string) => ({ ...fixture.set('roads'), parametersId: id });
  return { ...sets, setOf, admit: (id: string) => sets.admit(setOf(id), fixture.store) };
}

it('a layer stores tiles of so many combinations of parameters and no more, in all processes together', async () => {
  const processes = [open(5), open(5)];
  const admitted = await Promise.all(
    Array.from({ length: 40 }, (_, n) => processes[n % 2]?.admit(`value-${n}`)),
  );
  expect(admitted.filter(Boolean)).toHaveLength(5);
  const again = open(5);
  const known = await Promise.all(Array.from({ length: 40 }, (_, n) => again.admit(`value-${n}`)));
  expect(known).toEqual(admitted);
});

it('combinations that are stored already count and keep being stored', async () => {
  const { admit, setOf } = open(1);
  for (const id of ['a', 'b']) await fixture.put(setOf(id), 3, 1, 1);
  expect(await Promise.all(['a', 'b', 'c'].map(admit))).toEqual([true, true, false]);
});

it('many requests at the same time look into the store once', async () => {
  const sets = openParameterSets({
    database: fixture.database,
    events: createTileEvents(),
    clock: systemClock,
    most: 3,
  });
  let looks = 0;
  const usage = (() => {
    looks++;
    return fixture.store.usage();
  }) as Store['usage'];
  const store = { usage };
  const asked = Array.from({ length: 100 }, (_, n) => ({
    ...fixture.set('roads'),
    parametersId: `value-${n}`,
  }));
  const admitted = await Promise.all(asked.map((set) => sets.admit(set, store)));
  expect(admitted.filter(Boolean)).toHaveLength(3);
  expect(looks).toBe(1);
});

it('a truncation makes room for other combinations', async () => {
  const events = createTileEvents();
  const { admit, setOf } = open(1, events);
  expect(await admit('a')).toBe(true);
  await fixture.put(setOf('a'), 3, 1, 1);
  expect(await admit('b')).toBe(false);
  await fixture.store.drop('roads', null);
  events.emit({ type: 'layer-dropped', layer: 'roads', at: Date.now() });
  expect(await admit('b')).toBe(true);
});

it('a dry run is refused where the task would be, and takes no place', async () => {
  const { admit, setOf, requireRoom } = open(2);
  await admit('a');
  await requireRoom(setOf('b'), fixture.store);
  await requireRoom(setOf('c'), fixture.store);
  await admit('b');
  await expect(requireRoom(setOf('c'), fixture.store)).rejects.toMatchObject({
    code: 'too-many-parameter-sets',
  });
  await requireRoom(setOf('a'), fixture.store);
});

it('a task for a combination beyond the limit is refused, and the message names the setting', async () => {
  const { admit, setOf, require } = open(1);
  await admit('a');
  await expect(require(setOf('b'), fixture.store)).rejects.toMatchObject({ code: 'too-many-parameter-sets' });
  await expect(require(setOf('b'), fixture.store)).rejects.toThrow('maxParameterSets');
  await require({ ...setOf('b'), parametersId: null }, fixture.store);
});
