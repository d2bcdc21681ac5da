import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';

/** Reads how far other nodes have applied the changes of the database. Records nothing: `node-registry.ts` does. */
export function createAppliedChanges(database: Database, instance: string, clock: Pick<Clock, 'monotonic'>) {
  /** When this process last saw each node's row change, by its monotonic clock: clocks of machines differ, and jump. */
  let sightings = new Map<string, { readonly appliedAt: number; readonly since: number }>();
  return {
    async changesApplied(): Promise<void> {},
    async changesAppliedByOthers(ms: number): Promise<readonly number[]> {
      const rows = await database.query
        .selectFrom('nodes')
        .select(['instance', 'applied_at as appliedAt', 'applied'])
        .where('instance', '!=', instance)
        .where('applied_at', '>', 0)
        .execute();
      const now = clock.monotonic();
      const known = sightings;
      sightings = new Map(
        rows.map(({ instance: other, appliedAt }) => {
          const before = known.get(other);
          return [other, before?.appliedAt === appliedAt ? before : { appliedAt, since: now }];
        }),
      );
      const isSilent = (other: string) => now - (sightings.get(other)?.since ?? now) >= ms;
      return rows.filter(({ instance: other }) => !isSilent(other)).map(({ applied }) => applied);
    },
  };
}
