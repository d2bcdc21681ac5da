import { type Migration, sql } from 'kysely';
import type { Dialect, Statements } from '../database.ts';

/** A step of these statements, one after the other. */
export function statements(...texts: readonly string[]): Migration {
  return {
    async up(query: Statements) {
      for (const text of texts) await sql.raw(text).execute(query);
    },
  };
}

export function columnsOf(dialect: Dialect) {
  const sqlite = dialect === 'sqlite';
  return {
    /** Rises with every row and is never given out twice. */
    risingId: sqlite
      ? 'integer primary key autoincrement'
      : 'bigint generated always as identity primary key',
    bigint: sqlite ? 'integer' : 'bigint',
    real: sqlite ? 'real' : 'double precision',
  };
}
