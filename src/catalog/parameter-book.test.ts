import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQuotaHouse, type QuotaHouse } from '../../test/fixtures/quota-house.ts';
import { parametersIdOf } from '../domain/parameter-filter.ts';
import { createTileEvents, type TileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openParameterBook, type ParameterBook } from './parameter-book.ts';

let house: QuotaHouse;
const books: ParameterBook[] = [];

beforeEach(async () => {
  house = await openQuotaHouse();
});
afterEach(async () => {
  for (const book of books.splice(0)) await book.close();
  await house.close();
});

function open(now = Date.now): { readonly book: ParameterBook; readonly events: TileEvents } {
  const events = createTileEvents();
  const clock = { ...systemClock, now };
  const book = openParameterBook({ database: house.database, events, clock, log: silentLogger });
  books.push(book);
  return { book, events };
}

const VALUES = new Map([
  ['STYLES', 'dark'],
  ['CQL_FILTER', 'POP > 5 & AREA < 3'],
]);
const ID = parametersIdOf(VALUES);

function store(
  events: TileEvents,
  parametersId: string | null,
  parameters: ReadonlyMap<string, string>,
): void {
  const set = { ...house.set('roads'), parametersId };
  const rect = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
  events.emit({ type: 'stored', set, parameters, z: 1, rect, tiles: 1, bytes: 1, at: 1 });
}

it('the values behind the ids of stored tiles are found in every process and after a restart', async () => {
  const { book, events } = open();
  store(events, ID, VALUES);
  store(events, null, new Map());
  store(events, 'f'.repeat(40), VALUES);
  expect(await book.values()).toEqual(new Map([[ID, VALUES]]));
  expect(await open().book.values()).toEqual(new Map([[ID, VALUES]]));
});

it('parameter values without tiles are forgotten, but not those noted lately', async () => {
  const { book, events } = open();
  store(events, ID, VALUES);
  await book.values();
  await book.keepOnly(new Set());
  expect((await book.values()).size).toBe(1);
  const later = open(() => Date.now() + 3 * 3_600_000).book;
  await later.keepOnly(new Set([ID]));
  expect((await later.values()).size).toBe(1);
  await later.keepOnly(new Set());
  expect((await later.values()).size).toBe(0);
});
