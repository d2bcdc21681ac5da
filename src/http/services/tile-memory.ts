import type { Catalog } from '../../catalog/catalog.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { isOpen } from '../door/layer-visibility.ts';
import type { Target } from '../exchange.ts';
import type { Handler } from '../route.ts';
import type { TileAnswerer } from './tile-answer.ts';

interface Named {
  readonly tiles: ResolvedTileSet;
  readonly index: TileIndex;
  readonly version: number;
}

export interface TileMemory {
  /** For tiles of which the address says everything, so that the next request for it need not be understood again. */
  readonly answerTile: TileAnswerer;
  /** The handler hears only of addresses that `answerTile` does not know. */
  remembering(handler: Handler): Handler;
}

/** Which tile an address names is worked out once, until a layer changes. Only of layers that are open to all. */
export function createTileMemory(catalog: Pick<Catalog, 'version'>, answerTile: TileAnswerer): TileMemory {
  const remembered = new WeakMap<Target, Named>();
  return {
    answerTile(exchange, tiles, index) {
      const { version } = catalog;
      if (isOpen(tiles.bound.layer)) remembered.set(exchange.target, { tiles, index, version });
      return answerTile(exchange, tiles, index);
    },
    remembering: (handler) => (exchange) => {
      const known = remembered.get(exchange.target);
      if (known?.version !== catalog.version) return handler(exchange);
      return answerTile(exchange, known.tiles, known.index);
    },
  };
}
