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
