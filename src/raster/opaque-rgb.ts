import type { RasterImage } from './raster-image.ts';

/** Red, green, blue by pixel, laid on white where the image lets it through. */
export function opaqueRgb({ pixels, width, height }: RasterImage): Buffer {
  const rgb = Buffer.allocUnsafe(width * height * 3);
  for (let from = 0, to = 0; to < rgb.length; from += 4, to += 3) {
    const alpha = pixels[from + 3] ?? 0;
    if (alpha === 0xff) {
      rgb[to] = pixels[from] ?? 0;
      rgb[to + 1] = pixels[from + 1] ?? 0;
      rgb[to + 2] = pixels[from + 2] ?? 0;
      continue;
    }
    rgb[to] = onWhite(pixels[from] ?? 0, alpha);
    rgb[to + 1] = onWhite(pixels[from + 1] ?? 0, alpha);
    rgb[to + 2] = onWhite(pixels[from + 2] ?? 0, alpha);
  }
  return rgb;
}

function onWhite(value: number, alpha: number): number {
  return Math.round((value * alpha + 255 * (255 - alpha)) / 255);
}
