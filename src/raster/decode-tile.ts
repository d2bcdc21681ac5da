import { readOrdinaryPng } from '../../packages/pixels/ordinary-png.ts';
import { recogniseImage } from './check-structure.ts';
import { decodeImage } from './decode-image.ts';
import { heldPixels } from './encode-image.ts';

/** Limit of pictures that are decoded on this thread: two milliseconds of work. */
const MAX_PIXELS = 512 * 512;

/** A picture of exactly this size as RGBA. Small PNG take a tenth of the time that the image library needs for them. */
export async function decodeTile(
  bytes: Buffer,
  size: { readonly width: number; readonly height: number },
): Promise<Buffer> {
  const { width, height } = size;
  const maxPixels = width * height;
  const isSmallPng = maxPixels <= MAX_PIXELS && recogniseImage(bytes) === 'image/png';
  const png = isSmallPng ? readOrdinaryPng(bytes, width, height) : null;
  const held = heldPixels();
  if (png && held.loadPng(png, width, height)) return Buffer.from(held.samples.data);
  return (await decodeImage(bytes, { maxPixels, size })).pixels;
}
