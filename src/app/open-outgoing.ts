import { ONCE } from '../changes/deliveries/delivery-store.ts';
import {
  notificationTarget,
  type OutgoingRequest,
  purgeTarget,
} from '../changes/deliveries/delivery-targets.ts';
import { openNotifier } from '../changes/deliveries/notifier.ts';
import { openDeliveries } from '../changes/deliveries/open-deliveries.ts';
import { openEventWatch } from '../changes/deliveries/watch-events.ts';
import { readVersion } from '../config/environment.ts';
import type { Settings } from '../config/settings.ts';
import type { Lead } from '../db/database.ts';
import type { UpstreamReport } from '../domain/upstream-status.ts';
import { isoTime } from '../lib/clock.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import { openUpstreamClient } from '../sources/upstream/upstream-client.ts';
import { hostAndPort } from '../sources/upstream/upstream-options-for.ts';
import type { Store } from '../storage/store.ts';
import type { Schedule, ScheduleRun } from '../tasks/schedules/schedule.ts';
import type { TaskService } from '../tasks/task-service.ts';
import type { NodeServices } from './open-node-services.ts';

const TIMEOUT_MS = 10_000;
const HOUR = 3_600_000;
/** RFC 9110, 15.3. */
const SUCCESS = Array.from({ length: 99 }, (_, index) => 201 + index);

interface OutgoingParts extends Env {
  readonly services: Pick<NodeServices, 'database' | 'catalog' | 'events' | 'limiter' | 'tallies'>;
  readonly lead: Lead;
  /** As in `openDeliveries`. */
  readonly obeyed: () => Promise<void>;
}

/** Purges and notifications. Their hosts have the limits of all hosts; only they may be in a private network by being named here. */
export function openOutgoing(settings: Settings, parts: OutgoingParts, open: ClosingStack) {
  const { purge, notify, upstreams, server, proxies } = settings;
  const { services, lead, obeyed, clock, log } = parts;
  const { database, catalog, events, limiter, tallies } = services;
  const client = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      upstreams,
      configuredHosts: hostsNamedIn([...purge, ...notify].map(({ url }) => url)),
      proxies,
      limiter,
      clock,
      log,
    }),
  );
  const send = async (request: OutgoingRequest, signal: AbortSignal): Promise<void> => {
    const limits = {
      priority: 'interactive',
      timeoutMs: TIMEOUT_MS,
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
    openDeliveries({
      ...{ database, catalog, events, targets, lead, counters, send, obeyed, clock, log },
      tryHost: (url) => limiter.tryNow(hostAndPort(url)),
    }),
  );
  const notifier = open.use(openNotifier({ store: deliveries.store, targets: notify, clock, log }));
  return {
    deliveries,
    notifier,
    onFull: (layer: string | null) => {
      const of = layer === null ? 'of all layers' : `of layer ${layer}`;
      const message = `The quota ${of} is reached; tiles are evicted.`;
      const subject = `quota:${layer ?? ''}`;
      const details = { quota: layer === null ? 'global' : 'layer' };
      notifier.report({ subject, againAfter: HOUR, event: 'quota-full', layer, message, details });
    },
    scheduleFailed: ({ id, layer, name }: Schedule, { dueAt, taskId, detail }: ScheduleRun) => {
      const subject = `${ONCE}schedule:${id}:${dueAt}`;
      const message = `Schedule ${name} of layer ${layer} failed: ${detail ?? 'its task failed'}`;
      const details = { schedule: id, dueAt: isoTime(dueAt), task: taskId };
      notifier.report({ subject, event: 'schedule-failed', layer, message, details });
    },
    async watch(tasks: TaskService, stores: ReadonlyMap<string, Store>, hosts: UpstreamReport) {
      const receivers = hostsNamedIn(notify.map(({ url }) => url));
      const parts = { deliveries: deliveries.store, notifier, tasks, events, hosts, stores, receivers };
      open.use(await openEventWatch({ ...parts, clock, log }));
    },
  };
}
