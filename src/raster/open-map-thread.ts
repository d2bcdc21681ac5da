import type { Worker } from 'node:worker_threads';
import { errorCopier } from '../domain/error-copier.ts';
import { type Channel, createChannel } from '../lib/channel.ts';
import type { Logger } from '../lib/logger.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { threadPort } from '../lib/thread-port.ts';
import type { DrawMap, ReadTileRow } from './draw-map.ts';
import { DRAW_MAP, LEAVE_MAP, packTiles, READ_TILE_ROW } from './map-messages.ts';

export interface MapThread {
  readonly draw: DrawMap;
  close(): Promise<void>;
}

interface Running {
  readonly thread: Worker;
  readonly channel: Channel;
}

/**
 * Draws on a thread of its own, for processes whose event loop answers people: a large map is some hundred megabytes
 * of pixels that are copied and collected there. It starts with the first map.
 */
export function openMapThread(log: Logger): MapThread {
  const readers = new Map<number, ReadTileRow>();
  let running: Running | null = null;
  let lastMap = 0;

  function start(): Running {
    const thread = spawnThread(import.meta.url, 'map-thread');
    const channel = createChannel(threadPort(thread), errorCopier);
    channel.handle(READ_TILE_ROW, async ({ map, layer, row }) =>
      packTiles((await readers.get(map)?.(layer, row)) ?? []),
    );
    thread.on('error', (error) =>
      log.error({ err: error }, 'the thread that draws maps died; the next map starts another'),
    );
    thread.once('exit', () => {
      if (running?.thread === thread) running = null;
    });
    // The server keeps the process alive, not this.
    thread.unref();
    return { thread, channel };
  }

  return {
    /** Who has gone is told so when the thread has stopped: whoever counts maps counts what is really drawn. */
    async draw(drawing, read, signal) {
      signal.throwIfAborted();
      running ??= start();
      const { channel } = running;
      const map = ++lastMap;
      const leave = () => channel.tell(LEAVE_MAP, map);
      readers.set(map, read);
      signal.addEventListener('abort', leave, { once: true });
      try {
        const { bytes, digest } = await channel.ask(DRAW_MAP, { map, drawing });
        return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), digest };
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', leave);
        readers.delete(map);
      }
    },
    async close() {
      await running?.thread.terminate();
    },
  };
}
