import { SqliteAdapter, sql } from 'kysely';
import type { Dialect, Statements } from './database.ts';

/**
 * The number of the change that a transaction makes. In PostgreSQL it is the transaction's own number, so that writers
 * share no row; numbers then become visible in any order, and several changes may have the same one. A reader of
 * changes begins at the `changeHorizon` of its last read.
 */
export async function changeNumber(query: Statements): Promise<number> {
  if (dialectOf(query) === 'sqlite') return raise(query, 'task-events');
  return one(query, 'pg_current_xact_id()::text::bigint');
}

/** All changes below this number are visible, or never will be. */
export async function changeHorizon(query: Statements): Promise<number> {
  if (dialectOf(query) === 'postgres')
    return one(query, 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint');
  const row = await query
    .selectFrom('counters')
    .select('value')
    .where('name', '=', 'task-events')
    .executeTakeFirstOrThrow();
  return row.value + 1;
}

/** Above the number of every change that was complete before. In PostgreSQL only; no clock is involved. */
export async function completedChanges(query: Statements): Promise<number> {
  return one(query, 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint');
}

/** A number that was never given out before. */
export async function nextToken(query: Statements): Promise<number> {
  if (dialectOf(query) === 'sqlite') return raise(query, 'lease-tokens');
  return one(query, "nextval('lease_tokens')");
}

export function dialectOf(query: Statements): Dialect {
  return query.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres';
}

/** Highest id of existing rows; 0: none. */
export async function lastId(query: Statements, table: 'tasks' | 'schedules'): Promise<number> {
  const row = await query.selectFrom(table).select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return row?.id ?? 0;
}

/** The next number of a counter, or the last of the next few. */
export async function raise(query: Statements, name: string, by = 1): Promise<number> {
  const row = await query
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', by) }))
    .where('name', '=', name)
    .returning('value')
    .executeTakeFirstOrThrow();
  return row.value;
}

async function one(query: Statements, expression: string): Promise<number> {
  const { rows } = await sql<{ number: number }>`select ${sql.raw(expression)} as number`.execute(query);
  return rows[0]?.number ?? 0;
}

/** A whole number from the database: a `bigint` only where a double would not hold it exactly. */
export function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
