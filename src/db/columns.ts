import { sql } from 'kysely';
import type { Dialect } from './database.ts';

/** Column types that the dialects spell differently. */
export type Columns = ReturnType<typeof columnsOf>;

export function columnsOf(dialect: Dialect) {
  const sqlite = dialect === 'sqlite';
  return {
    /** Rises with every row and is never given out twice. */
    risingId: sqlite
      ? sql`integer primary key autoincrement`
      : sql`bigint generated always as identity primary key`,
    bigint: sqlite ? sql`integer` : sql`bigint`,
    real: sqlite ? sql`real` : sql`double precision`,
  };
}
