import { expect, it } from 'vitest';
import { tile } from '../../test/contracts/tile-store-tools.ts';
import { PLAIN_LAYER } from '../../test/fixtures/layers.ts';
import { readPeriod } from '../domain/iso-time.ts';
import { createTimeFilter } from '../domain/time-filter.ts';
import { readTimeValues } from '../domain/time-values.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import type { Removal } from './removal.ts';
import { removeFormer } from './window-keeper.ts';

const DAY = 86_400_000;
const BEGIN = Date.parse('2026-06-10T00:00:00Z');
const DAYS = Array.from({ length: 7 }, (_, day) => new Date(BEGIN - day * DAY).toISOString().slice(0, 10));

/** A layer with tiles of seven days, and one look after another. */
async function openWindow() {
  const state = { now: BEGIN + 3_600_000, monotonic: 0, listed: DAYS };
  const store = createMemoryStore({ type: 'memory' });
  for (const parametersId of DAYS) {
    const set = { layer: 'radar', gridSet: 'EPSG:900913', format: 'image/png', parametersId };
    await store.put(set, 0, [tile(0, 0, 'a')], 0);
  }
  const times = createTimeFilter({
    name: 'TIME',
    list: () => ({ values: readTimeValues(state.listed), revision: 0 }),
    defaultValue: 'latest',
    nearest: false,
    keep: readPeriod('P7D'),
    now: () => state.now,
  });
  const removed: string[] = [];
  const looks = { out: new Map<string, number>(), clocks: null };
  const look = async (seconds: number, jump = 0) => {
    state.now += seconds * 1000 + jump;
    state.monotonic += seconds * 1000;
    await removeFormer(
      {
        clock: { now: () => state.now, monotonic: () => state.monotonic, sleep: async () => {} },
        catalog: {
          layer: () => ({ layer: { ...PLAIN_LAYER, name: 'radar', parameters: [times] } }) as never,
          stores: () => new Map([['', store]]),
        },
        parameters: { values: async () => new Map(DAYS.map((day) => [day, new Map([['TIME', day]])])) },
        removals: {
          remove: async (all: readonly Removal[]) => {
            for (const { layer, parametersId } of all) {
              removed.push(`${parametersId}`);
              await store.drop(layer, {
                layer,
                gridSet: 'EPSG:900913',
                format: 'image/png',
                parametersId: parametersId ?? null,
              });
            }
            return [];
          },
        },
      },
      looks,
    );
  };
  return { state, look, removed };
}

it('an instant that time moves out of the window is removed by the next look', async () => {
  const { state, look, removed } = await openWindow();
  state.listed = ['2026-01-01/now/P1D'];
  await look(0);
  await look((2 * DAY) / 1000);
  expect(removed).toEqual(['2026-06-04']);
});

it.each([400, -2])('no tile is removed while a clock is %s days ahead', async (days) => {
  const { state, look, removed } = await openWindow();
  state.listed = ['2026-01-01/now/P1D'];
  await look(0);
  await look(20, days * DAY);
  await look(20);
  await look(20, -days * DAY);
  for (let hour = 0; hour < 3; hour++) await look(3600);
  expect(removed).toEqual([]);
});

it('an instant that the source no longer lists is removed after an hour without it', async () => {
  const { state, look, removed } = await openWindow();
  await look(20);
  state.listed = DAYS.slice(0, 1);
  await look(20);
  state.listed = DAYS;
  await look(3500);
  state.listed = DAYS.slice(1);
  await look(3500);
  await look(3500);
  expect(removed).toEqual([]);
  await look(200);
  expect(removed).toEqual(DAYS.slice(0, 1));
});
