import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RasterImage } from './raster-image.ts';

/** Red, green, blue. */
export type Colour = readonly [number, number, number];

const BYTES_PER_PIXEL = 4;
const PIXELS_PER_TURN = 400_000;

/** Draws `top` on `bottom`, which is changed; both are of one size. */
export async function layOver(bottom: RasterImage, top: RasterImage): Promise<void> {
  await inTurns(bottom, (from, to) => {
    for (let i = from; i < to; i += BYTES_PER_PIXEL) {
      const above = top.pixels[i + 3] ?? 0;
      if (above === 0) continue;
      blend(bottom.pixels, i, top.pixels, above);
    }
  });
}

/** Fills what one can see through; the picture is changed. */
export async function layOnColour({ width, height, pixels }: RasterImage, colour: Colour): Promise<void> {
  await inTurns({ width, height }, (from, to) => {
    for (let i = from; i < to; i += BYTES_PER_PIXEL) {
      const alpha = pixels[i + 3] ?? 0;
      if (alpha === 255) continue;
      for (let channel = 0; channel < 3; channel++) {
        const value = (pixels[i + channel] ?? 0) * alpha + (colour[channel] ?? 0) * (255 - alpha);
        pixels[i + channel] = Math.round(value / 255);
      }
      pixels[i + 3] = 255;
    }
  });
}

function blend(below: Buffer, i: number, above: Buffer, alpha: number): void {
  const left = ((below[i + 3] ?? 0) * (255 - alpha)) / 255;
  const total = alpha + left;
  for (let channel = 0; channel < 3; channel++) {
    const value = (above[i + channel] ?? 0) * alpha + (below[i + channel] ?? 0) * left;
    below[i + channel] = Math.round(value / total);
  }
  below[i + 3] = Math.round(total);
}

async function inTurns(
  { width, height }: Pick<RasterImage, 'width' | 'height'>,
  work: (from: number, to: number) => void,
): Promise<void> {
  const end = width * height * BYTES_PER_PIXEL;
  const step = PIXELS_PER_TURN * BYTES_PER_PIXEL;
  for (let from = 0; from < end; from += step) {
    work(from, Math.min(from + step, end));
    if (from + step < end) await nextTurn();
  }
}
