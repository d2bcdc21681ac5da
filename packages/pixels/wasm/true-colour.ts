import { ROWS, TRIED } from './areas';
import { sumOfLanes } from './checksums';

/** PNG (third edition), table 15. */
const SUB: u8 = 1;
const UP: u8 = 2;
const PAETH: u8 = 4;
const SAMPLED_ROWS: i32 = 16;

/** A shuffle that drops the alpha of four pixels. */
const COLOURS: usize = memory.data<u8>([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15], 16);

/** 3 when every pixel is opaque, 4 otherwise. */
export function channelsOf(pixels: usize, stride: i32, width: i32, height: i32): i32 {
  for (let y = 0; y < height; y++) {
    const row = pixels + ((<usize>(y * stride)) << 2);
    let shared: v128 = i32x4.splat(-1);
    let x = 0;
    for (; x + 4 <= width; x += 4) shared = v128.and(shared, v128.load(row + ((<usize>x) << 2)));
    let one = <u32>(
      (i32x4.extract_lane(shared, 0) &
        i32x4.extract_lane(shared, 1) &
        i32x4.extract_lane(shared, 2) &
        i32x4.extract_lane(shared, 3))
    );
    for (; x < width; x++) one &= load<u32>(row + ((<usize>x) << 2));
    if (one >> 24 !== 0xff) return 4;
  }
  return 3;
}

/** Whether at least half of the sampled pixels equal their left one, as in drawn maps: these compress best unfiltered. */
export function isDrawn(pixels: usize, stride: i32, width: i32, height: i32): bool {
  const step = max(1, height / SAMPLED_ROWS);
  let same = 0;
  let seen = 0;
  for (let y = 0; y < height; y += step) {
    const row = pixels + ((<usize>(y * stride)) << 2);
    for (let x = 1; x < width; x++) {
      const at = row + ((<usize>x) << 2);
      if (load<u32>(at) === load<u32>(at - 4)) same++;
    }
    seen += width - 1;
  }
  return same * 2 >= seen;
}

/** Writes unfiltered rows of 3 or 4 bytes a pixel; returns the bytes of a row with its filter byte. */
export function writePlainRows(pixels: usize, stride: i32, width: i32, height: i32, channels: i32): i32 {
  const rowBytes = width * channels + 1;
  for (let y = 0; y < height; y++) {
    const from = pixels + ((<usize>(y * stride)) << 2);
    const to = ROWS + y * rowBytes;
    store<u8>(to, 0);
    if (channels === 4) memory.copy(to + 1, from, (<usize>width) << 2);
    else dropAlpha(from, to + 1, width);
  }
  return rowBytes;
}

/** Writes up to four bytes beyond the row, which the next one overwrites. */
function dropAlpha(from: usize, to: usize, width: i32): void {
  const end = from + ((<usize>width) << 2);
  const colours = v128.load(COLOURS);
  let at = to;
  let pixel = from;
  for (; pixel + 16 <= end; pixel += 16) {
    v128.store(at, i8x16.swizzle(v128.load(pixel), colours));
    at += 12;
  }
  for (; pixel < end; pixel += 4) {
    store<u32>(at, load<u32>(pixel));
    at += 3;
  }
}

/** Filters each row by the method with the smallest sum of differences: Sub, Up or Paeth. */
export function filterRows(rowBytes: i32, height: i32, channels: i32): void {
  const length = rowBytes - 1;
  const room = <usize>(length + 80) & ~15;
  const paethRow = TRIED + 2 * room;
  for (let y = height - 1; y >= 0; y--) {
    const row = ROWS + y * rowBytes + 1;
    // The row above the first counts as zeros, so only Sub is of use.
    if (y === 0) {
      tryFilter(row, row, length, channels, SUB, TRIED);
      useFiltered(row, TRIED, length, SUB);
      return;
    }
    const above = row - rowBytes;
    let best = tryFilter(row, above, length, channels, SUB, TRIED);
    let filter = SUB;
    const up = tryFilter(row, above, length, channels, UP, TRIED + room);
    if (up < best) {
      best = up;
      filter = UP;
    }
    if (tryFilter(row, above, length, channels, PAETH, paethRow) < best) filter = PAETH;
    useFiltered(row, filter === SUB ? TRIED : filter === UP ? TRIED + room : paethRow, length, filter);
  }
}

function useFiltered(row: usize, from: usize, length: i32, filter: u8): void {
  store<u8>(row - 1, filter);
  memory.copy(row, from, length);
}

/** Writes the filtered row to `to`; returns the sum of its bytes' absolute values, taken as signed numbers. */
function tryFilter(row: usize, above: usize, length: i32, channels: i32, filter: u8, to: usize): u32 {
  let sum: u32 = 0;
  for (let x = 0; x < channels && x < length; x++) {
    // The bytes left of the first pixel count as zeros, so Paeth predicts the byte above.
    const guess: u8 = filter === SUB ? 0 : load<u8>(above + x);
    const difference: u8 = load<u8>(row + x) - guess;
    store<u8>(to + x, difference);
    sum += magnitude(difference);
  }
  let x = channels;
  for (; x + 16 <= length; x += 16) {
    const here = v128.load(row + x);
    const difference = i8x16.sub(here, guessOf(row + x, above + x, channels, filter));
    v128.store(to + x, difference);
    sum += sumOfLanes(i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(i8x16.abs(difference))));
  }
  for (; x < length; x++) {
    const guess = i8x16.extract_lane_u(guessOf(row + x, above + x, channels, filter), 0);
    const difference: u8 = load<u8>(row + x) - guess;
    store<u8>(to + x, difference);
    sum += magnitude(difference);
  }
  return sum;
}

function magnitude(difference: u8): u32 {
  return difference < 128 ? difference : 256 - <u32>difference;
}

function guessOf(here: usize, above: usize, channels: i32, filter: u8): v128 {
  if (filter === UP) return v128.load(above);
  const left = v128.load(here - channels);
  if (filter === SUB) return left;
  const up = v128.load(above);
  const corner = v128.load(above - channels);
  return i8x16.narrow_i16x8_u(
    paeth(i16x8.extend_low_i8x16_u(left), i16x8.extend_low_i8x16_u(up), i16x8.extend_low_i8x16_u(corner)),
    paeth(i16x8.extend_high_i8x16_u(left), i16x8.extend_high_i8x16_u(up), i16x8.extend_high_i8x16_u(corner)),
  );
}

/** PNG (third edition), 9.4: whichever of left, up and corner is nearest to left + up - corner. */
export function paeth(left: v128, up: v128, corner: v128): v128 {
  // The terms that do not depend on `left` come first, because `left` is available last.
  const toLeft = i16x8.sub(up, corner);
  const fromLeft = i16x8.abs(toLeft);
  const fromUp = i16x8.abs(i16x8.sub(left, corner));
  const fromCorner = i16x8.abs(i16x8.add(left, i16x8.sub(toLeft, corner)));
  const rest = v128.bitselect(up, corner, i16x8.le_s(fromUp, fromCorner));
  return v128.bitselect(left, rest, i16x8.le_s(fromLeft, i16x8.min_s(fromUp, fromCorner)));
}
