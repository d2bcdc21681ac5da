import { createHmac } from 'node:crypto';
import { joinKeys, type KeyHeader } from '../../domain/surrogate-keys.ts';
import { isoTime } from '../../lib/clock.ts';
import type { Delivery, TargetName } from './delivery-store.ts';
import { keysIn, type PurgePayload } from './purge-keys.ts';

export const NOTIFIED_EVENTS = [
  'task-failed',
  'schedule-failed',
  'host-failing',
  'host-recovered',
  'quota-full',
  'disk-full',
  'store-failing',
  'change-feed-failing',
  'export-done',
] as const;
export type NotifiedEvent = (typeof NOTIFIED_EVENTS)[number];

/** A cache in front of the server. */
export interface PurgeSettings {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  /** Carries the keys. */
  readonly header: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface NotifySettings {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly events: readonly NotifiedEvent[];
}

export interface OutgoingRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface DeliveryTarget extends TargetName {
  readonly url: URL;
  /** Reported events; null: a target of purges. */
  readonly events: readonly NotifiedEvent[] | null;
  /** A payload that changes nothing at the target. */
  readonly test: object;
  /** Sent one after the other; all of them again when one fails. */
  requests(delivery: Pick<Delivery, 'id' | 'at' | 'payload'>): readonly OutgoingRequest[];
  /** Never shown, even if the target repeats them. */
  readonly secrets: readonly string[];
}

/** A notification, without its id and time. */
export interface Notification {
  readonly event: NotifiedEvent;
  /** Null: it is not about one layer. */
  readonly layer: string | null;
  readonly message: string;
  readonly details: object;
}

/** A key that no tile has: the keys of tiles begin with `layer-`, `page-` and `cell-`. */
const TEST_KEY = 'tilewarden-test';
const TEST_PURGE: PurgePayload = { '': [TEST_KEY] };
const TEST_NOTIFICATION = {
  event: 'test',
  layer: null,
  message: 'This is a test. Nothing has happened.',
  details: {},
};
/** Varnish reads 8 KiB of a header, Fastly 256 keys of a request. */
const MAX_KEYS = 256;
const MAX_KEY_CHARACTERS = 6000;

export function purgeTarget(
  { name, url, method, header, headers }: PurgeSettings,
  keyHeader: KeyHeader | null,
): DeliveryTarget {
  return {
    kind: 'purge',
    name,
    url: new URL(url),
    events: null,
    test: TEST_PURGE,
    secrets: Object.values(headers),
    requests: ({ payload }) =>
      batches(keysIn(payload as PurgePayload)).map((keys) => ({
        url: new URL(url),
        method,
        headers: { ...headers, [header]: joinKeys(keys, keyHeader) },
        body: null,
      })),
  };
}

export function notificationTarget({ name, url, secret, events }: NotifySettings): DeliveryTarget {
  return {
    kind: 'notification',
    name,
    url: new URL(url),
    events,
    test: TEST_NOTIFICATION,
    secrets: [secret],
    requests({ id, at, payload }) {
      const { event, layer, message, details } = payload as Notification;
      const body = JSON.stringify({ id, event, at: isoTime(at), layer, message, details });
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
      return [{ url: new URL(url), method: 'POST', headers, body }];
    },
  };
}

function batches(keys: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let characters = 0;
  for (const key of keys) {
    const last = parts.at(-1);
    characters += key.length + 1;
    if (last && last.length < MAX_KEYS && characters <= MAX_KEY_CHARACTERS) {
      last.push(key);
      continue;
    }
    parts.push([key]);
    characters = key.length + 1;
  }
  return parts;
}
