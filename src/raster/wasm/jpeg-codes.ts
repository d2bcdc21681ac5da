import { peek16, skip } from './jpeg-bits';

/** Codes up to this length are found in one step. */
export const QUICK_BITS: i32 = 9;
const QUICK_BYTES: usize = 1024;
/** Symbol and, above it, length of the code that begins so; 0: it is longer. */
const QUICK: usize = memory.data(4 * 1024, 16);
/** For each length: the first code that is too great for it, and what to add to a code to get its symbol's place. */
const BEYOND: usize = memory.data(4 * 17 * 4, 16);
const PLACES: usize = memory.data(4 * 17 * 4, 16);
const SYMBOLS: usize = memory.data(4 * 256, 16);
/** By symbol: code and, below it in 8 bits, its length; 0: there is none. */
const CODES: usize = memory.data(4 * 256 * 4, 16);

/** Not a symbol. */
export const NO_SYMBOL: u32 = 0xffff;

/** Learns a table to read: how many codes there are of 1 to 16 bits, then their symbols (ITU-T T.81, annex C). */
export function learnToRead(table: usize, at: usize): bool {
  memory.fill(QUICK + table * QUICK_BYTES, 0, QUICK_BYTES);
  let code: u32 = 0;
  let place: u32 = 0;
  for (let length = 1; length <= 16; length++) {
    const count = <u32>load<u8>(at + length - 1);
    store<i32>(entryOf(PLACES, table, length), <i32>place - <i32>code);
    for (let i: u32 = 0; i < count; i++, code++, place++) {
      if (code >> length !== 0 || place > 255) return false;
      const symbol = load<u8>(at + 16 + place);
      store<u8>(SYMBOLS + (table << 8) + place, symbol);
      if (length <= QUICK_BITS) noteQuick(table, code, length, symbol);
    }
    store<u32>(entryOf(BEYOND, table, length), code);
    code <<= 1;
  }
  return true;
}

function noteQuick(table: usize, code: u32, length: i32, symbol: u8): void {
  const free = QUICK_BITS - length;
  const first = QUICK + table * QUICK_BYTES + (((<usize>code) << free) << 1);
  for (let i = 0; i < 1 << free; i++) store<u16>(first + (i << 1), ((<u16>length) << 8) | symbol);
}

function entryOf(list: usize, table: usize, length: i32): usize {
  return list + ((table * 17 + length) << 2);
}

/** Learns a table to write with. */
export function learnToWrite(table: usize, at: usize): void {
  memory.fill(CODES + (table << 10), 0, 1024);
  let code: u32 = 0;
  let place: usize = at + 16;
  for (let length = 1; length <= 16; length++) {
    for (let i = load<u8>(at + length - 1); i > 0; i--, code++, place++) {
      store<u32>(CODES + (table << 10) + ((<usize>load<u8>(place)) << 2), (code << 8) | length);
    }
    code <<= 1;
  }
}

/** Where symbol and length are found by the next QUICK_BITS bits. */
export function quickCodes(table: usize): usize {
  return QUICK + table * QUICK_BYTES;
}

/** Where code and length are found by the symbol. */
export function codesToWrite(table: usize): usize {
  return CODES + (table << 10);
}

export function readSymbol(table: usize): u32 {
  const next = peek16();
  const quick = <u32>load<u16>(QUICK + table * QUICK_BYTES + ((<usize>next >> (16 - QUICK_BITS)) << 1));
  if (quick === 0) return readLongSymbol(table, next);
  skip(quick >> 8);
  return quick & 0xff;
}

function readLongSymbol(table: usize, next: u32): u32 {
  for (let length = QUICK_BITS + 1; length <= 16; length++) {
    const code = next >> (16 - length);
    if (code >= load<u32>(entryOf(BEYOND, table, length))) continue;
    skip(length);
    return load<u8>(SYMBOLS + (table << 8) + code + load<i32>(entryOf(PLACES, table, length)));
  }
  return NO_SYMBOL;
}

export function codeOf(table: usize, symbol: u32): u32 {
  return load<u32>(CODES + (table << 10) + ((<usize>symbol) << 2));
}
