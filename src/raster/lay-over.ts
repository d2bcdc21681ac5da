import sharp from 'sharp';
import type { RasterImage } from './raster-image.ts';

/** `top` on `bottom`, both of one size; off the main thread. */
export async function layOver(bottom: RasterImage, top: RasterImage): Promise<RasterImage> {
  const { width, height } = bottom;
  const raw = { width, height, channels: 4 } as const;
  const pixels = await sharp(bottom.pixels, { raw })
    .composite([{ input: top.pixels, raw }])
    .raw()
    .toBuffer();
  return { width, height, pixels };
}
