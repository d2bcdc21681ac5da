import { readOrdinaryPng } from '../../packages/pixels/ordinary-png.ts';
import type { Pixels } from '../../packages/pixels/pixels.ts';
import type { ClearColour } from '../domain/placed-picture.ts';
import { recogniseImage } from './check-structure.ts';
import { decodeImage } from './decode-image.ts';
import { heldPixels } from './encode-image.ts';

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Limit for decoding on the calling thread: two milliseconds of work. */
const MAX_PIXELS = 512 * 512;

/** Decodes a picture of exactly this size to RGBA; the colour `clear` becomes transparent. */
export async function decodeTile(
  bytes: Buffer,
  size: PictureSize,
  clear: ClearColour | null = null,
): Promise<Buffer> {
  const held = heldPixels();
  if (!loadSmallPng(held, bytes, size)) {
    const image = await decodeImage(bytes, { maxPixels: size.width * size.height, size });
    if (!clear) return image.pixels;
    held.load(image, 1, 1);
  }
  if (clear) held.clearColour(clear.rgb, clear.tolerance);
  return Buffer.from(held.samples.data);
}

/** Whether a picture of this size may be decoded on the calling thread. */
export function isSmallPng(bytes: Buffer, { width, height }: PictureSize): boolean {
  return width * height <= MAX_PIXELS && recogniseImage(bytes) === 'image/png';
}

/** Loads a small PNG in a tenth of the image library's time. False if it is unusual, damaged or of another size. */
export function loadSmallPng(pixels: Pixels, bytes: Buffer, size: PictureSize): boolean {
  const png = isSmallPng(bytes, size) ? readOrdinaryPng(bytes, size.width, size.height) : null;
  return png !== null && pixels.loadPng(png, 1, 1);
}
