import type { Catalog } from '../catalog/catalog.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { answerAlive, createReadiness } from './probes.ts';
import type { Route } from './route.ts';
import { createLayerList } from './services/layer-list.ts';
import { createTileJson } from './services/tile-json.ts';
import { createTileService } from './services/tiles.ts';
import { assetRoutes, type WebAsset } from './web-assets.ts';

export interface RouteDeps {
  readonly catalog: Pick<Catalog, 'layer' | 'layers'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  /** Rejects when the server cannot do its work. */
  readonly readiness: (signal: AbortSignal) => Promise<void>;
  readonly assets: readonly WebAsset[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Everything the server answers, under each prefix. Of two patterns that fit a path the upper one counts. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const tile = createTileService(deps);
  const sharing = 'anyone';
  return [
    { method: 'GET', path: '/healthz', role: 'public', handler: answerAlive },
    { method: 'GET', path: '/readyz', role: 'public', handler: createReadiness(deps) },

    { method: 'GET', path: '/tiles.json', role: 'public', sharing, handler: createLayerList(deps.catalog) },
    {
      method: 'GET',
      path: '/tiles/{layer}.json',
      role: 'public',
      sharing,
      handler: createTileJson(deps.catalog),
    },
    { method: 'GET', path: '/tiles/{layer}/{z}/{x}/{tile}', role: 'public', sharing, handler: tile },
    {
      method: 'GET',
      path: '/tiles/{layer}/{gridSet}/{z}/{x}/{tile}',
      role: 'public',
      sharing,
      handler: tile,
    },

    ...assetRoutes(deps.assets),
  ];
}
