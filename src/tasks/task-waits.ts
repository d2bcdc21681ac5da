import { failureText, type HostClosedReason } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { TaskWait } from './task.ts';

/** Milliseconds. Workers look again every minute, and say so again when there is still nothing to be had. */
const BELIEVED_FOR = 70_000;

/** What tasks wait for, as the workers have said it. */
export class TaskWaits {
  readonly #clock: Clock;
  readonly #waits = new Map<number, { readonly wait: TaskWait; readonly notedAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(id: number, wait: TaskWait): void {
    this.#waits.set(id, { wait, notedAt: this.#clock.monotonic() });
  }

  get(id: number): TaskWait | null {
    const noted = this.#waits.get(id);
    if (!noted) return null;
    const old = this.#clock.monotonic() - noted.notedAt > BELIEVED_FOR;
    if (!old && noted.wait.until > this.#clock.now()) return noted.wait;
    this.#waits.delete(id);
    return null;
  }
}

/** What a task waits for, in words. */
export function waitText(wait: TaskWait): string {
  if ('message' in wait) return wait.message;
  const until = new Date(wait.until).toISOString();
  return `host ${wait.host} ${HOST_WAITS[wait.reason](wait.failure ?? null)} until ${until}`;
}

const HOST_WAITS: Readonly<Record<HostClosedReason, (failure: string | null) => string>> = {
  'quiet-hours': () => 'has quiet hours',
  'daily-budget': () => 'is not asked, its daily budget is used up,',
  'retry-after': () => 'asked to be left alone (Retry-After)',
  failing: (failure) => `is failing (${failureText(failure ?? 'unknown')}); paused`,
};
