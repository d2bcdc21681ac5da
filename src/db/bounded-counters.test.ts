import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { type BoundedCounters, createBoundedCounters } from './bounded-counters.ts';
import type { Database } from './database.ts';
import { openDatabase } from './open-database.ts';

describe('bounded counters', () => {
  let folder: string;
  let database: Database;
  let counters: BoundedCounters;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tilewarden-counters-'));
    await open();
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(): Promise<void> {
    const location = join(folder, 'tilewarden.db');
    database = await openDatabase({ location, clock: systemClock, log: silentLogger });
    counters = createBoundedCounters(database);
  }

  it('bounded counters never pass their limit, however many callers take concurrently', async () => {
    const taken = await Promise.all(Array.from({ length: 50 }, () => counters.take('a', 3, 100)));
    expect(taken.reduce((sum, each) => sum + each.taken, 0)).toBe(100);
    expect(await counters.take('a', 1, 100)).toEqual({ taken: 0, count: 100 });
  });

  it('bounded counters are the same after a restart', async () => {
    expect(await counters.take('a', 60, 100)).toEqual({ taken: 60, count: 60 });
    await database.close();
    await open();
    expect(await counters.take('a', 60, 100)).toEqual({ taken: 40, count: 100 });
  });

  it('bounded counters give nothing when the limit was lowered below the use', async () => {
    await counters.take('a', 60, 100);
    expect(await counters.take('a', 1, 50)).toEqual({ taken: 0, count: 60 });
  });

  it('bounded counters take back unused amounts', async () => {
    await counters.take('a', 100, 100);
    await counters.giveBack('a', 30);
    expect(await counters.take('a', 100, 100)).toEqual({ taken: 30, count: 100 });
  });

  it('bounded counters with the same prefix are forgotten, except the named ones', async () => {
    for (const name of ['host 1', 'host 2', 'host 3', 'other 1', 'task-events-of-none'])
      await counters.take(name, 5, 5);
    await counters.forget('host ', ['host 2', 'host 3']);
    const names = ['host 1', 'host 2', 'host 3', 'other 1', 'task-events-of-none'];
    const left = await Promise.all(names.map((name) => counters.take(name, 5, 5)));
    expect(left.map(({ taken }) => taken)).toEqual([5, 0, 0, 0, 0]);
  });
});
