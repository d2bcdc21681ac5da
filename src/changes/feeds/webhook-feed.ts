import { setImmediate as nextTurn } from 'node:timers/promises';
import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Change } from '../change.ts';
import type { FeedSettingsOf } from '../change-options.ts';
import { type FeedIntake, summaryOf } from '../feed-intake.ts';
import type { FeedStore, RecordedChange } from '../feed-store.ts';

export interface WebhookEvent {
  readonly change: Change;
  /** As the sender named it; null: it did not. */
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
/** Milliseconds from the begin of a batch to the next one while events keep coming: fewer and larger ones cost readers less. */
const MERGE_MS = 400;

export type WebhookFeed = ReturnType<typeof createWebhookFeed>;

/** Takes events on every node. Those that come while others are being applied are merged. */
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
      // Each is an answer to send: all in one turn would hold up hits for as long as that takes.
      for (const [i, { resolve }] of batch.entries()) {
        resolve(ids[i] ?? 0);
        await nextTurn();
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
      const reason = error instanceof Error ? error.message : String(error);
      await intake.fails(reason).catch(() => {});
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
