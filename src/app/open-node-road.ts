import { createFlightClaims } from '../cluster/flight-claims.ts';
import { createHostNewsBook } from '../cluster/host-news-book.ts';
import { createShareBook } from '../cluster/share-book.ts';
import type { Settings } from '../config/settings.ts';
import { createBoundedCounters } from '../db/bounded-counters.ts';
import type { Database } from '../db/database.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import type { Membership } from './join-nodes.ts';
import { openRoad, type RoadSurroundings } from './open-road.ts';

/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };

export type NodeRoad = Awaited<ReturnType<typeof openNodeRoad>>;

/** The road that tiles take in a node, with what it shares with others. */
export async function openNodeRoad(
  settings: Settings,
  database: Database,
  { instance, leads, news }: Membership,
  surroundings: RoadSurroundings,
  open: ClosingStack,
) {
  const limiter = open.use(
    openUpstreamLimiter({
      ...surroundings,
      upstreams: settings.upstreams,
      book: createBoundedCounters(database),
      ...(news && {
        shares: createShareBook(database, instance),
        news: createHostNewsBook(database, instance),
      }),
    }),
  );
  const parts = {
    ...surroundings,
    database,
    limiter,
    cutter: open.use(openCutterThread(surroundings.log)),
    atTheGate: SERVER_AT_THE_GATE,
    sweeps: leads,
    ...(news && { outage: news, claims: createFlightClaims(database, instance, surroundings) }),
  };
  return openRoad(settings, parts, open);
}
