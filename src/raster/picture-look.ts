import type { ImagePart, Samples } from './raster-image.ts';

export type Side = 'top' | 'right' | 'bottom' | 'left';

/** The edges of a picture, to check whether its neighbours continue it. */
export interface PictureLook {
  /** 0xAABBGGRR when all of it is of one colour; null otherwise. */
  readonly colour: number | null;
  /** Colours along each edge, roughly, each once. */
  readonly edges: Readonly<Record<Side, Uint16Array>>;
}

/** Without the gutter, which shows what belongs to the neighbours. */
export function lookAt(picture: Samples, gutter: Readonly<Record<Side, number>>): PictureLook {
  const { width, height } = picture;
  const { left, top } = gutter;
  const [right, bottom] = [width - 1 - gutter.right, height - 1 - gutter.bottom];
  const along = (x: number, y: number, dx: 0 | 1, count: number) =>
    coloursAlong(count, (i) => colourAt(picture, x + i * dx, y + i * (1 - dx)));
  return {
    colour: singleColour(picture, { left: 0, top: 0, width, height }),
    edges: {
      top: along(left, top, 1, right - left + 1),
      bottom: along(left, bottom, 1, right - left + 1),
      left: along(left, top, 0, bottom - top + 1),
      right: along(right, top, 0, bottom - top + 1),
    },
  };
}

/** `edges`: the colour of each pixel along them. */
export function lookAlong(
  colour: number | null,
  { top, right, bottom, left }: Readonly<Record<Side, Uint32Array>>,
): PictureLook {
  const along = (line: Uint32Array) => coloursAlong(line.length, (i) => line[i] ?? 0);
  return {
    colour,
    edges: { top: along(top), bottom: along(bottom), left: along(left), right: along(right) },
  };
}

/** Roughly, each once. */
function coloursAlong(count: number, at: (i: number) => number): Uint16Array {
  const colours = new Set<number>();
  let last = -1;
  for (let i = 0; i < count; i++) {
    const colour = at(i);
    if (colour !== last) colours.add(roughly(colour));
    last = colour;
  }
  return Uint16Array.from(colours);
}

/** Four bits of each channel: lossy formats never hit a colour exactly. Transparent pixels are all of one colour. */
export function roughly(colour: number): number {
  if (colour >>> 24 === 0) return 0;
  const high = (colour >>> 4) & 0x0f0f0f0f;
  return ((high >>> 12) & 0xf000) | ((high >>> 8) & 0xf00) | ((high >>> 4) & 0xf0) | (high & 0xf);
}

const OPAQUE = 0xff;

/**
 * The one colour of all pixels of a part as 0xAABBGGRR, or null. Fully transparent pixels are of one colour, 0,
 * whatever their other channels.
 */
export function singleColour(samples: Samples, part: ImagePart): number | null {
  const colour = colourAt(samples, part.left, part.top);
  if (colour >>> 24 === 0) return isTransparent(samples, part) ? 0 : null;
  const { data, channels } = samples;
  const [start, end] = pixelRow(samples, part, 0);
  // A row of one colour is the same when moved by a pixel; bytes are compared by the machine.
  if (data.compare(data, start + channels, end, start, end - channels) !== 0) return null;
  for (let row = 1; row < part.height; row++) {
    const [from, to] = pixelRow(samples, part, row);
    if (data.compare(data, start, end, from, to) !== 0) return null;
  }
  return colour;
}

/** 0 when the part begins transparent and goes on so; null otherwise. */
export function transparentColour(samples: Samples, part: ImagePart): 0 | null {
  const first = colourAt(samples, part.left, part.top);
  return first >>> 24 === 0 && isTransparent(samples, part) ? 0 : null;
}

/** Transparent pixels have no colour of their own. */
export function visible(colour: number): number {
  return colour >>> 24 === 0 ? 0 : colour;
}

/** 0xAABBGGRR. */
function colourAt({ data, channels, width }: Samples, x: number, y: number): number {
  const at = (y * width + x) * channels;
  const alpha = channels === 4 ? (data[at + 3] ?? 0) : OPAQUE;
  return (
    (((data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16)) + alpha * 2 ** 24) >>> 0
  );
}

function isTransparent(samples: Samples, part: ImagePart): boolean {
  for (let row = 0; row < part.height; row++) {
    const [from, to] = pixelRow(samples, part, row);
    for (let at = from + 3; at < to; at += 4) if (samples.data[at] !== 0) return false;
  }
  return true;
}

export function isOpaque(samples: Samples, part: ImagePart): boolean {
  if (samples.channels === 3) return true;
  for (let row = 0; row < part.height; row++) {
    const [from, to] = pixelRow(samples, part, row);
    for (let at = from + 3; at < to; at += 4) if (samples.data[at] !== OPAQUE) return false;
  }
  return true;
}

function pixelRow({ width, channels }: Samples, part: ImagePart, row: number): [start: number, end: number] {
  const start = ((part.top + row) * width + part.left) * channels;
  return [start, start + part.width * channels];
}
