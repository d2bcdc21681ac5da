import type { TileIndex } from '../../domain/tile-key.ts';
import type { CachedTile, ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { mayView } from '../auth/layer-visibility.ts';
import { refuseLesserRole } from '../auth/request-checks.ts';
import type { Context } from '../context.ts';
import { createTileResponder, type TileResponder, type TileResponderDeps } from '../hits/tile-response.ts';
import { HttpProblem } from '../problems.ts';
import type { Response } from '../response.ts';

export type TileRefresh = (
  tiles: ResolvedTileSet,
  tile: TileIndex,
  signal: AbortSignal,
) => Promise<CachedTile>;

/** `?cached=refresh`: an operator has a tile made now. */
export const REFRESH_QUERY = /(?:^|&)cached=refresh(?:&|$)/i;

export function asksForRefresh({ query }: Pick<Context, 'query'>): boolean {
  return query !== '' && REFRESH_QUERY.test(query);
}

/** The response is the operator's own: no cache stores it under this address. */
export function createRefreshResponder(
  refresh: TileRefresh | undefined,
  deps: TileResponderDeps,
): TileResponder {
  return async (context, tiles, index) => {
    context.audience = 'caller';
    const caller = await context.identify();
    if (!caller) throw context.credentialsNeeded();
    refuseLesserRole(caller, 'operator');
    if (!mayView(caller, tiles.bound.layer))
      throw new HttpProblem('forbidden', `${caller.name} may not work on this layer.`);
    refuseOtherSites(context);
    if (!refresh) throw new Error('Tiles cannot be refreshed here.');
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
  throw new HttpProblem('cross-site', 'Pages of other sites may not change anything here.');
}
