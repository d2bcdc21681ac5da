import { describe, expect, it } from 'vitest';
import { openTestAccounts } from '../../test/fixtures/accounts.ts';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { createMemoryLedger, type Ledger } from '../lib/budget.ts';
import { KeyMeter } from './key-limits.ts';
import type { ReaderKeyDraft } from './reader-key.ts';

const DRAFT: ReaderKeyDraft = {
  name: 'portal',
  layers: ['*'],
  areas: null,
  origins: null,
  ratePerSecond: null,
  requestsPerDay: null,
  expiresAt: null,
};

async function open(limits: Partial<ReaderKeyDraft>, address?: string) {
  const clock = createVirtualClock();
  const { readerKeys } = await openTestAccounts(clock, address);
  const { key } = await readerKeys.create({ ...DRAFT, ...limits }, 'anna');
  const held = readerKeys.ring.get(key.id);
  if (!held) throw new Error('the key is not in the ring');
  /** As each process has it. */
  const meters = [readerKeys.meter, new KeyMeter(clock, readerKeys.ledgers)];
  async function answered(count: number): Promise<number> {
    let granted = 0;
    for (let i = 0; i < count; i++) {
      if ((await meters[i % meters.length]?.admit(held as NonNullable<typeof held>)) === null) granted++;
    }
    return granted;
  }
  return { clock, readerKeys, held, answered, meters };
}

describe('limits of keys', () => {
  it('a key is found until it expires, in a process that has looked it up before too', async () => {
    const clock = createVirtualClock();
    const { readerKeys } = await openTestAccounts(clock);
    const expiresAt = clock.now() + 1000;
    const { secret } = await readerKeys.create({ ...DRAFT, expiresAt }, 'anna');
    const { ring } = readerKeys;
    const found = ring.find(secret);
    if (!found) throw new Error('the key is not found');
    clock.advance(999);
    expect([ring.find(secret), ring.isValid(found)]).toEqual([found, true]);
    clock.advance(1);
    expect([ring.find(secret), ring.isValid(found)]).toEqual([null, false]);
  });

  it('the rate of a key counts over all processes and refills with time', async () => {
    const { clock, answered } = await open({ ratePerSecond: 10 });
    expect(await answered(40)).toBe(10);
    clock.advance(500);
    expect(await answered(40)).toBe(5);
    clock.advance(60_000);
    expect(await answered(40)).toBe(10);
  });

  it.each([3, 1000])('%i requests of a key per day count over all processes, to the last', async (limit) => {
    const { clock, answered, meters } = await open({ requestsPerDay: limit });
    const first = await answered(limit + 50);
    clock.advance(2000);
    for (const meter of meters) await meter.giveBack();
    expect(first).toBeLessThanOrEqual(limit);
    expect(first + (await answered(50))).toBe(limit);
    clock.advance(86_400_000);
    expect(await answered(limit + 50)).toBeGreaterThan(0);
  });

  it('the requests of a key per day are drawn in blocks, not one by one', async () => {
    const { readerKeys, clock, held } = await open({ requestsPerDay: 1_000_000 });
    let draws = 0;
    const { rates, days } = readerKeys.ledgers;
    const counted: Ledger = {
      change: (...change) => {
        draws++;
        return days.change(...change);
      },
    };
    const meter = new KeyMeter(clock, { rates, days: counted });
    for (let i = 0; i < 10_000; i++) await meter.admit(held);
    expect(draws).toBeLessThanOrEqual(5);
  });

  it('no request waits for a block of a large daily limit, but the first', async () => {
    const { readerKeys, held, clock } = await open({ requestsPerDay: 1_000_000 });
    const ledger = createMemoryLedger(clock);
    const days: Ledger = { change: async (...change) => ledger.change(...change) };
    const meter = new KeyMeter(clock, { ...readerKeys.ledgers, days });
    let waits = 0;
    for (let i = 0; i < 20_000; i++) {
      const verdict = meter.admit(held);
      if (verdict instanceof Promise) waits++;
      await verdict;
    }
    expect(waits).toBe(1);
  });

  it('permits left while the next block is drawn are not both given back and used', async () => {
    const { held } = await open({ requestsPerDay: 1_000_000 });
    const clock = createVirtualClock();
    const ledger = createMemoryLedger(clock);
    const waiting: (() => void)[] = [];
    let changes = 0;
    const days: Ledger = {
      async change(...change) {
        if (++changes === 2) await new Promise<void>((resolve) => waiting.push(resolve));
        return ledger.change(...change);
      },
    };
    const meter = new KeyMeter(clock, { rates: ledger, days });
    for (let i = 0; i < 4000; i++) await meter.admit(held);
    expect(waiting).toHaveLength(1);
    clock.advance(2000);
    await meter.giveBack();
    expect(changes).toBe(2);
    waiting[0]?.();
    expect(await meter.admit(held)).toBeNull();
  });

  it.each([null, 1000])(
    'the requests of a key today are listed with a limit of %s, after a restart too',
    async (limit) => {
      const address = await createPostgresDatabase();
      const { answered, clock, readerKeys } = await open({ requestsPerDay: limit }, address);
      await answered(7);
      const listed = async (keys: typeof readerKeys) => (await keys.list())[0]?.requestsToday;
      await readerKeys.close();
      const { readerKeys: again } = await openTestAccounts(clock, address);
      await again.refresh();
      // Of the two meters one is not of these keys, and gives nothing back.
      expect(await listed(again)).toBe(limit === null ? 4 : 9);
      clock.advance(86_400_000);
      expect(await listed(again)).toBe(0);
    },
  );

  it('the requests of a key per day survive a restart, and unused permits are given back', async () => {
    const address = await createPostgresDatabase();
    const { answered, readerKeys, held } = await open({ requestsPerDay: 1000 }, address);
    expect(await answered(400)).toBe(400);
    await readerKeys.close();
    const { readerKeys: again } = await openTestAccounts(createVirtualClock(), address);
    await again.refresh();
    const after = again.ring.get(held.id);
    let left = 0;
    for (let i = 0; after && i < 900; i++) if ((await again.meter.admit(after)) === null) left++;
    expect(left).toBeGreaterThan(590);
    expect(left).toBeLessThanOrEqual(600);
  });

  it('the rate of a key counts over nodes that share a database', async () => {
    const address = await createPostgresDatabase();
    // As slow as can be: the database has a clock of its own.
    const { answered, readerKeys, held } = await open({ ratePerSecond: 1 }, address);
    const { readerKeys: other } = await openTestAccounts(createVirtualClock(), address);
    await other.refresh();
    expect(await answered(1)).toBe(1);
    const there = other.ring.get(held.id);
    expect(there).toEqual(held);
    // A meter for each request: none goes by a refusal that another has read.
    const waits = await Promise.all(
      [...Array(20)].map(() => new KeyMeter(createVirtualClock(), other.ledgers).admit(held)),
    );
    expect(waits.filter((wait) => wait !== null).length).toBeGreaterThan(0);
    await readerKeys.remove(held.id);
    await other.refresh();
    expect(other.ring.get(held.id)).toBeNull();
  });
});
