import type { Sharp } from 'sharp';
import { Pixels } from '../../packages/pixels/pixels.ts';
import { TilewardenError } from '../domain/errors.ts';
import { encodingOf, type Format } from '../domain/format.ts';
import { imageLibrary } from './decode-image.ts';
import { type ImagePart, type RasterImage, type Samples, samplesOf } from './raster-image.ts';
import { isOpaque } from './single-colour.ts';

const OPAQUE_GROUND = '#ffffff';

export const JPEG_QUALITY = 80;

/** Bytes for pixels that are held from one picture to the next; more is given back. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024;
let held: Pixels | null = null;

export type ImageWriter = (image: Sharp) => Sharp;

/** What the image library writes. The settings and their cost are in docs/decisions/0192-pixels-in-webassembly.md. */
export const WRITERS: Readonly<Record<string, ImageWriter>> = {
  'image/png8': (image) => image.png({ palette: true, effort: 1, dither: 0 }),
  'image/jpeg': (image) => image.jpeg({ quality: JPEG_QUALITY, optimiseCoding: false }),
  'image/webp': (image) => image.webp({ quality: 80, effort: 2 }),
  'image/gif': (image) => image.gif({ effort: 4, dither: 0 }),
};

/** A picture in a format of ours; for few and small ones, tiles are made by `MetatileCutter`. */
export async function encodeImage(image: RasterImage, format: Pick<Format, 'mediaType'>): Promise<Buffer> {
  const { width, height } = image;
  const part = { left: 0, top: 0, width, height };
  const mediaType = encodingOf(format.mediaType, () => isOpaque(samplesOf(image), part));
  return (
    (isPng(mediaType) && wholePng(image, part, mediaType)) ||
    (await writePart(samplesOf(image), part, mediaType))
  );
}

export function isPng(mediaType: string): boolean {
  return mediaType === 'image/png' || mediaType === 'image/png8' || mediaType === 'image/png24';
}

/** All pictures share one memory, as this does not wait: a new one for each keeps the garbage collector busy. */
function wholePng(image: RasterImage, part: ImagePart, mediaType: string): Buffer | null {
  if (!held || held.bytes > MAX_HELD_BYTES) held = new Pixels();
  held.load(image, part.width, part.height);
  return encodePng(held, part, held.index(part), mediaType);
}

/** `colours`: of the part, which was indexed last. Null: there are too many for the format. */
export function encodePng(
  pixels: Pixels,
  part: ImagePart,
  colours: number,
  mediaType: string,
): Buffer | null {
  if (mediaType !== 'image/png24' && colours > 0) return pixels.indexedPng(part, colours);
  return mediaType === 'image/png8' ? null : pixels.trueColourPng(part);
}

/** By the image library, off this thread; transparent pixels become white in a JPEG. */
export async function writePart(samples: Samples, part: ImagePart, mediaType: string): Promise<Buffer> {
  const write = WRITERS[mediaType];
  if (!write) throw new TilewardenError('format-unknown', `Images are not made as ${mediaType}.`);
  const { data, width, height, channels } = samples;
  const sharp = await imageLibrary();
  const whole = sharp(data, { raw: { width, height, channels } });
  const cut = part.width === width && part.height === height ? whole : whole.extract(part);
  const flat =
    mediaType === 'image/jpeg' && channels === 4 ? cut.flatten({ background: OPAQUE_GROUND }) : cut;
  return await write(flat).toBuffer();
}
