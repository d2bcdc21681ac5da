import type { Catalog } from '../../catalog/catalog.ts';
import type { ServiceSettings } from '../../catalog/catalog-entries.ts';
import { DEFAULT_SERVICE } from '../../domain/service-description.ts';
import type { KeyHeader } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { createLayerScreen, isOpen, isOpenTo } from '../auth/layer-visibility.ts';
import type { Target } from '../exchange.ts';
import { createTileAnswerer, type TileAnswerer } from '../hits/tile-answer.ts';
import type { Handler } from '../route.ts';
import { createLayerDocuments, createLayerRoll } from './layer-documents.ts';
import { asksForRefresh, createRefreshAnswerer, type TileRefresh } from './refresh-tile.ts';

export interface TileRoad extends Surroundings {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  /** What the service says of itself; its defaults when left out. */
  readonly service?: Pick<ServiceSettings, 'current'>;
  /** Header that tells a CDN by which keys it purges a tile; none when left out. */
  readonly surrogateKeys?: KeyHeader | null;
  /** Makes a tile now and replaces it; left out where another process does it. */
  readonly refresh?: TileRefresh;
}

export type Services = ReturnType<typeof openServices>;

/** With what all services share: how a tile is answered, which layers there are, and what is written about them. */
export function openServices(road: TileRoad) {
  const { catalog, pipeline, clock, log, surrogateKeys = null } = road;
  const roll = createLayerRoll(catalog);
  const answerRead = createTileAnswerer(pipeline, clock, surrogateKeys);
  const answerRefreshed = createRefreshAnswerer(road.refresh, clock, surrogateKeys);
  const answerAccepted: TileAnswerer = (exchange, tiles, index) =>
    asksForRefresh(exchange) ? answerRefreshed(exchange, tiles, index) : answerRead(exchange, tiles, index);
  const memory = createTileMemory(catalog, answerAccepted, answerRead);
  const serviceNow = () => road.service?.current.service ?? DEFAULT_SERVICE;
  const documentOf = createLayerDocuments(roll, serviceNow);
  const screen = createLayerScreen(roll);
  return { catalog, pipeline, clock, log, roll, screen, answerAccepted, ...memory, documentOf };
}

interface Named {
  readonly tiles: ResolvedTileSet;
  readonly index: TileIndex;
  readonly version: number;
}

/** Which tile an address names is worked out once, until a layer changes. Who may have it is asked each time. */
function createTileMemory(
  catalog: Pick<Catalog, 'version'>,
  answerAccepted: TileAnswerer,
  answerRead: TileAnswerer,
) {
  const remembered = new WeakMap<Target, Named>();
  /** For tiles of which the address says everything, so that the next request for it need not be understood again. */
  const answerTile: TileAnswerer = (exchange, tiles, index) => {
    const { version } = catalog;
    const { layer } = tiles.bound;
    const isWhole = exchange.released === '' && (exchange.key !== null || isOpen(layer));
    if (isWhole && !asksForRefresh(exchange)) remembered.set(exchange.target, { tiles, index, version });
    return answerAccepted(exchange, tiles, index);
  };
  /** The handler hears only of addresses that `answerTile` does not know. */
  const remembering =
    (handler: Handler): Handler =>
    (exchange) => {
      const known = remembered.get(exchange.target);
      if (known?.version !== catalog.version) return handler(exchange);
      if (!isOpenTo(exchange, known.tiles.bound.layer)) return handler(exchange);
      return answerRead(exchange, known.tiles, known.index);
    };
  return { answerTile, remembering };
}
