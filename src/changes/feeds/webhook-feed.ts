import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { plainReason } from '../../lib/plain-reason.ts';
import type { Change, FeedSettingsOf } from '../change-options.ts';
import { type FeedIntake, summaryOf } from '../feed-intake.ts';
import type { FeedStore, RecordedChange } from '../feed-store.ts';

interface WebhookEvent {
  readonly change: Change;
  /** Id from the sender; null: none. */
  readonly eventId: string | null;
  /** Network address of the sender. */
  readonly source: string;
}

interface Waiting extends WebhookEvent {
  readonly recorded: RecordedChange;
  readonly resolve: (id: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Events that wait while others are being applied. */
const MAX_WAITING = 5000;
/** Events that are applied together. */
const MAX_BATCH = 500;
/** Milliseconds from the start of a batch to the next one while events keep coming: fewer and larger ones cost readers less. */
const MERGE_MS = 400;

export type WebhookFeed = ReturnType<typeof createWebhookFeed>;

/** Receives events on every node. Events that arrive while others are being applied are merged. */
export function createWebhookFeed(
  feed: FeedSettingsOf<'webhook'>,
  { intake, store, clock }: { readonly intake: FeedIntake; readonly store: FeedStore; readonly clock: Clock },
) {
  const waiting: Waiting[] = [];
  let working: Promise<void> | null = null;
  /** By the event's id. */
  const underWay = new Map<string, Promise<number>>();

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const begunAt = clock.monotonic();
      await applyAll(waiting.splice(0, MAX_BATCH));
      if (waiting.length > 0) await clock.sleep(Math.max(0, begunAt + MERGE_MS - clock.monotonic()));
    }
    working = null;
  }

  async function applyAll(batch: readonly Waiting[]): Promise<void> {
    try {
      const [first] = batch;
      const source = batch.every((one) => one.source === first?.source) ? (first?.source ?? null) : null;
      const ids = await intake.accept({
        changes: batch.map(({ change }) => change),
        source,
        recorded: batch.map(({ recorded }) => recorded),
        pending: waiting.length,
      });
      await intake.works();
      // Each resolves a response: sending all of them in one turn would delay hits.
      for (const [i, { resolve }] of batch.entries()) {
        resolve(ids[i] ?? 0);
        await nextTurn();
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
      await intake.fails(plainReason(error)).catch(() => {});
    }
  }

  return {
    layers: feed.layers,
    secret: feed.secret,

    /** Resolves when the change is in force. A repeat changes nothing and returns the first id. */
    async take(event: WebhookEvent): Promise<{ readonly id: number; readonly repeated: boolean }> {
      const { eventId } = event;
      const first = eventId === null ? null : await store.event(feed.name, eventId);
      if (first) return { id: first.id, repeated: true };
      const recorded = { ...(await summaryOf(feed.layers, [event.change])), eventId };
      const same = eventId === null ? undefined : underWay.get(eventId);
      if (same) return { id: await same, repeated: true };
      if (waiting.length >= MAX_WAITING) {
        throw new TilewardenError(
          'too-many-tasks',
          'Too many changes wait to be applied; send it again later.',
          {
            retryAfterSeconds: 5,
          },
        );
      }
      const applied = new Promise<number>((resolve, reject) => {
        waiting.push({ ...event, recorded, resolve, reject });
        working ??= work();
      });
      if (eventId !== null) underWay.set(eventId, applied);
      try {
        return { id: await applied, repeated: false };
      } finally {
        if (eventId !== null) underWay.delete(eventId);
      }
    },

    /** Resolves when waiting events have been applied. */
    async close(): Promise<void> {
      await working;
    },
  };
}

/** The headers of a signed event, by name in lower case. */
type SignedHeaders = (name: string) => string | undefined;

/** Seconds that a signed time may differ from now (standardwebhooks.com). */
const TOLERANCE_S = 300;
/** At least 24 bytes. */
const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/;
/** For feeds that do not exist: their events take as long to refuse. */
const NO_SECRET = randomBytes(32);

/**
 * Whether an event is signed with the feed's secret (null: no such feed): `X-Hub-Signature-256`, of the body alone, or
 * the three headers of Standard Webhooks, which sign id and time too, so that a captured event cannot be sent again.
 */
export function isSigned(secret: string | null, body: Buffer, header: SignedHeaders, now: number): boolean {
  const key = secretBytes(secret);
  const standard = header('webhook-signature');
  if (standard === undefined) {
    const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(header('x-hub-signature-256') ?? '') ?? [];
    return matches(key, ['', body], Buffer.from(hex, 'hex'));
  }
  const [id = '', time = ''] = [header('webhook-id'), header('webhook-timestamp')];
  const isTimely = /^\d{1,12}$/.test(time) && Math.abs(now / 1000 - Number(time)) <= TOLERANCE_S;
  // While a secret is being replaced a sender signs with both.
  const signatures = standard.split(' ', 5).map((one) => Buffer.from(one.replace(/^v1,/, ''), 'base64'));
  const isRight = signatures
    .map((signature) => matches(key, [`${id}.${time}.`, body], signature))
    .includes(true);
  return isRight && isTimely && id !== '';
}

function secretBytes(secret: string | null): Buffer {
  if (secret === null) return NO_SECRET;
  const [, encoded] = STANDARD_SECRET.exec(secret) ?? [];
  return encoded === undefined ? Buffer.from(secret, 'utf8') : Buffer.from(encoded, 'base64');
}

function matches(key: Buffer, [head, body]: readonly [string, Buffer], signature: Buffer): boolean {
  const right = createHmac('sha256', key).update(head).update(body).digest();
  return signature.length === right.length && timingSafeEqual(signature, right);
}
