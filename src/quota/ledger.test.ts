import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openQuotaHouse, type QuotaHouse } from '../../test/fixtures/quota-house.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { Ledger } from './ledger.ts';
import { createLedgerRecords } from './ledger-records.ts';
import { usageOfBlocks } from './usage-report.ts';

let house: QuotaHouse;

beforeEach(async () => {
  house = await openQuotaHouse();
});
afterEach(() => house.close());

function openLedger(stores = house.stores): Promise<Ledger> {
  return Ledger.open({
    stores,
    records: createLedgerRecords(house.database),
    clock: systemClock,
    log: silentLogger,
  });
}

/** By layer, the bytes being the tiles' own. */
function countsOf(ledger: Ledger): Record<string, { tiles: number; bytes: number }> {
  const layers: Record<string, { tiles: number; bytes: number }> = {};
  for (const { set, pages } of ledger.blocks()) {
    const sum = layers[set.layer] ?? { tiles: 0, bytes: 0 };
    for (const { tiles, bytes } of pages) {
      sum.tiles += tiles;
      sum.bytes += bytes;
    }
    layers[set.layer] = sum;
  }
  return layers;
}

/** A store that tells how many blocks it was made to read. */
function counting(store: TileStore): { store: TileStore; reads: () => number } {
  let reads = 0;
  const counted: TileStore = {
    ...store,
    async *blocks(known) {
      for await (const block of store.blocks(known)) {
        if (block.content) reads++;
        yield block;
      }
    },
  };
  return { store: counted, reads: () => reads };
}

const EVERYTHING = { minX: 0, minY: 0, maxX: 2 ** 20, maxY: 2 ** 20 };

describe('the ledger', () => {
  it('knows when the tiles of a layer last changed, from its records too, and when all of them went', async () => {
    const before = Date.now() - 1000;
    await house.put(house.set('roads'), 3, 1, 1);
    const first = await openLedger();
    expect(first.changedAt('roads')).toBeNull();
    const settled = async () => {
      await first.refresh();
      expect([...first.blocks()].every((block) => block.stamp !== null)).toBe(true);
    };
    await vi.waitFor(settled, { timeout: 120_000, interval: 100 });
    await first.close();
    const second = await openLedger();
    const changed = second.changedAt('roads') ?? 0;
    expect(changed).toBeGreaterThan(before);
    await house.store.dropLayer('roads');
    await second.refresh();
    expect(second.changedAt('roads')).toBeGreaterThan(changed);
    expect(second.changedAt('rivers')).toBeNull();
    await second.close();
  });

  it('equals a recount after any sequence of writes, overwrites, deletions, drops and restarts', async () => {
    const layer = fc.constantFrom('a', 'b');
    const tile = fc.record({
      layer,
      x: fc.integer({ min: 0, max: 300 }),
      y: fc.integer({ min: 0, max: 40 }),
    });
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('put' as const),
          tile,
          size: fc.integer({ min: 0, max: 20_000 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), tile }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), layer }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('refresh' as const) }) },
    );
    let ledger = await openLedger();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const each of steps) {
          if (each.do === 'put')
            await house.put(house.set(each.tile.layer), 9, each.tile.x, each.tile.y, each.size);
          if (each.do === 'delete') {
            const { x, y } = each.tile;
            const rect = { minX: x, minY: y, maxX: x + 50, maxY: y + 5 };
            await house.store.deleteRange(house.set(each.tile.layer), 9, rect);
          }
          if (each.do === 'drop') await house.store.dropLayer(each.layer);
          if (each.do === 'refresh') await ledger.refresh();
          if (each.do !== 'restart') continue;
          await ledger.close();
          ledger = await openLedger();
        }
        await ledger.refresh();
        expect(countsOf(ledger)).toEqual(await house.recount());
      }),
      { numRuns: 12 },
    );
  });

  it('sees what another process writes and drops', async () => {
    const ledger = await openLedger();
    const other = await house.another();
    await other.putMany(house.set('a'), 3, [{ x: 1, y: 1, bytes: Buffer.alloc(700), createdAt: 1 }], 0);
    await ledger.refresh();
    expect(countsOf(ledger)).toEqual({ a: { tiles: 1, bytes: 700 } });
    await other.dropLayer('a');
    await ledger.refresh();
    expect(countsOf(ledger)).toEqual({});
  });

  it('reads only what has changed, and after a restart too', async () => {
    for (const x of [0, 200, 400]) await house.put(house.set('a'), 9, x, 0);
    const { store, reads } = counting(house.store);
    const stores = new Map([['default', store]]);
    const ledger = await openLedger(stores);
    await expect
      .poll(async () => {
        const before = reads();
        await ledger.refresh();
        return reads() - before;
      })
      .toBe(0);
    await ledger.close();
    const again = await openLedger(stores);
    const before = reads();
    await again.refresh();
    expect(reads() - before).toBe(0);
    expect(countsOf(again)).toEqual(await house.recount());
    await house.put(house.set('a'), 9, 201, 0);
    await again.refresh();
    expect(reads() - before).toBe(1);
    expect(countsOf(again)).toEqual(await house.recount());
  });

  it('keeps the records of a store that is not there now', async () => {
    await house.put(house.set('a'), 9, 1, 1);
    const ledger = await openLedger();
    await expect
      .poll(async () => {
        await ledger.refresh();
        return [...ledger.blocks()].every(({ stamp }) => stamp !== null);
      })
      .toBe(true);
    await ledger.close();
    const without = await openLedger(new Map());
    await without.refresh();
    await without.close();
    expect([...(await openLedger()).blocks()]).toHaveLength(1);
  });

  it('reports what the bundles take on disk, within 5 % of what the file system says', async () => {
    for (let y = 0; y < 12; y++)
      for (let x = 0; x < 12; x++) await house.put(house.set('a'), 9, x * 3, y, 30_000 + x * 7000);
    await house.store.deleteRange(house.set('a'), 9, { ...EVERYTHING, minY: 8 });
    const ledger = await openLedger();
    const size = () =>
      Number(
        execFileSync('du', ['-s', '-B1', `${house.folder}/store/layers`])
          .toString()
          .split('\t')[0],
      );
    await expect
      .poll(async () => {
        await ledger.refresh();
        const { bytes } = usageOfBlocks(ledger.blocks());
        return Math.abs(bytes / size() - 1);
      })
      .toBeLessThan(0.05);
  });

  it('adds up by layer, tile set and zoom', async () => {
    await house.put(house.set('b'), 2, 0, 0);
    await house.put(house.set('a'), 9, 0, 0);
    await house.put(house.set('a'), 10, 0, 0);
    await house.put({ ...house.set('a'), format: 'image/jpeg' }, 9, 0, 0);
    const ledger = await openLedger();
    await ledger.refresh();
    const usage = usageOfBlocks(ledger.blocks());
    expect(usage).toMatchObject({
      tiles: 4,
      layers: [
        { name: 'a', tiles: 3 },
        { name: 'b', tiles: 1 },
      ],
    });
    const png = usage.layers[0]?.tileSets.find(({ format }) => format === 'image/png');
    expect(png?.zooms.map(({ z, tiles }) => [z, tiles])).toEqual([
      [9, 1],
      [10, 1],
    ]);
    expect(usage.bytes).toBe(usage.layers.reduce((sum, layer) => sum + layer.bytes, 0));
  });
});
