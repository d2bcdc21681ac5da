import type { TileIndex, TileSetKey } from './tile-key.ts';
import type { TilePlace, TileRect } from './tile-rect.ts';

/** Changes and uses of tiles, which the pipeline and removals report to the rest of the process. */
export type TileEvent = { readonly at: number } & (
  | {
      readonly type: 'served';
      readonly set: TileSetKey;
      /** Any tile of the page, when another process has counted several. */
      readonly tile: TileIndex;
      /** Once when left out. */
      readonly times?: number;
    }
  | {
      readonly type: 'stored';
      readonly set: TileSetKey;
      /** The values behind `set.parametersId`. */
      readonly parameters: ReadonlyMap<string, string>;
      readonly z: number;
      readonly rect: TileRect;
      readonly tiles: number;
      readonly bytes: number;
    }
  | {
      readonly type: 'deleted';
      readonly set: TileSetKey;
      readonly z: number;
      readonly rect: TileRect;
      /** To make room: the tiles were right. */
      readonly evicted?: true;
    }
  | {
      /** Copies of tiles are no longer right: in these places, in every format and for all parameters. */
      readonly type: 'outdated';
      readonly layer: string;
      /** Null: the whole layer. */
      readonly places: readonly TilePlace[] | null;
    }
  | {
      /** A store that took tiles before fails, or takes them again (null). */
      readonly type: 'store-state';
      readonly store: string;
      readonly failure: string | null;
    }
  | { readonly type: 'layer-dropped'; readonly layer: string }
);

type TileListener = (event: TileEvent) => void;

export type TileEvents = ReturnType<typeof createTileEvents>;

export function createTileEvents() {
  const listeners = new Set<TileListener>();
  return {
    emit(event: TileEvent): void {
      for (const listener of listeners) listener(event);
    },
    /** Returns a function that unsubscribes. A listener must neither throw nor block. */
    subscribe(listener: TileListener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
