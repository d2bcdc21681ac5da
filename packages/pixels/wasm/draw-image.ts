import { CANVAS, IMAGE } from './areas';

/** A mask of the alpha bytes of four pixels. */
const ALPHAS: usize = memory.data<u32>([0xff000000, 0xff000000, 0xff000000, 0xff000000], 16);

/** Makes the image's pixels transparent that differ by at most `tolerance` in each channel from 0x00BBGGRR. */
export function clearColour(pixels: i32, colour: u32, tolerance: u8): void {
  const wanted = i32x4.splat(colour | 0xff000000);
  const limits = i8x16.splat(tolerance);
  const alphas = v128.load(ALPHAS);
  const end = IMAGE + ((<usize>pixels) << 2);
  // The last step may clear bytes of the margin behind the image, which is unused.
  for (let at = IMAGE; at < end; at += 16) {
    const four = v128.load(at);
    const opaque = v128.or(four, alphas);
    const difference = v128.or(i8x16.sub_sat_u(opaque, wanted), i8x16.sub_sat_u(wanted, opaque));
    const isClear = i32x4.eq(i8x16.le_u(difference, limits), i32x4.splat(-1));
    v128.store(at, v128.andnot(four, isClear));
  }
}

/**
 * Draws the image on the canvas with its top left pixel at `left`, `top`, which may be outside. Changes only the pixels
 * of the canvas from `minX`, `minY` to `maxX`, `maxY`. Not premultiplied: colours are weighted by their opacity.
 */
export function drawImage(
  imageWidth: i32,
  canvasWidth: i32,
  left: i32,
  top: i32,
  minX: i32,
  minY: i32,
  maxX: i32,
  maxY: i32,
  opacity: f64,
): void {
  const length = (<usize>(maxX - minX + 1)) << 2;
  for (let y = minY; y <= maxY; y++) {
    const from = IMAGE + ((<usize>((y - top) * imageWidth + minX - left)) << 2);
    drawRow(from, CANVAS + ((<usize>(y * canvasWidth + minX)) << 2), length, opacity);
  }
}

function drawRow(from: usize, to: usize, length: usize, opacity: f64): void {
  const alphas = v128.load(ALPHAS);
  // In units of 1/32768. Full opacity would not fit in an i16, but such pixels are copied below.
  const share = i16x8.splat(<i16>min(32767, <i32>Math.round(opacity * 32768)));
  let at: usize = 0;
  for (; at + 16 <= length; at += 16) {
    const upper = v128.load(from + at);
    const alpha = v128.and(upper, alphas);
    if (!v128.any_true(alpha)) continue;
    const lower = v128.load(to + at);
    const hidesAll = isOpaque(alpha, alphas) || !v128.any_true(v128.and(lower, alphas));
    if (opacity === 1 && hidesAll) v128.store(to + at, upper);
    else if (isOpaque(v128.and(alpha, lower), alphas)) v128.store(to + at, mixOpaque(upper, lower, share));
    else drawPixels(from + at, to + at, 16, opacity);
  }
  drawPixels(from + at, to + at, length - at, opacity);
}

function isOpaque(alpha: v128, alphas: v128): bool {
  return i32x4.all_true(i32x4.eq(alpha, alphas));
}

/** lower + (upper - lower) × share, eight channels at a time, with seven fractional bits. */
function mixOpaque(upper: v128, lower: v128, share: v128): v128 {
  return i8x16.narrow_i16x8_u(
    mixChannels(i16x8.extend_low_i8x16_u(upper), i16x8.extend_low_i8x16_u(lower), share),
    mixChannels(i16x8.extend_high_i8x16_u(upper), i16x8.extend_high_i8x16_u(lower), share),
  );
}

function mixChannels(upper: v128, lower: v128, share: v128): v128 {
  const change = i16x8.q15mulr_sat_s(i16x8.shl(i16x8.sub(upper, lower), 7), share);
  const sum = i16x8.add(i16x8.shl(lower, 7), change);
  return i16x8.shr_s(i16x8.add_sat_s(sum, i16x8.splat(64)), 7);
}

function drawPixels(from: usize, to: usize, length: usize, opacity: f64): void {
  let above: u32 = 0;
  let below: u32 = 0;
  let both: u32 = 0;
  for (let at: usize = 0; at < length; at += 4) {
    const upper = load<u32>(from + at);
    const lower = load<u32>(to + at);
    // Neighbouring pixels of a map are often equal, so the last result is reused.
    if (upper !== above || lower !== below) {
      both = mix(upper, lower, opacity);
      above = upper;
      below = lower;
    }
    store<u32>(to + at, both);
  }
}

function mix(upper: u32, lower: u32, opacity: f64): u32 {
  const alpha = <f64>(upper >> 24) * opacity;
  if (alpha === 0) return lower;
  const rest = (<f64>(lower >> 24) * (255 - alpha)) / 255;
  const sum = alpha + rest;
  const share = alpha / sum;
  const red = mixChannel(upper & 255, lower & 255, share);
  const green = mixChannel((upper >> 8) & 255, (lower >> 8) & 255, share);
  const blue = mixChannel((upper >> 16) & 255, (lower >> 16) & 255, share);
  return red | (green << 8) | (blue << 16) | ((<u32>(sum + 0.5)) << 24);
}

function mixChannel(upper: u32, lower: u32, share: f64): u32 {
  return <u32>(<f64>upper * share + <f64>lower * (1 - share) + 0.5);
}
