import type { RasterImage } from './raster-image.ts';

/**
 * One number a pixel, 0xAABBGGRR: every platform Node.js runs our image library on is little-endian.
 * Shares memory with the image where alignment allows.
 */
export function pixelWords(image: RasterImage): Uint32Array {
  const { pixels, width, height } = image;
  const aligned = pixels.byteOffset % 4 === 0 ? pixels : Buffer.from(new Uint8Array(pixels).buffer);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, width * height);
}
