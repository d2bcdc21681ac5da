import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQuotaHouse, type QuotaHouse } from '../../test/fixtures/quota-house.ts';
import { createTileEvents, type TileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { openParameterSets } from './parameter-sets.ts';

let house: QuotaHouse;
beforeEach(async () => {
  house = await openQuotaHouse();
});
afterEach(() => house.close());

/** As another process would have it, over the same database and store. */
function open(most: number, events: TileEvents = createTileEvents()) {
  const sets = openParameterSets({ database: house.database, events, clock: systemClock, most });
  const setOf = (id: string) => ({ ...house.set('roads'), parametersId: id });
  return { ...sets, setOf, admit: (id: string) => sets.admit(setOf(id), house.store) };
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
  for (const id of ['a', 'b']) await house.put(setOf(id), 3, 1, 1);
  expect(await Promise.all(['a', 'b', 'c'].map(admit))).toEqual([true, true, false]);
});

it('many requests at the same time look into the store once', async () => {
  const sets = openParameterSets({
    database: house.database,
    events: createTileEvents(),
    clock: systemClock,
    most: 3,
  });
  let looks = 0;
  const store = {
    tileSets: (layer: string) => {
      looks++;
      return house.store.tileSets(layer);
    },
  };
  const asked = Array.from({ length: 100 }, (_, n) => ({
    ...house.set('roads'),
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
  await house.put(setOf('a'), 3, 1, 1);
  expect(await admit('b')).toBe(false);
  await house.store.dropLayer('roads');
  events.emit({ type: 'layer-dropped', layer: 'roads', at: Date.now() });
  expect(await admit('b')).toBe(true);
});

it('a dry run is refused where the task would be, and takes no place', async () => {
  const { admit, setOf, requireRoom } = open(2);
  await admit('a');
  await requireRoom(setOf('b'), house.store);
  await requireRoom(setOf('c'), house.store);
  await admit('b');
  await expect(requireRoom(setOf('c'), house.store)).rejects.toMatchObject({
    code: 'too-many-parameter-sets',
  });
  await requireRoom(setOf('a'), house.store);
});

it('a task for a combination beyond the limit is refused, and the message names the setting', async () => {
  const { admit, setOf, require } = open(1);
  await admit('a');
  await expect(require(setOf('b'), house.store)).rejects.toMatchObject({ code: 'too-many-parameter-sets' });
  await expect(require(setOf('b'), house.store)).rejects.toThrow('maxParameterSets');
  await require({ ...setOf('b'), parametersId: null }, house.store);
});
