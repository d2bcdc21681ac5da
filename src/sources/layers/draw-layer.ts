import { setImmediate as nextTurn } from 'node:timers/promises';
import { isSourceFailure, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset, subsetToDrawFrom } from '../../domain/grid-subset.ts';
import { tilesOfRect } from '../../domain/tile-rect.ts';
import type { Semaphore } from '../../lib/semaphore.ts';
import { withConcurrency } from '../../lib/yielding.ts';
import type { LayerTile, ReadableLayer, SourceRequest } from '../tile-source.ts';
import { alignmentOf, copyTile } from './aligned-grid.ts';
import { createPlaceMapping, PixelMesh, type PlaceMapping, same } from './pixel-mesh.ts';
import { MAX_TILES_ACROSS, PixelSampler } from './pixel-sampler.ts';

export interface LayerOptions {
  readonly layer: string;
  readonly gridSet?: string | undefined;
  readonly resampling?: 'bilinear' | 'nearest' | undefined;
}

/** Resampled tiles of the other layer for one picture: 36 MiB of pixels at 256 a side. */
const MAX_TILES = 144;
const TILES_AT_ONCE = 8;
/** A level of the other layer may be so much coarser than the picture before the next finer one is taken. */
const COARSER = 1.2;

type ReadTile = (subset: GridSubset, tile: { z: number; x: number; y: number }) => Promise<Buffer>;

interface Plan {
  readonly mesh: PixelMesh;
  readonly sampler: PixelSampler;
  readonly subset: GridSubset;
  readonly z: number;
  readonly resolution: number;
  readonly keys: ReadonlySet<number>;
}

/**
 * The picture of a layer of this server, in any grid set whose CRS is known: copied where a level has the same pixels, else
 * resampled. Null if the picture does not touch the layer. `prepare`: applied to each tile.
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
  const read: ReadTile = async (of, tile) => {
    request.signal.throwIfAborted();
    const found = await layer.tile(of, tile, request).catch(asSourceFailure);
    stale ||= found.stale;
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
  options: LayerOptions,
  subset: GridSubset,
  mapping: PlaceMapping,
  request: SourceRequest,
  read: ReadTile,
): Promise<Buffer | null> {
  const plan = await planPicture(subset, mapping, request);
  if (!plan || plan.keys.size === 0) return null;
  if (plan.keys.size > MAX_TILES) throw unfit('The picture needs too many tiles of the other layer.');
  await withConcurrency(plan.keys, TILES_AT_ONCE, async (key) => {
    const { x, y } = plan.sampler.tileOfKey(key);
    plan.sampler.add({ x, y }, await read(subset, { z: plan.z, x, y }));
  });
  return paint(options, plan, request);
}

/** Null if the picture does not touch the other layer. */
async function planPicture(
  subset: GridSubset,
  mapping: PlaceMapping,
  request: SourceRequest,
): Promise<Plan | null> {
  const mesh = new PixelMesh(request, mapping);
  const { minX, maxX } = subset.gridSet.extent;
  const wanted = mesh.unitsPerPixel(maxX - minX);
  if (wanted === null) return null;
  for (let z = levelFor(subset, wanted); ; z--) {
    const plan = await planAt(mesh, subset, z);
    if (plan.keys.size <= MAX_TILES || z === subset.zoomStart) return plan;
  }
}
/** The coarsest level that is fine enough; the finest that can be drawn from when none is. */
function levelFor(subset: GridSubset, wanted: number): number {
  let finest = subset.zoomStart;
  for (let z = subset.zoomStart; z <= subset.zoomStop; z++) {
    const { columns, rows, resolution } = levelOf(subset.gridSet, z);
    if (Math.max(columns, rows) > MAX_TILES_ACROSS) break;
    if (resolution <= wanted * COARSER && coverageAt(subset, z)) return z;
    finest = z;
  }
  return finest;
}

async function planAt(mesh: PixelMesh, subset: GridSubset, z: number): Promise<Plan> {
  const sampler = new PixelSampler(subset, z);
  const resolution = subset.gridSet.levels[z]?.resolution ?? 1;
  const keys = new Set<number>();
  await forEachCell(mesh, resolution, (places, count) => {
    sampler.collect(places, count, keys);
    return keys.size <= MAX_TILES;
  });
  return { mesh, sampler, subset, z, resolution, keys };
}

/** `visit` is given places as the mesh gives them, and answers whether to go on. */
async function forEachCell(
  mesh: PixelMesh,
  resolution: number,
  visit: (places: Float64Array, count: number, column: number, row: number) => boolean,
): Promise<void> {
  const places = new Float64Array(2 * PixelMesh.pixelsPerCell);
  for (let row = 0; row < mesh.rows; row++) {
    await nextTurn();
    for (let column = 0; column < mesh.columns; column++) {
      const count = mesh.placesOf(column, row, resolution, places);
      if (!visit(places, count, column, row)) return;
    }
  }
}

/** A failure of the other layer is a failure of this source. */
function asSourceFailure(error: unknown): never {
  const known = isSourceFailure(error) || isTilewardenError(error, 'stopping');
  if (known || !isTilewardenError(error)) throw error;
  throw new TilewardenError('source-unavailable', error.message, { reason: 'layer', cause: error });
}

async function paint(
  { resampling = 'bilinear' }: LayerOptions,
  { mesh, sampler, resolution }: Plan,
  { width, height, signal }: SourceRequest,
): Promise<Buffer> {
  const pixels = Buffer.alloc(4 * width * height);
  await forEachCell(mesh, resolution, (places, count, column, row) => {
    signal.throwIfAborted();
    const { left, top, across } = mesh.cellAt(column, row);
    for (let i = 0; i < count; i++) {
      const at = 4 * ((top + Math.floor(i / across)) * width + left + (i % across));
      sampler[resampling](places[2 * i] ?? Number.NaN, places[2 * i + 1] ?? Number.NaN, pixels, at);
    }
    return true;
  });
  return pixels;
}

function unfit(message: string): TilewardenError {
  return new TilewardenError('source-unavailable', message, { reason: 'layer' });
}
