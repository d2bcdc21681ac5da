import { boundsOfTile, levelOf } from '../../domain/grid-set.ts';
import { clientSecondsAt, type Layer } from '../../domain/layer.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { CacheOutcome, ResolvedTileSet, TileAnswer } from '../../pipeline/tile-pipeline.ts';
import type { Headers } from '../answer.ts';

/** In GeoWebCache's words, which know no stale tiles. */
const CACHE_RESULT: Readonly<Record<CacheOutcome, string>> = {
  HIT: 'HIT',
  STALE: 'HIT',
  MISS: 'MISS',
  BYPASS: 'MISS',
};

function tileSetHeaders({ subset, format }: ResolvedTileSet): Headers {
  const { gridSet } = subset;
  return [
    'Content-Type',
    format.contentType,
    'geowebcache-gridset',
    gridSet.name,
    'geowebcache-crs',
    `EPSG:${gridSet.srs}`,
  ];
}

/** The same bytes have the same validator, whichever server or run made them. */
function tileEtag({ checksum, bytes }: TileAnswer): string {
  return `"${checksum.toString(16)}-${bytes.length.toString(36)}"`;
}

export interface TileHeaders {
  readonly etag: string;
  /** What a 304 carries too. */
  readonly freshness: Headers;
  readonly all: Headers;
}

/** A tile in memory is answered many times: what its headers are is worked out once. */
export function createTileHeaders(): (
  tiles: ResolvedTileSet,
  tile: TileIndex,
  answer: TileAnswer,
) => TileHeaders {
  const remembered = new WeakMap<
    TileAnswer,
    TileHeaders & { readonly of: ResolvedTileSet; readonly at: TileIndex }
  >();
  return (tiles, tile, answer) => {
    const known = remembered.get(answer);
    if (known?.of === tiles && sameTile(known.at, tile)) return known;
    const etag = tileEtag(answer);
    const freshness = freshnessHeaders(tiles, tile.z, answer, etag);
    const all = [...tileSetHeaders(tiles), ...freshness, ...placeHeaders(tiles, tile, answer.outcome)];
    const made = { etag, freshness, all, of: tiles, at: tile };
    remembered.set(answer, made);
    return made;
  };
}

/** Of a tile that lies outside what the layer offers. There is nothing to be cached, so nothing was hit. */
export function blankHeaders(tiles: ResolvedTileSet, z: number): Headers {
  const { gridSet } = tiles.subset;
  return [
    'X-Cache',
    'BYPASS',
    'geowebcache-cache-result',
    'OTHER',
    'geowebcache-message',
    'The tile is outside the extent of the layer',
    'geowebcache-gridset',
    gridSet.name,
    'geowebcache-crs',
    `EPSG:${gridSet.srs}`,
    ...cacheControl(tiles.bound.layer, z, 'BYPASS'),
  ];
}

function sameTile(a: TileIndex, b: TileIndex): boolean {
  return a.x === b.x && a.y === b.y && a.z === b.z;
}

function freshnessHeaders(tiles: ResolvedTileSet, z: number, answer: TileAnswer, etag: string): Headers {
  return [
    'ETag',
    etag,
    'Last-Modified',
    new Date(answer.createdAt).toUTCString(),
    'X-Cache',
    answer.outcome,
    ...cacheControl(tiles.bound.layer, z, answer.outcome),
  ];
}

/** A stale tile is looked at again next time: by then the source may be back. */
export function cacheControl(layer: Layer, z: number, outcome: CacheOutcome): Headers {
  const { access } = layer;
  const seconds = outcome === 'STALE' ? 0 : clientSecondsAt(layer, z);
  const lasting = seconds > 0 || outcome === 'STALE' ? [`max-age=${seconds}`, 'must-revalidate'] : [];
  // RFC 9111, 5.2.2.7: what one caller may see no proxy on the way gives to another.
  const words = access === 'public' ? lasting : ['private', ...lasting];
  return words.length > 0 ? ['Cache-Control', words.join(', ')] : [];
}

function placeHeaders(tiles: ResolvedTileSet, tile: TileIndex, outcome: CacheOutcome): Headers {
  const { gridSet } = tiles.subset;
  const { minX, minY, maxX, maxY } = boundsOfTile(gridSet, tile.z, tile.x, tile.y);
  // GeoWebCache counts rows from the bottom.
  const row = levelOf(gridSet, tile.z).rows - 1 - tile.y;
  return [
    'geowebcache-cache-result',
    CACHE_RESULT[outcome],
    'geowebcache-tile-index',
    `[${tile.x}, ${row}, ${tile.z}]`,
    'geowebcache-tile-bounds',
    `${minX},${minY},${maxX},${maxY}`,
  ];
}
