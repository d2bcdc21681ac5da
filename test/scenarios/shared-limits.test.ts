import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createHostShares } from '../../src/cluster/host-shares.ts';
import { createDatabaseLedger } from '../../src/db/database-ledger.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openUpstreamLimiter } from '../../src/sources/upstream/open-upstream-limiter.ts';
import type { RequestEnd } from '../../src/sources/upstream/upstream-limiter.ts';
import { upstreamOptions } from '../../src/sources/upstream/upstream-options.ts';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';

const HOST = 'maps.example.org:443';
const ANSWERED: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const CONCURRENCY = 3;
const REQUEST_MS = 20;

/** Limiters as the processes of a server have them: each its own, on one database. */
async function openProcesses(names: readonly string[]) {
  const env = { clock: systemClock, log: silentLogger };
  const location = join(temporaryFolder(), 'tilewarden.db');
  const database = await openDatabase({ location, ...env, synced: false });
  whenOver(() => database.close());
  return names.map((name) => {
    const limiter = openUpstreamLimiter({
      upstreams: { [HOST]: upstreamOptions.parse({ concurrency: CONCURRENCY, adaptive: false }) },
      budgets: createDatabaseLedger(database),
      shares: createHostShares(database, name),
      random: Math.random,
      ...env,
    });
    whenOver(() => limiter.close());
    return limiter;
  });
}

it('of several processes the one where a person waits goes before tasks, within the limit of all', async () => {
  const [server, ...workers] = await openProcesses(['server', 'worker-1', 'worker-2']);
  const stopping = new AbortController();
  let [inFlight, most, begun, tasks] = [0, 0, 0, 0];
  const request = async (limiter: typeof server, priority: 'interactive' | 'task') => {
    const permit = await limiter?.acquire(HOST, priority, stopping.signal);
    most = Math.max(most, ++inFlight);
    begun++;
    await systemClock.sleep(REQUEST_MS);
    inFlight--;
    permit?.end(ANSWERED);
  };
  const seed = async (limiter: typeof server) => {
    while (!stopping.signal.aborted) {
      await request(limiter, 'task').catch(() => {});
      tasks++;
    }
  };
  const seeding = workers.flatMap((worker) => Array.from({ length: 5 }, () => seed(worker)));
  await eventually('both workers seed with all places', () => most === CONCURRENCY && tasks > 50);
  const before = begun;
  await request(server, 'interactive');
  // Those that began before the workers were notified.
  expect(begun - before).toBeLessThan(40);
  await eventually('the workers have their places again', () => tasks > before + 100);
  stopping.abort(new Error('over'));
  await Promise.all(seeding);
  expect(most).toBe(CONCURRENCY);
});
