import { codesToWrite, longEntry, QUICK_BITS, quickCodes } from './jpeg-codes';

// Decodes a block of 64 coefficients from the file's scan and writes it requantized to a tile's scan. The first one (DC)
// is coded as the difference from the block before, the others (AC) as runs of zeros with the coefficient behind them.

/** Huffman tables: DC of luma, DC of chroma, AC of luma, AC of chroma. */
const AC_TABLES: usize = 2;
const END_OF_BLOCK: u32 = 0;
const SIXTEEN_ZEROS: u32 = 0xf0;
const MAX_DC_SIZE: u32 = 11;
const MAX_AC_SIZE: u32 = 10;
/** Fractional bits of fixed-point numbers. */
export const POINT: u32 = 20;
/** Rounding term: a value halfway becomes the smaller number, which takes fewer bits. */
const HALF: u32 = (1 << 19) - 1;

/** In the order of the file, luma then chroma: the file's steps (f32), and the factor from its step to the tiles' (u32). */
export const STEPS: usize = memory.data(2 * 64 * 4, 16);
export const FACTORS: usize = memory.data(2 * 64 * 4, 16);
/** DC of the block before, by component: in the file, and in the tile that is written. */
const FILE_DC: usize = memory.data(3 * 4, 16);
const TILE_DC: usize = memory.data(3 * 4, 16);
/** Blocks written to the tile, counted up to 6; and whether the tile is of one colour so far. */
let written: i32 = 0;
let flat: bool = false;

/** Input: `have` bits in the top of `bits`, and the address of the bytes behind them. */
let from: usize = 0;
let bits: u64 = 0;
let have: u64 = 0;
/** Output: the lowest `count` bits of `held` are not yet written to `to`. */
let to: usize = 0;
let held: u64 = 0;
let count: u64 = 0;

/** Size of the saved state of a tile while another one is written. */
export const STATE_BYTES: usize = 40;

export function startReading(at: usize): void {
  from = at;
  bits = have = 0;
  memory.fill(FILE_DC, 0, 12);
}

/** Whether input was consumed up to the last byte before `end`, and nothing beyond. */
export function isReadUpTo(end: usize): bool {
  const left = <i64>((<isize>(end - from)) << 3) + <i64>have;
  return left >= 0 && left < 8;
}

/** Whether input beyond `end` was consumed. */
export function isBeyond(end: usize): bool {
  return <i64>((<isize>(end - from)) << 3) + <i64>have < 0;
}

export function startTile(at: usize): void {
  to = at;
  held = count = 0;
  written = 0;
  flat = true;
  memory.fill(TILE_DC, 0, 12);
}

export function writtenTo(): usize {
  return to;
}

export function saveTile(state: usize): void {
  store<u64>(state, held);
  store<u64>(state, count, 8);
  store<u32>(state, <u32>to, 16);
  memory.copy(state + 20, TILE_DC, 12);
  store<i32>(state, flat ? 1 : 0, 32);
}

export function resumeTile(state: usize): void {
  held = load<u64>(state);
  count = load<u64>(state, 8);
  to = load<u32>(state, 16);
  memory.copy(TILE_DC, state + 20, 12);
  flat = isFlat(state);
  written = 6;
}

export function savedDc(state: usize, component: usize): i32 {
  return load<i32>(state + 20 + (component << 2));
}

export function isFlat(state: usize): bool {
  return load<i32>(state, 32) !== 0;
}

/** Pads the last byte with ones. */
export function endTile(): void {
  put(127, 7);
}

function put(value: u32, length: u32): void {
  held = (held << (<u64>length)) | value;
  count += <u64>length;
  store<u64>(to, bswap(held << (64 - count)));
  to += <usize>(count >> 3);
  count &= 7;
}

/** Reads a block and, if `isWritten`, writes it with the tiles' steps; false if the input is invalid. */
export function takeBlock(component: usize, isWritten: bool): bool {
  const table: usize = component === 0 ? 0 : 1;
  refill();
  let entry = load<u32>(quickCodes(table) + ((<usize>(bits >> (64 - QUICK_BITS))) << 2));
  if (entry === 0) entry = longEntry(table, <u32>(bits >> 48));
  const size = entry & 0xff;
  if (entry === 0 || size > MAX_DC_SIZE) return false;
  const raw = size === 0 ? 0 : <u32>((bits << (<u64>((entry >> 8) & 0xff))) >> <u64>(64 - size));
  bits <<= <u64>(entry >> 16);
  have -= <u64>(entry >> 16);
  const place = FILE_DC + (component << 2);
  const first = load<i32>(place) + signed(raw, size);
  store<i32>(place, first);
  if (isWritten && !writeDc(component, table, first)) return false;
  return takeAc(table, isWritten);
}

function refill(): void {
  bits |= bswap(load<u64>(from)) >> have;
  from += <usize>((63 - have) >> 3);
  have |= 56;
}

/** ITU-T T.81, F.2.2.1: of `size` bits, a set top bit means a positive number. */
function signed(raw: u32, size: u32): i32 {
  return size === 0 || raw >> (size - 1) !== 0 ? <i32>raw : <i32>raw - (1 << size) + 1;
}

function writeDc(component: usize, table: usize, first: i32): bool {
  const magnitude = <i32>((<u64>abs(first) * load<u32>(FACTORS + (table << 8)) + HALF) >> POINT);
  const value = first < 0 ? -magnitude : magnitude;
  const place = TILE_DC + (component << 2);
  const difference = value - load<i32>(place);
  store<i32>(place, value);
  // Blocks 0, 4 and 5 are the first of their component in the tile: their difference is from zero.
  const isFirst = written < 6 && (written === 0 || written >= 4);
  if (written < 6) written++;
  if (difference !== 0 && !isFirst) flat = false;
  const size = 32 - clz(abs(difference));
  const code = load<u32>(codesToWrite(table) + (size << 2));
  if (code === 0) return false;
  const number = difference < 0 ? ~abs(difference) & ((1 << size) - 1) : difference;
  put(((code >> 8) << size) | number, (code & 0xff) + size);
  return true;
}

/**
 * The AC coefficients of a block, which are most of a file. The hot loop keeps its state in local variables and avoids
 * branches: a coefficient that becomes zero is written as a code of no bits.
 */
function takeAc(table: usize, isWritten: bool): bool {
  const quick = quickCodes(AC_TABLES + table);
  const codes = codesToWrite(AC_TABLES + table);
  const factors = FACTORS + (table << 8);
  let at = from;
  let hand = bits;
  let left = have;
  let out = to;
  let rest = held;
  let restCount = count;
  let zeros: u32 = 0;
  let last: u32 = 0;
  let wrong: u32 = 0;
  let k: u32 = 1;
  while (k < 64) {
    hand |= bswap(load<u64>(at)) >> left;
    at += <usize>((63 - left) >> 3);
    left |= 56;
    let entry = load<u32>(quick + ((<usize>(hand >> (64 - QUICK_BITS))) << 2));
    if (entry === 0) entry = longEntry(AC_TABLES + table, <u32>(hand >> 48));
    const size = entry & 15;
    const run = (entry >> 4) & 15;
    if (size === 0) {
      hand <<= <u64>(entry >> 16);
      left -= <u64>(entry >> 16);
      if (entry !== 0 && (entry & 0xff) === END_OF_BLOCK) break;
      if ((entry & 0xff) !== SIXTEEN_ZEROS || k > 48) return false;
      k += 16;
      zeros += 16;
      continue;
    }
    k += run;
    if (k > 63 || size > MAX_AC_SIZE) return false;
    const raw = <u32>((hand << (<u64>((entry >> 8) & 0xff))) >> <u64>(64 - size));
    hand <<= <u64>(entry >> 16);
    left -= <u64>(entry >> 16);
    // All ones for a negative number, which is coded as the complement of its magnitude.
    const negative = (raw >> (size - 1)) - 1;
    const given = (raw ^ negative) & ((1 << size) - 1);
    zeros += run;
    const magnitude = (given * load<u32>(factors + (k << 2)) + HALF) >> POINT;
    for (; zeros > 15 && magnitude !== 0; zeros -= 16) {
      const code = load<u32>(codes + (SIXTEEN_ZEROS << 2));
      rest = (rest << (<u64>(code & 0xff))) | (code >> 8);
      restCount += <u64>(code & 0xff);
      store<u64>(out, bswap(rest << (64 - restCount)));
      out += <usize>(restCount >> 3);
      restCount &= 7;
    }
    const isThere = <u32>-(<i32>(magnitude !== 0));
    const bitsOf = 32 - clz(magnitude);
    const code = load<u32>(codes + ((((zeros & 15) << 4) | bitsOf) << 2)) & isThere;
    wrong |= <u32>(code === 0) & isThere;
    const value = (magnitude ^ negative) & ((1 << bitsOf) - 1);
    rest = (rest << (<u64>((code & 0xff) + bitsOf))) | ((code >> 8) << bitsOf) | value;
    restCount += <u64>((code & 0xff) + bitsOf);
    store<u64>(out, bswap(rest << (64 - restCount)));
    out += <usize>(restCount >> 3);
    restCount &= 7;
    last = (k & isThere) | (last & ~isThere);
    zeros = (zeros + 1) & ~isThere;
    k++;
  }
  from = at;
  bits = hand;
  have = left;
  if (!isWritten) return true;
  to = out;
  held = rest;
  count = restCount;
  if (last !== 0) flat = false;
  const code = load<u32>(codes + (END_OF_BLOCK << 2));
  if (last !== 63) put(code >> 8, code & 0xff);
  return wrong === 0;
}
