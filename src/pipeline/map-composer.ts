import type { Bounds } from '../domain/bounds.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { createMapDrawer, type DrawMap, type DrawnMap } from '../raster/draw-map.ts';
import type { Colour } from '../raster/encode-map.ts';
import { planMap } from './map-plan.ts';
import { type MapOrigin, MapReading } from './map-reading.ts';
import type { ResolvedTileSet, TilePipeline } from './tile-pipeline.ts';

export interface MapRequest {
  /** The first at the bottom; all in one CRS. None makes an empty picture. */
  readonly layers: readonly ResolvedTileSet[];
  /** In the units of that CRS, x before y. */
  readonly bounds: Bounds;
  readonly width: number;
  readonly height: number;
  /** Of the picture that is answered. */
  readonly format: Format;
  /** What shows where the layers are transparent; null: nothing. */
  readonly background: Colour | null;
  /** Ends the work, also while it waits for its turn. */
  readonly signal: AbortSignal;
}

export interface ComposedMap extends MapOrigin, DrawnMap {}

export interface MapComposer {
  /** Throws `request-invalid` for what is too large, `source-busy`, and what reading a tile throws. */
  compose(request: MapRequest): Promise<ComposedMap>;
}

export const MAX_MAP_SIDE = 8192;
export const MAX_MAP_PIXELS = 16 * 1024 * 1024;

/** Maps up to this size have places of their own: who looks at a screen does not wait for who prints a poster. */
const SMALL_MAP_PIXELS = 2 * 1024 * 1024;
/** A picture of the largest size takes 64 MiB while it is being made, and as much again while it is encoded. */
const LARGE_AT_ONCE = 1;
const SMALL_AT_ONCE = 2;
const MAX_WAITING = 64;

/** Makes pictures of any place and size from tiles. `draw` works on the pixels, on a thread of its own in a server. */
export function createMapComposer(
  pipeline: Pick<TilePipeline, 'read'>,
  draw: DrawMap = createMapDrawer(),
): MapComposer {
  const small = new Semaphore(SMALL_AT_ONCE, { maxWaiting: MAX_WAITING });
  const large = new Semaphore(LARGE_AT_ONCE, { maxWaiting: MAX_WAITING });

  return {
    async compose(request) {
      const { width, height, format, background, signal } = request;
      checkMapSize(width, height);
      return await inTurn(width * height > SMALL_MAP_PIXELS ? large : small, signal, async () => {
        const reading = new MapReading(pipeline, signal);
        const planned = request.layers.flatMap((tiles) => {
          const plan = planMap(tiles.subset, request);
          return plan ? [{ ...plan, readRow: (row: number) => reading.readRow(tiles, plan, row) }] : [];
        });
        const layers = planned.map(({ layer }) => layer);
        const readRow = async (layer: number, row: number) => (await planned[layer]?.readRow(row)) ?? [];
        const drawn = await draw({ layers, width, height, format, background }, readRow, signal);
        return { ...drawn, ...reading.summary() };
      });
    },
  };
}

/** Throws `source-busy` when too many wait already. */
export async function inTurn<Result>(
  places: Semaphore,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  if (places.full) {
    throw new TilewardenError('source-busy', 'Too many maps are being composed.', { retryAfterSeconds: 5 });
  }
  const leave = await places.acquire(signal);
  try {
    return await work();
  } finally {
    leave();
  }
}

/** Throws `request-invalid`. */
export function checkMapSize(width: number, height: number): void {
  const fits = [width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= MAX_MAP_SIDE);
  if (fits && width * height <= MAX_MAP_PIXELS) return;
  throw invalid(
    `A map has at most ${MAX_MAP_SIDE} pixels along a side and ${MAX_MAP_PIXELS} in all; ${width}×${height} is not made.`,
  );
}
