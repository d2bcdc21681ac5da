import { isoTime } from '../../lib/clock.ts';
import type { ClosingStack } from '../../lib/closing-stack.ts';
import type { Schedule, ScheduleRun } from '../../tasks/schedules/schedule.ts';
import { ONCE } from './delivery-store.ts';
import {
  type NotifySettings,
  notificationTarget,
  type PurgeSettings,
  purgeTarget,
} from './delivery-targets.ts';
import { openNotifier } from './notifier.ts';
import { type DeliveriesOptions, openDeliveries } from './open-deliveries.ts';
import { type EventWatchOptions, openEventWatch } from './watch-events.ts';

const HOUR = 3_600_000;

interface OutgoingOptions extends Omit<DeliveriesOptions, 'targets'> {
  readonly purge: readonly PurgeSettings[];
  readonly notify: readonly NotifySettings[];
  readonly surrogateKeys: Parameters<typeof purgeTarget>[1];
}

/** Purges and notifications. */
export function openOutgoing(
  { purge, notify, surrogateKeys, ...options }: OutgoingOptions,
  open: ClosingStack,
) {
  const { events, clock, log } = options;
  const targets = [
    ...purge.map((target) => purgeTarget(target, surrogateKeys)),
    ...notify.map(notificationTarget),
  ];
  const deliveries = open.use(openDeliveries({ ...options, targets }));
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
    async watch(watched: Pick<EventWatchOptions, 'tasks' | 'stores' | 'hosts' | 'receivers'>) {
      open.use(
        await openEventWatch({ ...watched, deliveries: deliveries.store, notifier, events, clock, log }),
      );
    },
  };
}
