import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MapPicture } from '../../domain/bounds.ts';
import { isSourceFailure, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset, subsetToDrawFrom } from '../../domain/grid-subset.ts';
import {
  createPlaceMapping,
  PixelMesh,
  type PlaceMapping,
  same,
  surveyPicture,
} from '../../domain/pixel-mesh.ts';
import { levelFor, PixelSampler } from '../../domain/pixel-sampler.ts';
import { sizeOfRect, tilesOfRect } from '../../domain/tile-rect.ts';
import { tilesToWarp, type WarpOptions, warpPixels } from '../../domain/warp-pixels.ts';
import type { Semaphore } from '../../lib/semaphore.ts';
import { createPace, type Pace, withConcurrency } from '../../lib/yielding.ts';
import type { LayerTile, ReadableLayer, SourceRequest } from '../tile-source.ts';
import { alignmentOf, copyTile } from './aligned-grid.ts';

interface LayerOptions {
  readonly layer: string;
  readonly gridSet?: string | undefined;
  readonly resampling?: 'bilinear' | 'nearest' | undefined;
}

/** Resampled tiles of the other layer at a time: 36 MiB of pixels at 256 a side. */
const MAX_TILES = 144;
const TILES_AT_ONCE = 8;
/** Bytes of pixels that are decoded or drawn over in one turn of the event loop: about a millisecond. */
export const BYTES_PER_TURN = 500_000;
/** A level of the other layer may be this much coarser than the picture before the next finer one is used. */
const COARSER = 1.2;
/** Pixels of the other layer's coarsest zoom to one of the picture: beyond that the layer is not drawn. */
const MAX_PIXELS = 4 * COARSER;

type ReadTile = (subset: GridSubset, tile: { z: number; x: number; y: number }) => Promise<Buffer>;

/**
 * The picture of a layer of this server, in any grid set whose CRS is known: copied from a level with the same pixels,
 * else resampled. Null outside the layer. `prepare`: applied to each tile.
 */
export async function drawLayer(
  options: LayerOptions,
  layer: ReadableLayer | null,
  request: SourceRequest,
  resampling: Semaphore,
  prepare: (pixels: Buffer) => Buffer,
): Promise<LayerTile | null> {
  if (!layer) throw unfit(`There is no layer ${options.layer} with pictures to draw from.`);
  const subset = subsetToDrawFrom(layer.subsets, options.gridSet, request.gridSet);
  if (!subset) throw unfit(`Layer ${options.layer} has no grid set ${options.gridSet ?? ''} to draw from.`);
  const mapping = createPlaceMapping(request.gridSet, subset.gridSet);
  if (!mapping)
    throw unfit(`It is not known how to get from ${request.gridSet.name} to ${subset.gridSet.name}.`);
  let stale = false;
  const pace = createPace(BYTES_PER_TURN);
  const read: ReadTile = async (of, tile) => {
    request.signal.throwIfAborted();
    const found = await layer.tile(of, tile, request).catch(asSourceFailure);
    stale ||= found.stale;
    await pace(found.pixels.length);
    return prepare(found.pixels);
  };
  const aligned = mapping === same ? alignmentOf(subset, request) : null;
  const pixels = aligned
    ? await copyTiles(aligned, subset, request, read)
    : await resampling.during(
        () => resample(options, subset, mapping, request, read),
        request.signal,
        request.priority === 'interactive' ? 1 : 0,
      );
  return pixels && { pixels, stale };
}

async function copyTiles(
  aligned: NonNullable<ReturnType<typeof alignmentOf>>,
  subset: GridSubset,
  { width, height }: SourceRequest,
  read: ReadTile,
): Promise<Buffer | null> {
  const { z, rect } = aligned;
  if (!rect) return null;
  const pixels = Buffer.alloc(4 * width * height);
  await withConcurrency(tilesOfRect(z, rect), TILES_AT_ONCE, async (tile) => {
    copyTile(await read(subset, tile), tile, aligned, pixels, width);
  });
  return pixels;
}

async function resample(
  layer: LayerOptions,
  subset: GridSubset,
  mapping: PlaceMapping,
  request: SourceRequest,
  read: ReadTile,
): Promise<Buffer | null> {
  const { width, height, signal } = request;
  const pause = async () => {
    await nextTurn();
    signal.throwIfAborted();
  };
  const options = { resampling: layer.resampling ?? 'bilinear', pause } as const;
  const plan = await planPicture(subset, mapping, request, options);
  if (plan === 'divide') {
    const drawHalf = (half: MapPicture) => resample(layer, subset, mapping, { ...request, ...half }, read);
    return drawHalves(request, drawHalf);
  }
  if (!plan || plan.keys.size === 0) return null;
  const { z, mesh, sampler, keys } = plan;
  await withConcurrency(keys, TILES_AT_ONCE, async (key) => {
    const { x, y } = sampler.tileOfKey(key);
    sampler.add({ x, y }, await read(subset, { z, x, y }));
  });
  const pixels = Buffer.alloc(4 * width * height);
  await warpPixels(mesh, sampler, options, pixels, width);
  return pixels;
}

/** Left and right, or top and bottom; null if both are empty. */
async function drawHalves(
  { bounds, width, height }: MapPicture,
  draw: (half: MapPicture) => Promise<Buffer | null>,
): Promise<Buffer | null> {
  const [unitsX, unitsY] = [(bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height];
  const isWide = width >= height;
  const inside = { minX: 0, minY: 0, maxX: width - 1, maxY: height - 1 };
  const middle = Math.ceil(Math.max(width, height) / 2);
  let pixels: Buffer | null = null;
  for (const [first, end] of [[0, middle] as const, [middle, Math.max(width, height)] as const]) {
    const [left, right] = isWide ? [first, end] : [0, width];
    const [top, bottom] = isWide ? [0, height] : [first, end];
    const [minX, maxX] = [bounds.minX + left * unitsX, bounds.minX + right * unitsX];
    const [minY, maxY] = [bounds.maxY - bottom * unitsY, bounds.maxY - top * unitsY];
    const size = { width: right - left, height: bottom - top };
    const drawn = await draw({ bounds: { minX, minY, maxX, maxY }, ...size });
    if (!drawn) continue;
    pixels ??= Buffer.alloc(4 * width * height);
    const place = { column: -left, row: -top, inside, tileWidth: size.width, tileHeight: size.height };
    copyTile(drawn, { x: 0, y: 0 }, place, pixels, width);
  }
  return pixels;
}

/** Null if the other layer is empty in the picture, or begins at a much finer zoom. */
async function planPicture(
  subset: GridSubset,
  mapping: PlaceMapping,
  request: SourceRequest,
  options: WarpOptions,
) {
  const survey = surveyPicture(request, mapping, subset.extent);
  if (!survey) return null;
  const { zoomStart, zoomStop } = subset;
  const coarsest = coverageAt(subset, zoomStart);
  const isFiner = survey.unitsPerPixel > MAX_PIXELS * levelOf(subset.gridSet, zoomStart).resolution;
  if (isFiner && coarsest && sizeOfRect(coarsest) > MAX_TILES) return null;
  const finest = levelFor(subset, survey.unitsPerPixel * COARSER, [zoomStart, zoomStop]);
  for (let z = finest; z >= zoomStart; z--) {
    const sampler = new PixelSampler(subset, z);
    const mesh = new PixelMesh(request, mapping, levelOf(subset.gridSet, z).resolution);
    const keys = await tilesToWarp(mesh, sampler, options, MAX_TILES);
    if (keys) return { z, mesh, sampler, keys };
    // A picture larger than a tile is drawn in halves, one after the other.
    if (Math.max(request.width, request.height) > subset.gridSet.tileWidth) return 'divide';
  }
  throw unfit('The picture needs too many tiles of the other layer.');
}

/** A failure of the other layer is a failure of this source. */
function asSourceFailure(error: unknown): never {
  const known = isSourceFailure(error) || isTilewardenError(error, 'stopping');
  if (known || !isTilewardenError(error)) throw error;
  throw new TilewardenError('source-unavailable', error.message, { reason: 'layer', cause: error });
}

function unfit(message: string): TilewardenError {
  return new TilewardenError('source-unavailable', message, { reason: 'layer' });
}

/** Pictures on top of each other: RGBA, not premultiplied. Colours are weighted by their opacity. */

interface ClearColour {
  readonly rgb: readonly [number, number, number];
  /** By how much each channel may differ. */
  readonly tolerance: number;
}

/** A copy in which pixels of the colour are transparent. */
export function withoutColour(picture: Buffer, { rgb: [red, green, blue], tolerance }: ClearColour): Buffer {
  const pixels = Buffer.from(picture);
  for (let i = 0; i < pixels.length; i += 4) {
    const isClear =
      Math.abs((pixels[i] ?? 0) - red) <= tolerance &&
      Math.abs((pixels[i + 1] ?? 0) - green) <= tolerance &&
      Math.abs((pixels[i + 2] ?? 0) - blue) <= tolerance;
    if (isClear) pixels.fill(0, i, i + 4);
  }
  return pixels;
}

/** Pixels: less than a millisecond of work. */
const BAND = 65_536;

/** Draws `over` on `onto`, which is changed; both have one size. */
export async function drawOver(onto: Buffer, over: Buffer, opacity: number, pace: Pace): Promise<void> {
  const [below, above] = [pixelsOf(onto), pixelsOf(isAligned(over) ? over : Buffer.from(over))];
  for (let first = 0; first < below.length; first += BAND) {
    drawBand(below, above, opacity, first, Math.min(first + BAND, below.length));
    await pace(4 * BAND);
  }
}

/** Whether a pixel can be read as one number. */
export function isAligned({ byteOffset }: Buffer): boolean {
  return byteOffset % 4 === 0;
}

/** 0xAABBGGRR. */
function pixelsOf({ buffer, byteOffset, length }: Buffer): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length / 4);
}

function drawBand(onto: Uint32Array, over: Uint32Array, opacity: number, first: number, end: number): void {
  let [above, below, both] = [0, 0, 0];
  for (let i = first; i < end; i++) {
    const [upper, lower] = [over[i] ?? 0, onto[i] ?? 0];
    // Maps have many equal neighbours.
    if (upper !== above || lower !== below) {
      both = mix(upper, lower, opacity);
      above = upper;
      below = lower;
    }
    onto[i] = both;
  }
}

function mix(over: number, onto: number, opacity: number): number {
  const alpha = (over >>> 24) * opacity;
  if (alpha === 0) return onto;
  const below = ((onto >>> 24) * (255 - alpha)) / 255;
  const sum = alpha + below;
  const [share, rest] = [alpha / sum, below / sum];
  const red = Math.round((over & 255) * share + (onto & 255) * rest);
  const green = Math.round(((over >>> 8) & 255) * share + ((onto >>> 8) & 255) * rest);
  const blue = Math.round(((over >>> 16) & 255) * share + ((onto >>> 16) & 255) * rest);
  return red | (green << 8) | (blue << 16) | (Math.round(sum) << 24);
}
