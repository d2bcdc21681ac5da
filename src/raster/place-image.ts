import { imageLibrary } from './decode-image.ts';
import type { RasterImage } from './raster-image.ts';

const BYTES_PER_PIXEL = 4;

export function emptyImage(width: number, height: number): RasterImage {
  return { width, height, pixels: Buffer.alloc(width * height * BYTES_PER_PIXEL) };
}

/** Copies an image into another, which is changed; it must fit there. */
export function placeImage(onto: RasterImage, image: RasterImage, left: number, top: number): void {
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

/** `top` on `bottom`, both of one size; off the main thread. */
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
