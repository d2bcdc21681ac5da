import { setMaxListeners } from 'node:events';
import type { Bounds } from '../domain/bounds.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Crs } from '../domain/pixel-mesh.ts';
import { sameSrs } from '../domain/srs.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { type Clock, ifLate, systemClock } from '../lib/clock.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { withConcurrency } from '../lib/yielding.ts';
import { createMapDrawer, type DrawMap, type DrawnMap, type ReadTiles } from '../raster/draw-map.ts';
import type { Colour } from '../raster/encode-map.ts';
import type { TilePosition } from '../raster/warp-layer.ts';
import { planMap, planWarp, sourcePixelsOf } from './map-plan.ts';
import type { CacheOutcome, ResolvedTileSet, TilePipeline } from './tile-pipeline.ts';

export interface MapRequest {
  /** From bottom to top. Without layers the picture is empty. */
  readonly layers: readonly ResolvedTileSet[];
  /** CRS of the map; layers in another one are warped. Absent: that of the layers. */
  readonly crs?: Crs;
  /** In the units of that CRS, x before y. */
  readonly bounds: Bounds;
  readonly width: number;
  readonly height: number;
  readonly format: Format;
  /** Shown where the layers are transparent; null for transparency. */
  readonly background: Colour | null;
  /** An `AreaMask` of the part that is shown; absent: all of it. */
  readonly mask?: Uint8Array;
  /** Aborts the work, even while it waits for its turn. */
  readonly signal: AbortSignal;
}

export interface MaskedTile extends Pick<MapRequest, 'width' | 'height' | 'format'> {
  readonly tile: Buffer;
  readonly mask: Uint8Array;
}

export interface ComposedMap extends MapOrigin, DrawnMap {}

export type MapComposer = ReturnType<typeof createMapComposer>;

export const MAX_MAP_SIDE = 8192;
const MAX_MAP_PIXELS = 16 * 1024 * 1024;

/** Maps up to this size have a limit of their own, so that maps for screens do not wait behind posters. */
const SMALL_MAP_PIXELS = 2 * 1024 * 1024;
/** A map of the largest size takes 64 MiB while it is drawn, and as much again while it is encoded. */
const LARGE_AT_ONCE = 1;
const SMALL_AT_ONCE = 2;
const MAX_WAITING = 64;
/** For masked tiles: many clients request those along an area's edge together. */
const MAX_WAITING_TILES = 1024;
const WHITE: Colour = [255, 255, 255];
/** Limit of the pixels of all layers of a map together: four layers of the largest map. */
const MAX_DRAWN_PIXELS = 4 * MAX_MAP_PIXELS;
const ONE_TILE = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
/** From the request to the picture, including the wait for a turn; as long as a source may take. */
const MAP_DEADLINE_MS = 60_000;

/** Composes maps of any place and size from tiles. In a server, `draw` runs on another thread. */
export function createMapComposer(
  pipeline: Pick<TilePipeline, 'read'>,
  draw: DrawMap = createMapDrawer(),
  clock: Clock = systemClock,
) {
  const small = new Semaphore(SMALL_AT_ONCE, { maxWaiting: MAX_WAITING });
  const large = new Semaphore(LARGE_AT_ONCE, { maxWaiting: MAX_WAITING });
  const masked = new Semaphore(SMALL_AT_ONCE, { maxWaiting: MAX_WAITING_TILES });

  return {
    /**
     * Throws `request-invalid` for too large a map, `source-busy`, `source-timeout` after `MAP_DEADLINE_MS`, and errors
     * of reading a tile.
     */
    async compose(request: MapRequest): Promise<ComposedMap> {
      const { width, height } = request;
      checkMapSize(width, height);
      const layers = withoutHidden(request.layers);
      checkMapLayers(layers.length, width * height);
      const places = width * height > SMALL_MAP_PIXELS ? large : small;
      const late = new AbortController();
      const giveUp = () =>
        late.abort(new TilewardenError('source-timeout', 'The map could not be composed in time.'));
      const signal = AbortSignal.any([request.signal, late.signal]);
      return await ifLate(clock, MAP_DEADLINE_MS, giveUp, () =>
        inTurn(places, signal, () => composeNow({ ...request, layers, signal })),
      );
    },
    /** The part of a tile that `mask` shows; the rest is transparent, or white. Throws `source-busy`. */
    async maskTile(
      { tile, width, height, format, mask }: MaskedTile,
      signal: AbortSignal,
    ): Promise<DrawnMap> {
      const axis = (length: number) => ({ first: 0, length, origin: 0, scale: 1 });
      const layers = [{ across: axis(width), down: axis(height), width, height, rect: ONE_TILE }];
      const background = format.alpha ? null : WHITE;
      return await inTurn(masked, signal, () =>
        draw({ layers, width, height, format, background, mask }, async () => [tile], signal),
      );
    },
  };

  async function composeNow(request: MapRequest): Promise<ComposedMap> {
    const { width, height, format, background, mask, signal } = request;
    const reading = createMapReading(pipeline, signal);
    const planned = request.layers.flatMap((tiles) => {
      const plan = planLayer(tiles.subset, request);
      return plan ? [{ ...plan, tiles }] : [];
    });
    const layers = planned.map(({ layer }) => layer);
    const read: ReadTiles = async (at, positions) => {
      const plan = planned[at];
      return plan ? await reading.readTiles(plan.tiles, plan.z, positions) : [];
    };
    const drawn = await draw(
      { layers, width, height, format, background, ...(mask && { mask }) },
      read,
      signal,
    );
    return { ...drawn, ...reading.summary() };
  }
}

function planLayer(subset: GridSubset, request: MapRequest) {
  const { crs, layers } = request;
  if (!crs || sameSrs(crs.srs, subset.gridSet.srs)) return planMap(subset, request, layers.length);
  return planWarp(subset, request, crs, sourcePixelsOf(layers.length));
}

/** Removes repetitions: of an opaque layer that is named several times, only the last is visible. */
function withoutHidden(layers: readonly ResolvedTileSet[]): readonly ResolvedTileSet[] {
  const last = new Map(layers.map(({ set }, index) => [JSON.stringify(set), index]));
  return layers.filter(({ set, format }, index) => format.alpha || last.get(JSON.stringify(set)) === index);
}

/** Throws `request-invalid`. */
function checkMapLayers(layers: number, pixels: number): void {
  if (layers * pixels <= MAX_DRAWN_PIXELS) return;
  const most = Math.floor(MAX_DRAWN_PIXELS / pixels);
  throw invalid(
    `A map of this size has at most ${most} layers, not ${layers}; request fewer layers, or a smaller map.`,
  );
}

/** Runs the work when a place is free. Throws `source-busy` if too many are waiting. */
export async function inTurn<Result>(
  places: Semaphore,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  if (places.full) {
    throw new TilewardenError('source-busy', 'Too many maps are being composed.', { retryAfterSeconds: 5 });
  }
  return places.during(work, signal);
}

/** Throws `request-invalid`. */
export function checkMapSize(width: number, height: number): void {
  const fits = [width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= MAX_MAP_SIDE);
  if (fits && width * height <= MAX_MAP_PIXELS) return;
  throw invalid(
    `A map has at most ${MAX_MAP_SIDE} pixels along a side and ${MAX_MAP_PIXELS} in all; ${width}×${height} is not made.`,
  );
}

/** What a map was made of. Null values: no tile. */
interface MapOrigin {
  /** Creation time of its newest tile. */
  readonly createdAt: number | null;
  readonly outcome: CacheOutcome | null;
  readonly zoom: number | null;
  /** Whether a tile is a stand-in, stretched from a lower zoom. */
  readonly standIn: boolean;
  /** The warning of one of its tiles. */
  readonly warning: string | null;
}

/** Worst first: a map has the outcome of its worst tile. */
const OUTCOMES: readonly CacheOutcome[] = ['STALE', 'BYPASS', 'MISS', 'HIT'];
const READS_AT_ONCE = 16;

/** Reads the tiles of a map with limited concurrency, and sums up their metadata. */
function createMapReading(pipeline: Pick<TilePipeline, 'read'>, signal: AbortSignal) {
  const outcomes = new Set<CacheOutcome>();
  let newest: number | null = null;
  let deepest: number | null = null;
  let stretched = false;
  let firstWarning: string | null = null;
  // Each concurrent read adds a listener, and callers may add more.
  setMaxListeners(2 * READS_AT_ONCE, signal);

  async function readTile(tiles: ResolvedTileSet, tile: TileIndex): Promise<Buffer> {
    const {
      bytes,
      createdAt,
      outcome,
      standIn = false,
      warning = null,
    } = await pipeline.read(tiles, tile, signal);
    stretched ||= standIn;
    firstWarning ??= warning;
    outcomes.add(outcome);
    deepest = Math.max(deepest ?? tile.z, tile.z);
    newest = Math.max(newest ?? createdAt, createdAt);
    return bytes;
  }

  return {
    summary(): MapOrigin {
      const outcome = OUTCOMES.find((one) => outcomes.has(one)) ?? null;
      return { zoom: deepest, createdAt: newest, outcome, standIn: stretched, warning: firstWarning };
    },
    async readTiles(
      tiles: ResolvedTileSet,
      z: number,
      positions: readonly TilePosition[],
    ): Promise<readonly Buffer[]> {
      const bytes = new Array<Buffer>(positions.length);
      await withConcurrency(positions.entries(), READS_AT_ONCE, async ([index, { x, y }]) => {
        signal.throwIfAborted();
        bytes[index] = await readTile(tiles, { z, x, y });
      });
      return bytes;
    },
  };
}
