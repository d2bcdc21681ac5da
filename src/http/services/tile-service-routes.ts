import type { Catalog } from '../../catalog/catalog.ts';
import type { ServiceSettings } from '../../catalog/service-settings.ts';
import { DEFAULT_SERVICE } from '../../domain/service-description.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { createLayerScreen, type LayerScreen } from '../door/layer-visibility.ts';
import type { Route } from '../route.ts';
import { createGmaps, createMgmaps, createQuadkeys } from './gmaps.ts';
import { createLayerDocuments } from './layer-documents.ts';
import { createLayerList } from './layer-list.ts';
import { createLayerRoll } from './layer-roll.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { createTileAnswerer } from './tile-answer.ts';
import { createTileMemory } from './tile-memory.ts';
import { createTileService } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

/** What needs no source: tiles that are there, and documents about layers. */
export function sourcelessRoutes(road: TileRoad): readonly Route[] {
  return tileServiceRoutes(openServices(road)).filter(({ path }) => !FEATURE_INFO.test(path));
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
  const answerAccepted = createTileAnswerer(pipeline, clock);
  const memory = createTileMemory(catalog, answerAccepted);
  const serviceNow = () => road.service?.current.service ?? DEFAULT_SERVICE;
  const documentOf = createLayerDocuments(roll, serviceNow);
  const screen = createLayerScreen(roll);
  return { catalog, pipeline, clock, log, roll, screen, answerAccepted, ...memory, documentOf };
}

const FEATURE_INFO = /\{j\}\/\{i\}$/;

export function screened(routes: readonly Route[], screen: LayerScreen): readonly Route[] {
  return routes.map((route) => ({ ...route, handler: screen(route.handler) }));
}

/** The services whose tiles have addresses of their own, and the list of their layers. */
export function tileServiceRoutes(road: ReturnType<typeof openServices>): readonly Route[] {
  const tile = createTileService(road);
  const sharing = 'anyone';
  const list = createLayerList(road.documentOf);
  const routes: readonly Route[] = [
    { method: 'GET', path: '/tiles.json', role: 'public', sharing, handler: list },
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
  return screened(routes, road.screen);
}
