import type { ImagePart, Samples } from './decode-image.ts';

const OPAQUE = 0xff;

/** The colour of a part with only one, 0xAABBGGRR, else null. All fully transparent pixels count as the colour 0. */
export function singleColour(samples: Samples, part: ImagePart): number | null {
  const colour = colourAt(samples, part.left, part.top);
  if (colour >>> 24 === 0) return isTransparent(samples, part) ? 0 : null;
  const { data, channels } = samples;
  const [start, end] = pixelRow(samples, part, 0);
  // A row of one colour equals itself shifted by a pixel; Buffer.compare is native code.
  if (data.compare(data, start + channels, end, start, end - channels) !== 0) return null;
  for (let row = 1; row < part.height; row++) {
    const [from, to] = pixelRow(samples, part, row);
    if (data.compare(data, start, end, from, to) !== 0) return null;
  }
  return colour;
}

/** 0 if all pixels of the part are transparent; null otherwise. */
export function transparentColour(samples: Samples, part: ImagePart): 0 | null {
  const first = colourAt(samples, part.left, part.top);
  return first >>> 24 === 0 && isTransparent(samples, part) ? 0 : null;
}

/** 0 for a transparent colour, whatever its other channels. */
export function visible(colour: number): number {
  return colour >>> 24 === 0 ? 0 : colour;
}

/** The colour of a pixel, 0xAABBGGRR. */
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
