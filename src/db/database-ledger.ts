import type { Ledger } from '../lib/budget.ts';
import type { Database } from './database.ts';

/** Durable tallies, shared by all processes on the database. */
export function createDatabaseLedger(database: Database): Ledger {
  return {
    async change(scope, names, work) {
      const now = await database.now();
      return database.transaction(`budget ${scope}`, async (query) => {
        const rows = await query
          .selectFrom('budgets')
          .selectAll()
          .where('scope', '=', scope)
          .where('name', 'in', [...names])
          .where('ends_at', '>=', now)
          .execute();
        const known = names.map((name) => {
          const row = rows.find((each) => each.name === name);
          if (!row) return null;
          const { used, at, pauses, paused_until: pausedUntil, ends_at: endsAt } = row;
          return { used, at, pauses, pausedUntil, endsAt };
        });
        const { result, tallies } = work(known, now);
        await query.deleteFrom('budgets').where('scope', '=', scope).where('ends_at', '<', now).execute();
        for (const [i, tally] of tallies.entries()) {
          if (!tally) continue;
          const { pausedUntil, endsAt, ...counts } = tally;
          const values = { ...counts, paused_until: pausedUntil, ends_at: endsAt };
          await query
            .insertInto('budgets')
            .values({ scope, name: names[i] ?? '', ...values })
            .onConflict((conflict) => conflict.columns(['scope', 'name']).doUpdateSet(values))
            .execute();
        }
        return result;
      });
    },
  };
}
