import type { Worker } from 'node:worker_threads';
import { TilewardenError } from '../domain/errors.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { STANDINGS, type Standing } from './login-throttle.ts';
import {
  createSalt,
  createUnmatchable,
  DEFAULT_COST,
  formatStored,
  parseStored,
  type ScryptCost,
  type StoredPassword,
  sameCost,
  sameKey,
} from './password-hash.ts';

export interface DerivationJob {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly cost: ScryptCost;
}

export type DerivationResult = Uint8Array;

export interface PasswordCheck {
  readonly matches: boolean;
  /** It was stored at another cost than passwords are now: store it anew. */
  readonly outdated: boolean;
}

export interface PasswordHasherOptions {
  readonly cost?: ScryptCost;
}

interface Waiting extends DerivationJob {
  readonly resolve: (key: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** How many may wait, by standing; whoever finds no place is told to come back. A flood takes only the last places. */
const PLACES: Readonly<Record<Standing, number>> = { known: 8, calm: 6, restless: 2 };
const COME_BACK_SECONDS = 2;

/**
 * Derives keys on one thread of its own, one after the other. The pool of threads that Node keeps is shared with
 * reading files: four logins at once would hold up every tile.
 */
export class PasswordHasher {
  readonly #cost: ScryptCost;
  readonly #unmatchable: StoredPassword;
  readonly #lines: Readonly<Record<Standing, Waiting[]>> = { known: [], calm: [], restless: [] };
  #current: Waiting | null = null;
  #thread: Worker | null = null;
  #closed = false;

  constructor({ cost = DEFAULT_COST }: PasswordHasherOptions = {}) {
    this.#cost = cost;
    this.#unmatchable = createUnmatchable(cost);
  }

  async hash(password: string): Promise<string> {
    const salt = createSalt();
    const key = await this.#derive({ password, salt, cost: this.#cost }, 'known');
    return formatStored({ cost: this.#cost, salt, key: Buffer.from(key) });
  }

  /** `stored` null stands for a user who does not exist: it takes as long and never matches. */
  async check(password: string, stored: string | null, standing: Standing): Promise<PasswordCheck> {
    const known = stored === null ? null : parseStored(stored);
    const { cost, salt, key } = known ?? this.#unmatchable;
    const derived = await this.#derive({ password, salt, cost }, standing);
    const matches = sameKey(derived, key) && known !== null;
    return { matches, outdated: !sameCost(cost, this.#cost) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#fail(stopping());
    await thread?.terminate();
  }

  #derive(job: DerivationJob, standing: Standing): Promise<Uint8Array> {
    if (this.#closed) throw stopping();
    const line = this.#lines[standing];
    if (line.length >= PLACES[standing]) {
      throw new TilewardenError('attempts-throttled', 'Too many are logging in at once; try again shortly.', {
        retryAfterSeconds: COME_BACK_SECONDS,
      });
    }
    return new Promise((resolve, reject) => {
      line.push({ ...job, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current) return;
    const job = this.#take();
    if (!job) {
      // A thread without work does not keep the process alive.
      this.#thread?.unref();
      return;
    }
    this.#current = job;
    const { password, salt, cost } = job;
    const thread = this.#runningThread();
    thread.ref();
    thread.postMessage({ password, salt, cost } satisfies DerivationJob);
  }

  #take(): Waiting | null {
    const first = STANDINGS.find((standing) => this.#lines[standing].length > 0);
    return (first && this.#lines[first].shift()) ?? null;
  }

  #runningThread(): Worker {
    if (this.#thread) return this.#thread;
    const thread = spawnThread(import.meta.url, 'password-thread');
    thread.on('message', (key: DerivationResult) => {
      this.#current?.resolve(key);
      this.#current = null;
      this.#next();
    });
    thread.once('error', (error) => this.#lose(thread, error));
    thread.once('exit', () => this.#lose(thread, new Error('The password thread has ended')));
    this.#thread = thread;
    return thread;
  }

  /** A thread that broke takes the job with it that broke it; the others get a new one. */
  #lose(thread: Worker, error: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#current?.reject(error);
    this.#current = null;
    this.#next();
  }

  #fail(error: Error): void {
    this.#thread = null;
    const waiting = STANDINGS.flatMap((standing) => this.#lines[standing].splice(0));
    for (const job of [this.#current, ...waiting]) job?.reject(error);
    this.#current = null;
  }
}

function stopping(): TilewardenError {
  return new TilewardenError('stopping', 'The server is stopping.');
}
