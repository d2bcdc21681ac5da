import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Database } from '../database.ts';
import { openDatabase } from '../open-database.ts';

const quiet = { clock: systemClock, log: silentLogger };

async function newFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tilewarden-db-'));
  whenOver(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'tilewarden.db');
}

it('a transaction on SQLite has its turn among many of another connection that follow each other', async () => {
  const location = await newFile();
  const busy = await openDatabase({ location, ...quiet });
  const clock = { ...systemClock, sleep: () => nextTurn() };
  const waiter = await openDatabase({ location, ...quiet, clock });
  const ended: string[] = [];
  const run = (database: Database, name: string) =>
    database.transaction('test', async () => name).then(() => ended.push(name));
  await Promise.all([...Array.from({ length: 40 }, () => run(busy, 'one of many')), run(waiter, 'other')]);
  expect(ended.at(-1)).toBe('one of many');
  await busy.close();
  await waiter.close();
});

it('reading from SQLite never waits for a writer', async () => {
  const location = await newFile();
  const writer = await openDatabase({ location, ...quiet });
  const reader = await openDatabase({ location, ...quiet });
  await writer.transaction('test', async (query) => {
    await query.insertInto('counters').values({ name: 'unseen', value: 1 }).execute();
    const rows = await reader.query.selectFrom('counters').select('name').execute();
    expect(rows.map((row) => row.name)).not.toContain('unseen');
  });
  await reader.close();
  await writer.close();
});

it('a single statement on SQLite waits for the transaction of another process', async () => {
  const location = await newFile();
  const one = await openDatabase({ location, ...quiet });
  const other = await openDatabase({ location, ...quiet });
  const count = (name: string) => ({ name, value: 1 });
  const changes: Promise<unknown>[] = [];
  await one.transaction('test', async (query) => {
    await query.insertInto('counters').values(count('first')).execute();
    changes.push(other.change.insertInto('counters').values(count('second')).execute());
    await nextTurn();
  });
  await Promise.all(changes);
  const made = one.query.selectFrom('counters').select('name').where('name', 'in', ['first', 'second']);
  expect(await made.execute()).toHaveLength(2);
  await one.close();
  await other.close();
});
