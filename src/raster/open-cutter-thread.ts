import type { Worker } from 'node:worker_threads';
import { errorCopier } from '../domain/error-copier.ts';
import type { Logger } from '../lib/logger.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { type CutAnswer, type CutRequest, unpackMetatile } from './cutter-messages.ts';
import type { CutJob, CutMetatile, TileCutter } from './tile-cutter.ts';

interface Pending {
  readonly resolve: (made: CutMetatile) => void;
  readonly reject: (error: Error) => void;
}

/** Cuts on a thread of its own, for processes whose event loop answers people. It starts with the first metatile. */
export function openCutterThread(log: Logger): TileCutter {
  return new CutterThread(log);
}

class CutterThread implements TileCutter {
  readonly #log: Logger;
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | null = null;
  #lastId = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  cut(job: CutJob): Promise<CutMetatile> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.ref();
      thread.postMessage({ id, job } satisfies CutRequest, ownMemoryOf(job));
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  #start(): Worker {
    const thread = spawnThread(import.meta.url, 'cutter-thread');
    thread.on('message', (answer: CutAnswer) => this.#settle(thread, answer));
    thread.on('error', (error) => this.#abandon(thread, error));
    thread.on('exit', () => this.#abandon(thread, new Error('The thread that cuts tiles has ended.')));
    return thread;
  }

  #settle(thread: Worker, answer: CutAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    // While it has nothing to do it does not keep the process from ending.
    if (this.#pending.size === 0) thread.unref();
    if ('failure' in answer) pending?.reject(errorCopier.read(answer.failure));
    else pending?.resolve(unpackMetatile(answer.packed));
  }

  #abandon(thread: Worker, error: Error): void {
    if (this.#thread === thread) {
      this.#thread = null;
      this.#log.error({ err: error }, 'the thread that cuts tiles died; the next metatile starts another');
    }
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** Pixels that we have drawn are handed over; what came from a server is small enough to be copied. */
function ownMemoryOf({ picture }: CutJob): ArrayBuffer[] {
  if (picture.kind !== 'pixels') return [];
  const { buffer, byteLength } = picture.pixels;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
