import type { Catalog } from '../../catalog/catalog.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Route } from '../route.ts';
import { createGmaps, createMgmaps, createQuadkeys } from './gmaps.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { createTileService } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

/** What answers single tiles. */
export function tileRoutes(road: TileRoad): readonly Route[] {
  return tileServiceRoutes(road).filter(({ path }) => TILE_PATH.test(path));
}

export interface TileRoad {
  readonly catalog: Pick<Catalog, 'layer' | 'layers'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  readonly log: Logger;
}

const TILE_PATH = /\/(?:\{tile\}|\{row\}\/\{column\}|wmts|gmaps|mgmaps|ve)$/;

/** The services whose tiles have addresses of their own. */
export function tileServiceRoutes(road: TileRoad): readonly Route[] {
  const tile = createTileService(road);
  const sharing = 'anyone';
  return [
    { method: 'GET', path: '/tiles/{layer}/{z}/{x}/{tile}', role: 'public', sharing, handler: tile },
    {
      method: 'GET',
      path: '/tiles/{layer}/{gridSet}/{z}/{x}/{tile}',
      role: 'public',
      sharing,
      handler: tile,
    },
    ...wmtsRoutes(road),
    ...tmsRoutes(road),
    ...ogcRoutes(road),
    { method: 'GET', path: '/service/gmaps', role: 'public', sharing, handler: createGmaps(road) },
    { method: 'GET', path: '/service/mgmaps', role: 'public', sharing, handler: createMgmaps(road) },
    { method: 'GET', path: '/service/ve', role: 'public', sharing, handler: createQuadkeys(road) },
  ];
}
