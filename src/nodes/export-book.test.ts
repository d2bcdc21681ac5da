import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/e2e/server.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createExportBook, EXPORT_LEASE } from './export-book.ts';

const LOCATIONS = {
  sqlite: async () => join(temporaryFolder(), `${randomBytes(4).toString('hex')}.db`),
  postgres: createPostgresDatabase,
};

async function openBook(dialect: keyof typeof LOCATIONS) {
  const location = await LOCATIONS[dialect]();
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  whenOver(() => database.close());
  return createExportBook<{ readonly layer: string; readonly createdBy?: string }>(database);
}

const DONE = { state: 'done', tiles: 1, expected: 1, bytes: 9, reason: null, endedAt: 'now' } as const;

describe.each(['sqlite', 'postgres'] as const)('exports in %s', (dialect) => {
  it('are each given to one performer, the oldest first', async () => {
    const book = await openBook(dialect);
    for (const id of ['a', 'b', 'c']) await book.add(id, 'default', { layer: id });
    const taken = await Promise.all([book.take(), book.take(), book.take(), book.take()]);
    for (let more = await book.take(); more; more = await book.take()) taken.push(more);
    const given = taken.flatMap((row) => row ?? []).sort((a, b) => Number(a.token) - Number(b.token));
    expect(given.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('are another performer’s when the first says nothing, and nothing that it says later counts', async () => {
    const book = await openBook(dialect);
    await book.add('a', 'default', { layer: 'roads' });
    const first = await book.take();
    if (!first) throw new Error('nobody waits');
    expect((await book.list())[0]?.progress.state).toBe('running');
    expect(await book.note(first, first.progress, -1)).toBe(true);
    await eventually('nobody performs it', async () => (await book.list())[0]?.progress.state === 'pending');
    const second = await book.take();
    if (!second) throw new Error('it was not given to another');
    expect(await book.note(first, { ...DONE, tiles: 7 }, null)).toBe(false);
    expect(await book.note(second, DONE, null)).toBe(true);
    expect((await book.list())[0]).toMatchObject({ progress: DONE, token: second.token });
    expect(await book.take()).toBeNull();
  });

  it('count for nobody who performed them before they were deleted or asked for again', async () => {
    const book = await openBook(dialect);
    await book.add('a', 'default', { layer: 'roads' });
    const first = await book.take();
    if (!first) throw new Error('nobody waits');
    expect(await book.add('a', 'default', { layer: 'roads' })).toMatchObject({ run: first.run });
    await book.remove('a');
    expect(await book.note(first, first.progress, EXPORT_LEASE)).toBe(false);
    await book.add('a', 'default', { layer: 'roads' });
    expect(await book.note(first, DONE, null)).toBe(false);
    expect((await book.list())[0]?.progress.state).toBe('pending');
  });

  it('are 20 at most, however many ask at once', async () => {
    const book = await openBook(dialect);
    const ids = Array.from({ length: 25 }, (_, i) => `export-${i}`);
    const asked = await Promise.allSettled(ids.map((id) => book.add(id, 'default', { layer: id })));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    expect(await book.list()).toHaveLength(20);
    await expect(book.add('one more', 'default', { layer: 'roads' })).rejects.toThrow('delete one first');
  });

  it('exports of one limited account are 10 at most, and others have room beside them', async () => {
    const book = await openBook(dialect);
    const add = (createdBy: string, n: number) =>
      book.add(`${createdBy}-${n}`, 'default', { layer: 'roads', createdBy }, { createdBy });
    for (let n = 0; n < 10; n++) await add('mary', n);
    await expect(add('mary', 10)).rejects.toMatchObject({
      code: 'too-many-exports',
      message: expect.stringContaining('mary has 10 exports already'),
    });
    await expect(add('otto', 0)).resolves.toMatchObject({ id: 'otto-0' });
  });
});
