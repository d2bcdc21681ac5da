import { decodeImage, type RasterImage } from './decode-image.ts';
import { encodeImage } from './encode-image.ts';

export interface ImageDifference {
  /** Largest difference of a channel, 0 to 255, with colours weighted by their opacity. */
  readonly largest: number;
  /** Share of pixels with a channel that differs by more than the tolerance. */
  readonly share: number;
  /** Those pixels in red, as PNG. */
  readonly marked: Buffer;
}

const MAX_PIXELS = 4096 * 4096;
/** Opaque red, 0xAABBGGRR. */
const RED = 0xff0000ff;

/** Null for pictures of different sizes. Throws `source-bad-answer` for invalid ones. */
export async function compareImages(
  one: Buffer,
  other: Buffer,
  tolerance: number,
): Promise<ImageDifference | null> {
  const [a, b] = await Promise.all(
    [one, other].map((bytes) => decodeImage(bytes, { maxPixels: MAX_PIXELS })),
  );
  if (!a || !b || a.width !== b.width || a.height !== b.height) return null;
  const marks = new Uint32Array(a.width * a.height);
  let [largest, beyond] = [0, 0];
  for (let i = 0; i < marks.length; i++) {
    const difference = pixelDifference(a, b, i * 4);
    largest = Math.max(largest, difference);
    if (difference <= tolerance) continue;
    marks[i] = RED;
    beyond++;
  }
  const marked = { ...a, pixels: Buffer.from(marks.buffer) };
  const png = await encodeImage(marked, { mediaType: 'image/png' });
  return { largest, share: beyond / marks.length, marked: png };
}

function pixelDifference({ pixels: a }: RasterImage, { pixels: b }: RasterImage, at: number): number {
  const [alphaA, alphaB] = [a[at + 3] ?? 0, b[at + 3] ?? 0];
  let largest = Math.abs(alphaA - alphaB);
  for (let i = at; i < at + 3; i++) {
    const difference = Math.abs((a[i] ?? 0) * alphaA - (b[i] ?? 0) * alphaB);
    largest = Math.max(largest, Math.round(difference / 255));
  }
  return largest;
}
