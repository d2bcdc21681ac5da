import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { TaskStore } from './store/task-store.ts';
import type { TaskSettings } from './task-settings.ts';

export interface HistoryKeeperOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Pick<TaskSettings, 'keepDays' | 'keepFinished'>;
}

const DAY = 86_400_000;
/** Milliseconds. */
const LOOK_INTERVAL = 600_000;

/** Forgets finished tasks that are older or more than is kept. */
export async function keepHistory(
  { store, clock, log, settings }: HistoryKeeperOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const endedBefore = clock.now() - settings.keepDays * DAY;
    await store
      .forget({ endedBefore, keep: settings.keepFinished })
      .catch((error: unknown) => log.warn({ err: error }, 'old tasks could not be forgotten'));
    await clock.sleep(LOOK_INTERVAL, signal).catch(() => {});
  }
}
