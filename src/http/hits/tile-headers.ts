import { contentTypeOf } from '../../domain/format.ts';
import { boundsOfTile, type GridSet, levelOf } from '../../domain/grid-set.ts';
import { isHidden } from '../../domain/grid-subset.ts';
import { clientSecondsAt, NOT_KEPT } from '../../domain/layer.ts';
import { joinKeys, type KeyHeader, keysOfTile } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { httpDate } from '../../lib/http-date.ts';
import type { CachedTile, CacheOutcome, ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { type Headers, joinHeaders, type PreparedResponse, pairs, type Response } from '../response.ts';
import { SHARED_HEADERS } from './send.ts';

/** Values of `geowebcache-cache-result`; GeoWebCache has none for stale tiles. */
const CACHE_RESULT: Readonly<Record<CacheOutcome, string>> = {
  HIT: 'HIT',
  STALE: 'HIT',
  MISS: 'MISS',
  BYPASS: 'MISS',
};

function tileSetHeaders({ subset }: ResolvedTileSet): Headers {
  const { gridSet } = subset;
  return ['geowebcache-gridset', headerText(gridSet.name), 'geowebcache-crs', `EPSG:${gridSet.srs}`];
}

export class TileResponse implements PreparedResponse {
  readonly status = 200;
  readonly body: Buffer;
  readonly etag: string;
  readonly #tiles: ResolvedTileSet;
  readonly #tile: TileIndex;
  readonly #answer: CachedTile;
  readonly #lines: HeaderLines;
  readonly #common: CommonHeaders;
  /** Its own headers, serialized, and the end of the head. */
  #text: string | null = null;

  constructor(tiles: ResolvedTileSet, tile: TileIndex, answer: CachedTile, lines: HeaderLines) {
    this.#tiles = tiles;
    this.#tile = tile;
    this.#answer = answer;
    this.#lines = lines;
    this.#common = lines.common(tiles, tile.z, answer);
    this.body = answer.bytes;
    // The same bytes have the same validator, in every server and run.
    this.etag = `"${answer.checksum.toString(16)}-${answer.bytes.length.toString(36)}"`;
  }

  isOf(tiles: ResolvedTileSet, { z, x, y }: TileIndex, answer: CachedTile): boolean {
    const tile = this.#tile;
    const isPlace = tile.x === x && tile.y === y && tile.z === z;
    return isPlace && this.#tiles === tiles && this.#answer === answer;
  }

  get cache(): CacheOutcome {
    return this.#answer.outcome;
  }

  get variesByKey(): boolean {
    return !this.#common.lifetime.isPublic;
  }

  get headers(): Headers {
    const { freshness, place, lifetime } = this.#common;
    return [...this.#own(), ...freshness, ...place, ...this.#lines.expiry(lifetime)];
  }

  get notModified(): Response {
    const { freshness, lifetime } = this.#common;
    const headers = [...this.#validators(), ...freshness, ...this.#lines.expiry(lifetime)];
    return { status: 304, headers, body: null };
  }

  writeHead(target: Buffer): number {
    const { lifetime, lines } = this.#common;
    this.#text ??= `${joinHeaders(this.#own())}Content-Length: ${this.body.length}\r\n\r\n`;
    const dated = this.#lines.dated(lifetime);
    const start = dated.length + lines.length;
    dated.copy(target);
    lines.copy(target, dated.length);
    target.write(this.#text, start, 'latin1');
    return start + this.#text.length;
  }

  #own(): string[] {
    const { subset, format } = this.#tiles;
    const { z, x, y } = this.#tile;
    const own = this.#validators();
    own.push('Content-Type', contentTypeOf(format, this.body));
    // GeoWebCache counts rows from the bottom.
    own.push('geowebcache-tile-index', `[${x}, ${levelOf(subset.gridSet, z).rows - 1 - y}, ${z}]`);
    own.push('geowebcache-tile-bounds', this.#common.bounds(x, y));
    return own;
  }

  /** Its own headers that a 304 has too. */
  #validators(): string[] {
    const keys = this.#lines.keys(this.#tiles, this.#tile);
    return ['ETag', this.etag, 'Last-Modified', httpDate(this.#answer.createdAt), ...keys];
  }
}

/**
 * A tile in memory is served many times with the same response, which is attached to it: entries of a WeakMap would cost
 * the garbage collector more than making a response does.
 */
export function createTileResponses(
  clock: Clock,
  keyHeader: KeyHeader | null,
): (tiles: ResolvedTileSet, tile: TileIndex, answer: CachedTile) => TileResponse {
  const reply = Symbol('reply');
  const lines = new HeaderLines(clock, keyHeader);
  return (tiles, tile, answer: CachedTile & { [reply]?: TileResponse }) => {
    const known = answer[reply];
    if (known?.isOf(tiles, tile, answer)) return known;
    const response = new TileResponse(tiles, tile, answer, lines);
    answer[reply] = response;
    return response;
  };
}

/** Headers that the tiles of a set have in common at one zoom. */
interface CommonHeaders {
  readonly lifetime: Lifetime;
  /** A 304 has them too. */
  readonly freshness: Headers;
  readonly place: Headers;
  /** All of them, serialized. */
  readonly lines: Buffer;
  /** The bounds of a tile, as a header. */
  readonly bounds: (x: number, y: number) => string;
}

/** Serialized headers. The common part of many tiles is written once. */
class HeaderLines {
  readonly #clock: Clock;
  readonly #keyHeader: KeyHeader | null;
  /** Headers of hits, by zoom. */
  readonly #ofSets = new WeakMap<ResolvedTileSet, CommonHeaders[]>();
  /** Headers of the current second, by lifetime of a response. */
  readonly #dated = new Map<number | null, Buffer>();
  #second = 0;

  constructor(clock: Clock, keyHeader: KeyHeader | null) {
    this.#clock = clock;
    this.#keyHeader = keyHeader;
  }

  keys(tiles: ResolvedTileSet, tile: TileIndex): Headers {
    return keyHeaders(this.#keyHeader, tiles, tile);
  }

  expiry(lifetime: Lifetime): Headers {
    return expires(lifetime, this.#clock.now());
  }

  /** The status line and the headers that change with time. */
  dated(lifetime: Lifetime): Buffer {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) this.#dated.clear();
    this.#second = second;
    const seconds = maxAgeOf(lifetime);
    const known = this.#dated.get(seconds);
    if (known) return known;
    const lines = joinHeaders(['Date', httpDate(second * 1000), ...expires(lifetime, second * 1000)]);
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${lines}`, 'latin1');
    this.#dated.set(seconds, bytes);
    return bytes;
  }

  common(tiles: ResolvedTileSet, z: number, tile: CachedTile): CommonHeaders {
    if (tile.outcome !== 'HIT' || tile.standIn) return commonHeaders(tiles, z, tile);
    const levels = getOrCreate(this.#ofSets, tiles, (): CommonHeaders[] => []);
    levels[z] ??= commonHeaders(tiles, z, { outcome: 'HIT' });
    return levels[z];
  }
}

function commonHeaders(
  tiles: ResolvedTileSet,
  z: number,
  { outcome, standIn, warning }: Pick<CachedTile, 'outcome' | 'standIn' | 'warning'>,
): CommonHeaders {
  // A tile with a warning, e.g. of another time than the requested one, is revalidated: the right one may exist by then.
  const lifetime = lifetimeOf(tiles, z, warning === undefined ? outcome : 'STALE', standIn);
  const warnings = [...(warning === undefined ? [] : ['Warning', warning]), ...noteHeaders(tiles)];
  const freshness = ['X-Cache', outcome, ...warnings, ...cacheControl(lifetime)];
  const place = [...tileSetHeaders(tiles), 'geowebcache-cache-result', CACHE_RESULT[outcome]];
  const lines = Buffer.from(joinHeaders([...place, ...SHARED_HEADERS, ...freshness]), 'latin1');
  return { lifetime, freshness, place, lines, bounds: createBoundsText(tiles.subset.gridSet, z) };
}

/** GeoServer's warning that the value of a dimension is not the requested one. */
export function noteHeaders({ selection: { note } }: ResolvedTileSet): Headers {
  return note === undefined ? [] : ['Warning', `99 tilewarden "${headerText(note)}"`];
}

/** Columns or rows whose edges are cached as text. */
const MAX_EDGES = 512;

/** Tiles that are requested together share columns and rows: most edges are written once. */
function createBoundsText(gridSet: GridSet, z: number): CommonHeaders['bounds'] {
  const columns = new Map<number, readonly [string, string]>();
  const rows = new Map<number, readonly [string, string]>();
  return (x, y) => {
    if (columns.size + rows.size > 2 * MAX_EDGES) {
      columns.clear();
      rows.clear();
    }
    const [minX, maxX] = getOrCreate(columns, x, () => {
      const bounds = boundsOfTile(gridSet, z, x, y);
      return [`${bounds.minX}`, `${bounds.maxX}`];
    });
    const [minY, maxY] = getOrCreate(rows, y, () => {
      const bounds = boundsOfTile(gridSet, z, x, y);
      return [`${bounds.minY}`, `${bounds.maxY}`];
    });
    return `${minX},${minY},${maxX},${maxY}`;
  };
}

/** The keys by which a CDN purges the tile. */
export function keyHeaders(
  header: KeyHeader | null,
  { set, subset }: ResolvedTileSet,
  tile: TileIndex,
): Headers {
  return header === null ? [] : [header, joinKeys(keysOfTile(set, subset.gridSet, tile), header)];
}

/** For a tile outside the layer's extent or scales: nothing is cached there, so it is not a hit. */
export function blankHeaders(tiles: ResolvedTileSet, z: number, now: number): Headers {
  const own = pairs({
    'X-Cache': 'BYPASS',
    'geowebcache-cache-result': 'OTHER',
    'geowebcache-message': `The tile is outside the ${isHidden(tiles.subset, z) ? 'scales' : 'extent'} of the layer`,
  });
  return [...own, ...tileSetHeaders(tiles), ...lifetimeHeaders(lifetimeOf(tiles, z, 'BYPASS'), now)];
}

interface Lifetime {
  /** Seconds that a client may keep it; 0: no header; `NOT_KEPT`: it must revalidate. */
  readonly seconds: number;
  readonly outcome: CacheOutcome | null;
  readonly isPublic: boolean;
  /** The source has received the caller's credentials: the tile is for this caller alone. */
  readonly isPassed?: boolean;
  /** As in `CachedTile`. */
  readonly standIn?: boolean;
}

/** A stand-in is stretched from a lower zoom: the tile itself may be cached at any moment. */
const STAND_IN_SECONDS = 10;

function lifetimeOf(
  { bound: { layer } }: ResolvedTileSet,
  z: number,
  outcome: CacheOutcome,
  standIn = false,
): Lifetime {
  const isPassed = layer.passCredentials;
  const seconds = isPassed ? 0 : clientSecondsAt(layer, z);
  return { seconds, outcome, isPublic: layer.access === 'public', isPassed, standIn };
}

export function lifetimeHeaders(lifetime: Lifetime, now: number): Headers {
  return [...cacheControl(lifetime), ...expires(lifetime, now)];
}

/** Seconds of `max-age`. A stale tile is revalidated by the next request: the source may be back. Null: no header. */
function maxAgeOf({ outcome, seconds, standIn }: Lifetime): number | null {
  if (outcome === 'STALE') return 0;
  if (standIn && seconds !== NOT_KEPT) return Math.min(seconds || STAND_IN_SECONDS, STAND_IN_SECONDS);
  return seconds > 0 ? seconds : null;
}

function cacheControl(lifetime: Lifetime): Headers {
  if (lifetime.isPassed) return ['Cache-Control', 'private, no-store'];
  const seconds = maxAgeOf(lifetime);
  const words = seconds === null ? [] : [`max-age=${seconds}`, 'must-revalidate'];
  if (seconds === null && lifetime.seconds === NOT_KEPT) words.push('no-cache');
  // RFC 9111, 5.2.2.7: proxies must not give one caller's tile to another.
  if (!lifetime.isPublic) words.unshift('private');
  const vary = lifetime.isPublic ? [] : ['Vary', 'X-Api-Key'];
  return words.length > 0 ? ['Cache-Control', words.join(', '), ...vary] : [];
}

/** For HTTP/1.0 clients. */
function expires(lifetime: Lifetime, now: number): Headers {
  const seconds = maxAgeOf(lifetime);
  return seconds === null ? [] : ['Expires', httpDate(now + seconds * 1000)];
}

/** RFC 9110, 5.5: headers have visible ASCII only. Other characters are percent-encoded. */
export function headerText(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]+/gu, (text) =>
    Buffer.from(text).toString('hex').toUpperCase().replaceAll(/../g, '%$&'),
  );
}
