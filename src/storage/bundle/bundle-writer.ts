import type { Worker } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import type { BundleWriting } from './bundle-writing.ts';
import { DAMAGE_MESSAGE } from './sqlite-failure.ts';

/** What the thread can be asked to do. */
type Method = Exclude<keyof BundleWriting, 'closeIdle' | 'putTogether'>;

export interface WriterRequest {
  readonly id: number;
  readonly method: Method;
  readonly given: readonly unknown[];
}

export type WriterResponse =
  | { readonly id: number; readonly result: unknown }
  /** As `errorCopier` writes it. */
  | { readonly id: number; readonly failure: unknown }
  /** Not an answer to anything: the thread found and removed a file that is not a bundle. */
  | { readonly damaged: string; readonly reason: string };

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Commands queued at the thread. Few, so that a truncation does not wait behind a long queue of tiles. */
const MAX_IN_FLIGHT = 16;
/** What a truncation asks for goes before tiles that wait for their turn. */
const URGENT = 1;
const URGENT_METHODS: ReadonlySet<Method> = new Set(['raise', 'raiseAll', 'dropping', 'closeBelow']);

/**
 * The one thread of a store that writes. Over the common channel a put took a tenth more processor time, and the thread
 * could not take all messages of its port together. It is started when first needed, and again after it died.
 */
export class BundleWriter {
  readonly #root: string;
  readonly #log: Logger;
  readonly #spawn: typeof spawnThread;
  readonly #turns = new Semaphore(MAX_IN_FLIGHT);
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | null = null;
  #closed = false;
  #lastId = 0;

  constructor(root: string, log: Logger, spawn = spawnThread) {
    this.#root = root;
    this.#log = log;
    this.#spawn = spawn;
  }

  /** Starting takes longer than a command does: callers that expect commands start it ahead of them. */
  start(): void {
    this.#thread ??= this.#start();
  }

  /** Rejects with the store's failure; with `store-failed` also when the thread dies before it answers. */
  async run<M extends Method>(
    method: M,
    given: Parameters<BundleWriting[M]>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ReturnType<BundleWriting[M]>> {
    const runNow = async () => {
      if (this.#closed) throw new TilewardenError('store-failed', 'The tile store is closed.');
      return (await this.#ask(method, given, transfer)) as ReturnType<BundleWriting[M]>;
    };
    return this.#turns.during(runNow, undefined, URGENT_METHODS.has(method) ? URGENT : 0);
  }

  /** Waits for the commands that were handed over before. */
  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    if (!thread) return;
    await this.#ask('close', [], []).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the writer of the tile store did not close its files');
    });
    this.#thread = null;
    await thread.terminate();
  }

  #ask(method: Method, given: readonly unknown[], transfer: readonly ArrayBuffer[]): Promise<unknown> {
    const thread = this.#thread ?? this.#start();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.postMessage({ id, method, given } satisfies WriterRequest, [...transfer]);
    });
  }

  #start(): Worker {
    const thread = this.#spawn(import.meta.url, 'bundle-writer-thread', { workerData: { root: this.#root } });
    thread.on('message', (answer: WriterResponse) => this.#resolve(answer));
    thread.on('error', (error) => this.#abandon(thread, error));
    thread.on('exit', () => this.#abandon(thread, new Error('the thread ended')));
    this.#thread = thread;
    return thread;
  }

  #resolve(answer: WriterResponse): void {
    if ('damaged' in answer) {
      this.#log.warn({ file: answer.damaged, reason: answer.reason }, DAMAGE_MESSAGE);
      return;
    }
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ('failure' in answer) pending?.reject(errorCopier.read(answer.failure));
    if ('result' in answer) pending?.resolve(answer.result);
  }

  #abandon(thread: Worker, cause: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#log.error({ err: cause }, 'the writer of the tile store died and is started again when needed');
    for (const pending of this.#pending.values()) {
      pending.reject(new TilewardenError('store-failed', 'The tile store failed.', { cause }));
    }
    this.#pending.clear();
  }
}
