import { validateHeaderValue } from 'node:http';
import { contentTypeOf } from '../../domain/format.ts';
import { boundsOfTile, levelOf } from '../../domain/grid-set.ts';
import { clientSecondsAt, NOT_KEPT } from '../../domain/layer.ts';
import { joinKeys, type KeyHeader, keysOfTile } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CachedTile, CacheOutcome, ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { type Headers, type PreparedResponse, pairs, type Response } from '../response.ts';
import { SHARED_HEADERS } from './send.ts';

/** In GeoWebCache's words, which know no stale tiles. */
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
  readonly #lifetime: Lifetime;
  #head: string | null = null;

  constructor(tiles: ResolvedTileSet, tile: TileIndex, answer: CachedTile, lines: HeaderLines) {
    this.#tiles = tiles;
    this.#tile = tile;
    this.#answer = answer;
    this.#lines = lines;
    this.#lifetime = lifetimeOf(tiles, tile.z, answer.outcome, answer.standIn);
    this.body = answer.bytes;
    // The same bytes have the same validator, whichever server or run made them.
    this.etag = `"${answer.checksum.toString(16)}-${answer.bytes.length.toString(36)}"`;
  }

  isOf(tiles: ResolvedTileSet, { z, x, y }: TileIndex): boolean {
    const tile = this.#tile;
    return this.#tiles === tiles && tile.x === x && tile.y === y && tile.z === z;
  }

  get cache(): CacheOutcome {
    return this.#answer.outcome;
  }

  get headers(): Headers {
    return [...this.#tileHeaders(), ...tileSetHeaders(this.#tiles), ...this.#lines.expiry(this.#lifetime)];
  }

  get notModified(): Response {
    const headers = [...this.#freshness(), ...this.#lines.expiry(this.#lifetime)];
    return { status: 304, headers, body: null };
  }

  get headLength(): number {
    return this.#lines.dated(this.#lifetime).length + this.#lasting().length;
  }

  writeHead(target: Buffer): void {
    const dated = this.#lines.dated(this.#lifetime);
    dated.copy(target);
    target.write(this.#lasting(), dated.length, 'latin1');
  }

  /** Headers that do not change with time. */
  #lasting(): string {
    this.#head ??= this.#lines.ofTile(this.#tiles, [
      ...this.#tileHeaders(),
      'Content-Length',
      String(this.body.length),
    ]);
    return this.#head;
  }

  #tileHeaders(): Headers {
    const contentType = contentTypeOf(this.#tiles.format, this.body);
    const place = placeHeaders(this.#tiles, this.#tile, this.#answer.outcome);
    return ['Content-Type', contentType, ...this.#freshness(), ...place];
  }

  /** Headers that a 304 has too. */
  #freshness(): Headers {
    const { createdAt, outcome } = this.#answer;
    const modified = new Date(createdAt).toUTCString();
    return [
      'ETag',
      this.etag,
      'Last-Modified',
      modified,
      'X-Cache',
      outcome,
      ...cacheControl(this.#lifetime),
      ...this.#lines.keys(this.#tiles, this.#tile),
    ];
  }
}

/** A tile in memory is answered many times with the same reply. */
export function createTileResponses(
  clock: Clock,
  keyHeader: KeyHeader | null,
): (tiles: ResolvedTileSet, tile: TileIndex, answer: CachedTile) => TileResponse {
  const remembered = new WeakMap<CachedTile, TileResponse>();
  const lines = new HeaderLines(clock, keyHeader);
  return (tiles, tile, answer) => {
    const known = remembered.get(answer);
    if (known?.isOf(tiles, tile)) return known;
    const made = new TileResponse(tiles, tile, answer, lines);
    remembered.set(answer, made);
    return made;
  };
}

/** Headers as they are sent. What many tiles have in common is written once. */
class HeaderLines {
  readonly #clock: Clock;
  readonly #keyHeader: KeyHeader | null;
  readonly #ofSets = new WeakMap<ResolvedTileSet, string>();
  /** Of the present second, by how long an answer lasts. */
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

  /** The status line and the headers that change with time. Always of the same length. */
  dated(lifetime: Lifetime): Buffer {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) this.#dated.clear();
    this.#second = second;
    const seconds = lasting(lifetime);
    const known = this.#dated.get(seconds);
    if (known) return known;
    const date = new Date(second * 1000).toUTCString();
    const lines = linesOf(['Date', date, ...expires(lifetime, second * 1000)]);
    const made = Buffer.from(`HTTP/1.1 200 OK\r\n${lines}`, 'latin1');
    this.#dated.set(seconds, made);
    return made;
  }

  /** To the empty line. */
  ofTile(tiles: ResolvedTileSet, own: Headers): string {
    const common = this.#ofSets.get(tiles) ?? linesOf([...tileSetHeaders(tiles), ...SHARED_HEADERS]);
    this.#ofSets.set(tiles, common);
    return `${common}${linesOf(own)}\r\n`;
  }
}

/** Throws for what must not be in a header. */
function linesOf(headers: Headers): string {
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** By which a CDN purges the tile. */
export function keyHeaders(
  header: KeyHeader | null,
  { set, subset }: ResolvedTileSet,
  tile: TileIndex,
): Headers {
  return header === null ? [] : [header, joinKeys(keysOfTile(set, subset.gridSet, tile), header)];
}

/** For a tile outside the layer's extent: nothing is cached there, so it is no hit. */
export function blankHeaders(tiles: ResolvedTileSet, z: number, now: number): Headers {
  const own = pairs({
    'X-Cache': 'BYPASS',
    'geowebcache-cache-result': 'OTHER',
    'geowebcache-message': 'The tile is outside the extent of the layer',
  });
  return [...own, ...tileSetHeaders(tiles), ...lifetimeHeaders(lifetimeOf(tiles, z, 'BYPASS'), now)];
}

export interface Lifetime {
  /** Seconds that a client may keep it; 0: no header; `NOT_KEPT`: it must revalidate. */
  readonly seconds: number;
  readonly outcome: CacheOutcome | null;
  readonly isPublic: boolean;
  /** For one caller alone. */
  readonly isPassed?: boolean;
  /** As in `CachedTile`. */
  readonly standIn?: boolean;
}

/** The tile itself may be cached any moment. */
const STAND_IN_SECONDS = 10;

/** One for each tile that is read from the store: all have the same fields in the same order, which makes them quick to read. */
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

/** A stale tile is revalidated by the next request: the source may be back. Null: no header. */
function lasting({ outcome, seconds, standIn }: Lifetime): number | null {
  if (outcome === 'STALE') return 0;
  if (standIn && seconds !== NOT_KEPT) return Math.min(seconds || STAND_IN_SECONDS, STAND_IN_SECONDS);
  return seconds > 0 ? seconds : null;
}

function cacheControl(lifetime: Lifetime): Headers {
  if (lifetime.isPassed) return ['Cache-Control', 'private, no-store'];
  const seconds = lasting(lifetime);
  const words = seconds === null ? [] : [`max-age=${seconds}`, 'must-revalidate'];
  if (seconds === null && lifetime.seconds === NOT_KEPT) words.push('no-cache');
  // RFC 9111, 5.2.2.7: what one caller may see no proxy on the way gives to another.
  if (!lifetime.isPublic) words.unshift('private');
  const vary = lifetime.isPublic ? [] : ['Vary', 'X-Api-Key'];
  return words.length > 0 ? ['Cache-Control', words.join(', '), ...vary] : [];
}

/** For those of HTTP/1.0. */
function expires(lifetime: Lifetime, now: number): Headers {
  const seconds = lasting(lifetime);
  return seconds === null ? [] : ['Expires', new Date(now + seconds * 1000).toUTCString()];
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
