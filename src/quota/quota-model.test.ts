import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { inLength } from '../../test/fixtures/length.ts';
import { addRanks, rankOfRequests } from '../domain/page-rank.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { PAGE_SIZE, pageOf, type TileSetKey } from '../domain/tile-key.ts';
import { blockAt } from '../domain/tile-rect.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { cleanUp, sumOf } from './clean-up.ts';
import { PageUses, saveUses } from './page-uses.ts';
import { readUsedBytes } from './usage-report.ts';

/** Milliseconds to which the order by last use is exact, and for which a page is in use. */
const STEP = 10_000;
const IN_USE = 1000;
const Z = 9;
const LAYERS = ['roads', 'rivers', 'rail'];

/** A page as the policies know it. */
interface ModelPage {
  readonly layer: string;
  /** Bytes by the tile's place in the page. */
  readonly tiles: Map<number, number>;
  writtenAt: number;
  usedAt: number;
  rank: number;
}

const place = { store: fc.nat(1), layer: fc.constantFrom(...LAYERS), page: fc.nat(7) };
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      ...place,
      tile: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 999 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('use' as const),
      layer: place.layer,
      page: place.page,
      hits: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), ...place }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('drop' as const), store: place.store, layer: place.layer }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('evict' as const),
      layer: fc.constantFrom(null, ...LAYERS),
      policy: fc.constantFrom('LRU' as const, 'LFU' as const),
      excess: fc.integer({ min: 1, max: 3000 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const history = fc.array(fc.record({ step, after: fc.nat(STEP) }), { minLength: 20, maxLength: 80 });

function setOf(layer: string): TileSetKey {
  return { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
}

function bytesOf({ tiles }: ModelPage): number {
  return [...tiles.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function orderOf(policy: 'LRU' | 'LFU', { rank, writtenAt, usedAt }: ModelPage): readonly number[] {
  const touchedAt = Math.floor(Math.max(writtenAt, usedAt) / STEP) * STEP;
  // Ranks are sums of logarithms.
  return policy === 'LRU' ? [touchedAt] : [Math.round(rank * 1e6), touchedAt];
}

function isAfter(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0);
}

it('usage is exact and the pages that go are those that the policy names, whatever is written, used, removed and dropped', () =>
  fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const clock = createVirtualClock();
      const opened = [0, 1].map(() => createMemoryStore({ type: 'memory' }, { clock, log: silentLogger }));
      const stores = new Map(opened.map((store, at) => [`${at}`, store]));
      const events = createTileEvents();
      const gone: string[] = [];
      const known = [0, 1].map(() => new Map<string, ModelPage>());
      const uses = new PageUses();
      events.subscribe((event) => {
        if (event.type === 'deleted') gone.push(`${event.set.layer} ${pageOf(event.rect.minX)}`);
      });
      for (const { step, after } of steps) {
        await clock.run(after);
        const now = clock.now();
        if (step.do === 'put') {
          const tile = {
            x: step.page * PAGE_SIZE + step.tile,
            y: 0,
            bytes: Buffer.alloc(step.bytes),
            createdAt: now,
          };
          await opened[step.store]?.put(setOf(step.layer), Z, [tile], 0);
          const name = `${step.layer} ${step.page}`;
          const fresh = { layer: step.layer, tiles: new Map(), writtenAt: now, usedAt: 0, rank: 0 };
          const page = known[step.store]?.get(name) ?? fresh;
          page.tiles.set(step.tile, step.bytes);
          page.writtenAt = now;
          known[step.store]?.set(name, page);
        }
        if (step.do === 'use') {
          uses.count(setOf(step.layer), { z: Z, x: step.page * PAGE_SIZE, y: 3 }, now, step.hits);
          await saveUses(uses, stores);
          for (const pages of known) {
            const page = pages.get(`${step.layer} ${step.page}`);
            if (!page) continue;
            page.rank = addRanks(page.rank, rankOfRequests(step.hits, now));
            page.usedAt = now;
          }
        }
        if (step.do === 'remove') {
          const rect = blockAt(step.page, 0, PAGE_SIZE);
          await opened[step.store]?.edit(setOf(step.layer), Z, rect, { type: 'remove' });
          known[step.store]?.delete(`${step.layer} ${step.page}`);
        }
        if (step.do === 'drop') {
          await opened[step.store]?.drop(step.layer, null);
          for (const [name, { layer }] of known[step.store] ?? [])
            if (layer === step.layer) known[step.store]?.delete(name);
        }
        if (step.do === 'evict') await evict(step);
        const used = await readUsedBytes(stores);
        const all = known.flatMap((pages) => [...pages.values()]);
        for (const layer of [null, ...LAYERS]) {
          const pages = all.filter((page) => layer === null || page.layer === layer);
          expect(used(layer)).toBe(pages.reduce((sum, page) => sum + bytesOf(page), 0));
        }
      }

      async function evict({ layer, policy, excess }: Extract<Step, { do: 'evict' }>) {
        const now = clock.now();
        const removed: ModelPage[] = [];
        const guarded = new Map(
          opened.map((store, at) => [
            `${at}`,
            {
              usage: store.usage,
              edit: async (...parameters: Parameters<typeof store.edit>) => {
                const [set, , rect] = parameters;
                const name = `${set.layer} ${pageOf(rect.minX)}`;
                const page = known[at]?.get(name);
                if (page) removed.push(page);
                known[at]?.delete(name);
                return store.edit(...parameters);
              },
            },
          ]),
        );
        const evicted = await cleanUp(
          { layer, policy },
          { excess, begunAt: now },
          { stores: guarded, events, clock },
          new AbortController().signal,
        );
        const isInUse = ({ writtenAt, usedAt }: ModelPage) => Math.max(writtenAt, usedAt) > now - IN_USE;
        const left = known
          .flatMap((pages) => [...pages.values()])
          .filter((page) => (layer === null || page.layer === layer) && !isInUse(page));
        const last = removed.at(-1);
        const bytes = removed.reduce((sum, page) => sum + bytesOf(page), 0);
        expect(sumOf(evicted)).toMatchObject({ pages: removed.length, bytes });
        expect(gone.splice(0)).toHaveLength(removed.length);
        expect(removed.filter(isInUse)).toEqual([]);
        expect(removed.filter((page) => layer !== null && page.layer !== layer)).toEqual([]);
        // No more than it takes, and no less unless nothing is left.
        if (last) expect(bytes - bytesOf(last)).toBeLessThan(excess);
        if (bytes < excess) expect(left).toEqual([]);
        const orders = removed.map((page) => orderOf(policy, page));
        for (const [at, order] of orders.entries()) {
          expect(isAfter(orders[at - 1] ?? order, order)).toBe(false);
          for (const page of left) expect(isAfter(order, orderOf(policy, page))).toBe(false);
        }
      }
      for (const store of opened) await store.close();
    }),
    { numRuns: inLength(30, 2000) },
  ));
