import type { Sharp } from 'sharp';
import { Pixels } from '../../packages/pixels/pixels.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type Encoding, encodingOf } from '../domain/format.ts';
import {
  copyPart,
  type ImagePart,
  imageLibrary,
  type RasterImage,
  type Samples,
  samplesOf,
} from './decode-image.ts';
import { reduceColours } from './reduce-colours.ts';
import { isOpaque } from './single-colour.ts';

const JPEG_BACKGROUND = '#ffffff';

export const JPEG_QUALITY = 80;
/** Colours of a palette. */
const MAX_COLOURS = 256;

/** Bytes of WebAssembly memory that are reused for the next picture; larger memory is freed. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024;
let held: Pixels | null = null;

export type ImageWriter = (image: Sharp, encoding: Encoding) => Sharp;

/** Settings of the image library by format; docs/decisions/0192-pixels-in-webassembly.md has their cost. */
export const WRITERS: Readonly<Record<string, ImageWriter>> = {
  'image/png8': (image, { dither = 0 }) => image.png({ palette: true, effort: 1, dither }),
  'image/jpeg': (image, { quality = JPEG_QUALITY }) => image.jpeg({ quality, optimiseCoding: false }),
  'image/webp': (image, { quality = 80, lossless = false }) => image.webp({ quality, lossless, effort: 2 }),
  'image/avif': (image, { quality = 50, lossless = false }) => image.avif({ quality, lossless, effort: 1 }),
  'image/gif': (image) => image.gif({ effort: 4, dither: 0 }),
};

/** Encodes a single small picture. Tiles are encoded by `MetatileCutter`. */
export async function encodeImage(image: RasterImage, format: Encoding): Promise<Buffer> {
  const { width, height } = image;
  const part = { left: 0, top: 0, width, height };
  const encoding = encodingOf(format, () => isOpaque(samplesOf(image), part));
  return (
    (isPng(encoding.mediaType) && wholePng(image, part, encoding)) ||
    (await writePart(samplesOf(image), part, encoding))
  );
}

export function isPng(mediaType: string): boolean {
  return mediaType === 'image/png' || mediaType === 'image/png8' || mediaType === 'image/png24';
}

/** Memory for pictures that a thread uses synchronously, shared because new memory for each is slow to collect. */
export function heldPixels(): Pixels {
  if (!held || held.bytes > MAX_HELD_BYTES) held = new Pixels();
  return held;
}

function wholePng(image: RasterImage, part: ImagePart, encoding: Encoding): Buffer | null {
  const pixels = heldPixels();
  pixels.load(image, part.width, part.height);
  return encodePng(pixels, part, pixels.index(part), encoding);
}

/** `colours`: the value of `index` for this part, called last. Null if they are too many for the format. */
export function encodePng(
  pixels: Pixels,
  part: ImagePart,
  colours: number,
  { mediaType, colors = MAX_COLOURS }: Encoding,
): Buffer | null {
  if (mediaType !== 'image/png24' && colours > 0 && colours <= colors)
    return pixels.indexedPng(part, colours);
  return mediaType === 'image/png8' ? null : pixels.trueColourPng(part);
}

/** Encodes by the image library, on its threads; transparent pixels become white in a JPEG. */
export async function writePart(samples: Samples, part: ImagePart, encoding: Encoding): Promise<Buffer> {
  const { mediaType, colors = MAX_COLOURS, dither = 0 } = encoding;
  const write = WRITERS[mediaType];
  if (mediaType === 'image/png8' && colors < MAX_COLOURS && samples.channels === 4) {
    const { data: pixels, width, height } = copyPart(samples, part);
    const reduced = reduceColours({ pixels, width, height }, colors, dither);
    const png = wholePng(reduced, { left: 0, top: 0, width, height }, encoding);
    if (png) return png;
  }
  if (!write) throw new TilewardenError('format-unknown', `Images are not made as ${mediaType}.`);
  const { data, width, height, channels } = samples;
  const sharp = await imageLibrary();
  const whole = sharp(data, { raw: { width, height, channels } });
  const cut = part.width === width && part.height === height ? whole : whole.extract(part);
  const flat =
    mediaType === 'image/jpeg' && channels === 4 ? cut.flatten({ background: JPEG_BACKGROUND }) : cut;
  return await write(flat, encoding).toBuffer();
}
