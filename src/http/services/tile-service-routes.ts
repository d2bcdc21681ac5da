import type { LayerScreen } from '../auth/layer-visibility.ts';
import { openRoute, type Route, tileRoute } from '../route.ts';
import { mercatorRoutes } from './gmaps.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import type { Services } from './open-services.ts';
import { createLayerList } from './tile-json.ts';
import { createTileService } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

export function screened(routes: readonly Route[], screen: LayerScreen): readonly Route[] {
  return routes.map((route) => ({ ...route, handler: screen(route.handler) }));
}

/** The services whose tiles have addresses of their own, and the list of their layers. */
export function tileServiceRoutes(services: Services): readonly Route[] {
  const tile = createTileService(services);
  const routes: readonly Route[] = [
    openRoute('/tiles.json', createLayerList(services)),
    tileRoute('/tiles/{layer}/{z}/{x}/{tile}', tile),
    tileRoute('/tiles/{layer}/{gridSet}/{z}/{x}/{tile}', tile),
    ...wmtsRoutes(services),
    ...tmsRoutes(services),
    ...ogcRoutes(services),
    ...mercatorRoutes(services),
  ];
  return screened(routes, services.screen);
}
