import type { RasterImage } from './raster-image.ts';

const BYTES_PER_PIXEL = 4;

/** A copy of the given block of pixels, which must lie within the image; in `spare` where it has the right size. */
export function cutImage(
  image: RasterImage,
  left: number,
  top: number,
  width: number,
  height: number,
  spare?: Buffer,
): RasterImage {
  if (left < 0 || top < 0 || left + width > image.width || top + height > image.height) {
    throw new RangeError(
      `${width}×${height} at ${left},${top} reaches out of ${image.width}×${image.height}`,
    );
  }
  const size = width * height * BYTES_PER_PIXEL;
  const pixels = spare?.length === size ? spare : Buffer.allocUnsafe(size);
  const rowBytes = width * BYTES_PER_PIXEL;
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * image.width + left) * BYTES_PER_PIXEL;
    image.pixels.copy(pixels, row * rowBytes, start, start + rowBytes);
  }
  return { width, height, pixels };
}
