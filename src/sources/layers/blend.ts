/** Pictures on top of each other: RGBA, not premultiplied. Colours count for as much as one can see of them. */
import type { Pace } from '../../lib/yielding.ts';

export interface ClearColour {
  readonly rgb: readonly [number, number, number];
  /** By how much each channel may differ. */
  readonly tolerance: number;
}

/** A copy in which pixels of the colour are transparent. */
export function withoutColour(picture: Buffer, { rgb: [red, green, blue], tolerance }: ClearColour): Buffer {
  const pixels = Buffer.from(picture);
  for (let i = 0; i < pixels.length; i += 4) {
    const isClear =
      Math.abs((pixels[i] ?? 0) - red) <= tolerance &&
      Math.abs((pixels[i + 1] ?? 0) - green) <= tolerance &&
      Math.abs((pixels[i + 2] ?? 0) - blue) <= tolerance;
    if (isClear) pixels.fill(0, i, i + 4);
  }
  return pixels;
}

/** Bytes: less than a millisecond of work. */
const BAND = 4 * 65_536;

/** Draws `over` on `onto`, which is changed; of the same size. */
export async function drawOver(onto: Buffer, over: Buffer, opacity: number, pace: Pace): Promise<void> {
  for (let first = 0; first < onto.length; first += BAND) {
    drawBand(onto, over, opacity, first, Math.min(first + BAND, onto.length));
    await pace(BAND);
  }
}

function drawBand(onto: Buffer, over: Buffer, opacity: number, first: number, end: number): void {
  for (let i = first; i < end; i += 4) {
    const alpha = (over[i + 3] ?? 0) * opacity;
    if (alpha === 0) continue;
    const below = ((onto[i + 3] ?? 0) * (255 - alpha)) / 255;
    const sum = alpha + below;
    onto[i] = Math.round(((over[i] ?? 0) * alpha + (onto[i] ?? 0) * below) / sum);
    onto[i + 1] = Math.round(((over[i + 1] ?? 0) * alpha + (onto[i + 1] ?? 0) * below) / sum);
    onto[i + 2] = Math.round(((over[i + 2] ?? 0) * alpha + (onto[i + 2] ?? 0) * below) / sum);
    onto[i + 3] = Math.round(sum);
  }
}
