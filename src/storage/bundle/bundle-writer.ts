import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { messageKind } from '../../lib/channel.ts';
import type { Logger } from '../../lib/logger.ts';
import { openThread } from '../../lib/open-thread.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import type { BundleWriting } from './bundle-writing.ts';
import { DAMAGE_MESSAGE, storeFailure } from './sqlite-failure.ts';

/** What the thread can be asked to do. */
type Method = Exclude<keyof BundleWriting, 'closeIdle' | 'putTogether'>;

export interface WriteRequest {
  readonly method: Method;
  readonly given: readonly unknown[];
  /** Of the command, where it has some: they are handed over. */
  readonly bytes: Uint8Array | undefined;
}

/** To the thread. */
export const WRITE = messageKind<WriteRequest, unknown>('write');
/** From the thread: it found and removed a file that is not a bundle. */
export const DAMAGED = messageKind<{ readonly file: string; readonly reason: string }>('damaged');

/** Commands that lie with the thread at once. Small, so that a truncation does not wait behind a long queue of tiles. */
const MAX_IN_FLIGHT = 16;
/** What a truncation asks for goes before tiles that wait for their turn. */
const URGENT = 1;
const URGENT_METHODS: ReadonlySet<Method> = new Set(['raise', 'raiseAll', 'dropping', 'closeBelow']);

/** The one thread of a store that writes. It is started when first needed, and again after it died. */
export class BundleWriter {
  readonly #log: Logger;
  readonly #thread: ReturnType<typeof openThread>;
  readonly #turns = new Semaphore(MAX_IN_FLIGHT);
  #closed = false;

  constructor(root: string, log: Logger, spawn = spawnThread) {
    this.#log = log;
    this.#thread = openThread({
      start: () => spawn(import.meta.url, 'bundle-writer-thread', { workerData: { root } }),
      errors: errorCopier,
      log,
      died: 'the writer of the tile store died and is started again when needed',
      onStart: (channel) => channel.handle(DAMAGED, (details) => log.warn(details, DAMAGE_MESSAGE)),
    });
  }

  /** Starting takes longer than a command does: whoever knows that there will be commands starts it ahead of them. */
  start(): void {
    this.#thread.start();
  }

  /** Rejects with the store's failure; with `store-failed` also when the thread dies before it answers. */
  async run<M extends Method>(
    method: M,
    given: Parameters<BundleWriting[M]>,
  ): Promise<ReturnType<BundleWriting[M]>> {
    const work = async () => {
      if (this.#closed) throw new TilewardenError('store-failed', 'The tile store is closed.');
      const answer = await this.#ask(method, given).catch((error: unknown) => {
        throw storeFailure(error);
      });
      return answer as ReturnType<BundleWriting[M]>;
    };
    return this.#turns.during(work, undefined, URGENT_METHODS.has(method) ? URGENT : 0);
  }

  /** Waits for the commands that were handed over before. */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#thread.isRunning) return;
    await this.#ask('close', []).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the writer of the tile store did not close its files');
    });
    await this.#thread.close();
  }

  #ask(method: Method, given: readonly unknown[]): Promise<unknown> {
    const [command] = given as readonly Partial<Pick<WriteRequest, 'bytes'>>[];
    return this.#thread.ask(WRITE, { method, given, bytes: command?.bytes });
  }
}
