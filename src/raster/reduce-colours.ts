import { getOrCreate } from '../lib/get-or-create.ts';
import type { RasterImage } from './decode-image.ts';

type Colour = readonly [red: number, green: number, blue: number, alpha: number];

/** Pixels of nearly the same colour. */
interface Bucket {
  count: number;
  readonly sums: [number, number, number, number];
}

interface Box {
  readonly buckets: readonly Bucket[];
  readonly mean: Colour;
  /** The channel in which its pixels differ most, and the sum of their squared differences from the mean. */
  readonly axis: number;
  readonly spread: number;
}

const CHANNELS = [0, 1, 2, 3] as const;
/** Weights of the channels: wrong opacity is more visible than a wrong shade. */
const WEIGHTS: Colour = [1, 1, 1, 4];
/** A key has five bits each of red, green and blue, and four of alpha, where 15 is opaque. */
const KEYS = 2 ** 19;

/**
 * The same picture in at most `most` colours, counting transparent as one: the image library would round that limit up
 * to a power of two. Median cut: the box of colours that differ most is halved until there are enough. `dither`: share
 * of an error, 0 to 1, that is spread to neighbours.
 */
export function reduceColours(
  { pixels, width, height }: RasterImage,
  most: number,
  dither: number,
): RasterImage {
  const buckets = bucketsOf(pixels);
  const palette = paletteOf([...buckets.values()], most);
  const result = Buffer.alloc(pixels.length);
  const known = new Int16Array(KEYS).fill(-1);
  // Errors carried to this row and the next, with one more pixel at both ends.
  let errors = new Float32Array((width + 2) * 4);
  for (let y = 0; y < height; y++) {
    const below = new Float32Array((width + 2) * 4);
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      if (pixels[at + 3] === 0) continue;
      const wanted = CHANNELS.map((c) => clamp((pixels[at + c] ?? 0) + (errors[(x + 1) * 4 + c] ?? 0)));
      const [r = 0, g = 0, b = 0, a = 0] = wanted;
      const key = colourKey(r, g, b, a);
      if (known[key] === -1) known[key] = nearest(palette, [r, g, b, a]);
      const entry = palette[known[key] ?? 0];
      for (const c of CHANNELS) {
        const value = entry?.[c] ?? 0;
        result[at + c] = value;
        if (dither > 0) spreadError(errors, below, x * 4 + c, ((wanted[c] ?? 0) - value) * dither);
      }
    }
    errors = below;
  }
  return { pixels: result, width, height };
}

/** Floyd–Steinberg dithering. `at`: the index of the left neighbour. */
function spreadError(errors: Float32Array, below: Float32Array, at: number, error: number): void {
  errors[at + 8] = (errors[at + 8] ?? 0) + (error * 7) / 16;
  below[at] = (below[at] ?? 0) + (error * 3) / 16;
  below[at + 4] = (below[at + 4] ?? 0) + (error * 5) / 16;
  below[at + 8] = (below[at + 8] ?? 0) + error / 16;
}

function bucketsOf(pixels: Buffer): Map<number, Bucket> {
  const buckets = new Map<number, Bucket>();
  for (let at = 0; at < pixels.length; at += 4) {
    const [r = 0, g = 0, b = 0, a = 0] = [pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]];
    const key = a === 0 ? KEYS : colourKey(r, g, b, a);
    const bucket = getOrCreate(buckets, key, (): Bucket => ({ count: 0, sums: [0, 0, 0, 0] }));
    bucket.count++;
    if (a === 0) continue;
    bucket.sums[0] += r;
    bucket.sums[1] += g;
    bucket.sums[2] += b;
    bucket.sums[3] += a;
  }
  return buckets;
}

function colourKey(r: number, g: number, b: number, a: number): number {
  const alpha = a >= 255 ? 15 : Math.min(14, a >> 4);
  return ((r >> 3) << 14) | ((g >> 3) << 9) | ((b >> 3) << 4) | alpha;
}

function paletteOf(buckets: readonly Bucket[], most: number): readonly Colour[] {
  const visible = buckets.filter(({ sums }) => sums[3] > 0);
  const limit = visible.length < buckets.length ? most - 1 : most;
  const boxes = [colourBox(visible)];
  while (boxes.length < limit) {
    const widest = boxes.reduce((best, box) => (box.spread > best.spread ? box : best));
    const [low, high] = halved(widest);
    if (low.length === 0 || high.length === 0) break;
    boxes.splice(boxes.indexOf(widest), 1, colourBox(low), colourBox(high));
  }
  return boxes.map(({ mean: [r, g, b, a] }) => [
    Math.round(r),
    Math.round(g),
    Math.round(b),
    Math.max(1, Math.round(a)),
  ]);
}

function halved({ buckets, axis, mean }: Box): readonly [readonly Bucket[], readonly Bucket[]] {
  const isLow = ({ sums, count }: Bucket) => (sums[axis] ?? 0) / count <= (mean[axis] ?? 0);
  return [buckets.filter(isLow), buckets.filter((bucket) => !isLow(bucket))];
}

function colourBox(buckets: readonly Bucket[]): Box {
  const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const mean = CHANNELS.map((c) => buckets.reduce((sum, { sums }) => sum + sums[c], 0) / count);
  const spreads = CHANNELS.map(
    (c) =>
      buckets.reduce((sum, one) => sum + one.count * (one.sums[c] / one.count - (mean[c] ?? 0)) ** 2, 0) *
      WEIGHTS[c],
  );
  const spread = Math.max(...spreads);
  const [r = 0, g = 0, b = 0, a = 0] = mean;
  return { buckets, mean: [r, g, b, a], axis: spreads.indexOf(spread), spread };
}

function nearest(palette: readonly Colour[], colour: Colour): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, entry] of palette.entries()) {
    let distance = 0;
    for (const c of CHANNELS) distance += (entry[c] - colour[c]) ** 2 * WEIGHTS[c];
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

function clamp(value: number): number {
  return Math.min(255, Math.max(0, Math.round(value)));
}
