import { boundsOfTile, levelOf } from '../../domain/grid-set.ts';
import { clientSecondsAt, type Layer, NOT_KEPT } from '../../domain/layer.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
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
    headerText(gridSet.name),
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

interface RememberedHeaders extends TileHeaders {
  readonly of: ResolvedTileSet;
  readonly at: TileIndex;
  /** Since 1970: headers say when a tile expires. */
  readonly second: number;
}

/** A tile in memory is answered many times: what its headers are is worked out once a second. */
export function createTileHeaders(
  clock: Clock,
): (tiles: ResolvedTileSet, tile: TileIndex, answer: TileAnswer) => TileHeaders {
  const remembered = new WeakMap<TileAnswer, RememberedHeaders>();
  return (tiles, tile, answer) => {
    const known = remembered.get(answer);
    const second = Math.floor(clock.now() / 1000);
    if (known?.of === tiles && known.second === second && sameTile(known.at, tile)) return known;
    const etag = tileEtag(answer);
    const freshness = freshnessHeaders(tiles, tile.z, answer, etag, second * 1000);
    const all = [...tileSetHeaders(tiles), ...freshness, ...placeHeaders(tiles, tile, answer.outcome)];
    const made = { etag, freshness, all, of: tiles, at: tile, second };
    remembered.set(answer, made);
    return made;
  };
}

/** Of a tile that lies outside what the layer offers. There is nothing to be cached, so nothing was hit. */
export function blankHeaders(tiles: ResolvedTileSet, z: number, now: number): Headers {
  const { gridSet } = tiles.subset;
  return [
    'X-Cache',
    'BYPASS',
    'geowebcache-cache-result',
    'OTHER',
    'geowebcache-message',
    'The tile is outside the extent of the layer',
    'geowebcache-gridset',
    headerText(gridSet.name),
    'geowebcache-crs',
    `EPSG:${gridSet.srs}`,
    ...cacheControl(tiles.bound.layer, z, 'BYPASS', now),
  ];
}

function sameTile(a: TileIndex, b: TileIndex): boolean {
  return a.x === b.x && a.y === b.y && a.z === b.z;
}

function freshnessHeaders(
  tiles: ResolvedTileSet,
  z: number,
  answer: TileAnswer,
  etag: string,
  now: number,
): Headers {
  return [
    'ETag',
    etag,
    'Last-Modified',
    new Date(answer.createdAt).toUTCString(),
    'X-Cache',
    answer.outcome,
    ...cacheControl(tiles.bound.layer, z, answer.outcome, now),
  ];
}

function cacheControl(layer: Layer, z: number, outcome: CacheOutcome, now: number): Headers {
  const isPublic = layer.access === 'public';
  return lifetimeHeaders({ seconds: clientSecondsAt(layer, z), outcome, isPublic }, now);
}

export interface Lifetime {
  /** How long a client may keep it; 0: nothing is said; `NOT_KEPT`: it is to ask again. */
  readonly seconds: number;
  readonly outcome: CacheOutcome | null;
  readonly isPublic: boolean;
}

/** What is stale is looked at again next time: by then the source may be back. `Expires` is for those of HTTP/1.0. */
export function lifetimeHeaders({ outcome, isPublic, ...given }: Lifetime, now: number): Headers {
  const seconds = outcome === 'STALE' ? 0 : given.seconds;
  const lasting = seconds > 0 || outcome === 'STALE';
  const words = lasting ? [`max-age=${seconds}`, 'must-revalidate'] : [];
  if (seconds === NOT_KEPT) words.push('no-cache');
  // RFC 9111, 5.2.2.7: what one caller may see no proxy on the way gives to another.
  if (!isPublic) words.unshift('private');
  return [
    ...(words.length > 0 ? ['Cache-Control', words.join(', ')] : []),
    ...(lasting ? ['Expires', new Date(now + seconds * 1000).toUTCString()] : []),
  ];
}

/** RFC 9110, 5.5: headers hold visible ASCII. Anything else is written as in an address. */
export function headerText(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]+/gu, (text) =>
    Buffer.from(text).toString('hex').toUpperCase().replaceAll(/../g, '%$&'),
  );
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
