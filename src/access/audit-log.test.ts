import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTestAccounts, refuseAuditEntries } from '../../test/fixtures/accounts.ts';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { temporaryFolder } from '../../test/fixtures/when-over.ts';
import type { Database } from '../db/database.ts';
import { createAuditTable } from './audit-table.ts';

async function open() {
  const clock = createVirtualClock();
  const { audit: log, database, folder } = await openTestAccounts(clock);
  const lines = async () => {
    const rows = await database.query.selectFrom('audit_entries').select('line').orderBy('id').execute();
    return rows.map(({ line }): { readonly id: string } => JSON.parse(line));
  };
  return { log, clock, lines, database, file: join(folder, 'audit.log') };
}

function change(id: string, more = {}) {
  return {
    id,
    phase: 'ended',
    action: 'PUT /diskquota.json',
    outcome: 'done',
    actor: 'mary',
    ...more,
  } as const;
}

describe('the bounds of the audit log', () => {
  const BOUNDS = { ofAccount: 3, inAll: 5, pruneEvery: 1 };

  async function openTable() {
    const { database } = await openTestAccounts();
    const table = createAuditTable(database, createVirtualClock(), null, BOUNDS);
    const add = (line: string, account: string | null, administrative = false) =>
      table.append([{ line, account, administrative }]);
    const left = async () => {
      const lines: string[] = [];
      for await (const line of table.latestFirst()) lines.push(line);
      return lines.reverse().join('');
    };
    const addWith = (line: string, account: string) =>
      database.transaction(null, (query) =>
        table.appendWith(query, { line, account, administrative: false }),
      );
    return { add, addWith, left };
  }

  it('entries written with their change are limited too', async () => {
    const { add, addWith, left } = await openTable();
    for (const line of ['1', '2', '3', '4', '5']) await addWith(line, 'follow:city');
    await add('a', 'user:mary');
    expect(await left()).toBe('345a');
  });

  it('entries of one account push out only older ones of the same account', async () => {
    const { add, left } = await openTable();
    for (const line of ['a', 'b']) await add(line, 'user:mary');
    for (const line of ['1', '2', '3', '4', '5', '6']) await add(line, 'user:vera');
    expect(await left()).toBe('ab456');
    await add('c', null);
    expect(await left()).toBe('b456c');
  });

  it('entries that could not be pruned are pruned later, even if their account writes no more', async () => {
    const { database } = await openTestAccounts();
    let isAway = false;
    const failing = {
      query: database.query,
      transaction: (lock: 'audit' | null, work: never) =>
        lock !== null && isAway
          ? Promise.reject(new Error('the database is away'))
          : database.transaction(lock, work),
    } as unknown as Database;
    const table = createAuditTable(failing, createVirtualClock(), null, { ...BOUNDS, inAll: 100 });
    const add = (line: string, account: string) => table.append([{ line, account, administrative: false }]);
    for (const line of ['1', '2', '3']) await add(line, 'user:vera');
    isAway = true;
    await add('4', 'user:vera');
    isAway = false;
    await add('a', 'user:mary');
    const lines: string[] = [];
    for await (const line of table.latestFirst()) lines.push(line);
    expect(lines.reverse().join('')).toBe('234a');
  });

  it('administrative changes are pushed out by nothing else', async () => {
    const { add, left } = await openTable();
    await add('L', 'user:mary', true);
    for (const line of ['1', '2', '3', '4', '5', '6']) {
      await add(line, 'user:mary');
      await add('.', `feed:${line}`);
    }
    expect(await left()).toBe('L.5.6.');
    for (const line of ['M', 'N', 'O']) await add(line, 'user:mary', true);
    expect(await left()).toMatch(/^[^L]*MNO$/);
  });
});

describe('the audit log', () => {
  it('the audit log has each entry in a row of its own once it is recorded', async () => {
    const { log, lines } = await open();
    await log.record(change('1', { before: { quota: 1n }, after: 'two\nlines' }));
    await Promise.all([log.record(change('2')), log.record(change('3'))]);
    expect(await lines()).toMatchObject([{ id: '1', before: { quota: 1 } }, { id: '2' }, { id: '3' }]);
  });

  it('the audit log refuses what it cannot write, and takes up again when it can', async () => {
    const { log, lines, database } = await open();
    const allow = await refuseAuditEntries(database);
    await expect(log.record(change('1'))).rejects.toMatchObject({ code: 'audit-unwritable' });
    await allow();
    await log.record(change('2'));
    expect(await lines()).toMatchObject([{ id: '2' }]);
  });

  it('the audit log is written on a full disk in the room that it has kept for that', async () => {
    const reserve = join(temporaryFolder(), 'reserve');
    const inserted: unknown[] = [];
    const database = {
      async transaction() {
        if (existsSync(reserve)) throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
        inserted.push('entry');
        return [{ id: 1 }];
      },
    };
    const table = createAuditTable(database as unknown as Database, createVirtualClock(), reserve);
    await table.reserveSpace();
    expect(existsSync(reserve)).toBe(true);
    await table.append([{ line: '{}', account: null, administrative: false }]);
    expect(inserted).toEqual(['entry']);
    await table.append([{ line: '{}', account: null, administrative: false }]);
    expect(existsSync(reserve)).toBe(true);
  });

  it('the audit log shows a change once, and one that never ended as unknown', async () => {
    const { log } = await open();
    await log.record({ ...change('1'), phase: 'begun', outcome: null });
    await log.record({ ...change('2'), phase: 'begun', outcome: null });
    await log.record(change('1'));
    const entries = await log.read({ limit: 10 });
    expect(entries.map(({ id, outcome }) => [id, outcome]).toSorted()).toEqual([
      ['1', 'done'],
      ['2', null],
    ]);
  });

  it('the audit log finds entries by actor, action, time and outcome', async () => {
    const { log, clock } = await open();
    await log.record(change('1', { actor: 'bob', target: 'layer:world' }));
    clock.advance(60_000);
    await log.record(change('2', { outcome: 'refused' }));
    clock.advance(60_000);
    await log.record(change('3', { action: 'POST /masstruncate' }));
    const idsOf = async (filter: object) => (await log.read({ limit: 10, ...filter })).map(({ id }) => id);
    expect(await idsOf({})).toEqual(['3', '2', '1']);
    expect(await idsOf({ limit: 2 })).toEqual(['3', '2']);
    expect(await idsOf({ actor: 'bob' })).toEqual(['1']);
    expect(await idsOf({ target: 'layer:world' })).toEqual(['1']);
    expect(await idsOf({ outcome: 'refused' })).toEqual(['2']);
    expect(await idsOf({ text: 'masstruncate' })).toEqual(['3']);
    expect(await idsOf({ since: clock.now() - 60_000 })).toEqual(['3', '2']);
    expect(await idsOf({ until: clock.now() })).toEqual(['2', '1']);
  });

  it('the audit log is not flooded by strangers, but reports how many it left out', async () => {
    const { log, lines, clock } = await open();
    for (let i = 0; i < 1000; i++) log.note(change(String(i), { action: 'login' }));
    clock.advance(60_000);
    log.note(change('last', { action: 'login' }));
    await log.record(change('done'));
    expect(await lines()).toHaveLength(122);
    expect((await lines())[120]).toMatchObject({ id: 'last', after: { leftOutBefore: 880 } });
  });
});
