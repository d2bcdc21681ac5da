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
import { MetatileCutter } from '../raster/metatile-cutter.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import type { Membership } from './join-nodes.ts';
import { databaseOf, type NodeEnv, openTileServices } from './open-tile-services.ts';

/** How a write waits at a quota. Clients do not wait for it, but their tiles stay in memory until then. */
const AT_THE_GATE = {
  serve: { maxWaitMs: 500, withReserve: true },
  work: { maxWaitMs: 60_000, withReserve: false },
};
/** Channel: a host was paused or resumed. */
const PAUSES = 'pauses';

export type NodeServices = Awaited<ReturnType<typeof openNodeServices>>;

type ProcessMembership = Pick<Membership, 'instance' | 'leads' | 'peers' | 'feed' | 'several'>;

/** The tile services of a process, with the limits that it shares with other processes and nodes. `work`: it answers no requests. */
export async function openNodeServices(
  settings: Settings,
  database: Database,
  { instance, leads, peers, feed, several }: ProcessMembership,
  role: keyof typeof AT_THE_GATE,
  env: NodeEnv,
  open: ClosingStack,
) {
  const pauses = createHostPauses(database);
  const divided = peers || feed ? await openDivided(settings, database, feed, role, env, open) : null;
  const claiming = peers || several ? divided : null;
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
  feed?.on(PAUSES, limiter.readPauses);
  const parts = {
    ...env,
    database,
    limiter,
    cutter: role === 'work' ? new MetatileCutter() : open.use(openCutterThread(env.log)),
    atTheGate: AT_THE_GATE[role],
    sweeps: leads,
    ...(peers && { outage: peers }),
    ...(claiming && { claims: createFlightClaims(claiming, instance, env) }),
  };
  const services = await openTileServices(settings, parts, open);
  return { ...services, divided, upstreams: hostControl(limiter, pauses, feed) };
}

/** Where shares and claims are kept: of use only while processes run, so in SQLite they do not wait for the disk. */
async function openDivided(
  settings: Settings,
  database: Database,
  feed: ProcessFeed | null,
  role: keyof typeof AT_THE_GATE,
  { clock, log }: NodeEnv,
  open: ClosingStack,
): Promise<Database> {
  if (database.dialect === 'postgres' || role === 'work') return database;
  const location = databaseOf(settings);
  return open.use(await openDatabase({ location, feed, synced: false, migrations: null, clock, log }));
}

/** Pauses are durable, and obeyed by this node, when their promise resolves; other nodes follow within a second. */
function hostControl(
  limiter: ReturnType<typeof openUpstreamLimiter>,
  pauses: HostPauses,
  feed: ProcessFeed | null,
) {
  async function obeyed(): Promise<void> {
    await limiter.readPauses();
    await feed?.ask(PAUSES);
  }
  return {
    status: limiter.status,
    tryNow: limiter.tryNow,
    async pause(host: string, by: string): Promise<void> {
      await pauses.pause(host, by);
      await obeyed();
    },
    async resume(host: string): Promise<void> {
      await pauses.resume(host);
      await obeyed();
    },
  };
}
