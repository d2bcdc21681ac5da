import type { Env } from '../../lib/env.ts';
import { plainReason } from '../../lib/plain-reason.ts';
import type { FeedIntake } from '../feed-intake.ts';
import type { FeedStore } from '../feed-store.ts';

export interface PolledFeedTools extends Env {
  readonly intake: FeedIntake;
  readonly store: FeedStore;
}

/** A feed that the leading node reads. */
export interface PolledFeed {
  /** Reads and applies pending changes, until there are none or the signal aborts. Throws if they cannot be read. */
  poll(signal: AbortSignal): Promise<void>;
  /** Resolves when it is time for the next poll. */
  rest(signal: AbortSignal): Promise<void>;
  /** This node no longer leads, or the last poll failed. */
  leave?(): Promise<void>;
}

/** Runs until the signal aborts. Failures are shown, and retried. */
export async function follow(
  feed: PolledFeed,
  { intake, log }: Pick<PolledFeedTools, 'log'> & { readonly intake: Pick<FeedIntake, 'works' | 'fails'> },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await feed.poll(signal);
      if (!signal.aborted) await intake.works();
    } catch (error) {
      await feed.leave?.();
      if (!signal.aborted) {
        await intake
          .fails(plainReason(error))
          .catch((cause: unknown) => log.debug({ err: cause }, 'could not record a failing feed'));
      }
    }
    await feed.rest(signal).catch(() => {});
  }
  await feed.leave?.();
}
