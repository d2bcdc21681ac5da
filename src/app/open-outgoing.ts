import {
  notificationTarget,
  type OutgoingRequest,
  purgeTarget,
} from '../changes/deliveries/delivery-targets.ts';
import { openNotifier } from '../changes/deliveries/notifier.ts';
import { openDeliveries } from '../changes/deliveries/open-deliveries.ts';
import { readVersion } from '../config/environment.ts';
import type { Settings } from '../config/settings.ts';
import type { Lead } from '../db/database.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import { openUpstreamClient } from '../sources/upstream/upstream-client.ts';
import type { Road } from './open-road.ts';

/** Milliseconds for one request. */
const PATIENCE = 10_000;
/** RFC 9110, 15.3. */
const SUCCESS = Array.from({ length: 99 }, (_, index) => 201 + index);

interface OutgoingParts extends Surroundings {
  readonly road: Pick<Road, 'database' | 'catalog' | 'events' | 'desk' | 'tallies'>;
  readonly lead: Lead;
  /** As in `openDeliveries`. */
  readonly obeyed: () => Promise<void>;
}

/** Purges and notifications. Their hosts have the limits of all hosts; only they may be in a private network by being named here. */
export function openOutgoing(settings: Settings, parts: OutgoingParts, open: ClosingStack) {
  const { purge, notify, upstreams, server } = settings;
  const { road, lead, obeyed, clock, log } = parts;
  const { database, catalog, events, desk, tallies } = road;
  const client = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      upstreams,
      configuredHosts: hostsNamedIn([...purge, ...notify].map(({ url }) => url)),
      desk,
      clock,
      log,
    }),
  );
  const send = async (request: OutgoingRequest, signal: AbortSignal): Promise<void> => {
    const limits = {
      priority: 'interactive',
      timeoutMs: PATIENCE,
      alsoAccept: SUCCESS,
      packed: true,
    } as const;
    await client.get({ ...request, ...limits, signal });
  };
  const targets = [
    ...purge.map((target) => purgeTarget(target, server.surrogateKeys)),
    ...notify.map(notificationTarget),
  ];
  const { counters } = tallies;
  const deliveries = open.use(
    openDeliveries({ database, catalog, events, targets, lead, counters, send, obeyed, clock, log }),
  );
  const notifier = open.use(openNotifier({ store: deliveries.store, targets: notify, clock, log }));
  return { deliveries, notifier };
}
