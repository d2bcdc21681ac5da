import type { ChildProcess } from 'node:child_process';
import type { Channel, MessageKind } from './channel.ts';
import { ifLate } from './clock.ts';
import type { Env } from './env.ts';
import { jitter, type Random } from './random.ts';

export interface ForkedProcess {
  readonly process: ChildProcess;
  readonly channel: Channel;
}

export interface Child extends ForkedProcess {
  /** Unique in its pool. */
  readonly number: number;
  /** Resolves when the process has ended, `over` when `cleanUp` has as well. */
  readonly gone: Promise<void>;
  readonly over: Promise<void>;
  /** It was asked to stop, or could not start. */
  retired: boolean;
}

interface ChildPoolOptions extends Env {
  /** For the log, e.g. `a worker process`. */
  readonly what: string;
  readonly fork: () => ForkedProcess;
  /** Sends the first messages. Resolves when the child is ready; throws when it cannot start. */
  readonly begin: (child: Child) => void | Promise<void>;
  readonly cleanUp?: (child: Child) => Promise<void>;
  /** Asks a child to end, which is killed after `stopTimeoutMs` milliseconds. */
  readonly stop: MessageKind<null>;
  readonly stopTimeoutMs: number;
  readonly random: Random;
}

/** Milliseconds before a child is replaced; they double each time that one ends early. */
const FIRST_PAUSE = 200;
const MAX_PAUSE = 10_000;
/** Milliseconds. A child that has lived this long did not die of its start. */
const SOUND_LIFE = 30_000;

/** Keeps child processes alive: each that ends is replaced. */
export class ChildPool {
  readonly #options: ChildPoolOptions;
  readonly #children = new Set<Child>();
  readonly #ending = new AbortController();
  #forked = 0;

  constructor(options: ChildPoolOptions) {
    this.#options = options;
  }

  get children(): readonly Child[] {
    return [...this.#children];
  }

  /** Does nothing unless it is a child of this pool. */
  kill(pid: number): void {
    this.children.find((child) => child.process.pid === pid)?.process.kill('SIGKILL');
  }

  /** Forks another child. Resolves when it is ready; throws when it cannot start. */
  async add(): Promise<void> {
    void this.#tend(await this.#start());
  }

  /** Forks another child, and retries until it starts. */
  keep(): void {
    if (this.#ending.signal.aborted) return;
    void this.#tryStart().then((child) => this.#tend(child));
  }

  /** Replaces the children one after the other; the others continue in the meantime. */
  async replaceAll(): Promise<void> {
    for (const old of this.children) {
      if (this.#ending.signal.aborted) return;
      await this.add();
      await this.#retire(old);
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.children.map((child) => this.#retire(child)));
  }

  async #start(): Promise<Child> {
    const child = this.#fork();
    try {
      await this.#options.begin(child);
    } catch (error) {
      child.retired = true;
      child.process.kill('SIGKILL');
      throw error;
    }
    return child;
  }

  #fork(): Child {
    const { what, fork, cleanUp, log } = this.#options;
    const forked = fork();
    const gone = this.#end(forked.process);
    const over = gone
      .then(() => cleanUp?.(child))
      .catch((err: unknown) => log.error({ err }, `cleaning up after ${what} failed`))
      .finally(() => this.#children.delete(child));
    const child: Child = { ...forked, number: ++this.#forked, gone, over, retired: false };
    this.#children.add(child);
    return child;
  }

  #end(child: ChildProcess): Promise<void> {
    const { what, log } = this.#options;
    return new Promise((resolve) => {
      if (child.exitCode !== null) resolve();
      child.once('exit', () => resolve());
      child.on('error', (err) => {
        log.warn({ err, pid: child.pid }, `${what} could not be reached`);
        // It never started, so there is no exit.
        if (child.pid === undefined) resolve();
      });
    });
  }

  async #tryStart(): Promise<Child | null> {
    const { what, log } = this.#options;
    try {
      return await this.#start();
    } catch (err) {
      if (!this.#ending.signal.aborted) log.error({ err }, `${what} could not be started; retrying`);
      return null;
    }
  }

  async #tend(first: Child | null): Promise<void> {
    const { what, clock, random, log } = this.#options;
    let pause = FIRST_PAUSE;
    for (let child = first; ; child = await this.#tryStart()) {
      const since = clock.monotonic();
      await child?.over;
      if (child?.retired) return;
      if (child) {
        const { pid, exitCode: code, signalCode: signal } = child.process;
        log.warn({ pid, code, signal }, `${what} ended; another one is started`);
      }
      if (clock.monotonic() - since > SOUND_LIFE) pause = FIRST_PAUSE;
      await clock.sleep(jitter(pause, 0.2, random), this.#ending.signal).catch(() => {});
      if (this.#ending.signal.aborted) return;
      pause = Math.min(pause * 2, MAX_PAUSE);
    }
  }

  async #retire(child: Child): Promise<void> {
    const { what, clock, stop, stopTimeoutMs, log } = this.#options;
    child.retired = true;
    child.channel.tell(stop, null);
    const late = () => {
      log.warn({ pid: child.process.pid }, `${what} did not stop in time and is killed`);
      child.process.kill('SIGKILL');
    };
    await ifLate(clock, stopTimeoutMs, late, () => child.over);
  }
}
