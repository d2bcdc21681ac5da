import { createFlightClaims } from '../cluster/flight-claims.ts';
import { createHostOutageStore } from '../cluster/host-outage-store.ts';
import { createShareBook } from '../cluster/share-book.ts';
import type { Settings } from '../config/settings.ts';
import { createBoundedCounters } from '../db/bounded-counters.ts';
import type { Database } from '../db/database.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import type { Membership } from './join-nodes.ts';
import { type NodeEnv, openTileServices } from './open-tile-services.ts';

/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };

export type NodeServices = Awaited<ReturnType<typeof openNodeServices>>;

/** What makes and keeps tiles in a node, with what it shares with others. */
export async function openNodeServices(
  settings: Settings,
  database: Database,
  { instance, leads, news }: Membership,
  env: NodeEnv,
  open: ClosingStack,
) {
  const limiter = open.use(
    openUpstreamLimiter({
      ...env,
      upstreams: settings.upstreams,
      book: createBoundedCounters(database),
      ...(news && {
        shares: createShareBook(database, instance),
        news: createHostOutageStore(database, instance),
      }),
    }),
  );
  const parts = {
    ...env,
    database,
    limiter,
    cutter: open.use(openCutterThread(env.log)),
    atTheGate: SERVER_AT_THE_GATE,
    sweeps: leads,
    ...(news && { outage: news, claims: createFlightClaims(database, instance, env) }),
  };
  return openTileServices(settings, parts, open);
}
