import { errorCopier } from '../domain/error-copier.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { createMapDrawer, type ReadTiles } from './draw-map.ts';
import { DRAW_MAP, LEAVE_MAP, READ_TILES, unpackTiles } from './thread-messages.ts';

const channel = channelToParent(errorCopier);
const draw = createMapDrawer();

const leaving = new Map<number, AbortController>();

channel.handle(LEAVE_MAP, (map) => leaving.get(map)?.abort());

channel.handle(DRAW_MAP, async ({ map, drawing }) => {
  const gone = new AbortController();
  leaving.set(map, gone);
  const read: ReadTiles = async (layer, tiles) =>
    unpackTiles(await channel.ask(READ_TILES, { map, layer, tiles }));
  try {
    const { bytes, digest } = await draw(drawing, read, gone.signal);
    // The image library's memory cannot be transferred.
    return { bytes: new Uint8Array(bytes), digest };
  } finally {
    leaving.delete(map);
  }
});
