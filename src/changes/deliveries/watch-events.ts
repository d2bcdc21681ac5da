import type { TileEvents } from '../../domain/tile-events.ts';
import { failureText, type UpstreamReport } from '../../domain/upstream-status.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';
import type { TaskService } from '../../tasks/open-task-service.ts';
import type { Task } from '../../tasks/task.ts';
import { type DeliveryStore, ONCE } from './delivery-store.ts';
import type { Notifier } from './notifier.ts';

interface StoreWithRoom {
  room?(): Promise<{ readonly storing: boolean; readonly freePercent: number } | null>;
}

export interface EventWatchOptions extends Env {
  readonly notifier: Notifier;
  readonly deliveries: Pick<DeliveryStore, 'since'>;
  readonly tasks: Pick<TaskService, 'list' | 'subscribe'>;
  readonly events: TileEvents;
  readonly hosts: UpstreamReport;
  readonly stores: ReadonlyMap<string, StoreWithRoom>;
  /** Hosts that are not reported: the receivers of notifications. */
  readonly receivers: Pick<ReadonlySet<string>, 'has'>;
}

/** Milliseconds between checks of hosts and disks. */
const POLL_INTERVAL_MS = 1000;
/** Milliseconds: tasks that ended earlier are not reported after a start. */
const MAX_EVENT_AGE_MS = 86_400_000;
const MAX_TASKS = 1000;

/** Reports failures of tasks, hosts, disks and stores. Several nodes may report the same one: it is recorded once. */
export async function openEventWatch(options: EventWatchOptions) {
  const { notifier, tasks, events, clock, log } = options;
  if (!notifier.isOn) return { async close() {} };
  /** Hosts and disks by whether they were bad at the last check. */
  const known = new Map<string, boolean>();

  /** Whether it is bad is reported at the first check and when it changes. */
  function observe(subject: string, isBad: boolean, report: () => void, recovered: () => void): void {
    if (known.get(subject) === isBad) return;
    known.set(subject, isBad);
    if (isBad) report();
    else recovered();
  }

  function checkHosts(): void {
    for (const { host, breaker, lastFailure } of options.hosts()) {
      if (options.receivers.has(host)) continue;
      const subject = `host:${host}`;
      const details = { host, reason: lastFailure?.reason ?? null };
      const why = failureText(lastFailure?.reason ?? 'unknown');
      const failing = { event: 'host-failing', message: `Host ${host} is failing: ${why}`, details } as const;
      const back = {
        event: 'host-recovered',
        message: `Host ${host} has recovered.`,
        details: { host },
      } as const;
      const isBad = breaker !== 'closed';
      observe(
        subject,
        isBad,
        () => notifier.report({ subject, ...failing }),
        () => notifier.recovered(subject, back),
      );
    }
  }

  async function checkDisks(): Promise<void> {
    for (const [store, { room }] of options.stores) {
      const disk = await room?.();
      if (!disk) continue;
      const subject = `disk:${store}`;
      const details = { store, freePercent: disk.freePercent };
      const message = `The disk of store ${store} is full; tiles are served but not stored.`;
      const full = () => notifier.report({ subject, event: 'disk-full', message, details });
      observe(subject, !disk.storing, full, () => notifier.recovered(subject));
    }
  }

  const since = Math.max(await options.deliveries.since('tasks'), clock.now() - MAX_EVENT_AGE_MS);
  const onTask = (task: Task) => {
    if ((task.endedAt ?? 0) >= since) reportTask(notifier, task);
  };
  const unsubscribe = events.subscribe((event) => {
    if (event.type !== 'store-state') return;
    const { store, failure } = event;
    const subject = `store:${store}`;
    const message = `Tiles cannot be stored in store ${store}: ${failure}`;
    if (failure === null) notifier.recovered(subject);
    else notifier.report({ subject, event: 'store-failing', message, details: { store } });
  });
  const stopTasks = await tasks.subscribe(null, ({ task }) => onTask(task));
  // Tasks that ended while no server ran, or just before a crash.
  for (const filter of [{ outcomes: ['failed'] }, { types: ['export'], states: ['done'] }] as const) {
    for (const task of await tasks.list({ ...filter, limit: MAX_TASKS })) onTask(task);
  }
  const polling = openRepeater(
    async () => {
      checkHosts();
      await checkDisks();
    },
    { clock, log, pause: POLL_INTERVAL_MS, failure: 'could not check hosts and disks' },
  );
  return {
    async close(): Promise<void> {
      stopTasks();
      unsubscribe();
      await polling.close();
    },
  };
}

function reportTask(notifier: Notifier, { id, request, outcome, reason, state }: Task): void {
  const { layer, type } = request;
  const subject = `${ONCE}task:${id}`;
  if (outcome === 'failed') {
    const message = `Task ${id} (${type} of layer ${layer}) failed: ${reason ?? 'no tile could be made'}`;
    notifier.report({ subject, event: 'task-failed', layer, message, details: { task: id, type } });
  }
  if (type !== 'export' || state !== 'done' || outcome !== 'ok') return;
  const details = { task: id, export: request.archive?.id ?? null };
  notifier.report({
    subject,
    event: 'export-done',
    layer,
    message: `Export ${id} of layer ${layer} is ready.`,
    details,
  });
}
