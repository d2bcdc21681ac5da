import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Database, Lead } from '../../db/database.ts';
import type { TileEvents } from '../../domain/tile-events.ts';
import { isoTime } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Env } from '../../lib/env.ts';
import { hideValues } from '../../lib/hide-secrets.ts';
import { openRepeater, repeat } from '../../lib/repeat.ts';
import { requestFailure } from '../request-failure.ts';
import {
  createDeliveryStore,
  DELIVERIES_WAITING,
  type Delivery,
  type DeliveryStore,
  type TargetName,
} from './delivery-store.ts';
import type { DeliveryTarget, OutgoingRequest } from './delivery-targets.ts';
import { PurgeKeys } from './purge-keys.ts';

export interface DeliveriesOptions extends Env {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly events: TileEvents;
  readonly targets: readonly DeliveryTarget[];
  readonly lead: Lead;
  readonly counters: Pick<Counters, 'count'>;
  /** Rejects unless the target has accepted the request. */
  readonly send: (request: OutgoingRequest, signal: AbortSignal) => Promise<void>;
  /** Ends the pause of a failing host: one request is sent to it. */
  readonly tryHost: (url: URL) => void;
  /** Resolves when every process and node obeys the changes that were made before the call. */
  readonly obeyed: () => Promise<void>;
}

/** Milliseconds between searches for due deliveries; a new one is sent immediately. */
const POLL_INTERVAL_MS = 1000;
const FORGET_INTERVAL = 60_000;
const MAX_ERROR_CHARACTERS = 300;

export type Deliveries = ReturnType<typeof openDeliveries>;

/** Sends purges and notifications. The leading node performs the deliveries of all nodes. */
export function openDeliveries(options: DeliveriesOptions) {
  const { database, targets, lead, clock, log } = options;
  const store = createDeliveryStore(database);
  const env = { clock, log, pause: POLL_INTERVAL_MS };
  const purges = openPurges(options, store);

  async function attempt(target: DeliveryTarget, delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    const { kind, name } = target;
    try {
      for (const request of target.requests(delivery)) await options.send(request, signal);
      await store.delivered(delivery);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const lastError = errorText(error, target.secrets);
      if (delivery.attempts === 0)
        log.warn({ kind, name, reason: lastError }, 'a delivery failed; it is retried');
      options.counters.count('delivery_failures_total', { kind, name });
      await store.failed(delivery, lastError);
      return false;
    }
  }

  /** After a failure the others wait for the next round, so that a hanging target delays one delivery only. */
  async function sendDue(target: DeliveryTarget, signal: AbortSignal): Promise<void> {
    for (let due = await store.due(target); due && !signal.aborted; due = await store.due(target)) {
      if (!(await attempt(target, due, signal))) return;
    }
  }

  /** Sent now by this node, even if others are waiting. Null: no such target. */
  async function sendTest({ kind, name }: TargetName, signal: AbortSignal) {
    const target = targets.find((one) => one.kind === kind && one.name === name);
    if (!target) return null;
    options.tryHost(target.url);
    const begunAt = clock.monotonic();
    const test = { id: randomUUID(), at: clock.now(), payload: target.test };
    /** `error` null: the target has accepted it. */
    const result = (error: string | null) => ({ error, ms: Math.round(clock.monotonic() - begunAt) });
    try {
      for (const request of target.requests(test)) await options.send(request, signal);
      return result(null);
    } catch (error) {
      signal.throwIfAborted();
      return result(errorText(error, target.secrets));
    }
  }

  const performing = targets.map((target) =>
    lead(async (signal) => {
      const failure = 'could not search for due deliveries';
      const listen = (wake: () => void) => database.listen(DELIVERIES_WAITING, wake);
      const repeater = openRepeater(() => sendDue(target, signal), { ...env, failure, listen });
      if (!signal.aborted) await once(signal, 'abort');
      await repeater.close();
    }),
  );
  const forgetting = lead((signal) =>
    repeat(
      () => store.forget(targets),
      { clock, log, pause: FORGET_INTERVAL, failure: 'old deliveries could not be deleted' },
      signal,
    ),
  );

  return {
    store,
    /** Like `obeyed`; the keys to purge are recorded too. */
    flush: purges.flush,
    counts: store.counts,
    sendTest,
    targets: async () => {
      const deliveries = await store.list();
      return targets.map((target) => targetStatus(target, deliveries));
    },
    async list() {
      return (await store.list()).map(({ id, name, kind, state, attempts, lastError, payload, at }) => ({
        id,
        name,
        kind,
        event: kind === 'notification' ? ((payload as { readonly event?: string }).event ?? null) : null,
        state,
        attempts,
        lastError,
        at: isoTime(at),
      }));
    },
    async close(): Promise<void> {
      await purges.close();
      await Promise.all([...performing, forgetting].map((one) => one.close()));
    },
  };
}

/**
 * Collects what tile events make wrong in caches in front of the server, and records it when every node obeys the change:
 * a cache that is purged earlier would fetch the old picture again.
 */
function openPurges(options: DeliveriesOptions, store: DeliveryStore) {
  const { catalog, events, obeyed, clock, log } = options;
  const names = options.targets.filter(({ kind }) => kind === 'purge').map(({ name }) => name);
  if (names.length === 0) return { flush: obeyed, async close() {} };
  const keys = new PurgeKeys();
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function record(): Promise<void> {
    const payload = keys.take();
    try {
      await obeyed();
      if (Object.keys(payload).length > 0) await store.purge(names, payload);
    } catch (error) {
      keys.merge(payload);
      throw error;
    }
  }

  /** One at a time: the keys of a call are durable before a later call resolves. */
  function flush(): Promise<void> {
    if (keys.isEmpty && !running) return obeyed();
    next ??= (running ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        const mine = record().finally(() => {
          if (running === mine) running = null;
        });
        running = mine;
        next = null;
        return mine;
      });
    return next;
  }

  const unsubscribe = events.subscribe((event) => keys.addEvent(event, catalog));
  // Changes without a waiting request: by schedules and by the configuration file.
  const flushing = openRepeater(() => (keys.isEmpty ? undefined : flush()), {
    ...{ clock, log },
    pause: POLL_INTERVAL_MS,
    failure: 'could not record the keys to purge',
  });
  return {
    flush,
    async close(): Promise<void> {
      unsubscribe();
      await flushing.close();
      if (!keys.isEmpty) await flush().catch(() => {});
    },
  };
}

/** Failing: a delivery waits for its next attempt, or the last one was given up. */
function targetStatus({ kind, name, url, events }: DeliveryTarget, deliveries: readonly Delivery[]) {
  const own = deliveries.filter((one) => one.kind === kind && one.name === name);
  const pending = own.filter(({ state }) => state === 'pending');
  const last = own.find(({ state }) => state !== 'pending');
  const failed = pending.find(({ attempts }) => attempts > 0) ?? (last?.state === 'failed' ? last : null);
  const delivered = own.find(({ state }) => state === 'delivered');
  return {
    kind,
    name,
    host: url.host,
    events,
    state: failed ? ('failing' as const) : ('ok' as const),
    pending: pending.length,
    lastDeliveredAt: isoTime(delivered?.endedAt ?? null),
    lastError: failed?.lastError ?? null,
  };
}

/** The error as operators may see it. */
function errorText(error: unknown, secrets: readonly string[]): string {
  return hideValues(requestFailure(error, 'The target'), secrets).slice(0, MAX_ERROR_CHARACTERS);
}
