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
import type { ClearColour, PlacedPicture } from '../../domain/placed-picture.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { rectOfTile, sizeOfRect, type TileRect, tilesOfRect } from '../../domain/tile-rect.ts';
import { tilesToWarp, type WarpOptions, warpPixels } from '../../domain/warp-pixels.ts';
import type { Semaphore } from '../../lib/semaphore.ts';
import { createPace, withConcurrency } from '../../lib/yielding.ts';
import type { SourceTools } from '../source-driver.ts';
import type { ReadableLayer, SourceRequest } from '../tile-source.ts';
import { type Alignment, alignmentOf } from './aligned-grid.ts';

interface LayerOptions {
  readonly layer: string;
  readonly gridSet?: string | undefined;
  readonly resampling?: 'bilinear' | 'nearest' | undefined;
}

/** Limit of tiles of the other layer for one resampled picture: 36 MiB of pixels at 256 × 256 each. */
const MAX_TILES = 144;
const TILES_AT_ONCE = 8;
/** Bytes of pixels that are decoded in one turn of the event loop: about a millisecond. */
const BYTES_PER_TURN = 500_000;
/** A level of the other layer may be this much coarser than the picture before the next finer one is used. */
const COARSER = 1.2;
/** Pixels of the coarsest zoom along the side of one of the picture: above it only small layers are drawn. */
const MAX_PIXELS = 4 * COARSER;

/** A picture of a part, which is drawn with the part's opacity. */
export type PartPicture = Omit<PlacedPicture, 'opacity'>;

export interface LayerPicture {
  readonly pictures: readonly PartPicture[];
  readonly stale: boolean;
}

type ReadTile = (subset: GridSubset, tile: TileIndex) => Promise<Buffer>;

interface LayerTools extends Pick<SourceTools, 'decode' | 'composer'> {
  readonly resampling: Semaphore;
}

/** The input of `resample`, for all parts of a picture. */
interface Resampling {
  readonly options: LayerOptions;
  readonly subset: GridSubset;
  readonly mapping: PlaceMapping;
  /** Reads a tile as pixels, with the part's transparent colour applied. */
  readonly read: ReadTile;
}

/**
 * The picture of a layer of this server, in any grid set whose CRS is known: the tiles of a level with the same
 * pixels, else resampled. Null outside the layer. `clear` is drawn as transparent.
 */
export async function drawLayer(
  options: LayerOptions,
  layer: ReadableLayer | null,
  request: SourceRequest,
  { resampling, decode, composer }: LayerTools,
  clear: ClearColour | null,
): Promise<LayerPicture | null> {
  if (!layer) throw undrawn(`There is no layer ${options.layer} with pictures to draw from.`);
  const subset = subsetToDrawFrom(layer.subsets, options.gridSet, request.gridSet);
  if (!subset) throw undrawn(`Layer ${options.layer} has no grid set ${options.gridSet ?? ''} to draw from.`);
  const mapping = createPlaceMapping(request.gridSet, subset.gridSet);
  if (!mapping)
    throw undrawn(`It is not known how to get from ${request.gridSet.name} to ${subset.gridSet.name}.`);
  const { signal, priority } = request;
  const isTask = priority === 'task';
  let stale = false;
  const read: ReadTile = async (of, tile) => {
    signal.throwIfAborted();
    const found = await layer.tile(of, tile, request).catch(asSourceFailure);
    stale ||= found.stale;
    return found.bytes;
  };
  const fill = async (z: number, rect: TileRect) => {
    if (isTask) await layer.fill?.(subset, z, rect, request).catch(asSourceFailure);
  };
  const aligned = mapping === same ? alignmentOf(subset, request) : null;
  if (aligned) {
    const { z, rect, inside } = aligned;
    if (!rect) return null;
    await fill(z, rect);
    const pictures: PartPicture[] = [];
    await withConcurrency(tilesOfRect(z, rect), TILES_AT_ONCE, async (tile) => {
      const place = placeOnPicture(tile, aligned);
      const picture = await composer.prepare(await read(subset, tile), place);
      pictures.push({ ...picture, ...place, inside, clear });
    });
    return { pictures, stale };
  }
  const pace = createPace(BYTES_PER_TURN);
  const readPixels: ReadTile = async (of, tile) => {
    await fill(tile.z, rectOfTile(tile));
    const { tileWidth: width, tileHeight: height } = of.gridSet;
    const pixels = await decode(await read(of, tile), { width, height }, clear);
    await pace(pixels.length);
    return pixels;
  };
  const work = { options, subset, mapping, read: readPixels };
  const pictures = await resampling.during(() => resample(work, request, 0, 0), signal, isTask ? 0 : 1);
  return pictures.length === 0 ? null : { pictures, stale };
}

function placeOnPicture({ x, y }: TileIndex, { column, row, tileWidth, tileHeight }: Alignment) {
  const [left, top] = [x * tileWidth - column, y * tileHeight - row];
  return { left, top, width: tileWidth, height: tileHeight };
}

/** Draws the part at `left`, `top` of a larger picture. Empty outside the layer. */
async function resample(
  work: Resampling,
  request: SourceRequest,
  left: number,
  top: number,
): Promise<readonly PartPicture[]> {
  const { options, subset, mapping, read } = work;
  const { width, height, signal } = request;
  const pause = async () => {
    await nextTurn();
    signal.throwIfAborted();
  };
  const warping = { resampling: options.resampling ?? 'bilinear', pause } as const;
  const plan = await planPicture(subset, mapping, request, warping);
  if (plan === 'divide') {
    const pictures: PartPicture[] = [];
    for (const half of halvesOf(request)) {
      pictures.push(...(await resample(work, { ...request, ...half }, left + half.left, top + half.top)));
    }
    return pictures;
  }
  if (!plan || plan.keys.size === 0) return [];
  const { z, mesh, sampler, keys } = plan;
  await withConcurrency(keys, TILES_AT_ONCE, async (key) => {
    const { x, y } = sampler.tileOfKey(key);
    sampler.add({ x, y }, await read(subset, { z, x, y }));
  });
  const pixels = Buffer.alloc(4 * width * height);
  await warpPixels(mesh, sampler, warping, pixels, width);
  const inside = { minX: left, minY: top, maxX: left + width - 1, maxY: top + height - 1 };
  return [{ kind: 'pixels', bytes: pixels, left, top, width, height, inside, clear: null }];
}

/** Left and right, or top and bottom. */
function halvesOf({ bounds, width, height }: MapPicture) {
  const [unitsX, unitsY] = [(bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height];
  const isWide = width >= height;
  const length = Math.max(width, height);
  const middle = Math.ceil(length / 2);
  return [[0, middle] as const, [middle, length] as const].map(([first, end]) => {
    const [left, right] = isWide ? [first, end] : [0, width];
    const [top, bottom] = isWide ? [0, height] : [first, end];
    const [minX, maxX] = [bounds.minX + left * unitsX, bounds.minX + right * unitsX];
    const [minY, maxY] = [bounds.maxY - bottom * unitsY, bounds.maxY - top * unitsY];
    return { left, top, width: right - left, height: bottom - top, bounds: { minX, minY, maxX, maxY } };
  });
}

/** Null: the layer is empty in the picture, or begins at a much finer zoom. `divide`: it needs too many tiles. */
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
  throw undrawn('The picture needs too many tiles of the other layer.');
}

/** A failure of the other layer is a failure of this source. */
function asSourceFailure(error: unknown): never {
  const known = isSourceFailure(error) || isTilewardenError(error, 'stopping');
  if (known || !isTilewardenError(error)) throw error;
  throw new TilewardenError('source-unavailable', error.message, { reason: 'layer', cause: error });
}

function undrawn(message: string): TilewardenError {
  return new TilewardenError('source-unavailable', message, { reason: 'layer' });
}
