import type { LayerScreen } from '../door/layer-visibility.ts';
import type { Route } from '../route.ts';
import { createGmaps, createMgmaps, createQuadkeys } from './gmaps.ts';
import { createLayerList } from './layer-list.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { openServices, type Services, type TileRoad } from './open-services.ts';
import { createTileService } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

/** What needs no source: tiles that are there, and documents about layers. */
export function sourcelessRoutes(road: TileRoad): readonly Route[] {
  return tileServiceRoutes(openServices(road)).filter(({ path }) => !FEATURE_INFO.test(path));
}

const FEATURE_INFO = /\{j\}\/\{i\}$/;

export function screened(routes: readonly Route[], screen: LayerScreen): readonly Route[] {
  return routes.map((route) => ({ ...route, handler: screen(route.handler) }));
}

/** The services whose tiles have addresses of their own, and the list of their layers. */
export function tileServiceRoutes(road: Services): readonly Route[] {
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
