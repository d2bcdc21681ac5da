import type { Samples } from './raster-image.ts';
import { colourAt, singleColour } from './single-colour.ts';

export type Side = 'top' | 'right' | 'bottom' | 'left';

/** What is remembered of a picture to tell whether its neighbours go on from it. */
export interface PictureLook {
  /** 0xAABBGGRR when all of it is of one colour; null otherwise. */
  readonly colour: number | null;
  /** Colours along each edge, roughly, each once. */
  readonly edges: Readonly<Record<Side, Uint16Array>>;
}

/** Without the gutter, which shows what belongs to the neighbours. */
export function lookAt(picture: Samples, gutter: number): PictureLook {
  const { width, height } = picture;
  const [right, bottom] = [width - 1 - gutter, height - 1 - gutter];
  const along = (x: number, y: number, dx: 0 | 1, count: number) =>
    coloursAlong(count, (i) => colourAt(picture, x + i * dx, y + i * (1 - dx)));
  return {
    colour: singleColour(picture, { left: 0, top: 0, width, height }),
    edges: {
      top: along(gutter, gutter, 1, right - gutter + 1),
      bottom: along(gutter, bottom, 1, right - gutter + 1),
      left: along(gutter, gutter, 0, bottom - gutter + 1),
      right: along(right, gutter, 0, bottom - gutter + 1),
    },
  };
}

/** Roughly, each once. */
export function coloursAlong(count: number, at: (i: number) => number): Uint16Array {
  const colours = new Set<number>();
  let last = -1;
  for (let i = 0; i < count; i++) {
    const colour = at(i);
    if (colour !== last) colours.add(roughly(colour));
    last = colour;
  }
  return Uint16Array.from(colours);
}

/** Four bits of each channel: lossy formats never hit a colour exactly. What cannot be seen is of one colour. */
export function roughly(colour: number): number {
  if (colour >>> 24 === 0) return 0;
  const high = (colour >>> 4) & 0x0f0f0f0f;
  return ((high >>> 12) & 0xf000) | ((high >>> 8) & 0xf00) | ((high >>> 4) & 0xf0) | (high & 0xf);
}
