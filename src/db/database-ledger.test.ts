import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { Budget } from '../lib/budget.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Database } from './database.ts';
import { createDatabaseLedger } from './database-ledger.ts';
import { openDatabase } from './open-database.ts';

const DAY_MS = 86_400_000;

describe('budgets in a database', () => {
  const clock = createVirtualClock(Date.parse('2026-11-15T12:00:00Z'));
  let folder: string;
  let database: Database;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tilewarden-budgets-'));
    await open();
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(): Promise<void> {
    database = await openDatabase({ location: join(folder, 'tilewarden.db'), clock, log: silentLogger });
  }

  /** As each process has one. */
  function hand(limit: number, period = 'today'): Budget {
    return new Budget({
      ledger: createDatabaseLedger(database),
      clock,
      scope: 'host',
      period: () => period,
      terms: { limit, refillMs: null },
      blocks: 30,
      maxBlock: 100,
      permitsLastMs: Number.POSITIVE_INFINITY,
      askAgainMs: 1000,
    });
  }

  async function takeAll(budget: Budget, most = Number.POSITIVE_INFINITY): Promise<number> {
    for (let taken = 0; ; ) {
      if (taken === most) return taken;
      const wait = budget.take();
      if (wait === null) taken++;
      else if (wait === undefined) await budget.fill();
      else return taken;
    }
  }

  it('a budget in a database is never exceeded, however many processes take concurrently', async () => {
    const taken = await Promise.all(Array.from({ length: 20 }, () => takeAll(hand(100))));
    expect(taken.reduce((sum, each) => sum + each)).toBe(100);
  });

  it('a budget in a database is the same after a restart, and unused permits are there again', async () => {
    const budget = hand(100);
    expect(await takeAll(budget, 61)).toBe(61);
    await budget.giveBack();
    await database.close();
    await open();
    expect(await takeAll(hand(100))).toBe(39);
  });

  it('a budget in a database grants nothing when its limit was lowered below the use', async () => {
    await takeAll(hand(100), 60);
    expect(await takeAll(hand(50))).toBe(0);
  });

  it('a budget in a database is deleted two days after its last use', async () => {
    await takeAll(hand(100, 'today'), 60);
    await clock.run(3 * DAY_MS);
    await takeAll(hand(100, 'later'), 1);
    const rows = await database.query.selectFrom('budgets').select('name').execute();
    expect(rows).toEqual([{ name: 'later' }]);
  });
});
