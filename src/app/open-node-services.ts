import { createFlightClaims } from '../cluster/flight-claims.ts';
import { createHostOutageStore } from '../cluster/host-outage-store.ts';
import { createHostPauses, type HostPauses } from '../cluster/host-pauses.ts';
import { createHostShares } from '../cluster/host-shares.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import { createDatabaseLedger } from '../db/database-ledger.ts';
import { openDatabase } from '../db/open-database.ts';
import type { ProcessFeed } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import type { Membership } from './join-nodes.ts';
import { databaseOf, type NodeEnv, openTileServices } from './open-tile-services.ts';

/** Milliseconds that a write waits at a quota. Clients do not wait for it, but their tiles stay in memory until then. */
const SERVER_AT_THE_GATE = { maxWaitMs: 500, withReserve: true };

export type NodeServices = Awaited<ReturnType<typeof openNodeServices>>;

/** The tile services of a node, with the limits that it shares with others. */
export async function openNodeServices(
  settings: Settings,
  database: Database,
  { instance, leads, peers, feed }: Membership,
  env: NodeEnv,
  open: ClosingStack,
) {
  const pauses = createHostPauses(database);
  const divided = peers || feed ? await openDivided(settings, database, feed, env, open) : null;
  const limiter = open.use(
    openUpstreamLimiter({
      ...env,
      upstreams: settings.upstreams,
      budgets: createDatabaseLedger(database),
      pauses,
      ...(divided && {
        shares: createHostShares(divided, instance),
        outages: createHostOutageStore(divided, instance),
      }),
    }),
  );
  // Before the first request could be sent.
  await limiter.readPauses();
  const parts = {
    ...env,
    database,
    limiter,
    cutter: open.use(openCutterThread(env.log)),
    atTheGate: SERVER_AT_THE_GATE,
    sweeps: leads,
    ...(peers && { outage: peers }),
    ...(divided && { claims: createFlightClaims(divided, instance, env) }),
  };
  const services = await openTileServices(settings, parts, open);
  return { ...services, upstreams: hostControl(limiter, pauses) };
}

/** Where shares and claims are kept: of use only while processes run, so in SQLite they do not wait for the disk. */
async function openDivided(
  settings: Settings,
  database: Database,
  feed: ProcessFeed | null,
  { clock, log }: NodeEnv,
  open: ClosingStack,
): Promise<Database> {
  if (database.dialect === 'postgres') return database;
  const location = databaseOf(settings);
  return open.use(await openDatabase({ location, feed, synced: false, migrations: null, clock, log }));
}

/** Pauses are durable, and obeyed by this node, when their promise resolves; other nodes follow within a second. */
function hostControl(limiter: ReturnType<typeof openUpstreamLimiter>, pauses: HostPauses) {
  return {
    status: limiter.status,
    tryNow: limiter.tryNow,
    async pause(host: string, by: string): Promise<void> {
      await pauses.pause(host, by);
      await limiter.readPauses();
    },
    async resume(host: string): Promise<void> {
      await pauses.resume(host);
      await limiter.readPauses();
    },
  };
}
