import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { messageKind } from '../../lib/channel.ts';
import type { Logger } from '../../lib/logger.ts';
import { openThread } from '../../lib/open-thread.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import { storeFailure } from '../index/index-failure.ts';
import type { StoreChange } from '../store.ts';
import type { PutCommand, SegmentWriting, WriterData } from './segment-writing.ts';

/** The commands of the writing thread. */
type Method = Exclude<keyof SegmentWriting, 'upkeep' | 'putTogether'>;

/** Runs a command in the writing thread, or in this one. */
export type RunCommand = <M extends Method>(
  method: M,
  parameters: Parameters<SegmentWriting[M]>,
) => Promise<ReturnType<SegmentWriting[M]>>;

/** A separate message, so that its bytes are transferred without a copy. */
export const PUT = messageKind<PutCommand, StoreChange>('put');
export const COMMAND = messageKind<
  { readonly method: Method; readonly parameters: readonly unknown[] },
  unknown
>('command');
/** Reports a failure of upkeep: the error, as `errorCopier` writes it. */
export const TROUBLE = messageKind<unknown>('trouble');

/** Limit of commands queued at the thread: few, so that a truncation does not wait behind many tiles. */
const MAX_IN_FLIGHT = 16;
/** Priority of a truncation's commands over waiting tiles. */
const URGENT = 1;
const URGENT_METHODS: ReadonlySet<Method> = new Set(['mark', 'drop']);

/** The only thread of a process that writes to the store. It starts with its first use, and again after a crash. */
export class SegmentWriter {
  readonly #thread;
  readonly #log: Logger;
  readonly #turns = new Semaphore(MAX_IN_FLIGHT);
  #isStarted = false;
  #closed = false;

  constructor(data: WriterData, log: Logger) {
    this.#log = log;
    this.#thread = openThread({
      start: () => spawnThread(import.meta.url, 'segment-writer-thread', { workerData: data }),
      errors: errorCopier,
      log,
      died: 'the writer of the tile store died and is started again when needed',
      onStart(channel) {
        channel.handle(TROUBLE, (written) => {
          const err = errorCopier.read(written);
          log.warn({ err }, 'the space of removed tiles could not be freed; retrying soon');
        });
      },
    });
  }

  /** Starts the thread. That takes longer than a command, so callers that expect commands start it in advance. */
  start(): void {
    this.#isStarted = true;
    this.#thread.start();
  }

  /** Rejects with the store's failure, and with `store-failed` if the thread dies. */
  readonly run: RunCommand = (method, parameters) => {
    const runNow = async () => {
      if (this.#closed) throw new TilewardenError('store-failed', 'The tile store is closed.');
      this.start();
      return (await this.#ask(method, parameters)) as ReturnType<SegmentWriting[typeof method]>;
    };
    return this.#turns.during(runNow, undefined, URGENT_METHODS.has(method) ? URGENT : 0);
  };

  /** Waits for earlier commands. */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#isStarted) return;
    await this.#ask('close', []).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the writer of the tile store did not close its files');
    });
    await this.#thread.close();
  }

  async #ask(method: Method, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await (method === 'put'
        ? this.#thread.ask(PUT, parameters[0] as PutCommand)
        : this.#thread.ask(COMMAND, { method, parameters }));
    } catch (error) {
      throw storeFailure(error);
    }
  }
}
