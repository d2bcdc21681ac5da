import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { systemClock } from '../lib/clock.ts';
import { maskOf, numberInBlock } from '../storage/page-mask.ts';
import { sumOfChanges } from '../storage/tile-store.ts';
import { Ledger } from './ledger.ts';

let fixture: QuotaFixture;

beforeEach(async () => {
  fixture = await openQuotaFixture();
});
afterEach(() => fixture.close());

function openLedger(stores = fixture.stores): Ledger {
  return new Ledger({ stores, clock: systemClock });
}

/** By layer, the bytes being the tiles' own. */
function countsOf(ledger: Ledger): Record<string, { tiles: number; bytes: number }> {
  const layers: Record<string, { tiles: number; bytes: number }> = {};
  for (const { set, tiles, bytes } of ledger.blocks()) {
    layers[set.layer] = sumOfChanges([layers[set.layer], { tiles, bytes }]);
  }
  return layers;
}

/** The same, page by page. */
async function pageCountsOf(ledger: Ledger): Promise<Record<string, { tiles: number; bytes: number }>> {
  const layers: Record<string, { tiles: number; bytes: number }> = {};
  for await (const [{ set, mask }, pages] of ledger.pagesIn(ledger.blocks())) {
    expect(maskOf(pages.map(numberInBlock))).toBe(mask);
    layers[set.layer] = sumOfChanges([layers[set.layer], ...pages]);
  }
  return layers;
}

/** How often others had their turn. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

async function* toAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function* each<T>(items: AsyncIterable<T>, seen: () => void): AsyncGenerator<T> {
  for await (const item of items) {
    seen();
    yield item;
  }
}

describe('the ledger', () => {
  it('the ledger contains when the tiles of a layer last changed, and when all of them went', async () => {
    const before = Date.now() - 1000;
    await fixture.put(fixture.set('roads'), 3, 1, 1);
    const ledger = openLedger();
    expect(ledger.changedAt('roads')).toBeNull();
    await ledger.refresh();
    const changed = ledger.changedAt('roads') ?? 0;
    expect(changed).toBeGreaterThan(before);
    await fixture.store.dropLayer('roads');
    await ledger.refresh();
    expect(ledger.changedAt('roads')).toBeGreaterThanOrEqual(changed);
    expect(ledger.changedAt('rivers')).toBeNull();
  });

  it('the ledger yields while it reads, lists and forgets a tile set of many blocks', async () => {
    const blocks = (tiles: number) =>
      Array.from({ length: 5000 }, (_, x) => ({
        id: `7/9/${x}_0`,
        content: {
          set: fixture.set('a'),
          z: 9,
          x,
          y: 0,
          mask: 1n,
          tiles,
          bytes: 1,
          diskBytes: 1,
          changedAt: 1,
        },
      }));
    let gone: readonly string[] = [];
    const store = {
      ...fixture.store,
      pagesIn: async () => new Map(),
      async blocks() {
        const changed = gone.length > 0 ? [] : blocks(1);
        return { gone, blocks: each(toAsync(changed), () => {}), complete: false, cursor: 1 };
      },
    };
    const ledger = openLedger(new Map([['default', store]]));
    expect(await turnsDuring(() => ledger.refresh())).toBeGreaterThanOrEqual(5);
    expect(ledger.usage().tiles).toBe(5000);
    const readAll = async () => {
      for await (const _ of ledger.pagesIn(ledger.blocks()));
    };
    expect(await turnsDuring(readAll)).toBeGreaterThanOrEqual(5000 / 32 - 1);
    gone = ['7/'];
    expect(await turnsDuring(() => ledger.refresh())).toBeGreaterThanOrEqual(5);
    expect(ledger.usage()).toMatchObject({ tiles: 0, layers: [] });
  });

  it('the ledger equals a recount after any sequence of writes, overwrites, deletions, drops and restarts', async () => {
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
    let ledger = openLedger();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const each of steps) {
          if (each.do === 'put')
            await fixture.put(fixture.set(each.tile.layer), 9, each.tile.x, each.tile.y, each.size);
          if (each.do === 'delete') {
            const { x, y } = each.tile;
            const rect = { minX: x, minY: y, maxX: x + 50, maxY: y + 5 };
            await fixture.store.edit(fixture.set(each.tile.layer), 9, rect, { type: 'remove' });
          }
          if (each.do === 'drop') await fixture.store.dropLayer(each.layer);
          if (each.do === 'refresh') await ledger.refresh();
          if (each.do !== 'restart') continue;
          await ledger.close();
          ledger = openLedger();
        }
        await ledger.refresh();
        expect(countsOf(ledger)).toEqual(await fixture.recount());
        expect(await pageCountsOf(ledger)).toEqual(await fixture.recount());
      }),
      { numRuns: inLength(6, 200) },
    );
  });

  it('the ledger sees what another process writes and drops', async () => {
    const ledger = openLedger();
    const other = await fixture.another();
    await other.put(fixture.set('a'), 3, [{ x: 1, y: 1, bytes: Buffer.alloc(700), createdAt: 1 }], 0);
    await ledger.refresh();
    expect(countsOf(ledger)).toEqual({ a: { tiles: 1, bytes: 700 } });
    await other.dropLayer('a');
    await ledger.refresh();
    expect(countsOf(ledger)).toEqual({});
  });

  it('the ledger adds up by layer, tile set and zoom', async () => {
    await fixture.put(fixture.set('b'), 2, 0, 0);
    await fixture.put(fixture.set('a'), 9, 0, 0);
    await fixture.put(fixture.set('a'), 10, 0, 0);
    await fixture.put({ ...fixture.set('a'), format: 'image/jpeg' }, 9, 0, 0);
    const ledger = openLedger();
    await ledger.refresh();
    const usage = ledger.usage();
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
