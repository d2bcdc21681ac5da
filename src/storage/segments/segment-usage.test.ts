import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { addRanks, rankOfRequests } from '../../domain/page-rank.ts';
import { PAGE_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import { blockAt, WHOLE_LEVEL } from '../../domain/tile-rect.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { EvictionOrder, PageUsage, Store } from '../store.ts';
import { openSegmentStore } from './segment-store.ts';

/** Milliseconds to which the order by last use is exact. */
const STEP = 10_000;
const Z = 9;

async function openStore() {
  const root = mkdtempSync(join(tmpdir(), 'segment-usage-'));
  const clock = createVirtualClock();
  const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };
  const store = await openSegmentStore(options, { root, log: silentLogger, clock });
  onTestFinished(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  return { store, clock };
}

function setOf(layer: string, parametersId: string | null = null): TileSetKey {
  return { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId };
}

async function put(store: Store, set: TileSetKey, page: number, at: number, bytes = 10): Promise<void> {
  const tile = { x: page * PAGE_SIZE, y: 0, bytes: Buffer.alloc(bytes), createdAt: at };
  await store.put(set, Z, [tile], (await store.ticket(set.layer)).number);
}

function use(store: Store, set: TileSetKey, page: number, at: number, hits = 1) {
  const used = { pageX: page, pageY: 0, hits, usedAt: at, rank: rankOfRequests(hits, at) };
  return store.edit(set, Z, blockAt(page, 0, PAGE_SIZE), { type: 'use', pages: [used] });
}

async function inOrder(store: Store, order: EvictionOrder): Promise<readonly PageUsage[]> {
  const all: PageUsage[] = [];
  for await (const pages of store.usage(order)) all.push(...pages);
  return all;
}

it('uses of a page that several processes counted are added up', async () => {
  const { store, clock } = await openStore();
  const [set, now] = [setOf('roads'), clock.now()];
  await put(store, set, 3, now);
  expect(await use(store, set, 3, now, 4)).toEqual({ tiles: 1, bytes: 0 });
  expect(await use(store, set, 3, now - 5000, 2)).toEqual({ tiles: 1, bytes: 0 });
  expect(await use(store, set, 4, now)).toEqual({ tiles: 0, bytes: 0 });
  const [page, ...others] = await inOrder(store, { first: 'LFU' });
  expect(others).toEqual([]);
  expect(page).toMatchObject({ pageX: 3, tiles: 1, bytes: 10, hits: 6, usedAt: now });
  expect(page?.rank).toBeCloseTo(addRanks(rankOfRequests(4, now), rankOfRequests(2, now - 5000)), 9);
});

it('pages of a dropped tile set are not in the order of eviction, and come back without their uses', async () => {
  const { store, clock } = await openStore();
  const [set, now] = [setOf('roads'), clock.now()];
  await put(store, set, 0, now);
  await use(store, set, 0, now);
  await put(store, setOf('rivers'), 0, now);
  await store.drop('roads', null);
  expect((await inOrder(store, { first: 'LRU' })).map((page) => page.set.layer)).toEqual(['rivers']);
  await put(store, set, 0, now);
  expect(await inOrder(store, { first: 'LRU', layer: 'roads' })).toMatchObject([{ hits: 0, rank: 0 }]);
});

const LAYERS = ['roads', 'rivers', 'rail'];
const steps = fc.array(
  fc.record({
    layer: fc.constantFrom(...LAYERS),
    parametersId: fc.constantFrom(null, 'a', 'b'),
    page: fc.nat(40),
    do: fc.constantFrom('put', 'put', 'put', 'use', 'use', 'remove'),
    hits: fc.integer({ min: 1, max: 50 }),
    after: fc.integer({ min: 0, max: 3 * STEP }),
  }),
  { minLength: 60, maxLength: 150 },
);

it('pages come in the order of the policy, of one layer and of all, whatever was written, used and removed', () =>
  fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const { store, clock } = await openStore();
      const model = new Map<string, { layer: string; touched: number; used: number; rank: number }>();
      for (const { layer, parametersId, page, hits, after, ...step } of given) {
        await clock.run(after);
        const [set, now] = [setOf(layer, parametersId), clock.now()];
        const name = `${layer} ${parametersId} ${page}`;
        const known = model.get(name);
        if (step.do === 'put') await put(store, set, page, now);
        if (step.do === 'put')
          model.set(name, { layer, touched: now, used: known?.used ?? 0, rank: known?.rank ?? 0 });
        if (step.do === 'use') await use(store, set, page, now, hits);
        if (step.do === 'use' && known)
          model.set(name, {
            layer,
            touched: now,
            used: now,
            rank: addRanks(known.rank, rankOfRequests(hits, now)),
          });
        if (step.do === 'remove') model.delete(name);
        if (step.do === 'remove') await store.edit(set, Z, blockAt(page, 0, PAGE_SIZE), { type: 'remove' });
      }
      const touched = (at: number) => Math.floor(at / STEP) * STEP;
      for (const layer of [undefined, ...LAYERS]) {
        const there = [...model.values()].filter((page) => layer === undefined || page.layer === layer);
        for (const first of ['LRU', 'LFU'] as const) {
          const found = await inOrder(store, layer === undefined ? { first } : { first, layer });
          const keyOf = (page: { touched: number; used: number; rank: number }) =>
            first === 'LFU' ? [page.rank, touched(page.touched)] : [touched(page.touched), page.used];
          const expected = there.map(keyOf).sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
          const keys = found.map(({ touchedAt, usedAt, rank }) =>
            keyOf({ touched: touchedAt, used: usedAt, rank }),
          );
          const rounded = (all: typeof keys) => all.map((key) => key.map((part) => part.toFixed(6)));
          expect(rounded(keys)).toEqual(rounded(expected));
        }
      }
      const { levels } = await store.usage();
      expect(levels.reduce((sum, level) => sum + level.tiles, 0)).toBe(model.size);
      for (const layer of LAYERS) await store.drop(layer, null);
      expect((await store.usage()).levels).toEqual([]);
      expect(await store.edit(setOf('roads'), Z, WHOLE_LEVEL, { type: 'remove' })).toMatchObject({
        tiles: 0,
      });
    }),
    { numRuns: inLength(5, 200) },
  ));
