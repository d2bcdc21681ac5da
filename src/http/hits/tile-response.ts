import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { MapPicture } from '../../domain/bounds.ts';
import { refusesCaller } from '../../domain/errors.ts';
import { boundsOfTile, type GridSet } from '../../domain/grid-set.ts';
import { isBeyondCircle, isHidden, subsetContains } from '../../domain/grid-subset.ts';
import type { KeyHeader } from '../../domain/surrogate-keys.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { isGzip } from '../../lib/gzip.ts';
import { createBlankTiles } from '../../pipeline/blank-tiles.ts';
import type { MapComposer } from '../../pipeline/map-composer.ts';
import { checkTile } from '../../pipeline/resolve-tile-set.ts';
import type { CachedTile, ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { type AreaLimit, areasOf, edgeRefused, limited } from '../auth/area-limit.ts';
import type { Context } from '../context.ts';
import { acceptsGzip, isNotModified, validated } from '../negotiate.ts';
import { HttpProblem } from '../problems.ts';
import { type Response, withHeaders } from '../response.ts';
import { blankHeaders, createTileResponses, headerText, keyHeaders } from './tile-headers.ts';

/**
 * Throws `tile-outside`, unless the layer has transparent tiles there, and the pipeline's errors. The service has checked
 * that the caller may see the layer.
 */
export type TileResponder = (
  context: Context,
  tiles: ResolvedTileSet,
  index: TileIndex,
) => Response | Promise<Response>;

export interface TileResponderDeps {
  readonly pipeline: Pick<TilePipeline, 'read'>;
  readonly composer: Pick<MapComposer, 'maskTile'>;
  readonly areaLimit: AreaLimit;
  readonly clock: Clock;
  readonly surrogateKeys: KeyHeader | null;
}

/** Makes the tile responses of all services. */
export function createTileResponder(deps: TileResponderDeps): TileResponder {
  const { pipeline, composer, areaLimit, clock, surrogateKeys } = deps;
  const replyWith = createTileResponses(clock, surrogateKeys);
  const answerOutside = createOutsideResponder(clock, surrogateKeys);

  return (context, tiles, index) =>
    areasOf(context) === null
      ? answerTile(context, tiles, index, null)
      : answerLimited(context, tiles, index);

  /** Tiles that are partly outside the caller's areas are masked after the cache: one is stored for all callers. */
  async function answerLimited(
    context: Context,
    tiles: ResolvedTileSet,
    index: TileIndex,
  ): Promise<Response> {
    if (!isOnGrid(tiles, index)) checkTile(tiles, index);
    const { gridSet } = tiles.subset;
    const mask = await areaLimit.maskFor(context, () => gridSet, pictureOfTile(gridSet, index));
    if (mask && tiles.format.kind === 'opaque') throw edgeRefused();
    return limited(await answerTile(context, tiles, index, mask));
  }

  function answerTile(
    context: Context,
    tiles: ResolvedTileSet,
    index: TileIndex,
    mask: Uint8Array | null,
  ): Response | Promise<Response> {
    const { z, x, y } = index;
    if (tiles.bound.layer.outside === 'transparent' && !subsetContains(tiles.subset, z, x, y)) {
      return answerOutside(context, tiles, index);
    }
    checkTile(tiles, index);
    if (isHidden(tiles.subset, z)) return answerOutside(context, tiles, index);
    const { circularFilter } = tiles.bound.layer;
    if (circularFilter !== null && isBeyondCircle(tiles.subset, index)) {
      // Like GeoWebCache's request filters: the response names the filter.
      const filter = ['gwc-request-filter', headerText(circularFilter)];
      return answerOutside(context, tiles, index).then((blank) => withHeaders(blank, filter));
    }
    if (tiles.bound.layer.passCredentials) return answerPassed(context, tiles, index, mask);
    const read = pipeline.read(tiles, index, context.signal);
    if (!(read instanceof Promise) && !mask) return answerWith(context, tiles, index, read);
    return Promise.resolve(read)
      .then((tile) => (mask ? masked(context, tiles, tile, mask) : tile))
      .then((answer) => answerWith(context, tiles, index, answer));
  }

  async function masked(
    { signal }: Context,
    { subset: { gridSet }, format }: ResolvedTileSet,
    tile: CachedTile,
    mask: Uint8Array,
  ): Promise<CachedTile> {
    const size = { width: gridSet.tileWidth, height: gridSet.tileHeight };
    const { bytes, digest } = await composer.maskTile({ tile: tile.bytes, ...size, format, mask }, signal);
    return { ...tile, bytes, checksum: Number.parseInt(digest.slice(0, 8), 16) };
  }

  /** For layers that pass the caller's credentials to the source; its refusals are passed on. */
  async function answerPassed(
    context: Context,
    tiles: ResolvedTileSet,
    index: TileIndex,
    mask: Uint8Array | null,
  ): Promise<Response> {
    const authorization = context.headers.authorization ?? null;
    try {
      const read = await pipeline.read({ ...tiles, authorization }, index, context.signal);
      return await answerWith(context, tiles, index, mask ? await masked(context, tiles, read, mask) : read);
    } catch (error) {
      if (!refusesCaller(error)) throw error;
      if (error.upstream?.status === 401) throw context.credentialsNeeded();
      throw new HttpProblem('forbidden', 'The map source does not show this to the caller.');
    }
  }

  function answerWith(
    context: Context,
    tiles: ResolvedTileSet,
    index: TileIndex,
    answer: CachedTile,
  ): Response | Promise<Response> {
    if (tiles.format.kind === 'opaque') return answerVector(context, tiles, index, answer);
    const reply = replyWith(tiles, index, answer);
    return isNotModified(context.headers, reply.etag, answer.createdAt) ? reply.notModified : reply;
  }

  async function answerVector(
    context: Context,
    tiles: ResolvedTileSet,
    index: TileIndex,
    read: CachedTile,
  ): Promise<Response> {
    const { answer, headers } = await vectorResponse(context.headers['accept-encoding'], read);
    const reply = replyWith(tiles, index, answer);
    const { notModified } = reply;
    if (isNotModified(context.headers, reply.etag, answer.createdAt))
      return withHeaders(notModified, headers);
    // A tile without features: clients recognise it by this status, and need no format for it.
    if (answer.bytes.length === 0) return { ...notModified, status: 204 };
    return withHeaders(reply, headers);
  }
}

/**
 * The response for a place of the grid outside the layer: a transparent tile, or no content if tiles are not
 * pictures. Throws `tile-outside` for a place outside the grid.
 */
function createOutsideResponder(clock: Clock, keyHeader: KeyHeader | null) {
  const blank = createBlankTiles();
  return async (context: Context, tiles: ResolvedTileSet, index: TileIndex): Promise<Response> => {
    if (!isOnGrid(tiles, index)) checkTile(tiles, index);
    const { subset, format } = tiles;
    const headers = [...blankHeaders(tiles, index.z, clock.now()), ...keyHeaders(keyHeader, tiles, index)];
    if (format.kind === 'opaque') return { status: 204, headers, body: null };
    const { bytes, contentType } = await blank(format, subset.gridSet.tileWidth, subset.gridSet.tileHeight);
    const etag = `"${createHash('sha1').update(bytes).digest('base64url')}"`;
    return validated(context, etag, headers, { body: bytes, type: contentType });
  };
}

function pictureOfTile(gridSet: GridSet, { z, x, y }: TileIndex): MapPicture {
  const { tileWidth: width, tileHeight: height } = gridSet;
  return { bounds: boundsOfTile(gridSet, z, x, y), width, height };
}

function isOnGrid({ subset }: ResolvedTileSet, { z, x, y }: TileIndex): boolean {
  const level = subset.gridSet.levels[z];
  return level !== undefined && x >= 0 && x < level.columns && y >= 0 && y < level.rows;
}

const unzip = promisify(gunzip);

/** A vector tile is stored as compressed by its source, and decompressed for clients that do not accept gzip. */
export async function vectorResponse(acceptEncoding: string | string[] | undefined, answer: CachedTile) {
  if (!isGzip(answer.bytes)) return { answer, headers: [] };
  const vary = ['Vary', 'Accept-Encoding'];
  if (acceptsGzip(acceptEncoding)) return { answer, headers: ['Content-Encoding', 'gzip', ...vary] };
  // The ETag contains the length, so that decompressed bytes have another one.
  return { answer: { ...answer, bytes: await unzip(answer.bytes) }, headers: vary };
}
