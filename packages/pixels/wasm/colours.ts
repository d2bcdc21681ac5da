import { ROWS, TRIED } from './areas';

/** 0xAABBGGRR by index. */
export const PALETTE: usize = memory.data(256 * 4, 16);
const MAX_COLOURS: i32 = 256;
const SLOT_BITS: u32 = 10;
const SLOTS: usize = memory.data(1024 * 4, 16);
/** By slot of the hash table: the number of its colour plus one, or 0 for a free slot. */
const NUMBERS: usize = memory.data(1024 * 2, 16);
const HASH_FACTOR: u32 = 0x9e3779b1;

let colours: i32 = 0;

/** Writes the pixels to `ROWS` as one byte each, the number of their colour. Returns the count of colours, or 0 above 256. */
export function indexColours(pixels: usize, stride: i32, width: i32, height: i32): i32 {
  memory.fill(NUMBERS, 0, 1024 * 2);
  colours = 0;
  for (let y = 0; y < height; y++) {
    const from = pixels + ((<usize>(y * stride)) << 2);
    const to = ROWS + y * (width + 1);
    store<u8>(to, 0);
    const known = y === 0 ? 0 : samePixels(from, from - ((<usize>stride) << 2), width);
    if (known > 0) memory.copy(to + 1, to - width, known);
    if (known < width && !indexRow(from, to + 1, known, width)) return 0;
  }
  return colours;
}

/** How many pixels at the start of both rows are equal, rounded down to a multiple of 4. */
function samePixels(a: usize, b: usize, width: i32): i32 {
  let x = 0;
  for (; x + 4 <= width; x += 4) {
    const at = (<usize>x) << 2;
    if (v128.any_true(v128.xor(v128.load(a + at), v128.load(b + at)))) return x;
  }
  return x;
}

function indexRow(from: usize, to: usize, start: i32, width: i32): bool {
  let last = ~load<u32>(from + ((<usize>start) << 2));
  let number = 0;
  for (let x = start; x < width; x++) {
    const colour = load<u32>(from + ((<usize>x) << 2));
    if (colour !== last) {
      last = colour;
      number = numberOf(colour);
      if (number === MAX_COLOURS) return false;
    }
    store<u8>(to + x, <u8>number);
  }
  return true;
}

/** Numbers colours in the order of their first use; MAX_COLOURS if all numbers are taken. */
function numberOf(colour: u32): i32 {
  let slot = (colour * HASH_FACTOR) >> (32 - SLOT_BITS);
  for (;;) {
    const number = <i32>load<u16>(NUMBERS + ((<usize>slot) << 1));
    if (number === 0) break;
    if (load<u32>(SLOTS + ((<usize>slot) << 2)) === colour) return number - 1;
    slot = (slot + 1) & ((1 << SLOT_BITS) - 1);
  }
  if (colours === MAX_COLOURS) return MAX_COLOURS;
  store<u32>(SLOTS + ((<usize>slot) << 2), colour);
  store<u32>(PALETTE + ((<usize>colours) << 2), colour);
  store<u16>(NUMBERS + ((<usize>slot) << 1), <u16>++colours);
  return colours - 1;
}

export function colourAt(index: i32): u32 {
  return load<u32>(PALETTE + ((<usize>index) << 2));
}

/** Packs rows of one byte a pixel into rows of `depth` bits a pixel; returns the bytes of a row with its filter byte. */
export function packRows(width: i32, height: i32, depth: i32): i32 {
  if (depth === 8) return width + 1;
  const rowBytes = (width * depth + 7) / 8 + 1;
  for (let y = 0; y < height; y++) {
    memory.copy(TRIED, ROWS + y * (width + 1) + 1, width);
    v128.store(TRIED + width, i64x2.splat(0));
    let length = width;
    for (let bits = depth; bits < 8; bits <<= 1) length = joinPairs(length, bits);
    // Packed rows are shorter, so in the same area writing never overtakes reading.
    const to = ROWS + y * rowBytes;
    store<u8>(to, 0);
    memory.copy(to + 1, TRIED, rowBytes - 1);
  }
  return rowBytes;
}

/** Joins each pair of numbers of `bits` bits into one of twice as many, the first on top; returns their new count. */
function joinPairs(length: i32, bits: i32): i32 {
  for (let at = 0; at < length; at += 16) {
    const pairs = v128.load(TRIED + at);
    const joined = v128.or(i16x8.shl(pairs, bits), i16x8.shr_u(pairs, 8));
    const halved = i8x16.narrow_i16x8_u(v128.and(joined, i16x8.splat(0xff)), i64x2.splat(0));
    v128.store(TRIED + (at >> 1), halved);
  }
  return (length + 1) >> 1;
}
