import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { parametersIdOf } from '../domain/parameter-filter.ts';
import { createTileEvents, type TileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openParameterStore, type ParameterStore } from './parameter-store.ts';

let fixture: QuotaFixture;
const stores: ParameterStore[] = [];

beforeEach(async () => {
  fixture = await openQuotaFixture();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await fixture.close();
});

function open(now = Date.now): { readonly store: ParameterStore; readonly events: TileEvents } {
  const events = createTileEvents();
  const clock = { ...systemClock, now };
  const store = openParameterStore({ database: fixture.database, events, clock, log: silentLogger });
  stores.push(store);
  return { store, events };
}

const VALUES = new Map([
  ['STYLES', 'dark'],
  ['CQL_FILTER', 'POP > 5 & AREA < 3'],
]);
const ID = parametersIdOf(VALUES);

function emitStored(
  events: TileEvents,
  parametersId: string | null,
  parameters: ReadonlyMap<string, string>,
): void {
  const set = { ...fixture.set('roads'), parametersId };
  const rect = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
  events.emit({ type: 'stored', set, parameters, z: 1, rect, tiles: 1, bytes: 1, at: 1 });
}

it('the values behind the ids of stored tiles are found in every process and after a restart', async () => {
  const { store, events } = open();
  emitStored(events, ID, VALUES);
  emitStored(events, null, new Map());
  emitStored(events, 'f'.repeat(40), VALUES);
  expect(await store.values()).toEqual(new Map([[ID, VALUES]]));
  expect(await open().store.values()).toEqual(new Map([[ID, VALUES]]));
});

it('parameter values without tiles are forgotten, but not those noted lately', async () => {
  const { store, events } = open();
  emitStored(events, ID, VALUES);
  await store.values();
  await store.keepOnly(new Set());
  expect((await store.values()).size).toBe(1);
  const later = open(() => Date.now() + 3 * 3_600_000).store;
  await later.keepOnly(new Set([ID]));
  expect((await later.values()).size).toBe(1);
  await later.keepOnly(new Set());
  expect((await later.values()).size).toBe(0);
});
