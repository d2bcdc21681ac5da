import { errorCopier } from '../domain/error-copier.ts';
import type { Logger } from '../lib/logger.ts';
import { openThread } from '../lib/open-thread.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import type { DrawMap, ReadTiles } from './draw-map.ts';
import { DRAW_MAP, LEAVE_MAP, packTiles, READ_TILES } from './thread-messages.ts';

/**
 * Draws on a separate thread, for processes whose event loop serves clients: a large map is some hundred megabytes of
 * pixels to copy. It starts with the first map, and reads tiles through this process.
 */
export function openMapThread(log: Logger): { readonly draw: DrawMap; close(): Promise<void> } {
  const readers = new Map<number, ReadTiles>();
  let lastMap = 0;
  const thread = openThread({
    start: () => spawnThread(import.meta.url, 'map-thread'),
    errors: errorCopier,
    log,
    died: 'the thread that draws maps died; the next map starts another',
    onStart: (channel) =>
      channel.handle(READ_TILES, async ({ map, layer, tiles }) =>
        packTiles((await readers.get(map)?.(layer, tiles)) ?? []),
      ),
  });

  return {
    /** After an abort, rejects only once the thread has stopped drawing, so that callers' limits on maps hold. */
    async draw(drawing, read, signal) {
      signal.throwIfAborted();
      const map = ++lastMap;
      const abortDrawing = () => thread.tell(LEAVE_MAP, map);
      readers.set(map, read);
      signal.addEventListener('abort', abortDrawing, { once: true });
      try {
        const { bytes, digest } = await thread.ask(DRAW_MAP, { map, drawing });
        return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), digest };
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', abortDrawing);
        readers.delete(map);
      }
    },
    close: () => thread.close(),
  };
}
