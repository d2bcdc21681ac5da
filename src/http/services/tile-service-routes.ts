import { TilewardenError } from '../../domain/errors.ts';
import { subsetContains } from '../../domain/grid-subset.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { type LayerScreen, mayView } from '../auth/layer-visibility.ts';
import type { Context, Target } from '../context.ts';
import { createRouter, type TileResponder } from '../hits/hits.ts';
import { openRoute, type Route, tileRoute } from '../route.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { openServices, type ServiceDeps, type Services } from './open-services.ts';
import { createLayerList } from './tile-json.ts';
import { createTileService, mercatorRoutes } from './tiles.ts';
import { tmsRoutes } from './tms/tms-routes.ts';
import { wmsRoutes } from './wms/wms-routes.ts';
import { wmtsRoutes } from './wmts/wmts-routes.ts';

export function screened(routes: readonly Route[], screen: LayerScreen): readonly Route[] {
  return routes.map((route) => ({ ...route, handler: screen(route.handler) }));
}

/** Services with tile addresses of their own, and the list of their layers. */
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

interface NamedTile {
  readonly tiles: ResolvedTileSet;
  readonly index: TileIndex;
}

export type TileFinder = ReturnType<typeof createTileFinder>;

/** Finds the tile of an address by the services, without reading or making it. Null: not a tile that the caller may see. */
export function createTileFinder(deps: ServiceDeps) {
  const named = new WeakMap<Target, NamedTile>();
  const note: TileResponder = ({ target }, tiles, index) => {
    named.set(target, { tiles, index });
    return { status: 204, headers: [], body: null };
  };
  const services = {
    ...openServices(deps),
    answerTile: note,
    answerAccepted: note,
    remembering: <Handler>(handler: Handler) => handler,
    composer: { compose: refuse, maskTile: refuse },
    queries: { askFeatureInfo: refuse, askLegend: refuse, vectorLayersOf: refuse },
  };
  const router = createRouter([...tileServiceRoutes(services), ...wmsRoutes(services)], deps.prefixes);

  return async (context: Context, address: string): Promise<NamedTile | null> => {
    const match = router.match('GET', address);
    if (match.kind !== 'found' || !match.route) return null;
    named.delete(match);
    try {
      await match.route.handler(context.towards(match));
    } catch {
      return null;
    }
    const tile = named.get(match);
    const { caller } = context;
    if (!tile || (caller && !mayView(caller, tile.tiles.bound.layer))) return null;
    const { z: zoom, x, y } = tile.index;
    return subsetContains(tile.tiles.subset, zoom, x, y) ? tile : null;
  };
}

async function refuse(): Promise<never> {
  throw new TilewardenError('request-invalid', 'The address names no tile.');
}
