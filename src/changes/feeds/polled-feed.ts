import type { Env } from '../../lib/env.ts';
import type { FeedDesk } from '../feed-desk.ts';
import type { FeedStore } from '../feed-store.ts';

export interface PolledFeedTools extends Env {
  readonly desk: FeedDesk;
  readonly store: FeedStore;
}

/** A feed that the leading node reads. */
export interface PolledFeed {
  /** Reads and applies what is there, until the signal aborts or there is nothing more. Throws when it cannot be read. */
  look(signal: AbortSignal): Promise<void>;
  /** Resolves when it is time for the next look. */
  rest(signal: AbortSignal): Promise<void>;
  /** This node does not lead any more, or the last look failed. */
  leave?(): Promise<void>;
}

/** Until the signal aborts. What fails is shown, and tried again. */
export async function follow(
  feed: PolledFeed,
  { desk, log }: PolledFeedTools,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await feed.look(signal);
      if (!signal.aborted) await desk.works();
    } catch (error) {
      await feed.leave?.();
      const reason = error instanceof Error ? error.message || error.name : String(error);
      if (!signal.aborted) {
        await desk
          .fails(reason)
          .catch((cause: unknown) => log.debug({ err: cause }, 'could not record a failing feed'));
      }
    }
    await feed.rest(signal).catch(() => {});
  }
  await feed.leave?.();
}
