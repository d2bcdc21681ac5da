import { type Migration, sql } from 'kysely';
import type { Dialect, Statements } from '../database.ts';

export type Columns = ReturnType<typeof columnsOf>;

/** A step of statements, one after the other, with the dialect's types of columns. */
export function statements(texts: (columns: Columns) => readonly string[]): (dialect: Dialect) => Migration {
  return (dialect) => ({
    async up(query: Statements) {
      for (const text of texts(columnsOf(dialect))) await sql.raw(text).execute(query);
    },
  });
}

function columnsOf(dialect: Dialect) {
  const sqlite = dialect === 'sqlite';
  return {
    dialect,
    /** Rises with every row and is never given out twice. */
    risingId: sqlite
      ? 'integer primary key autoincrement'
      : 'bigint generated always as identity primary key',
    bigint: sqlite ? 'integer' : 'bigint',
    real: sqlite ? 'real' : 'double precision',
  };
}
