import { BLOCK_SIZE, PAGE_SIZE } from '../domain/tile-key.ts';
import { blockAt, intersectRects } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { derive } from './derive.ts';
import { tileSetsIn } from './read-tiles.ts';
import type { Store } from './store.ts';
import { type StoreChange, sumOfChanges, type TileStore } from './tile-store.ts';

/** A `Store` as callers know it until they use its ten methods themselves. */
export function asTileStore(store: Store): TileStore {
  const raise = (layers: readonly string[]) =>
    store.mark({ type: 'raise', raises: layers.map((layer) => ({ layer, places: null, effect: null })) });
  const tileStore = derive({
    get: async (set, tile, beside) => store.get(set, tile, beside),
    putMany: store.put,
    list: store.list,
    edit: store.edit,
    async *tileSets(layer) {
      yield* await tileSetsIn(store, layer);
    },
    ticket: store.ticket,
    async raiseGeneration(layer, places = null, effect) {
      const raises = [{ layer, places, effect: effect ?? null }];
      return (await store.mark({ type: 'raise', raises }))[0] ?? 0;
    },
    openMarks: () => store.marks(),
    closeMark: async (_, number) => void (await store.mark({ type: 'close', numbers: [number] })),
    close: store.close,

    getNow(set, tile) {
      try {
        const found = store.get(set, tile);
        return found instanceof Promise ? void found.catch(() => null) : found;
      } catch {
        return undefined;
      }
    },
    generation: (layer, place) => store.marks(layer, place),
    drop: store.drop,
    sweeping: async () => (await store.usage()).sweeping,
    raiseGenerations: async (layers) => (await raise(layers))[0] ?? 0,
    async *pages(set) {
      for await (const pages of store.usage({ set })) yield* pages;
    },
    async *parts(set, z, rect) {
      const blocks = new Map<string, { x: number; y: number; changes: StoreChange[] }>();
      for await (const pages of store.usage({ set, z, rect })) {
        for (const page of pages) {
          const [x, y] = [page.pageX, page.pageY].map((at) => Math.floor((at * PAGE_SIZE) / BLOCK_SIZE));
          const at = { x: x ?? 0, y: y ?? 0, changes: [] };
          getOrCreate(blocks, `${x} ${y}`, () => at).changes.push(page);
        }
      }
      for (const { x, y, changes } of blocks.values()) {
        const part = intersectRects(blockAt(x, y, BLOCK_SIZE), rect);
        if (part) yield { rect: part, ...sumOfChanges(changes) };
      }
    },
  });
  return { ...tileStore, ...store, isLocal: store.isLocal ?? false, get: store.get as TileStore['get'] };
}
