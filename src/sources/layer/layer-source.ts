import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z as Zod } from 'zod';
import { isSourceFailure, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset, subsetToDrawFrom } from '../../domain/grid-subset.ts';
import type { SchemaKit } from '../../lib/schemas.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { withConcurrency } from '../../lib/yielding.ts';
import type { SourceDriver } from '../source-driver.ts';
import { createSourceLife } from '../source-life.ts';
import type { LayerReader, ReadableLayer, SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import { createPlaceMapping, PixelMesh } from './pixel-mesh.ts';
import { MAX_TILES_ACROSS, PixelSampler } from './pixel-sampler.ts';

/** Another layer of this server, drawn in grid sets that its own source does not have. */
export const layerSourceOptions = (kit: SchemaKit) => {
  const { z, text } = kit;
  return z.strictObject({
    type: z.literal('layer'),
    layer: text.describe('Name of the other layer'),
    gridSet: text
      .optional()
      .describe('Its grid set to draw from; one in the same CRS, else its first, when left out'),
    resampling: z
      .enum(['bilinear', 'nearest'])
      .default('bilinear')
      .describe('Interpolation: between the four nearest pixels, or the nearest one'),
  });
};

type LayerSourceOptions = Zod.output<ReturnType<typeof layerSourceOptions>>;

/** Tiles of the other layer for one picture: 36 MiB of pixels at 256 a side. */
const MAX_TILES = 144;
const MAX_PICTURES = 2;
const TILES_AT_ONCE = 8;
/** A level of the other layer may be so much coarser than the picture before the next finer one is taken. */
const COARSER = 1.2;

interface Plan {
  readonly mesh: PixelMesh;
  readonly sampler: PixelSampler;
  readonly subset: GridSubset;
  readonly z: number;
  readonly resolution: number;
  readonly keys: ReadonlySet<number>;
}

/** Draws another layer of this server in any grid set whose CRS is known. */
export function openLayerSource(
  options: LayerSourceOptions,
  { readLayer }: { readonly readLayer: LayerReader },
): TileSource {
  const life = createSourceLife();
  const pictures = new Semaphore(MAX_PICTURES);

  async function draw(request: SourceRequest, signal: AbortSignal): Promise<SourceResult> {
    const layer = readLayer(options.layer);
    if (!layer) throw unfit(`There is no layer ${options.layer} with pictures to draw from.`);
    const work = () => drawFrom(options, layer, { ...request, signal });
    return await pictures.during(work, signal, request.priority === 'interactive' ? 1 : 0);
  }

  return {
    maxMetatile: null,
    fetch: (request) => life.during(request.signal, (signal) => draw(request, signal)),
    close: async () => life.end(),
  };
}

async function drawFrom(
  options: LayerSourceOptions,
  layer: ReadableLayer,
  request: SourceRequest,
): Promise<SourceResult> {
  const plan = await planPicture(options, layer, request);
  if (!plan || plan.keys.size === 0) return { kind: 'nothing' };
  const stale = await loadTiles(plan, layer, request);
  return { ...(await paint(options, plan, request)), stale };
}

/** Null if the picture does not touch the other layer. */
async function planPicture(
  options: LayerSourceOptions,
  layer: ReadableLayer,
  request: SourceRequest,
): Promise<Plan | null> {
  const subset = subsetToDrawFrom(layer.subsets, options.gridSet, request.gridSet);
  if (!subset) throw unfit(`Layer ${options.layer} has no grid set ${options.gridSet ?? ''} to draw from.`);
  const mapping = createPlaceMapping(request.gridSet, subset.gridSet);
  if (!mapping)
    throw unfit(`It is not known how to get from ${request.gridSet.name} to ${subset.gridSet.name}.`);
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

/** Whether one of them is stale. */
async function loadTiles(plan: Plan, layer: ReadableLayer, request: SourceRequest): Promise<boolean> {
  const { sampler, subset, z } = plan;
  if (plan.keys.size > MAX_TILES) throw unfit('The picture needs too many tiles of the other layer.');
  let stale = false;
  await withConcurrency(plan.keys, TILES_AT_ONCE, async (key) => {
    request.signal.throwIfAborted();
    const { x, y } = sampler.tileOfKey(key);
    const tile = await layer.tile(subset, { z, x, y }, request).catch(asSourceFailure);
    stale ||= tile.stale;
    sampler.add({ x, y }, tile.pixels);
  });
  return stale;
}

/** A failure of the other layer is a failure of this source. */
function asSourceFailure(error: unknown): never {
  const known = isSourceFailure(error) || isTilewardenError(error, 'stopping');
  if (known || !isTilewardenError(error)) throw error;
  throw new TilewardenError('source-unavailable', error.message, { reason: 'layer', cause: error });
}

async function paint(
  { resampling }: LayerSourceOptions,
  { mesh, sampler, resolution }: Plan,
  { width, height, signal }: SourceRequest,
) {
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
  return { kind: 'pixels' as const, pixels, width, height };
}

function unfit(message: string): TilewardenError {
  return new TilewardenError('source-unavailable', message, { reason: 'layer' });
}

export const layerDriver = {
  type: 'layer',
  options: layerSourceOptions,
  shown: ['layer', 'gridSet'],
  connection: [],
  pictures: 'resampled',
  passesCredentials: false,
  queryable: false,
  open: openLayerSource,
} as const satisfies SourceDriver<LayerSourceOptions>;
