import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LogEntry, recordingLogger } from '../../test/fixtures/http-app.ts';
import { maskOf, numberInBlock } from '../storage/page-mask.ts';
import { EvictionQueue, EvictionQueues } from './eviction-queues.ts';
import type { Ledger } from './ledger.ts';
import type { LedgerBlock } from './ledger-block.ts';
import { HALF_LIFE, PageUses } from './page-uses.ts';

const SET = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const NOW = 1_800_000_000_000;

/** Pages side by side, eight to a block. */
function pagesOf(written: readonly number[]) {
  return written.map((writtenAt, pageX) => ({ pageX, pageY: 0, writtenAt }));
}

function blockOf(x: number, mask = (1n << 64n) - 1n): LedgerBlock {
  const sums = { mask, tiles: 8, bytes: 80, diskBytes: 4096, changedAt: NOW };
  return { store: 'default', id: `${x}`, set: SET, z: 9, x, y: 0, ...sums };
}

function order(policy: 'LRU' | 'LFU', written: readonly number[], uses: PageUses): number[] {
  return taken(queueOf(policy, written, uses));
}

function queueOf(
  policy: 'LRU' | 'LFU',
  written: readonly number[],
  uses: PageUses,
  looked = () => {},
): EvictionQueue {
  const find = (key: string) => {
    looked();
    return blockOf(Number(key.split(' ')[1]));
  };
  const queue = new EvictionQueue(policy, { find }, uses);
  for (const page of pagesOf(written)) queue.add(blockOf(page.pageX >> 3), page);
  return queue;
}

function taken(queue: EvictionQueue): number[] {
  const pages: number[] = [];
  for (let next = queue.take(); next; next = queue.take()) pages.push(next.pageX);
  return pages;
}

function use(uses: PageUses, page: number, at: number, times = 1): void {
  for (let n = 0; n < times; n++) uses.count(SET, { z: 9, x: page * 16 + (n % 16), y: n % 16 }, at);
}

describe('under LRU', () => {
  it('under LRU the page that was unused and unwritten for longest goes first', () => {
    const uses = new PageUses();
    use(uses, 0, NOW - 10);
    use(uses, 1, NOW - 5000, 100);
    expect(order('LRU', [NOW - 90_000, NOW - 80_000, NOW - 20_000, NOW - 2000], uses)).toEqual([2, 1, 3, 0]);
  });

  it('under LRU the pages that stay are those of an exact model, whatever was used when', () => {
    const reads = fc.array(
      fc.record({ page: fc.integer({ min: 0, max: 19 }), after: fc.integer({ min: 1, max: 9 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(reads, (given) => {
        const uses = new PageUses();
        const last = new Map<number, number>();
        let at = NOW - 1_000_000;
        for (const { page, after } of given) {
          at += after;
          use(uses, page, at);
          last.set(page, at);
        }
        const written = Array.from({ length: 20 }, (_, page) => NOW - 2_000_000 + page);
        const model = written
          .map((time, page) => [Math.max(time, last.get(page) ?? 0), page] as const)
          .sort(([a], [b]) => a - b);
        expect(order('LRU', written, uses)).toEqual(model.map(([, page]) => page));
      }),
    );
  });
});

describe('under LFU', () => {
  it('under LFU the page used least goes first, and of unused ones the one written first', () => {
    const uses = new PageUses();
    use(uses, 1, NOW - 10, 3);
    use(uses, 2, NOW - 10, 1);
    expect(order('LFU', [NOW - 1000, NOW - 9000, NOW - 9000, NOW - 5000], uses)).toEqual([3, 0, 2, 1]);
  });

  it('under LFU the favourite of last week has faded', () => {
    const uses = new PageUses();
    use(uses, 0, NOW - 14 * HALF_LIFE, 1000);
    use(uses, 1, NOW - 1000, 2);
    expect(order('LFU', [0, 0], uses)).toEqual([0, 1]);
  });

  it('under LFU the pages that stay are those of an exact model, whatever was used when', () => {
    const reads = fc.array(
      fc.record({ page: fc.integer({ min: 0, max: 9 }), after: fc.integer({ min: 1, max: HALF_LIFE / 10 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(reads, (given) => {
        const uses = new PageUses();
        const times = new Map<number, number[]>();
        const total = given.reduce((sum, { after }) => sum + after, 0);
        let at = NOW - total;
        for (const { page, after } of given) {
          at += after;
          use(uses, page, at);
          times.set(page, [...(times.get(page) ?? []), at]);
        }
        const weight = (page: number) =>
          (times.get(page) ?? []).reduce((sum, time) => sum + 2 ** ((time - NOW) / HALF_LIFE), 0);
        const weights = order('LFU', Array(10).fill(0), uses).map(weight);
        for (const [index, value] of weights.slice(1).entries()) {
          expect(value).toBeGreaterThanOrEqual((weights[index] ?? 0) - 1e-9);
        }
      }),
    );
  });
});

describe.each(['LRU', 'LFU'] as const)('the next page under %s', (policy) => {
  it(`the next page under ${policy} is the right one too when pages are used after they were queued`, () => {
    const reads = fc.array(fc.nat(19), { maxLength: 60 });
    fc.assert(
      fc.property(reads, reads, (before, after) => {
        const uses = new PageUses();
        let at = NOW;
        for (const page of before) use(uses, page, at++);
        const written = Array.from({ length: 20 }, (_, page) => NOW - 2000 + page);
        const queue = queueOf(policy, written, uses);
        for (const page of after) use(uses, page, at++);
        expect(taken(queue)).toEqual(order(policy, written, uses));
      }),
    );
  });

  it(`the next page under ${policy} costs as much with ten times as many pages`, () => {
    const looksFor = (pages: number) => {
      let looks = 0;
      const written = Array.from({ length: pages }, (_, page) => NOW - page * 1000);
      const queue = queueOf(policy, written, new PageUses(), () => looks++);
      for (let n = 0; n < 100; n++) queue.take();
      return looks;
    };
    expect(looksFor(10_000)).toBe(looksFor(1000));
  });
});

it('uses are handed over once, and come back as they were', () => {
  const uses = new PageUses();
  use(uses, 3, NOW, 5);
  const [taken, ...rest] = uses.takeUnsaved(10);
  expect(rest).toEqual([]);
  expect(uses.takeUnsaved(10)).toEqual([]);
  expect(taken).toMatchObject({ set: SET, z: 9, pageX: 3, pageY: 0, hits: 5, lastUsedAt: NOW, frequency: 5 });
  const restored = new PageUses();
  if (taken) restored.restore(taken, taken);
  expect(restored.get({ set: { ...SET }, z: 9, pageX: 3, pageY: 0 })).toMatchObject({
    hits: 5,
    frequency: 5,
  });
});

/** A ledger of one block whose pages are given. */
function openQueues(pages: { pageX: number; pageY: number; writtenAt: number }[]) {
  const block = () => blockOf(0, maskOf(pages.map(numberInBlock)));
  let changed = (_key: string, _block: LedgerBlock) => {};
  let failing = false;
  const ledger = {
    onBlock: (listener: typeof changed) => {
      changed = listener;
    },
    entries: () => [['default 0', block()]] as [string, LedgerBlock][],
    blocks: () => [block()],
    diskBytes: () => 4096,
    pages: pages.length,
    find: block,
    async *pagesIn(blocks: Iterable<LedgerBlock>) {
      for (const each of blocks) {
        if (failing) throw new Error('the database is away');
        yield [each, [...pages]] as const;
      }
    },
  } as unknown as Ledger;
  const log: LogEntry[] = [];
  const queues = new EvictionQueues(ledger, new PageUses(), recordingLogger(log));
  return {
    queues,
    log,
    change: () => changed('default 0', block()),
    fail: (now: boolean) => {
      failing = now;
    },
  };
}

const SCOPE = { scope: 'global', layer: null, limit: 0, policy: 'LRU' } as const;

it('a page that a block gained between two looks is evicted like any other', async () => {
  const pages = pagesOf([NOW - 1000]);
  const { queues, change } = openQueues(pages);
  await queues.for(SCOPE);
  pages.push({ pageX: 1, pageY: 0, writtenAt: NOW });
  change();
  expect(taken(await queues.for(SCOPE))).toEqual([0, 1]);
  change();
  expect(taken(await queues.for(SCOPE))).toEqual([0, 1]);
  expect(queues.rebuilds).toBe(0);
});

it('a page that was written again goes after those that were not', async () => {
  const pages = pagesOf([NOW - 2000, NOW - 1000]);
  const { queues, change } = openQueues(pages);
  await queues.for(SCOPE);
  pages.splice(0, 1, { pageX: 0, pageY: 0, writtenAt: NOW });
  change();
  expect(taken(await queues.for(SCOPE))).toEqual([1, 0]);
});

it('a queue that is empty although the ledger has pages is rebuilt, and counted', async () => {
  const { queues, log } = openQueues(pagesOf([NOW - 1000, NOW]));
  expect(taken(await queues.for(SCOPE))).toEqual([0, 1]);
  expect(taken(await queues.for(SCOPE))).toEqual([0, 1]);
  expect(queues.rebuilds).toBe(1);
  expect(log.map(({ message }) => message)).toEqual(['an eviction queue had lost its pages and was rebuilt']);
});

it('pages that could not be read while the store failed are read by the next look', async () => {
  const pages = pagesOf([NOW - 1000]);
  const { queues, change, fail } = openQueues(pages);
  await queues.for(SCOPE);
  pages.push({ pageX: 1, pageY: 0, writtenAt: NOW });
  change();
  fail(true);
  await expect(queues.for(SCOPE)).rejects.toThrow('away');
  fail(false);
  expect(taken(await queues.for(SCOPE))).toEqual([0, 1]);
});
