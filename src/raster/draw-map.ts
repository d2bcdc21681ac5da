import { createHash } from 'node:crypto';
import { applyMask } from '../domain/area-mask.ts';
import type { Format } from '../domain/format.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { refuseImage } from './check-structure.ts';
import { imageLibrary, type RasterImage } from './decode-image.ts';
import { type Colour, encodeMap } from './encode-map.ts';
import { type ResampleAxis, reachOf, resampleImage } from './resample-image.ts';
import {
  type DecodeTiles,
  type ShowBand,
  type TilePosition,
  type WarpedLayer,
  warpLayer,
} from './warp-layer.ts';

// Draws a map from tiles, band by band from the top down: tiles are decoded a row at a time, resampled or warped to the
// pixels of the map, and the layers laid over each other.

/** The part of one side of a map that tiles cover. */
export interface MapAxis extends ResampleAxis {
  /** The first covered pixel of the map; `origin` is its position in the tiles, `length` the count of covered pixels. */
  readonly first: number;
}

export interface MapLayer {
  readonly across: MapAxis;
  readonly down: MapAxis;
  /** Size of a tile in pixels. */
  readonly width: number;
  readonly height: number;
  readonly rect: TileRect;
}

export interface MapDrawing {
  /** From bottom to top. Without layers the picture is empty. */
  readonly layers: readonly (MapLayer | WarpedLayer)[];
  readonly width: number;
  readonly height: number;
  readonly format: Format;
  /** Shown where the layers are transparent; null for transparency. */
  readonly background: Colour | null;
  /** An `AreaMask` of the part that is shown; absent: all of it. */
  readonly mask?: Uint8Array;
}

export interface DrawnMap {
  readonly bytes: Buffer;
  /** SHA-1 of the bytes. */
  readonly digest: string;
}

/** Returns encoded tiles in the order of `tiles`; `layer` is an index of `layers`. */
export type ReadTiles = (layer: number, tiles: readonly TilePosition[]) => Promise<readonly Buffer[]>;

/** Rejects with an error of `read`, or with the reason of an abort, which is checked between bands. */
export type DrawMap = (drawing: MapDrawing, read: ReadTiles, signal: AbortSignal) => Promise<DrawnMap>;

/** Rows of tiles decoded concurrently for all maps together: one core stays free to serve hits. */
const DECODES_AT_ONCE = 1;
/** Rows of source pixels in a band. */
const SOURCE_ROWS_PER_BAND = 128;
const BYTES_PER_PIXEL = 4;

/** Draws on the calling thread and blocks it for milliseconds at a time. `openMapThread` uses another thread. */
export function createMapDrawer(): DrawMap {
  const decoding = new Semaphore(DECODES_AT_ONCE);
  return async (drawing, read, signal) => {
    const shows = drawing.layers.map((layer, at) => {
      const rim = 'across' in layer ? reachOf(layer.across.scale) : 0;
      const decode = async (tiles: readonly TilePosition[]) => {
        const encoded = await read(at, tiles);
        return await decoding.during(() => decodeStrip(encoded, layer, rim), signal);
      };
      return 'across' in layer ? resampleLayer(layer, decode) : warpLayer(layer, drawing, decode, signal);
    });
    const picture = await drawBands(drawing, shows, signal);
    if (drawing.mask) applyMask(picture.pixels, drawing.mask);
    const bytes = await encodeMap(picture, drawing.format, drawing.background);
    return { bytes, digest: createHash('sha1').update(bytes).digest('hex') };
  };
}

async function drawBands(
  { width, height, layers }: MapDrawing,
  shows: readonly ShowBand[],
  signal: AbortSignal,
): Promise<RasterImage> {
  const picture = emptyImage(width, height);
  const scale = Math.max(1, ...layers.map((layer) => ('down' in layer ? layer.down.scale : 1)));
  const rows = Math.max(1, Math.floor(SOURCE_ROWS_PER_BAND / scale));
  for (let top = 0; top < height && shows.length > 0; top += rows) {
    const band = { top, width, height: Math.min(rows, height - top) };
    let drawn: RasterImage | null = null;
    for (const show of shows) {
      signal.throwIfAborted();
      const layer = await show(band);
      drawn = drawn && layer ? await layOver(drawn, layer) : (layer ?? drawn);
    }
    if (drawn) placeImage(picture, drawn, 0, top);
  }
  return picture;
}

function resampleLayer(layer: MapLayer, decode: DecodeTiles): ShowBand {
  const strips = new Map<number, RasterImage>();
  const { across, down } = layer;
  return async (band) => {
    const first = Math.max(band.top, down.first);
    const end = Math.min(band.top + band.height, down.first + down.length);
    if (first >= end) return null;
    const origin = down.origin + (first - down.first) * down.scale;
    const reach = reachOf(down.scale);
    const from = Math.floor(origin) - reach;
    const to = Math.ceil(origin + (end - first) * down.scale) + reach;
    const part = await resampleImage(
      await readPixelRows(layer, { from, to }, strips, decode),
      { ...across, origin: across.origin + reachOf(across.scale) },
      { scale: down.scale, length: end - first, origin: origin - from },
    );
    if (part.width === band.width && part.height === band.height) return part;
    const whole = emptyImage(band.width, band.height);
    placeImage(whole, part, across.first, first - band.top);
    return whole;
  };
}

/** Rows beyond the tiles repeat the outermost one, so that interpolation leaves the edge opaque. */
async function readPixelRows(
  { height, rect }: MapLayer,
  { from, to }: { readonly from: number; readonly to: number },
  strips: Map<number, RasterImage>,
  decode: DecodeTiles,
): Promise<RasterImage> {
  const rows = rect.maxY - rect.minY + 1;
  const tilesOf = (strip: number) =>
    Array.from({ length: rect.maxX - rect.minX + 1 }, (_, x) => ({ x: rect.minX + x, y: rect.minY + strip }));
  const clampRow = (row: number) => Math.min(Math.max(row, 0), rows * height - 1);
  const stripOf = (row: number) => Math.floor(clampRow(row) / height);
  for (const known of strips.keys()) if (known < stripOf(from)) strips.delete(known);
  for (let strip = stripOf(from); strip <= stripOf(to - 1); strip++) {
    if (!strips.has(strip)) strips.set(strip, await decode(tilesOf(strip)));
  }
  const pixels: Buffer[] = [];
  let width = 0;
  for (let row = from; row < to; row++) {
    const strip = strips.get(stripOf(row));
    if (!strip) continue;
    ({ width } = strip);
    const start = (clampRow(row) % height) * width * BYTES_PER_PIXEL;
    pixels.push(strip.pixels.subarray(start, start + width * BYTES_PER_PIXEL));
  }
  return { width, height: pixels.length, pixels: Buffer.concat(pixels) };
}

/**
 * Decodes tiles side by side as one picture, with the outermost columns repeated `rim` times. A single call of the image
 * library, which works on its own threads: a call for each tile would cost this thread more than copying. Throws
 * `source-bad-answer` if a tile cannot be decoded or has another size.
 */
export async function decodeStrip(
  tiles: readonly Buffer[],
  { width, height }: Pick<RasterImage, 'width' | 'height'>,
  rim: number,
): Promise<RasterImage> {
  const options = { failOn: 'warning', limitInputPixels: width * height } as const;
  const [first] = tiles;
  const sharp = await imageLibrary();
  const image =
    tiles.length === 1
      ? sharp(first, options)
      : sharp([...tiles], { ...options, join: { across: tiles.length } });
  const { data, info } = await image
    .pipelineColourspace('srgb')
    .toColourspace('srgb')
    .ensureAlpha()
    .extend({ left: rim, right: rim, extendWith: 'copy' })
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
    .catch((error: unknown) => {
      throw refuseImage('truncated', error);
    });
  if (info.width !== width * tiles.length + 2 * rim || info.height !== height) {
    throw refuseImage('wrong-size', new Error(`a tile is not of ${width}×${height} pixels`));
  }
  return { width: info.width, height: info.height, pixels: data };
}

function emptyImage(width: number, height: number): RasterImage {
  return { width, height, pixels: Buffer.alloc(width * height * BYTES_PER_PIXEL) };
}

/** Copies an image into `onto`, where it must fit. */
function placeImage(onto: RasterImage, image: RasterImage, left: number, top: number): void {
  const rowBytes = image.width * BYTES_PER_PIXEL;
  if (image.width === onto.width) {
    image.pixels.copy(onto.pixels, top * rowBytes);
    return;
  }
  for (let row = 0; row < image.height; row++) {
    const to = ((top + row) * onto.width + left) * BYTES_PER_PIXEL;
    image.pixels.copy(onto.pixels, to, row * rowBytes, (row + 1) * rowBytes);
  }
}

/** `top` over `bottom`, both of the same size; on the image library's threads. */
export async function layOver(bottom: RasterImage, top: RasterImage): Promise<RasterImage> {
  const { width, height } = bottom;
  const raw = { width, height, channels: 4 } as const;
  const sharp = await imageLibrary();
  const pixels = await sharp(bottom.pixels, { raw })
    .composite([{ input: top.pixels, raw }])
    .raw()
    .toBuffer();
  return { width, height, pixels };
}
