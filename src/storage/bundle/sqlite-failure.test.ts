import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isDamage, storeFailure } from './sqlite-failure.ts';

const sqlite = (code: string, message = 'failed') => new Database.SqliteError(message, code);

it.each(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])("SQLite's %s means that the store is full", (code) => {
  expect(storeFailure(sqlite(code)).code).toBe('store-full');
});

it.each(['ENOSPC', 'EDQUOT'])("the file system's %s means that the store is full", (code) => {
  expect(storeFailure(Object.assign(new Error('no room'), { code })).code).toBe('store-full');
});

it.each(['SQLITE_IOERR_WRITE', 'SQLITE_BUSY', 'SQLITE_READONLY'])(
  'the error %s is a failure of the store',
  (code) => {
    expect(storeFailure(sqlite(code)).code).toBe('store-failed');
  },
);

const overThreads = (error: unknown) => errorCopier.read(structuredClone(errorCopier.write(error)));

it('a file without its tables counts as damaged, and no other mistake in a statement does', () => {
  expect(isDamage(sqlite('SQLITE_ERROR', 'no such table: tile'))).toBe(true);
  expect(isDamage(sqlite('SQLITE_CORRUPT_VTAB'))).toBe(true);
  expect(isDamage(sqlite('SQLITE_ERROR', 'near "x": syntax error'))).toBe(false);
  expect(isDamage(new Error('no such table: tile'))).toBe(false);
});

it('a failure keeps code, message and cause between threads, and shows no path in the message', () => {
  const full = overThreads(storeFailure(sqlite('SQLITE_FULL', 'no room in /srv/tiles')));
  expect(full).toMatchObject({ code: 'store-full', message: 'The disk of the tile store is full.' });
  expect(full.cause).toMatchObject({ message: 'SQLITE_FULL: no room in /srv/tiles' });
  const stale = overThreads(storeFailure(new TilewardenError('generation-stale', 'too late')));
  expect(stale).toMatchObject({ code: 'generation-stale', message: 'too late' });
  expect(stale.cause).toBeUndefined();
});
