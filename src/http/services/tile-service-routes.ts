import type { Catalog } from '../../catalog/catalog.ts';
import type { ServiceSettings } from '../../catalog/service-settings.ts';
import { DEFAULT_SERVICE } from '../../domain/service-description.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Route } from '../route.ts';
import { createGmaps, createMgmaps, createQuadkeys } from './gmaps.ts';
import { createLayerDocuments } from './layer-documents.ts';
import { createLayerRoll } from './layer-roll.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { createTileAnswerer } from './tile-answer.ts';
import { createTileService } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

/** What answers single tiles. */
export function tileRoutes(road: TileRoad): readonly Route[] {
  return tileServiceRoutes(openServices(road)).filter(({ path }) => TILE_PATH.test(path));
}

export interface TileRoad {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  /** What the service says of itself; its defaults when left out. */
  readonly service?: Pick<ServiceSettings, 'current'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** With what all services share: how a tile is answered, which layers there are, and what is written about them. */
export function openServices(road: TileRoad) {
  const { catalog, pipeline, clock, log } = road;
  const roll = createLayerRoll(catalog);
  const answerTile = createTileAnswerer(pipeline, clock);
  const serviceNow = () => road.service?.current.service ?? DEFAULT_SERVICE;
  const documentOf = createLayerDocuments(roll, serviceNow);
  return { catalog, pipeline, clock, log, roll, answerTile, documentOf };
}

const TILE_PATH = /\/(?:\{tile\}|\{row\}\/\{column\}|wmts|gmaps|mgmaps|ve)$/;

/** The services whose tiles have addresses of their own. */
export function tileServiceRoutes(road: ReturnType<typeof openServices>): readonly Route[] {
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
