import { webcrypto } from 'node:crypto';
import type { Bounds } from '../domain/bounds.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { type Colour, encodeMap } from '../raster/encode-map.ts';
import { emptyImage, layOver, placeImage } from '../raster/place-image.ts';
import type { RasterImage } from '../raster/raster-image.ts';
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

export interface ComposedMap extends MapOrigin {
  readonly bytes: Buffer;
  /** The same bytes have the same. */
  readonly digest: string;
}

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
/** Rows of tiles, of all maps together: whoever answers hits needs a core meanwhile. */
const DECODES_AT_ONCE = 1;
/**
 * Rows of source pixels that are worked on at a time: the main thread copies them in one turn. Between two bands a
 * caller who has gone is noticed.
 */
const SOURCE_ROWS_PER_BAND = 128;

/** Makes pictures of any place and size from tiles; pixels are worked on by the image library, off the main thread. */
export function createMapComposer(pipeline: Pick<TilePipeline, 'read'>): MapComposer {
  const small = new Semaphore(SMALL_AT_ONCE, { maxWaiting: MAX_WAITING });
  const large = new Semaphore(LARGE_AT_ONCE, { maxWaiting: MAX_WAITING });
  const decoding = new Semaphore(DECODES_AT_ONCE);

  return {
    async compose(request) {
      const { width, height, format, background, signal } = request;
      checkMapSize(width, height);
      return await inTurn(width * height > SMALL_MAP_PIXELS ? large : small, signal, async () => {
        const reading = new MapReading({ pipeline, decoding, signal });
        const picture = await stack(request, reading);
        const bytes = await encodeMap(picture, format, background);
        return { bytes, digest: await digestOf(bytes), ...reading.summary() };
      });
    },
  };
}

/** Off the main thread: a large map is tens of megabytes. */
async function digestOf(bytes: Buffer): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-1', bytes)).toString('hex');
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

async function stack(request: MapRequest, reading: MapReading): Promise<RasterImage> {
  const { width, height, signal } = request;
  const picture = emptyImage(width, height);
  const plans = request.layers.flatMap((tiles) => {
    const plan = planMap(tiles.subset, request);
    return plan ? [{ show: reading.follow(tiles, plan), scale: plan.down.scale }] : [];
  });
  const rows = Math.max(
    1,
    Math.floor(SOURCE_ROWS_PER_BAND / Math.max(1, ...plans.map(({ scale }) => scale))),
  );
  for (let top = 0; top < height && plans.length > 0; top += rows) {
    const band = { top, width, height: Math.min(rows, height - top) };
    let drawn: RasterImage | null = null;
    for (const { show } of plans) {
      signal.throwIfAborted();
      const layer = await show(band);
      drawn = drawn && layer ? await layOver(drawn, layer) : (layer ?? drawn);
    }
    if (drawn) placeImage(picture, drawn, 0, top);
  }
  return picture;
}
