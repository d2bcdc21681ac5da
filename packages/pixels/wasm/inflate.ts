import { adler32 } from './checksums';

/** Codes up to these lengths are decoded with one table look-up. */
const LITERAL_BITS: i32 = 11;
const DISTANCE_BITS: i32 = 9;
const LITERAL_MASK: usize = 2047;
const DISTANCE_MASK: usize = 511;
const LITERALS: usize = memory.data(2048 * 4, 16);
const DISTANCES: usize = memory.data(512 * 4, 16);
/** A table entry: value in the upper half, a flag, the count of extra bits (4 bits), the code's length (4 bits). */
const LITERAL: u32 = 0x100;
const END: u32 = 0x200;

/** For longer codes: the count of codes of each length, and the symbols in the order of their codes. */
const LITERAL_COUNTS: usize = memory.data(16 * 2, 16);
const LITERAL_SYMBOLS: usize = memory.data(288 * 2, 16);
const DISTANCE_COUNTS: usize = memory.data(16 * 2, 16);
const DISTANCE_SYMBOLS: usize = memory.data(32 * 2, 16);
/** By length: the next place among the sorted symbols. */
const NEXT: usize = memory.data(16 * 2, 16);
/** By symbol: the length of its code. */
const LENGTHS: usize = memory.data(320, 16);

/** RFC 1951, 3.2.5: the base lengths of symbols from 257 on, above the count of their extra bits in the lowest four bits. */
const LENGTH_BASES: usize = memory.data<u16>([
  0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0xa0, 0xb1, 0xd1, 0xf1, 0x111, 0x132, 0x172, 0x1b2, 0x1f2, 0x233,
  0x2b3, 0x333, 0x3b3, 0x434, 0x534, 0x634, 0x734, 0x835, 0xa35, 0xc35, 0xe35, 0x1020,
]);
/** 3.2.7: the order in which the lengths of the codes for code lengths are listed. */
const ORDER: usize = memory.data<u8>([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]);
const CODES_OF_LENGTHS: i32 = 19;
const CODE_BITS: i32 = 7;

/** To repeat up to 15 bytes 16 at a time, by their distance: the shuffle that fills 16 bytes, and how many to advance. */
const PATTERNS: usize = memory.data(16 * 16, 16);
const REACHES: usize = memory.data(16, 16);
let ready: bool = false;

/** Position in the input, and its end, before the checksum; the bits read ahead, and how many of them are valid. */
let at: usize = 0;
let inputEnd: usize = 0;
let bits: u64 = 0;
let bitCount: u64 = 0;
/** Start, position and end of the output. */
let outStart: usize = 0;
let out: usize = 0;
let limit: usize = 0;

/**
 * Decompresses a zlib stream (RFC 1950) of exactly `length` bytes to exactly `expected`; false for anything else.
 * Reads and writes up to sixteen bytes beyond.
 */
export function inflate(from: usize, length: i32, to: usize, expected: i32): bool {
  if (!ready) preparePatterns();
  const head = ((<u32>load<u8>(from)) << 8) | load<u8>(from, 1);
  // RFC 1950, 2.2: deflate, a window of at most 32 KiB, no dictionary, a header that is a multiple of 31.
  if (length < 6 || (head & 0x0f00) !== 0x0800 || head >> 12 > 7 || head & 0x20 || head % 31 !== 0)
    return false;
  at = from + 2;
  inputEnd = from + length - 4;
  bits = bitCount = 0;
  outStart = out = to;
  limit = to + expected;
  for (let last: u32 = 0; last === 0; ) {
    refill();
    last = take(1);
    // Whole bytes read ahead are not used yet.
    if (at - <usize>(bitCount >> 3) > inputEnd || !takeBlock(take(2))) return false;
  }
  take(<u32>(bitCount & 7));
  return (
    at - <usize>(bitCount >> 3) === inputEnd &&
    out === limit &&
    bswap(load<u32>(inputEnd)) === adler32(to, expected)
  );
}

function preparePatterns(): void {
  ready = true;
  for (let distance: usize = 1; distance < 16; distance++) {
    for (let i: usize = 0; i < 16; i++) store<u8>(PATTERNS + (distance << 4) + i, <u8>(i % distance));
    store<u8>(REACHES + distance, <u8>(16 - (16 % distance)));
  }
}

/**
 * Loads 8 bytes and advances by the whole ones that fit, so that at least 56 bits are valid. Those above `bitCount` are right
 * too: when they are loaded again, the same are put over them.
 */
function refill(): void {
  bits |= load<u64>(at) << bitCount;
  at += <usize>((63 - bitCount) >> 3);
  bitCount |= 56;
}

function take(count: u32): u32 {
  const value = <u32>bits & ((1 << count) - 1);
  drop(count);
  return value;
}

function drop(count: u32): void {
  bits >>= <u64>count;
  bitCount -= <u64>count;
}

function takeBlock(kind: u32): bool {
  if (kind === 0) return takeStored();
  if (kind === 1) return buildFixedCodes() && takeCoded();
  return kind === 2 && readCodes() && takeCoded();
}

function takeStored(): bool {
  take(<u32>(bitCount & 7));
  refill();
  const length = take(16);
  if (take(16) !== (~length & 0xffff)) return false;
  const from = at - <usize>(bitCount >> 3);
  if (from + length > inputEnd || out + length > limit) return false;
  memory.copy(out, from, length);
  out += length;
  at = from + length;
  bits = bitCount = 0;
  return true;
}

function buildFixedCodes(): bool {
  for (let i = 0; i < 288; i++) store<u8>(LENGTHS + i, i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  const literals = buildTable(288, LITERALS, LITERAL_BITS, LITERAL_COUNTS, LITERAL_SYMBOLS);
  memory.fill(LENGTHS, 5, 32);
  return buildTable(32, DISTANCES, DISTANCE_BITS, DISTANCE_COUNTS, DISTANCE_SYMBOLS) && literals;
}

function readCodes(): bool {
  const literals = take(5) + 257;
  const distances = take(5) + 1;
  const listed = take(4) + 4;
  if (literals > 286 || distances > 30) return false;
  memory.fill(LENGTHS, 0, CODES_OF_LENGTHS);
  for (let i: u32 = 0; i < listed; i++) {
    refill();
    store<u8>(LENGTHS + load<u8>(ORDER + i), <u8>take(3));
  }
  if (!buildTable(CODES_OF_LENGTHS, DISTANCES, CODE_BITS, DISTANCE_COUNTS, DISTANCE_SYMBOLS)) return false;
  if (!takeLengths(literals + distances) || load<u8>(LENGTHS + 256) === 0) return false;
  const areLearnt = buildTable(literals, LITERALS, LITERAL_BITS, LITERAL_COUNTS, LITERAL_SYMBOLS);
  memory.copy(LENGTHS, LENGTHS + literals, distances);
  return areLearnt && buildTable(distances, DISTANCES, DISTANCE_BITS, DISTANCE_COUNTS, DISTANCE_SYMBOLS);
}

/** 16 repeats the last length 3 to 6 times, 17 and 18 stand for 3 to 10 and 11 to 138 zeros. */
function takeLengths(count: u32): bool {
  for (let i: u32 = 0; i < count; ) {
    refill();
    if (at - <usize>(bitCount >> 3) > inputEnd) return false;
    const entry = load<u32>(DISTANCES + ((<usize>bits & 127) << 2));
    if (entry === 0) return false;
    drop(entry & 15);
    const symbol = entry >> 16;
    if (symbol < 16) {
      store<u8>(LENGTHS + i++, <u8>symbol);
      continue;
    }
    if (symbol === 16 && i === 0) return false;
    const length: u8 = symbol === 16 ? load<u8>(LENGTHS + i - 1) : 0;
    const times = symbol === 16 ? 3 + take(2) : symbol === 17 ? 3 + take(3) : 11 + take(7);
    if (i + times > count) return false;
    memory.fill(LENGTHS + i, length, times);
    i += times;
  }
  return true;
}

/** Builds a table from LENGTHS. False unless the code is complete or, as zlib permits, has at most one symbol of 1 bit. */
function buildTable(symbols: i32, table: usize, tableBits: i32, counts: usize, sorted: usize): bool {
  memory.fill(table, 0, 4 << tableBits);
  memory.fill(counts, 0, 32);
  for (let i = 0; i < symbols; i++) {
    const count = counts + ((<usize>load<u8>(LENGTHS + i)) << 1);
    store<u16>(count, load<u16>(count) + 1);
  }
  store<u16>(counts, 0);
  if (!isCompleteCode(counts, tableBits === CODE_BITS)) return false;
  let place: u16 = 0;
  for (let length = 1; length <= 15; length++) {
    store<u16>(NEXT + (length << 1), place);
    place += load<u16>(counts + (length << 1));
  }
  for (let i = 0; i < symbols; i++) {
    const length = <usize>load<u8>(LENGTHS + i);
    if (length === 0) continue;
    const next = load<u16>(NEXT + (length << 1));
    store<u16>(NEXT + (length << 1), next + 1);
    store<u16>(sorted + ((<usize>next) << 1), <u16>i);
  }
  fillTable(table, tableBits, counts, sorted);
  return true;
}

function isCompleteCode(counts: usize, ofLengths: bool): bool {
  let left = 1;
  let longest = 0;
  for (let length = 1; length <= 15; length++) {
    const count = load<u16>(counts + (length << 1));
    left = (left << 1) - count;
    if (left < 0) return false;
    if (count > 0) longest = length;
  }
  return left === 0 || (!ofLengths && longest <= 1);
}

function fillTable(table: usize, tableBits: i32, counts: usize, sorted: usize): void {
  let code: u32 = 0;
  let place: usize = sorted;
  for (let length = 1; length <= tableBits; length++) {
    for (let i = load<u16>(counts + (length << 1)); i > 0; i--, code++, place += 2) {
      const meaning = entryFor(load<u16>(place), tableBits);
      if (meaning === 0) continue;
      // The first bit of a code is the lowest bit of the input.
      const reversed = reverse(code, length);
      for (let slot = reversed; slot < 1 << tableBits; slot += 1 << length) {
        store<u32>(table + ((<usize>slot) << 2), meaning | length);
      }
    }
    code <<= 1;
  }
}

function reverse(code: u32, length: i32): u32 {
  let reversed: u32 = 0;
  for (let i = 0; i < length; i++) reversed |= ((code >> i) & 1) << (length - 1 - i);
  return reversed;
}

/**
 * An entry without the code's length; 0 for an invalid symbol. The flag keeps a valid entry of value 0 apart from that.
 * `tableBits` also tells the three kinds of codes apart: for code lengths, distances, and literals with lengths.
 */
function entryFor(symbol: u32, tableBits: i32): u32 {
  if (tableBits === CODE_BITS) return (symbol << 16) | LITERAL;
  if (tableBits === DISTANCE_BITS) return symbol < 30 ? entryForDistance(symbol) : 0;
  if (symbol < 256) return (symbol << 16) | LITERAL;
  if (symbol === 256) return END;
  if (symbol > 285) return 0;
  const base = <u32>load<u16>(LENGTH_BASES + ((<usize>symbol - 257) << 1));
  return ((base >> 4) << 16) | ((base & 15) << 4);
}

/** Two symbols for each power of two. */
function entryForDistance(symbol: u32): u32 {
  if (symbol < 4) return (symbol + 1) << 16;
  const extra = (symbol >> 1) - 1;
  return ((((2 + (symbol & 1)) << extra) + 1) << 16) | (extra << 4);
}

/** The entry of a code that is too long for the table; 0 if no code matches. */
function longEntry(held: u64, tableBits: i32, counts: usize, sorted: usize): u32 {
  let code: i32 = 0;
  let first: i32 = 0;
  let place: i32 = 0;
  for (let length = 1; length <= 15; length++) {
    code |= <i32>((held >> <u64>(length - 1)) & 1);
    const count = <i32>load<u16>(counts + (length << 1));
    if (code - count < first) {
      const meaning = entryFor(load<u16>(sorted + ((place + code - first) << 1)), tableBits);
      return meaning === 0 ? 0 : meaning | length;
    }
    place += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  return 0;
}

/** Decodes symbols up to the end of the block, with the state in local variables, which are faster than the module's. */
function takeCoded(): bool {
  let from = at;
  let held = bits;
  let heldBits = bitCount;
  let to = out;
  const inputLimit = inputEnd + 8; // Up to 7 bytes are read ahead; `inflate` checks the exact end.
  const outputLimit = limit;
  while (from <= inputLimit) {
    held |= load<u64>(from) << heldBits;
    from += <usize>((63 - heldBits) >> 3);
    heldBits |= 56;
    let entry = load<u32>(LITERALS + ((<usize>held & LITERAL_MASK) << 2));
    if (entry === 0) {
      entry = longEntry(held, LITERAL_BITS, LITERAL_COUNTS, LITERAL_SYMBOLS);
      if (entry === 0) return false;
    }
    held >>= <u64>(entry & 15);
    heldBits -= <u64>(entry & 15);
    // Up to three literals for one load: 15 + 11 + 11 bits.
    if (entry & LITERAL) {
      if (to + 3 > outputLimit) {
        if (to >= outputLimit) return false;
        store<u8>(to++, <u8>(entry >> 16));
        continue;
      }
      store<u8>(to++, <u8>(entry >> 16));
      entry = load<u32>(LITERALS + ((<usize>held & LITERAL_MASK) << 2));
      if (!(entry & LITERAL)) continue;
      held >>= <u64>(entry & 15);
      heldBits -= <u64>(entry & 15);
      store<u8>(to++, <u8>(entry >> 16));
      entry = load<u32>(LITERALS + ((<usize>held & LITERAL_MASK) << 2));
      if (!(entry & LITERAL)) continue;
      held >>= <u64>(entry & 15);
      heldBits -= <u64>(entry & 15);
      store<u8>(to++, <u8>(entry >> 16));
      continue;
    }
    if (entry & END) {
      at = from;
      bits = held;
      bitCount = heldBits;
      out = to;
      return true;
    }
    let extra = <u64>((entry >> 4) & 15);
    const length = <usize>(entry >> 16) + (<usize>held & ((1 << (<usize>extra)) - 1));
    held >>= extra;
    heldBits -= extra;
    let distanceEntry = load<u32>(DISTANCES + ((<usize>held & DISTANCE_MASK) << 2));
    if (distanceEntry === 0)
      distanceEntry = longEntry(held, DISTANCE_BITS, DISTANCE_COUNTS, DISTANCE_SYMBOLS);
    if (distanceEntry === 0) return false;
    held >>= <u64>(distanceEntry & 15);
    extra = <u64>((distanceEntry >> 4) & 15);
    const distance = <usize>(distanceEntry >> 16) + (<usize>held & ((1 << (<usize>extra)) - 1));
    held >>= extra;
    heldBits -= <u64>(distanceEntry & 15) + extra;
    if (distance > to - outStart || length > outputLimit - to) return false;
    repeat(to, distance, length);
    to += length;
  }
  return false;
}

function repeat(to: usize, distance: usize, length: usize): void {
  const end = to + length;
  let from = to - distance;
  if (distance >= 16) {
    do {
      v128.store(to, v128.load(from));
      to += 16;
      from += 16;
    } while (to < end);
    return;
  }
  const word = i8x16.swizzle(v128.load(from), v128.load(PATTERNS + (distance << 4)));
  const reach = <usize>load<u8>(REACHES + distance);
  do {
    v128.store(to, word);
    to += reach;
  } while (to < end);
}
