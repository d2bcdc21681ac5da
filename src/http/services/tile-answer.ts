import type { TileIndex } from '../../domain/tile-key.ts';
import { checkTile } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Answer } from '../answer.ts';
import { isNotModified } from '../conditional.ts';
import type { Exchange } from '../exchange.ts';
import { createTileHeaders } from './tile-headers.ts';

/** Throws `tile-outside`, and what the pipeline throws. Whether the caller may see the layer was asked before. */
export type TileAnswerer = (exchange: Exchange, tiles: ResolvedTileSet, index: TileIndex) => Promise<Answer>;

/** How every service answers a tile, whatever its addresses look like. */
export function createTileAnswerer(pipeline: Pick<TilePipeline, 'read'>): TileAnswerer {
  const headersOf = createTileHeaders();

  return async function answerTile(exchange, tiles, index) {
    checkTile(tiles, index);
    const answer = await pipeline.read(tiles, index, exchange.signal);
    const { etag, freshness, all } = headersOf(tiles, index, answer);
    if (isNotModified(exchange.headers, etag, answer.createdAt)) {
      return { status: 304, headers: freshness, body: null };
    }
    return { status: 200, headers: all, body: answer.bytes };
  };
}
