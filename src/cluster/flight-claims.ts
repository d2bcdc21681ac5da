import type { Database } from '../db/database.ts';
import { orAborted } from '../lib/deferred.ts';
import type { Env } from '../lib/env.ts';

/** Milliseconds after which a claim expires: its node counts as gone. */
const LEASE = 30_000;
/** Milliseconds to wait for the database; then the metatile is made without a claim, as a client waits for it. */
const CLAIM_TIMEOUT_MS = 5000;
/** Milliseconds between attempts while another node makes it. */
const PAUSE = 150;

/** `FlightClaims` of `pipeline` in the database: a row for each metatile that a node is making for a client. */
export function createFlightClaims(database: Database, instance: string, { clock, log }: Env) {
  async function release(metatile: string): Promise<void> {
    await database.change
      .deleteFrom('node_flights')
      .where('metatile', '=', metatile)
      .where('instance', '=', instance)
      .execute();
  }

  return {
    take(metatile: string): Promise<(() => void) | null> {
      const taking = take(metatile);
      // A claim taken after the timeout is released: other nodes would wait for it.
      const letGo = () =>
        void taking.then(
          (free) => free?.(),
          () => {},
        );
      return orAborted(taking, AbortSignal.timeout(CLAIM_TIMEOUT_MS), letGo);
    },
    pause: (signal: AbortSignal) => clock.sleep(PAUSE, signal),
  };

  async function take(metatile: string): Promise<(() => void) | null> {
    const now = await database.now();
    const row = { metatile, instance, expires_at: now + LEASE };
    const claim = await database.change
      .insertInto('node_flights')
      .values(row)
      .onConflict((conflict) =>
        conflict.column('metatile').doUpdateSet(row).where('node_flights.expires_at', '<', now),
      )
      .returning('metatile')
      .executeTakeFirst();
    if (!claim) return null;
    return () =>
      void release(metatile).catch((error: unknown) =>
        log.debug({ err: error }, 'a claim on a metatile was not released; it expires'),
      );
  }
}
