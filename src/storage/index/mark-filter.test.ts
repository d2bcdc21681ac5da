import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inLength } from '../../../test/fixtures/length.ts';
import { createMemoryStore } from '../segments/memory-store.ts';
import type { Raise, Store } from '../store.ts';

const Z = 20;
const set = { layer: 'roads', gridSet: 'g', format: 'image/png', parametersId: null };
const tiles = Array.from({ length: 64 }, (_, at) => ({ x: 7 + (at % 8) * 130_000, y: 7 + at * 16_000 }));
const far = { minX: 900_001, minY: 900_001, maxX: 900_001, maxY: 900_001 };

/** A tile in each of many packs. */
async function openFilled(): Promise<Store> {
  const store = createMemoryStore({ type: 'memory' });
  const made = tiles.map(({ x, y }) => ({ x, y, bytes: Buffer.from('map'), createdAt: 1 }));
  await store.put(set, Z, made, 0);
  return store;
}

function mark(rect: typeof far, layer = set.layer): Raise {
  return { layer, places: [{ gridSet: 'g', z: Z, rect }], effect: { type: 'hide', at: 1 } };
}

async function raise(store: Store, raises: readonly Raise[]): Promise<readonly number[]> {
  return store.mark({ type: 'raise', raises });
}

async function shown(store: Store): Promise<string[]> {
  const found = await Promise.all(tiles.map((tile) => store.get(set, { z: Z, ...tile })));
  return tiles.filter((_, at) => found[at]).map(({ x, y }) => `${x} ${y}`);
}

async function listed(store: Store): Promise<string[]> {
  const found: string[] = [];
  for await (const entries of store.list(set, Z))
    found.push(...entries.filter(({ hidden }) => !hidden).map(({ x, y }) => `${x} ${y}`));
  return found;
}

const edge = fc.tuple(fc.nat(2 ** 20 - 1), fc.nat(19)).map(([from, size]) => {
  return { from, to: Math.min(2 ** 20 - 1, from + 2 ** size - 1) };
});
const rect = fc.record({ x: edge, y: edge }).map(({ x, y }) => {
  return { minX: x.from, minY: y.from, maxX: x.to, maxY: y.to };
});
const step = fc.oneof(fc.record({ rect }), fc.record({ close: fc.nat(50) }));

it('a tile is read as it is listed, however large the places of marks are, and whichever are closed', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const store = await openFilled();
      const open: number[] = [];
      for (const next of steps) {
        if ('rect' in next) open.push(...(await raise(store, [mark(next.rect)])));
        else await store.mark({ type: 'close', numbers: open.splice(next.close % (open.length + 1), 1) });
        expect((await shown(store)).sort()).toEqual((await listed(store)).sort());
      }
      await store.close();
    }),
    { numRuns: inLength(10, 500) },
  ));

it('a tile is hidden by the last of many marks, and by a mark with many places', async () => {
  const store = await openFilled();
  const [first, second, ...others] = tiles.map(({ x, y }) => ({ minX: x, minY: y, maxX: x, maxY: y }));
  if (!first || !second) throw new Error('no tiles');
  await raise(
    store,
    Array.from({ length: 1500 }, (_, at) => mark({ ...far, maxX: far.minX + at })),
  );
  await raise(store, [mark(first)]);
  expect(await shown(store)).toHaveLength(tiles.length - 1);
  // Each touches four packs.
  const places = Array.from({ length: 25_001 }, (_, at) => {
    const [x, y] = [16 * at + 7, 2 ** 20 - 9];
    return { gridSet: 'g', z: Z, rect: { minX: x, minY: y, maxX: x + 1, maxY: y + 1 } };
  });
  await raise(store, [{ ...mark(far), places }]);
  await raise(store, [mark(second)]);
  expect(await shown(store)).toHaveLength(others.length);
  await store.close();
});
