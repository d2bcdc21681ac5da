import type { Worker } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { ChannelClosed, messageKind } from '../../lib/channel.ts';
import { orAborted } from '../../lib/deferred.ts';
import type { Logger } from '../../lib/logger.ts';
import { openThread } from '../../lib/open-thread.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { SourceRequest } from '../tile-source.ts';
import type { MapStyleName } from './map-style.ts';
import type { MapView } from './map-view.ts';

interface DrawingPoolOptions {
  readonly threads: number;
  /** Limit of waiting jobs; further ones are refused as `source-busy`. */
  readonly maxWaiting: number;
  /** A thread that takes longer for one job is ended. */
  readonly timeoutMs: number;
  readonly startThread: () => Worker;
  readonly log: Logger;
}

export interface DrawingJob {
  readonly view: MapView;
  readonly style: MapStyleName;
}

/** Sent to a drawing thread, which returns the pixels. */
export const DRAW = messageKind<DrawingJob, { readonly bytes: Uint8Array<ArrayBuffer> }>('draw');

/** A few threads that draw; each starts on first use and is replaced after a crash. */
export function openDrawingPool({ threads, maxWaiting, timeoutMs, startThread, log }: DrawingPoolOptions) {
  const places = new Semaphore(threads, { maxWaiting });
  const died = 'a drawing thread died; the next picture starts another';
  const all = Array.from({ length: threads }, () =>
    openThread({ start: startThread, errors: errorCopier, log, died }),
  );
  const idle = [...all];
  let closed = false;

  async function drawOn(thread: (typeof all)[number], job: DrawingJob): Promise<Buffer> {
    if (closed) throw stopping();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      void thread.close();
    }, timeoutMs);
    try {
      return Buffer.from((await thread.ask(DRAW, job)).bytes.buffer);
    } catch (cause) {
      if (closed) throw stopping();
      if (late) throw new TilewardenError('source-timeout', 'The map took too long to draw.');
      if (!(cause instanceof ChannelClosed)) log.error({ err: cause }, 'the built-in map could not be drawn');
      throw new TilewardenError('source-unavailable', 'The map could not be drawn.', { cause });
    } finally {
      clearTimeout(timer);
      idle.push(thread);
    }
  }

  return {
    /** An aborted job leaves the queue immediately; one that is being drawn is finished and discarded. */
    async draw(
      job: DrawingJob,
      { signal, priority }: Pick<SourceRequest, 'signal' | 'priority'>,
    ): Promise<Buffer> {
      if (places.full) {
        throw new TilewardenError('source-busy', 'Too many maps are being drawn.', {
          retryAfterSeconds: 1,
        });
      }
      const release = await places.acquire(signal, priority === 'interactive' ? 1 : 0);
      const thread = signal.aborted ? undefined : idle.pop();
      if (!thread) release();
      signal.throwIfAborted();
      if (!thread) throw stopping();
      return orAborted(drawOn(thread, job).finally(release), signal);
    },

    /** Waiting jobs are rejected as places become free. */
    async close(): Promise<void> {
      closed = true;
      await Promise.all(all.map((thread) => thread.close()));
    },
  };
}

function stopping(): TilewardenError {
  return new TilewardenError('stopping', 'The map is no longer drawn: the server is stopping.');
}
