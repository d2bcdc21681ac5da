import { FILTERED, IMAGE } from './areas';
import { PALETTE } from './colours';
import { paeth } from './true-colour';

/** PNG (third edition), table 12. */
const GREY: i32 = 0;
const RGB: i32 = 2;
const INDEXED: i32 = 3;
const GREY_ALPHA: i32 = 4;
const PAETH: u8 = 4;

/** In memory, because a loop keeps a loaded constant in a register but reloads one written in the code. */
const SPREAD: usize = memory.data<u8>([0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255], 16);
const OPAQUE: usize = memory.data<u32>([0xff000000, 0xff000000, 0xff000000, 0xff000000], 16);

/**
 * Reverses the filters of a PNG's rows and writes its pixels to the image. Samples have 8 bits, indexes 1 to 8. False
 * for an unknown filter or palette index.
 */
export function readRows(width: i32, height: i32, depth: i32, colourType: i32, colours: i32): bool {
  const pixelBytes = bytesPerPixel(colourType);
  const length = colourType === INDEXED ? (width * depth + 7) >> 3 : width * pixelBytes;
  let above: usize = 0;
  let isUnfiltered = false;
  for (let y = 0; y < height; y++) {
    const row = FILTERED + <usize>y * (length + 1) + 1;
    const next = row + length + 1;
    if (isUnfiltered) isUnfiltered = false;
    else if (above !== 0 && y + 1 < height && pixelBytes > 2 && hasPaeth(row) && hasPaeth(next)) {
      addPaethTwice(row, next, above, length, pixelBytes);
      isUnfiltered = true;
    } else if (!unfilter(row, above, length, pixelBytes)) return false;
    const to = IMAGE + ((<usize>y * width) << 2);
    if (!writePixels(row, to, width, depth, colourType, colours)) return false;
    above = row;
  }
  return true;
}

function hasPaeth(row: usize): bool {
  return load<u8>(row - 1) === PAETH;
}

function bytesPerPixel(colourType: i32): i32 {
  if (colourType === GREY || colourType === INDEXED) return 1;
  if (colourType === GREY_ALPHA) return 2;
  return colourType === RGB ? 3 : 4;
}

function unfilter(row: usize, above: usize, length: i32, step: i32): bool {
  const filter = load<u8>(row - 1);
  if (filter > 4) return false;
  // The row above the first counts as zeros: Up changes nothing, and Paeth predicts the byte to the left.
  if (above === 0 && filter === 4) return addLeft(row, length, step);
  if (filter === 1) return addLeft(row, length, step);
  if (filter === 2 && above !== 0) return addAbove(row, above, length);
  if (filter === 3) return addAverage(row, above, length, step);
  if (filter === 4)
    return step > 2 ? addPaeth(row, above, length, step) : addPaethBytes(row, above, length, step);
  return true;
}

function addLeft(row: usize, length: i32, step: i32): bool {
  if (step === 1) {
    let last: u8 = 0;
    for (let x = 0; x < length; x++) {
      last += load<u8>(row + x);
      store<u8>(row + x, last);
    }
    return true;
  }
  for (let x = step; x < length; x++) store<u8>(row + x, load<u8>(row + x) + load<u8>(row + x - step));
  return true;
}

function addAbove(row: usize, above: usize, length: i32): bool {
  let x = 0;
  for (; x + 16 <= length; x += 16) {
    v128.store(row + x, i8x16.add(v128.load(row + x), v128.load(above + x)));
  }
  for (; x < length; x++) store<u8>(row + x, load<u8>(row + x) + load<u8>(above + x));
  return true;
}

function addAverage(row: usize, above: usize, length: i32, step: i32): bool {
  for (let x = 0; x < length; x++) {
    const left: u32 = x < step ? 0 : load<u8>(row + x - step);
    const up: u32 = above === 0 ? 0 : load<u8>(above + x);
    store<u8>(row + x, load<u8>(row + x) + <u8>((left + up) >> 1));
  }
  return true;
}

/** One pixel of three or four bytes at a time. */
function addPaeth(row: usize, above: usize, length: i32, step: i32): bool {
  let left = i64x2.splat(0);
  let corner = left;
  for (let x = 0; x < length; x += step) {
    const up = wide(above + x);
    // Adding bytes leaves the upper byte of each 16-bit lane at zero.
    left = i8x16.add(wide(row + x), paeth(left, up, corner));
    corner = up;
    storePixel(row + x, left, step);
  }
  return true;
}

/** Two rows together, the second a pixel behind: each pixel depends on its left one, so one row fills the other's waits. */
function addPaethTwice(row: usize, next: usize, above: usize, length: i32, step: i32): void {
  let left = i64x2.splat(0);
  let corner = left;
  let nextLeft = left;
  let nextCorner = left;
  for (let x = 0; x < length; x += step) {
    const up = wide(above + x);
    const pixel = i8x16.add(wide(row + x), paeth(left, up, corner));
    if (x > 0) {
      nextLeft = i8x16.add(wide(next + x - step), paeth(nextLeft, left, nextCorner));
      nextCorner = left;
      storePixel(next + x - step, nextLeft, step);
    }
    storePixel(row + x, pixel, step);
    corner = up;
    left = pixel;
  }
  const end = next + length - step;
  storePixel(end, i8x16.add(wide(end), paeth(nextLeft, left, nextCorner)), step);
}

/** The bytes of a pixel, widened to lanes of 16 bits. */
function wide(pixel: usize): v128 {
  return i16x8.extend_low_i8x16_u(v128.load32_zero(pixel));
}

function storePixel(to: usize, lanes: v128, step: i32): void {
  const pixel = i8x16.narrow_i16x8_u(lanes, lanes);
  if (step === 4) {
    v128.store32_lane(to, pixel, 0);
    return;
  }
  v128.store16_lane(to, pixel, 0);
  v128.store8_lane(to + 2, pixel, 2);
}

function addPaethBytes(row: usize, above: usize, length: i32, step: i32): bool {
  for (let x = 0; x < length; x++) {
    const left = x < step ? 0 : <i32>load<u8>(row + x - step);
    const corner = x < step ? 0 : <i32>load<u8>(above + x - step);
    const up = <i32>load<u8>(above + x);
    const fromLeft = abs(up - corner);
    const fromUp = abs(left - corner);
    const fromCorner = abs(left + up - 2 * corner);
    const rest = fromUp <= fromCorner ? up : corner;
    const guess = fromLeft <= fromUp && fromLeft <= fromCorner ? left : rest;
    store<u8>(row + x, load<u8>(row + x) + <u8>guess);
  }
  return true;
}

function writePixels(row: usize, to: usize, width: i32, depth: i32, colourType: i32, colours: i32): bool {
  if (colourType === INDEXED) return writeIndexes(row, to, width, depth, colours);
  if (colourType === RGB) return writeRgb(row, to, width);
  if (colourType === GREY || colourType === GREY_ALPHA)
    return writeGrey(row, to, width, colourType === GREY_ALPHA);
  memory.copy(to, row, (<usize>width) << 2);
  return true;
}

function writeRgb(row: usize, to: usize, width: i32): bool {
  const spread = v128.load(SPREAD);
  const opaque = v128.load(OPAQUE);
  let x = 0;
  for (; x + 4 <= width; x += 4) {
    const four = i8x16.swizzle(v128.load(row + x * 3), spread);
    v128.store(to + ((<usize>x) << 2), v128.or(four, opaque));
  }
  for (; x < width; x++) store<u32>(to + ((<usize>x) << 2), load<u32>(row + x * 3) | 0xff000000);
  return true;
}

function writeGrey(row: usize, to: usize, width: i32, alpha: bool): bool {
  for (let x = 0; x < width; x++) {
    const value = <u32>load<u8>(row + (alpha ? x << 1 : x)) * 0x010101;
    const opacity = alpha ? <u32>load<u8>(row + (x << 1) + 1) : 0xff;
    store<u32>(to + ((<usize>x) << 2), value | (opacity << 24));
  }
  return true;
}

function writeIndexes(row: usize, to: usize, width: i32, depth: i32, colours: i32): bool {
  let highest: u32 = 0;
  const mask: u32 = (1 << depth) - 1;
  for (let x = 0; x < width; x++) {
    const bit = x * depth;
    const index = (<u32>load<u8>(row + (bit >> 3)) >> (8 - depth - (bit & 7))) & mask;
    highest = max(highest, index);
    store<u32>(to + ((<usize>x) << 2), load<u32>(PALETTE + ((<usize>index) << 2)));
  }
  return highest < <u32>colours;
}
