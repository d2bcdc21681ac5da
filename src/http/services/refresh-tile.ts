import type { KeyHeader } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ResolvedTileSet, TileAnswer } from '../../pipeline/tile-pipeline.ts';
import type { Answer } from '../answer.ts';
import { refuseForeignLayer, refuseLesserRole } from '../auth/gate.ts';
import type { Exchange } from '../exchange.ts';
import { createTileAnswerer, type TileAnswerer } from '../hits/tile-answer.ts';
import { HttpProblem } from '../problems.ts';

/** Makes a tile now and replaces what is cached of it. */
export type TileRefresh = (
  tiles: ResolvedTileSet,
  tile: TileIndex,
  signal: AbortSignal,
) => Promise<TileAnswer>;

/** `?cached=refresh`, by which an operator has a tile made now. */
export const REFRESH_QUERY = /(?:^|&)cached=refresh(?:&|$)/i;

export function asksForRefresh({ query }: Pick<Exchange, 'query'>): boolean {
  return query !== '' && REFRESH_QUERY.test(query);
}

/** The answer is the operator's own: no cache on the way keeps it under this address. */
export function createRefreshAnswerer(
  refresh: TileRefresh | undefined,
  clock: Clock,
  keyHeader: KeyHeader | null,
): TileAnswerer {
  return async (exchange, tiles, index) => {
    exchange.audience = 'caller';
    const caller = await exchange.identify();
    if (!caller) throw exchange.credentialsNeeded();
    refuseLesserRole(caller, 'operator');
    refuseForeignLayer(caller, tiles.set.layer);
    refuseOtherSites(exchange);
    if (!refresh) throw new Error('Tiles are refreshed by the primary process.');
    const read = () => refresh(tiles, index, exchange.signal);
    return notStored(await createTileAnswerer({ read }, clock, keyHeader)(exchange, tiles, index));
  };
}

function notStored({ status, headers, body }: Answer): Answer {
  const isKept = (index: number) => !/^(cache-control|expires)$/i.test(headers[index - (index % 2)] ?? '');
  const others = headers.filter((_, index) => isKept(index));
  return { status, headers: [...others, 'Cache-Control', 'no-store'], body };
}

/** A page of another site must not send requests to map servers with the credentials that a browser keeps. */
function refuseOtherSites({ headers }: Exchange): void {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'same-origin' || site === 'none') return;
  throw new HttpProblem('cross-site', 'Pages of other sites may not change anything here.');
}
