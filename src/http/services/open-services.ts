import type { Catalog } from '../../catalog/catalog.ts';
import type { ServiceSettings } from '../../catalog/catalog-entries.ts';
import { vectorLayersOf } from '../../catalog/vector-layers.ts';
import type { LayerGroups } from '../../domain/layer.ts';
import type { NamedArea } from '../../domain/named-area.ts';
import type { KeyHeader } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Env } from '../../lib/env.ts';
import { askFeatureInfo, askLegend } from '../../pipeline/feature-info.ts';
import type { MapComposer } from '../../pipeline/map-composer.ts';
import type { CachedTile, ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { createAreaLimit } from '../auth/area-limit.ts';
import { createLayerScreen, isOpenTo, isOpenToAll, isPublic, mayView } from '../auth/layer-visibility.ts';
import { refuseLesserRole } from '../auth/request-checks.ts';
import type { Context, Target } from '../context.ts';
import { createTileResponder, type TileResponder, type TileResponderDeps } from '../hits/hits.ts';
import { HttpProblem } from '../problems.ts';
import type { Response } from '../response.ts';
import type { Handler } from '../route.ts';
import type { Kvp } from './kvp.ts';
import { createLayerDocuments, createLayerRoll } from './layer-documents.ts';

export interface ServiceDeps extends Env {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  readonly composer: MapComposer;
  /** By name. */
  readonly areas: ReadonlyMap<string, NamedArea>;
  readonly groups: LayerGroups;
  /** The service's metadata. */
  readonly service: Pick<ServiceSettings, 'current'>;
  /** The header with the keys by which a CDN purges a tile. */
  readonly surrogateKeys: KeyHeader | null;
  readonly refresh: TileRefresh;
  /** All paths exist below each of these, e.g. `/geowebcache`. */
  readonly prefixes: readonly string[];
}

export type Services = ReturnType<typeof openServices>;

/** An operation of a KVP service. */
export type Operation<Deps = Services> = (context: Context, kvp: Kvp, services: Deps) => Promise<Response>;

/** The parts that all services share. */
export function openServices(deps: ServiceDeps) {
  const { catalog, pipeline, composer, clock, log, groups, surrogateKeys } = deps;
  const roll = createLayerRoll(catalog, ({ enabled, advertised }) => enabled && advertised);
  const areaLimit = createAreaLimit(deps.areas);
  const responder = { pipeline, composer, areaLimit, clock, surrogateKeys };
  const answerRead = createTileResponder(responder);
  const answerRefreshed = createRefreshResponder(deps.refresh, responder);
  const answerAccepted: TileResponder = (context, tiles, index) =>
    asksForRefresh(context) ? answerRefreshed(context, tiles, index) : answerRead(context, tiles, index);
  const memory = createTileMemory(catalog, answerAccepted, answerRead);
  const documentOf = createLayerDocuments(roll, () => deps.service.current);
  const screen = createLayerScreen(createLayerRoll(catalog, (layer) => !isPublic(layer)));
  const queries = { askFeatureInfo, askLegend, vectorLayersOf };
  const shared = { catalog, groups, pipeline, composer, queries, areaLimit, clock, log };
  return { ...shared, roll, screen, answerAccepted, ...memory, documentOf };
}

interface RememberedTile {
  readonly tiles: ResolvedTileSet;
  readonly index: TileIndex;
  readonly version: number;
}

/** Caches the tile of an address until a layer changes; access is checked on every request. */
function createTileMemory(
  catalog: Pick<Catalog, 'version'>,
  answerAccepted: TileResponder,
  answerRead: TileResponder,
) {
  const remembered = new WeakMap<Target, RememberedTile>();
  /** For tiles that the address names completely: its next request is not parsed again. */
  const answerTile: TileResponder = (context, tiles, index) => {
    const { version } = catalog;
    const { layer } = tiles.bound;
    const isLasting = context.released === '' && !tiles.selection.timed;
    const isWhole = isLasting && (context.key !== null || isOpenToAll(layer));
    if (isWhole && !asksForRefresh(context)) remembered.set(context.target, { tiles, index, version });
    return answerAccepted(context, tiles, index);
  };
  /** Calls the handler only for addresses that `answerTile` has not cached. */
  const remembering =
    (handler: Handler): Handler =>
    (context) => {
      const known = remembered.get(context.target);
      if (known?.version !== catalog.version) return handler(context);
      if (!isOpenTo(context, known.tiles.bound.layer)) return handler(context);
      return answerRead(context, known.tiles, known.index);
    };
  return { answerTile, remembering };
}

export type TileRefresh = (
  tiles: ResolvedTileSet,
  tile: TileIndex,
  signal: AbortSignal,
) => Promise<CachedTile>;

/** `?cached=refresh`: an operator has a tile made again now. */
const REFRESH_QUERY = /(?:^|&)cached=refresh(?:&|$)/i;

function asksForRefresh({ query }: Pick<Context, 'query'>): boolean {
  return query !== '' && REFRESH_QUERY.test(query);
}

/** The response is the operator's own: no cache stores it under this address. */
function createRefreshResponder(refresh: TileRefresh, deps: TileResponderDeps): TileResponder {
  return async (context, tiles, index) => {
    context.audience = 'caller';
    const caller = await context.identify();
    if (!caller) throw context.credentialsNeeded();
    refuseLesserRole(caller, 'operator');
    if (!mayView(caller, tiles.bound.layer))
      throw new HttpProblem('forbidden', `${caller.name} may not work on this layer.`);
    refuseOtherSites(context);
    const read = () => refresh(tiles, index, context.signal);
    return notStored(await createTileResponder({ ...deps, pipeline: { read } })(context, tiles, index));
  };
}

function notStored({ status, headers, body }: Response): Response {
  const isKept = (index: number) => !/^(cache-control|expires)$/i.test(headers[index - (index % 2)] ?? '');
  const others = headers.filter((_, index) => isKept(index));
  return { status, headers: [...others, 'Cache-Control', 'no-store'], body };
}

/** A page of another site must not cause requests to map servers with credentials of the browser. */
function refuseOtherSites({ headers }: Context): void {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'same-origin' || site === 'none') return;
  throw new HttpProblem('cross-site', 'Cross-site request blocked.');
}
