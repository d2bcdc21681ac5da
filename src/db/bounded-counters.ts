import type { Database } from './database.ts';

const LOCK = 'bounded-counters';

export type BoundedCounters = ReturnType<typeof createBoundedCounters>;

/** Durable counts that never pass a limit, shared by all processes on the database. */
export function createBoundedCounters(database: Database) {
  return {
    /** Raises the count under this name by at most `amount`, never above `limit`; returns by how much, and the count now. */
    take: (
      name: string,
      amount: number,
      limit: number,
    ): Promise<{ readonly taken: number; readonly count: number }> =>
      database.transaction(LOCK, async (query) => {
        const row = await query
          .selectFrom('counters')
          .select('value')
          .where('name', '=', name)
          .executeTakeFirst();
        const used = row?.value ?? 0;
        const taken = Math.max(0, Math.min(amount, limit - used));
        const value = used + taken;
        const raised = query
          .insertInto('counters')
          .values({ name, value })
          .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }));
        if (!row || taken > 0) await raised.execute();
        return { taken, count: value };
      }),
    giveBack: (name: string, count: number): Promise<void> =>
      database.transaction(LOCK, async (query) => {
        await query
          .updateTable('counters')
          .set((eb) => ({ value: eb('value', '-', count) }))
          .where('name', '=', name)
          .where('value', '>=', count)
          .execute();
      }),
    /** Removes the counts whose names begin like this, except some. */
    forget: (prefix: string, except: readonly string[]): Promise<void> =>
      database.transaction(LOCK, async (query) => {
        await query
          .deleteFrom('counters')
          .where((eb) => eb(eb.fn('substr', ['name', eb.lit(1), eb.lit(prefix.length)]), '=', prefix))
          .where('name', 'not in', [...except])
          .execute();
      }),
  };
}
