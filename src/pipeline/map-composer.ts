import { createHash } from 'node:crypto';
import type { Bounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { drawText } from '../raster/draw-text.ts';
import { encodeImage } from '../raster/encode-image.ts';
import { type Colour, layOnColour, layOver } from '../raster/lay-over.ts';
import type { RasterImage } from '../raster/raster-image.ts';
import { resampleImage } from '../raster/resample-image.ts';
import { planMap } from './map-plan.ts';
import { type MapOrigin, MapReading } from './map-reading.ts';
import type { ResolvedTileSet, TilePipeline } from './tile-pipeline.ts';

export type { Colour };

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
  readonly signal: AbortSignal;
}

export interface ComposedMap extends MapOrigin {
  readonly bytes: Buffer;
  /** The same bytes have the same. */
  readonly digest: string;
}

/** A notice in the form of a picture. */
export interface NoticeRequest extends Pick<MapRequest, 'width' | 'height' | 'format' | 'background'> {
  readonly text: string;
}

export interface MapComposer {
  /** Throws `request-invalid` for what is too large, `source-busy`, and what reading a tile throws. */
  compose(request: MapRequest): Promise<ComposedMap>;
  /** Throws `request-invalid` for what is too large, and `source-busy`. */
  drawNotice(request: NoticeRequest): Promise<Buffer>;
}

export const MAX_MAP_SIDE = 8192;
export const MAX_MAP_PIXELS = 16 * 1024 * 1024;

/** A picture of the largest size takes 64 MiB while it is being made. */
const MAX_AT_ONCE = 2;
const MAX_WAITING = 64;

/** Makes pictures of any place and size from tiles. */
export function createMapComposer(pipeline: Pick<TilePipeline, 'read'>): MapComposer {
  const places = new Semaphore(MAX_AT_ONCE, { maxWaiting: MAX_WAITING });

  async function inTurn<Result>(
    signal: AbortSignal | undefined,
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

  async function draw(request: MapRequest): Promise<ComposedMap> {
    const reading = new MapReading(pipeline, request.signal);
    const picture = await stack(request, reading);
    return { ...(await finish(picture, request)), ...reading.summary() };
  }

  return {
    async compose(request) {
      checkMapSize(request.width, request.height);
      return await inTurn(request.signal, () => draw(request));
    },
    async drawNotice(request) {
      checkMapSize(request.width, request.height);
      return await inTurn(undefined, async () => {
        const picture = await drawText(request.text, request.width, request.height);
        return (await finish(picture, request)).bytes;
      });
    },
  };
}

/** Throws `request-invalid`. */
export function checkMapSize(width: number, height: number): void {
  const fits = [width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= MAX_MAP_SIDE);
  if (fits && width * height <= MAX_MAP_PIXELS) return;
  throw new TilewardenError(
    'request-invalid',
    `A map has at most ${MAX_MAP_SIDE} pixels along a side and ${MAX_MAP_PIXELS} in all; ${width}×${height} is not made.`,
  );
}

async function stack(request: MapRequest, reading: MapReading): Promise<RasterImage> {
  const { width, height } = request;
  let picture: RasterImage | null = null;
  for (const tiles of request.layers) {
    const plan = planMap(tiles.subset, request);
    if (!plan) continue;
    const layer = await resampleImage(reading.follow(tiles, plan));
    if (picture) await layOver(picture, layer);
    picture ??= layer;
  }
  return picture ?? { width, height, pixels: Buffer.alloc(width * height * 4) };
}

async function finish(
  picture: RasterImage,
  { format, background }: Pick<MapRequest, 'format' | 'background'>,
): Promise<Pick<ComposedMap, 'bytes' | 'digest'>> {
  if (background) await layOnColour(picture, background);
  const bytes = await encodeImage(picture, format);
  return { bytes, digest: createHash('sha1').update(bytes).digest('hex') };
}
