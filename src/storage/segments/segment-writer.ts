import type { Worker } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import type { SegmentWriting, WriterData } from './segment-writing.ts';

/** The commands of the thread. */
type Method = Exclude<keyof SegmentWriting, 'upkeep' | 'putTogether'>;

/** Runs a command where tiles are written. `transfer` is handed over without a copy, if it is another thread. */
export type RunCommand = <M extends Method>(
  method: M,
  parameters: Parameters<SegmentWriting[M]>,
  transfer?: readonly ArrayBuffer[],
) => Promise<ReturnType<SegmentWriting[M]>>;

export interface WriterRequest {
  readonly id: number;
  readonly method: Method;
  readonly parameters: readonly unknown[];
}

export type WriterResponse =
  | { readonly id: number; readonly result: unknown }
  /** As `errorCopier` writes it. */
  | { readonly id: number; readonly failure: unknown }
  /** Without a request: space could not be given back. */
  | { readonly trouble: unknown };

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Commands queued at the thread. Few, so that a truncation does not wait behind a long queue of tiles. */
const MAX_IN_FLIGHT = 16;
/** Commands of a truncation go before tiles that wait for their turn. */
const URGENT = 1;
const URGENT_METHODS: ReadonlySet<Method> = new Set(['mark', 'drop']);

/** The one thread of a store that writes. It is started when first needed, and again after it died. */
export class SegmentWriter {
  readonly #data: WriterData;
  readonly #log: Logger;
  readonly #turns = new Semaphore(MAX_IN_FLIGHT);
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | null = null;
  #closed = false;
  #lastId = 0;

  constructor(data: WriterData, log: Logger) {
    this.#data = data;
    this.#log = log;
  }

  /** Starting takes longer than a command does: callers that expect commands start it ahead of them. */
  start(): void {
    this.#thread ??= this.#start();
  }

  /** Rejects with the store's failure; with `store-failed` also when the thread dies. */
  async run<M extends Method>(
    method: M,
    parameters: Parameters<SegmentWriting[M]>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ReturnType<SegmentWriting[M]>> {
    const runNow = async () => {
      if (this.#closed) throw new TilewardenError('store-failed', 'The tile store is closed.');
      return (await this.#send(method, parameters, transfer)) as ReturnType<SegmentWriting[M]>;
    };
    return this.#turns.during(runNow, undefined, URGENT_METHODS.has(method) ? URGENT : 0);
  }

  /** Waits for the commands that were handed over before. */
  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    if (!thread) return;
    await this.#send('close', [], []).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the writer of the tile store did not close its files');
    });
    this.#thread = null;
    await thread.terminate();
  }

  #send(method: Method, parameters: readonly unknown[], transfer: readonly ArrayBuffer[]): Promise<unknown> {
    const thread = this.#thread ?? this.#start();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.postMessage({ id, method, parameters } satisfies WriterRequest, [...transfer]);
    });
  }

  #start(): Worker {
    const thread = spawnThread(import.meta.url, 'segment-writer-thread', { workerData: this.#data });
    thread.on('message', (response: WriterResponse) => this.#resolve(response));
    thread.on('error', (error) => this.#abandon(thread, error));
    thread.on('exit', () => this.#abandon(thread, new Error('the thread ended')));
    this.#thread = thread;
    return thread;
  }

  #resolve(response: WriterResponse): void {
    if ('trouble' in response) {
      const err = errorCopier.read(response.trouble);
      this.#log.warn({ err }, 'the space of removed tiles could not be freed; retrying soon');
      return;
    }
    const pending = this.#pending.get(response.id);
    this.#pending.delete(response.id);
    if ('failure' in response) pending?.reject(errorCopier.read(response.failure));
    if ('result' in response) pending?.resolve(response.result);
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
