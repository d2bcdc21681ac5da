// The Huffman tables of JPEG (ITU-T T.81, annex C), four to read and four to write, by number as in jpeg-block.ts.

/** Codes up to this length are decoded with one table look-up. */
export const QUICK_BITS: i32 = 9;
const QUICK_BYTES: usize = 2048;
/** By the next QUICK_BITS bits: an entry (see `entryOf`), or 0 if the code is longer. */
const QUICK: usize = memory.data(4 * 2048, 16);
/** By length: the first value above its codes, and the offset from a code to the index of its symbol. */
const BEYOND: usize = memory.data(4 * 17 * 4, 16);
const PLACES: usize = memory.data(4 * 17 * 4, 16);
const SYMBOLS: usize = memory.data(4 * 256, 16);
/** To write, by symbol: the code above 8 bits of its length; 0 for a symbol without a code. */
const CODES: usize = memory.data(4 * 256 * 4, 16);

/** Prepares a table to read. Input: the counts of codes of 1 to 16 bits, then their symbols. False if it is invalid. */
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

/** From the lowest byte: the symbol; its code's length; that length plus the size of the number behind the code. */
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

/** Prepares a table to write from input of the same format. */
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

/** The address of a table's `QUICK` entries. */
export function quickCodes(table: usize): usize {
  return QUICK + table * QUICK_BYTES;
}

/** The address of a table's `CODES`. */
export function codesToWrite(table: usize): usize {
  return CODES + (table << 10);
}

/** The entry for the next 16 bits if their code is longer than QUICK_BITS; 0 if no code matches. */
export function longEntry(table: usize, next: u32): u32 {
  for (let length = QUICK_BITS + 1; length <= 16; length++) {
    const code = next >> (16 - length);
    if (code >= load<u32>(inList(BEYOND, table, length))) continue;
    const place = code + load<i32>(inList(PLACES, table, length));
    return entryOf(load<u8>(SYMBOLS + (table << 8) + (place & 0xff)), length);
  }
  return 0;
}
