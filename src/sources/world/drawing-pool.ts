import type { Worker } from 'node:worker_threads';
import { TilewardenError } from '../../domain/errors.ts';
import { orAborted } from '../../lib/deferred.ts';
import type { Logger } from '../../lib/logger.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { MapStyleName } from './map-style.ts';
import type { MapView } from './map-view.ts';

export interface DrawingPoolOptions {
  readonly threads: number;
  /** How many jobs may wait; more are refused as `source-busy`. */
  readonly maxWaiting: number;
  /** A thread that takes longer for one job is ended. */
  readonly timeoutMs: number;
  readonly startThread: () => Worker;
  readonly logger: Logger;
}

export interface DrawingOrder {
  readonly priority: 'interactive' | 'task';
  readonly signal: AbortSignal;
}

/** A few threads that draw; each starts when it is first needed and is replaced when it breaks. */
export class DrawingPool {
  readonly #options: DrawingPoolOptions;
  readonly #places: Semaphore;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  #closed = false;

  constructor(options: DrawingPoolOptions) {
    this.#options = options;
    this.#places = new Semaphore(options.threads, { maxWaiting: options.maxWaiting });
  }

  /** An aborted order leaves the queue at once; one that is being drawn is drawn to its end and thrown away. */
  async draw(job: DrawingJob, order: DrawingOrder): Promise<Buffer> {
    const { signal } = order;
    if (this.#places.full) {
      throw new TilewardenError('source-busy', 'The map is being drawn for too many others.', {
        retryAfterSeconds: 1,
      });
    }
    const release = await this.#places.acquire(signal, order.priority === 'interactive' ? 1 : 0);
    if (signal.aborted) release();
    signal.throwIfAborted();
    const drawing = this.#drawOnThread(job).finally(release);
    const pixels = await orAborted(drawing, signal);
    return Buffer.from(pixels.buffer);
  }

  /** Whoever still waits is told so as the places before it come free. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((thread) => thread.terminate()));
  }

  async #drawOnThread(job: DrawingJob): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#closed) throw stopping();
    const thread = this.#idle.pop() ?? this.#start();
    const result = await this.#resultOf(thread, job);
    if (this.#all.has(thread)) this.#idle.push(thread);
    if (result.kind === 'drawn') return result.pixels;
    this.#options.logger.error({ reason: result.message }, 'the built-in map could not be drawn');
    throw new TilewardenError('source-unavailable', 'The map could not be drawn.', {
      cause: new Error(result.message),
    });
  }

  #start(): Worker {
    const thread = this.#options.startThread();
    thread.on('error', (error) => {
      this.#options.logger.error({ err: error }, 'a drawing thread broke; the next picture starts another');
    });
    thread.once('exit', () => this.#forget(thread));
    this.#all.add(thread);
    return thread;
  }

  #forget(thread: Worker): void {
    this.#all.delete(thread);
    const place = this.#idle.indexOf(thread);
    if (place >= 0) this.#idle.splice(place, 1);
  }

  #resultOf(thread: Worker, job: DrawingJob): Promise<DrawingResult> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        thread.off('message', onMessage);
        thread.off('exit', onExit);
      };
      const onMessage = (result: DrawingResult) => {
        settle();
        resolve(result);
      };
      const onExit = () => {
        settle();
        reject(this.#closed ? stopping() : unfinished());
      };
      const onTimeout = () => {
        settle();
        this.#forget(thread);
        thread.terminate().catch((error: unknown) => {
          this.#options.logger.error({ err: error }, 'a drawing thread could not be ended');
        });
        reject(new TilewardenError('source-timeout', 'The map took too long to draw.'));
      };
      const timer = setTimeout(onTimeout, this.#options.timeoutMs);
      thread.on('message', onMessage);
      thread.on('exit', onExit);
      thread.postMessage(job);
    });
  }
}

function stopping(): TilewardenError {
  return new TilewardenError('stopping', 'The map is no longer drawn: the server is stopping.');
}

function unfinished(): TilewardenError {
  return new TilewardenError('source-unavailable', 'The map could not be drawn to its end.');
}

/** What a drawing thread is sent, and what it sends back: the pixels, or why there are none. */
export interface DrawingJob {
  readonly view: MapView;
  readonly style: MapStyleName;
}

export type DrawingResult =
  | { readonly kind: 'drawn'; readonly pixels: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly message: string };
