/** Codes up to this length are found in one step. */
export const QUICK_BITS: i32 = 9;
const QUICK_BYTES: usize = 2048;
/** By the bits that come next: an entry, or 0 where the code is longer. */
const QUICK: usize = memory.data(4 * 2048, 16);
/** For each length: the first code that is too great for it, and what to add to a code to get its symbol's place. */
const BEYOND: usize = memory.data(4 * 17 * 4, 16);
const PLACES: usize = memory.data(4 * 17 * 4, 16);
const SYMBOLS: usize = memory.data(4 * 256, 16);
/** By symbol: code and, below it in 8 bits, its length; 0: there is none. */
const CODES: usize = memory.data(4 * 256 * 4, 16);

/** Learns a table to read: how many codes there are of 1 to 16 bits, then their symbols (ITU-T T.81, annex C). */
export function learnToRead(table: usize, at: usize): bool {
  memory.fill(quickCodes(table), 0, QUICK_BYTES);
  let code: u32 = 0;
  let place: u32 = 0;
  for (let length = 1; length <= 16; length++) {
    const count = <u32>load<u8>(at + length - 1);
    store<i32>(inList(PLACES, table, length), <i32>place - <i32>code);
    for (let i: u32 = 0; i < count; i++, code++, place++) {
      if (code >> length !== 0 || place > 255) return false;
      const symbol = load<u8>(at + 16 + place);
      store<u8>(SYMBOLS + (table << 8) + place, symbol);
      if (length <= QUICK_BITS) noteQuick(table, code, length, symbol);
    }
    store<u32>(inList(BEYOND, table, length), code);
    code <<= 1;
  }
  return true;
}

/** The symbol; the length of its code; and above it that and the size of the number behind it, which is in the symbol. */
function entryOf(symbol: u32, length: u32): u32 {
  return symbol | (length << 8) | ((length + (symbol & 15)) << 16);
}

function noteQuick(table: usize, code: u32, length: i32, symbol: u32): void {
  const free = QUICK_BITS - length;
  const first = quickCodes(table) + (((<usize>code) << free) << 2);
  for (let i = 0; i < 1 << free; i++) store<u32>(first + (i << 2), entryOf(symbol, length));
}

function inList(list: usize, table: usize, length: i32): usize {
  return list + ((table * 17 + length) << 2);
}

/** Learns a table to write with. */
export function learnToWrite(table: usize, at: usize): void {
  memory.fill(codesToWrite(table), 0, 1024);
  let code: u32 = 0;
  let place: usize = at + 16;
  for (let length = 1; length <= 16; length++) {
    for (let i = load<u8>(at + length - 1); i > 0; i--, code++, place++) {
      store<u32>(codesToWrite(table) + ((<usize>load<u8>(place)) << 2), (code << 8) | length);
    }
    code <<= 1;
  }
}

/** Where entries are found by the next QUICK_BITS bits. */
export function quickCodes(table: usize): usize {
  return QUICK + table * QUICK_BYTES;
}

/** Where code and length are found by the symbol. */
export function codesToWrite(table: usize): usize {
  return CODES + (table << 10);
}

/** The entry for the next 16 bits, whose code is longer than QUICK_BITS; 0: there is none. */
export function longEntry(table: usize, next: u32): u32 {
  for (let length = QUICK_BITS + 1; length <= 16; length++) {
    const code = next >> (16 - length);
    if (code >= load<u32>(inList(BEYOND, table, length))) continue;
    const place = code + load<i32>(inList(PLACES, table, length));
    return entryOf(load<u8>(SYMBOLS + (table << 8) + (place & 0xff)), length);
  }
  return 0;
}
