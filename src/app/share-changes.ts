import type { ReaderKeys } from '../access/open-reader-keys.ts';
import type { ProcessFeed } from '../db/process-feed.ts';
import { MISSED } from '../db/process-feed.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { TileChange } from '../storage/store.ts';

/** Channels of the feed between the processes of a server. */
const TILES = 'tiles';
const KEYS = 'keys';
export const CATALOG = 'catalog';
/** The configuration file was applied. */
export const CONFIG_FILE = 'config-file';

interface SharedParts {
  readonly feed: ProcessFeed;
  readonly pipeline: TilePipeline;
  readonly refreshCatalog: () => Promise<void>;
}

/** Tiles in the memory of this process: notices of the others are read before each of them is shown. */
export function followProcesses({ feed, pipeline, refreshCatalog }: SharedParts): void {
  feed.on(TILES, (change) => pipeline.changedElsewhere(change as TileChange, 'outdate'));
  feed.on(CATALOG, refreshCatalog);
  feed.on(MISSED, () => {
    pipeline.changedElsewhere({ kind: 'everything' });
    return refreshCatalog();
  });
  pipeline.guardCopies({
    isCurrent() {
      feed.poll();
      return true;
    },
    mayShow: async () => true,
    isAway: () => false,
  });
}

/** Resolves, when called, once every process has applied the changes of keys that were made here. */
export function shareKeys(feed: ProcessFeed, keys: ReaderKeys): () => Promise<void> {
  let changed = false;
  feed.on(KEYS, keys.refresh);
  feed.on(MISSED, keys.refresh);
  keys.onChange(() => {
    changed = true;
  });
  return async () => {
    if (!changed) return;
    changed = false;
    await feed.ask(KEYS);
  };
}

/** The same pipeline; `announce` receives what it forgets, and what is removed. */
export function announceForgotten(
  pipeline: TilePipeline,
  events: TileEvents,
  announce: (change: TileChange) => void,
): TilePipeline {
  const unsubscribe = events.subscribe((event) => {
    if (event.type === 'layer-dropped') announce({ kind: 'layer', layer: event.layer });
    if (event.type === 'deleted') announce({ kind: 'tiles', set: event.set, z: event.z, rect: event.rect });
  });
  return {
    read: (tiles, tile, signal) => pipeline.read(tiles, tile, signal),
    renew: (request) => pipeline.renew(request),
    forget(set, z, rect) {
      pipeline.forget(set, z, rect);
      announce({ kind: 'tiles', set, z, rect });
    },
    forgetLayer(layer) {
      pipeline.forgetLayer(layer);
      announce({ kind: 'layer', layer });
    },
    forgetPlaces(layer, places) {
      pipeline.forgetPlaces(layer, places);
      if (!places) announce({ kind: 'layer', layer });
      for (const place of places ?? []) announce({ kind: 'place', layer, place });
    },
    changedElsewhere: (change, how) => pipeline.changedElsewhere(change, how),
    guardCopies: (guard) => pipeline.guardCopies(guard),
    guardCredentials: (isOwn) => pipeline.guardCredentials(isOwn),
    status: () => pipeline.status(),
    async close() {
      unsubscribe();
      await pipeline.close();
    },
  };
}

export function announceTiles(feed: ProcessFeed): (change: TileChange) => void {
  return (change) => feed.post(TILES, change);
}
