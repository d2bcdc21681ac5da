import { bitsHeld, bitsTo, countHeld, flushBits, putBits, resumeBits } from './bits';
import { add, codeLengths, codesOf } from './huffman';

// One block of deflate (RFC 1951) with dynamic Huffman codes: tokens are collected, then written with their best codes.

/** A token is a literal byte or a match. */
export const TOKENS_PER_BLOCK: i32 = 65536;
/** Room for one more pixel than a block has tokens, because the bytes of a pixel stay together. */
const TOKENS: usize = memory.data(65540 * 4, 16);
const MATCH: u32 = 0x80000000;

/** RFC 1951, 3.2.5: 0 to 255 are bytes, 256 ends a block, those above are lengths of matches. */
const END_OF_BLOCK: i32 = 256;
const LITERALS: i32 = 286;
const DISTANCES: i32 = 30;
const LITERAL_COUNTS: usize = memory.data(288 * 4, 16);
const DISTANCE_COUNTS: usize = memory.data(32 * 4, 16);
/** Code lengths of literals and, behind the last used one, of distances. */
const LENGTHS: usize = memory.data(288 + 32, 16);
const LITERAL_CODES: usize = memory.data(288 * 2, 16);
const DISTANCE_CODES: usize = memory.data(32 * 2, 16);
const DISTANCE_LENGTHS: usize = memory.data(32, 16);
const LENGTH_BASES: usize = memory.data<u16>([
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
  227, 258,
]);
const LENGTH_EXTRAS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]);
/** The length symbol, less 257, of each match length from 3 to 258. */
const LENGTH_SYMBOLS: usize = memory.data(256, 16);
let symbolsReady: bool = false;

/** RFC 1951, 3.2.7: code lengths are Huffman-coded too; the lengths of their codes are listed in this order. */
const ORDER: usize = memory.data<u8>([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]);
const CODE_SYMBOLS: i32 = 19;
const RUN_SYMBOLS: usize = memory.data(320, 16);
const RUN_EXTRAS: usize = memory.data(320, 16);
const RUN_COUNTS: usize = memory.data(20 * 4, 16);
const RUN_LENGTHS: usize = memory.data(20, 16);
const RUN_CODES: usize = memory.data(20 * 2, 16);

const LITERAL_ENTRIES: usize = memory.data(256 * 4, 16);
const LENGTH_ENTRIES: usize = memory.data(256 * 4, 16);
const ENTRY_BITS: u32 = 0xffffff;
const ENTRY_COUNT: u32 = 24;

let tokens: i32 = 0;

export function tokensTaken(): i32 {
  return tokens;
}

export function startBlock(): void {
  if (!symbolsReady) prepareSymbols();
  tokens = 0;
  memory.fill(LITERAL_COUNTS, 0, 288 * 4);
  memory.fill(DISTANCE_COUNTS, 0, 32 * 4);
}

export function takeLiteral(byte: u32): void {
  add(LITERAL_COUNTS + (byte << 2), 1);
  store<u32>(TOKENS + (tokens++ << 2), byte);
}

export function takeMatch(length: i32, distance: i32): void {
  add(LITERAL_COUNTS + ((257 + <usize>load<u8>(LENGTH_SYMBOLS + length - 3)) << 2), 1);
  add(DISTANCE_COUNTS + ((<usize>distanceSymbol(distance)) << 2), 1);
  const token = MATCH | ((<u32>length - 3) << 16) | (<u32>distance - 1);
  store<u32>(TOKENS + (tokens++ << 2), token);
}

function prepareSymbols(): void {
  symbolsReady = true;
  for (let symbol = 0; symbol < 28; symbol++) {
    const base = <i32>load<u16>(LENGTH_BASES + (symbol << 1)) - 3;
    memory.fill(LENGTH_SYMBOLS + base, <u8>symbol, 1 << load<u8>(LENGTH_EXTRAS + symbol));
  }
  store<u8>(LENGTH_SYMBOLS + 255, 28);
}

/** Two symbols for each power of two. */
function distanceSymbol(distance: i32): u32 {
  const offset = <u32>distance - 1;
  if (offset < 4) return offset;
  const top = 31 - clz(offset);
  return (top << 1) + ((offset >> (top - 1)) & 1);
}

export function writeBlock(last: bool): void {
  add(LITERAL_COUNTS + (END_OF_BLOCK << 2), 1);
  codeLengths(LITERAL_COUNTS, LITERALS, 15, LENGTHS);
  codeLengths(DISTANCE_COUNTS, DISTANCES, 15, DISTANCE_LENGTHS);
  codesOf(LENGTHS, LITERALS, LITERAL_CODES);
  codesOf(DISTANCE_LENGTHS, DISTANCES, DISTANCE_CODES);
  putBits(last ? 1 : 0, 1);
  // Dynamic codes.
  putBits(2, 2);
  writeTables();
  writeTokens();
  putLiteral(END_OF_BLOCK);
  flushBits();
}

function writeTables(): void {
  const literals = usedSymbols(LENGTHS, LITERALS, 257);
  const distances = usedSymbols(DISTANCE_LENGTHS, DISTANCES, 1);
  memory.copy(LENGTHS + literals, DISTANCE_LENGTHS, distances);
  const runs = findRuns(literals + distances);
  codeLengths(RUN_COUNTS, CODE_SYMBOLS, 7, RUN_LENGTHS);
  codesOf(RUN_LENGTHS, CODE_SYMBOLS, RUN_CODES);
  let listed = CODE_SYMBOLS;
  while (listed > 4 && load<u8>(RUN_LENGTHS + load<u8>(ORDER + listed - 1)) === 0) listed--;
  putBits(literals - 257, 5);
  putBits(distances - 1, 5);
  putBits(listed - 4, 4);
  flushBits();
  for (let i = 0; i < listed; i++) {
    putBits(load<u8>(RUN_LENGTHS + load<u8>(ORDER + i)), 3);
    flushBits();
  }
  for (let i = 0; i < runs; i++) writeRun(load<u8>(RUN_SYMBOLS + i), load<u8>(RUN_EXTRAS + i));
}

function usedSymbols(lengths: usize, symbols: i32, least: i32): i32 {
  let used = symbols;
  while (used > least && load<u8>(lengths + used - 1) === 0) used--;
  return used;
}

/** 16 repeats the last length 3 to 6 times, 17 and 18 stand for 3 to 10 and 11 to 138 zeros. */
function findRuns(count: i32): i32 {
  memory.fill(RUN_COUNTS, 0, 20 * 4);
  let runs = 0;
  for (let at = 0; at < count; ) {
    const length = <u32>load<u8>(LENGTHS + at);
    let same = 1;
    while (at + same < count && <u32>load<u8>(LENGTHS + at + same) === length) same++;
    if (length === 0 && same >= 3) {
      same = min(same, 138);
      runs = takeRun(runs, same < 11 ? 17 : 18, same < 11 ? same - 3 : same - 11);
    } else {
      runs = takeRun(runs, length, 0);
      const repeated = min(same - 1, 6);
      if (repeated >= 3) runs = takeRun(runs, 16, repeated - 3);
      same = repeated >= 3 ? repeated + 1 : 1;
    }
    at += same;
  }
  return runs;
}

function takeRun(runs: i32, symbol: u32, extra: i32): i32 {
  store<u8>(RUN_SYMBOLS + runs, <u8>symbol);
  store<u8>(RUN_EXTRAS + runs, <u8>extra);
  add(RUN_COUNTS + (symbol << 2), 1);
  return runs + 1;
}

function writeRun(symbol: u32, extra: u32): void {
  putBits(load<u16>(RUN_CODES + (symbol << 1)), load<u8>(RUN_LENGTHS + symbol));
  if (symbol === 16) putBits(extra, 2);
  if (symbol === 17) putBits(extra, 3);
  if (symbol === 18) putBits(extra, 7);
  flushBits();
}

/** The loop keeps its state in local variables, which are faster than those of the module. */
function writeTokens(): void {
  prepareEntries();
  const end = TOKENS + ((<usize>tokens) << 2);
  let to = bitsTo();
  let held = bitsHeld();
  let count = countHeld();
  for (let at = TOKENS; at < end; at += 4) {
    const token = load<u32>(at);
    if (token & MATCH) {
      const length = load<u32>(LENGTH_ENTRIES + ((<usize>(token >> 16) & 0xff) << 2));
      held |= (<u64>(length & ENTRY_BITS)) << count;
      count += <u64>(length >> ENTRY_COUNT);
      const offset = token & 0x7fff;
      const far = distanceSymbol(offset + 1);
      held |= (<u64>load<u16>(DISTANCE_CODES + (far << 1))) << count;
      count += <u64>load<u8>(DISTANCE_LENGTHS + far);
      if (far > 3) {
        const extra = (far >> 1) - 1;
        held |= (<u64>(offset & ((1 << extra) - 1))) << count;
        count += <u64>extra;
      }
    } else {
      const literal = load<u32>(LITERAL_ENTRIES + ((<usize>token) << 2));
      held |= (<u64>(literal & ENTRY_BITS)) << count;
      count += <u64>(literal >> ENTRY_COUNT);
    }
    store<u64>(to, held);
    to += <usize>(count >> 3);
    held >>= count & ~7;
    count &= 7;
  }
  resumeBits(to, held, count);
}

/** Fills the tables of entries: a code and the count of its bits, for match lengths including the extra bits. */
function prepareEntries(): void {
  for (let symbol: u32 = 0; symbol < 256; symbol++) {
    store<u32>(LITERAL_ENTRIES + (symbol << 2), entryOf(symbol, 0, 0));
    const length = <u32>load<u8>(LENGTH_SYMBOLS + symbol);
    const extra = symbol + 3 - load<u16>(LENGTH_BASES + (length << 1));
    const entry = entryOf(257 + length, extra, load<u8>(LENGTH_EXTRAS + length));
    store<u32>(LENGTH_ENTRIES + (symbol << 2), entry);
  }
}

function entryOf(symbol: u32, extra: u32, extraBits: u32): u32 {
  const bits = <u32>load<u8>(LENGTHS + symbol);
  const code = <u32>load<u16>(LITERAL_CODES + (symbol << 1)) | (extra << bits);
  return code | ((bits + extraBits) << ENTRY_COUNT);
}

function putLiteral(symbol: u32): void {
  putBits(load<u16>(LITERAL_CODES + (symbol << 1)), load<u8>(LENGTHS + symbol));
}
