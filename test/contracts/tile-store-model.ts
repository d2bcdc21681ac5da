import fc from 'fast-check';
import { expect } from 'vitest';
import { isTilewardenError } from '../../src/domain/errors.ts';
import type { TileSetKey } from '../../src/domain/tile-key.ts';
import { rectContains, type TileRect } from '../../src/domain/tile-rect.ts';
import { pagesIn } from '../../src/storage/read-tiles.ts';
import type { Store } from '../../src/storage/store.ts';
import { collect, raise, recount, sortedPages, tilesIn } from './tile-store-tools.ts';

interface ModelTile {
  readonly set: number;
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

type StoreCommand =
  | {
      readonly type: 'put';
      readonly set: number;
      readonly z: number;
      readonly rect: TileRect;
      readonly size: number;
      readonly late: boolean;
    }
  | { readonly type: 'delete'; readonly set: number; readonly z: number; readonly rect: TileRect }
  | { readonly type: 'drop-set'; readonly set: number }
  | { readonly type: 'drop-layer'; readonly set: number }
  | { readonly type: 'raise'; readonly set: number };

const SETS: readonly TileSetKey[] = ['a', 'a', 'b'].map((layer, at) => ({
  layer,
  gridSet: 'EPSG:900913',
  format: 'image/png',
  parametersId: at === 1 ? 'styled' : null,
}));

const set = fc.nat(SETS.length - 1);
const z = fc.integer({ min: 8, max: 9 });

/** Near the corner where four bundles meet, so that small blocks touch pages and bundles in every way. */
const index = fc.integer({ min: 110, max: 146 });

function rectUpTo(side: number): fc.Arbitrary<TileRect> {
  return fc
    .tuple(index, index, fc.nat(side - 1), fc.nat(side - 1))
    .map(([minX, minY, width, height]) => ({ minX, minY, maxX: minX + width, maxY: minY + height }));
}

/** Sizes around what fits into one, two and many pages of a database. */
const size = fc.oneof(fc.nat(20), fc.integer({ min: 1900, max: 4200 }), fc.constant(20_000));

export const storeCommands: fc.Arbitrary<StoreCommand[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('put' as const),
        set,
        z,
        rect: rectUpTo(4),
        size,
        late: fc.constant(false),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('put' as const),
        set,
        z,
        rect: rectUpTo(4),
        size,
        late: fc.constant(true),
      }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), set, z, rect: rectUpTo(40) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('drop-set' as const), set }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('drop-layer' as const), set }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('raise' as const), set }) },
  ),
  { maxLength: 25 },
);

/** Runs the commands on the store and on a map, and compares the result of each command and the content at the end. */
export async function checkAgainstModel(store: Store, commands: readonly StoreCommand[]): Promise<void> {
  const model = new Map<string, ModelTile>();
  for (const command of commands) await carryOut(store, model, command);
  for (const [at, key] of SETS.entries()) await compare(store, model, at, key);
}

async function carryOut(store: Store, model: Map<string, ModelTile>, command: StoreCommand): Promise<void> {
  const key = setAt(command.set);
  if (command.type === 'raise') {
    await raise(store, key.layer);
    return;
  }
  if (command.type === 'drop-set') {
    await store.drop(key.layer, key);
    return remove(model, (tile) => tile.set === command.set);
  }
  if (command.type === 'drop-layer') {
    await store.drop(key.layer, null);
    return remove(model, (tile) => setAt(tile.set).layer === key.layer);
  }
  if (command.type === 'delete') return carryOutDelete(store, model, command);
  return carryOutPut(store, model, command);
}

async function carryOutDelete(
  store: Store,
  model: Map<string, ModelTile>,
  command: Extract<StoreCommand, { type: 'delete' }>,
): Promise<void> {
  const before = totals(model);
  remove(
    model,
    (tile) => tile.set === command.set && tile.z === command.z && rectContains(command.rect, tile.x, tile.y),
  );
  const change = await store.edit(setAt(command.set), command.z, command.rect, { type: 'remove' });
  expect(change).toEqual(difference(before, totals(model)));
}

async function carryOutPut(
  store: Store,
  model: Map<string, ModelTile>,
  command: Extract<StoreCommand, { type: 'put' }>,
): Promise<void> {
  const key = setAt(command.set);
  const { z, size, rect } = command;
  const places = placesOf(rect);
  const writes = places.map(({ x, y }) => ({ x, y, bytes: Buffer.alloc(size + (x % 3), y), createdAt: x }));
  const generation = await store.marks(key.layer);
  if (command.late) {
    await raise(store, key.layer);
    const refused = await store.put(key, z, writes, generation).catch((error: unknown) => error);
    expect(isTilewardenError(refused, 'generation-stale')).toBe(true);
    return;
  }
  const before = totals(model);
  for (const { x, y } of places) {
    model.set(`${command.set} ${z} ${x} ${y}`, { set: command.set, z, x, y, size: size + (x % 3) });
  }
  expect(await store.put(key, z, writes, generation)).toEqual(difference(totals(model), before));
}

async function compare(
  store: Store,
  model: ReadonlyMap<string, ModelTile>,
  at: number,
  key: TileSetKey,
): Promise<void> {
  const expected = [...model.values()].filter((tile) => tile.set === at);
  for (const z of [8, 9]) {
    const entries = (await collect(tilesIn(store, key, z))).map(({ x, y, bytes }) => `${x},${y}:${bytes}`);
    const wanted = expected.filter((tile) => tile.z === z).map(({ x, y, size }) => `${x},${y}:${size}`);
    expect(entries.sort()).toEqual(wanted.sort());
  }
  for (const { z, x, y, size } of expected) {
    const found = await store.get(key, { z, x, y });
    expect(found?.bytes.equals(Buffer.alloc(size, y))).toBe(true);
  }
  expect(sortedPages(await collect(pagesIn(store, { set: key })))).toEqual(await recount(store, key));
}

function setAt(at: number): TileSetKey {
  const key = SETS[at];
  if (!key) throw new RangeError(`There is no tile set ${at}.`);
  return key;
}

function placesOf(rect: TileRect): { x: number; y: number }[] {
  const places: { x: number; y: number }[] = [];
  for (let y = rect.minY; y <= rect.maxY; y++)
    for (let x = rect.minX; x <= rect.maxX; x++) places.push({ x, y });
  return places;
}

function remove(model: Map<string, ModelTile>, matches: (tile: ModelTile) => boolean): void {
  for (const [id, tile] of model) if (matches(tile)) model.delete(id);
}

function totals(model: ReadonlyMap<string, ModelTile>): { tiles: number; bytes: number } {
  let bytes = 0;
  for (const tile of model.values()) bytes += tile.size;
  return { tiles: model.size, bytes };
}

function difference(after: { tiles: number; bytes: number }, before: { tiles: number; bytes: number }) {
  return { tiles: after.tiles - before.tiles, bytes: after.bytes - before.bytes };
}
