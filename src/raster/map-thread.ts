import { errorCopier } from '../domain/error-copier.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { createMapDrawer, type ReadTiles } from './draw-map.ts';
import { DRAW_MAP, LEAVE_MAP, READ_TILES, unpackTiles } from './thread-messages.ts';

const channel = channelToParent(errorCopier);
const draw = createMapDrawer();

const aborters = new Map<number, AbortController>();

channel.handle(LEAVE_MAP, (map) => aborters.get(map)?.abort());

channel.handle(DRAW_MAP, async ({ map, drawing }) => {
  const aborter = new AbortController();
  aborters.set(map, aborter);
  const read: ReadTiles = async (layer, tiles) =>
    unpackTiles(await channel.ask(READ_TILES, { map, layer, tiles }));
  try {
    const { bytes, digest } = await draw(drawing, read, aborter.signal);
    // A copy, because the image library's memory cannot be transferred to another thread.
    return { bytes: new Uint8Array(bytes), digest };
  } finally {
    aborters.delete(map);
  }
});
