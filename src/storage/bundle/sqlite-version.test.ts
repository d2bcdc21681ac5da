import { expect, it } from 'vitest';
import { checkSqliteVersion } from './sqlite-version.ts';

it.each(['3.50.4', '3.9.1', '2.99.0', ''])('a store of bundles refuses SQLite %j', (version) => {
  expect(() => checkSqliteVersion(version)).toThrow('needs 3.51 or later');
});

it.each(['3.51.0', '3.53.2', '4.0.0'])('a store of bundles accepts SQLite %s', (version) => {
  expect(() => checkSqliteVersion(version)).not.toThrow();
});

it('the SQLite that is installed is accepted', () => {
  expect(() => checkSqliteVersion()).not.toThrow();
});
