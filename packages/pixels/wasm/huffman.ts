/** The largest alphabet of deflate. */
const MAX_SYMBOLS: i32 = 288;
const ORDER: usize = memory.data(288 * 2, 16);
const WEIGHTS: usize = memory.data(288 * 2 * 4, 16);
const PARENTS: usize = memory.data(288 * 2 * 2, 16);
const DEPTHS: usize = memory.data(288 * 2, 16);
const SCALED: usize = memory.data(288 * 4, 16);
const NEXT_CODES: usize = memory.data(17 * 4, 16);

/**
 * Code lengths (u8) for frequencies (u32), none above `limit`; 0 for symbols that do not occur. A single symbol gets 1;
 * if none occurs, the first gets 1, because decoders expect at least one code.
 */
export function codeLengths(frequencies: usize, symbols: i32, limit: u32, lengths: usize): void {
  assert(symbols <= MAX_SYMBOLS);
  memory.copy(SCALED, frequencies, symbols << 2);
  while (!tryLengths(symbols, limit, lengths)) flatten(symbols);
}

/** Makes rare symbols relatively more frequent, which shortens the longest codes. */
function flatten(symbols: i32): void {
  for (let i = 0; i < symbols; i++) {
    const frequency = load<u32>(SCALED + (i << 2));
    if (frequency > 0) store<u32>(SCALED + (i << 2), (frequency >> 2) + 1);
  }
}

function tryLengths(symbols: i32, limit: u32, lengths: usize): bool {
  memory.fill(lengths, 0, symbols);
  const used = sortUsed(symbols);
  if (used < 2) {
    store<u8>(lengths + (used === 1 ? load<u16>(ORDER) : 0), 1);
    return true;
  }
  buildTree(used);
  store<u8>(DEPTHS + 2 * used - 2, 0);
  for (let node = 2 * used - 3; node >= 0; node--) {
    const depth = <u32>load<u8>(DEPTHS + load<u16>(PARENTS + (node << 1))) + 1;
    store<u8>(DEPTHS + node, <u8>depth);
    if (node >= used) continue;
    if (depth > limit) return false;
    store<u8>(lengths + load<u16>(ORDER + (node << 1)), <u8>depth);
  }
  return true;
}

/** Sorts the symbols that occur into `ORDER`, the rarest first, by Shellsort; returns their count. */
function sortUsed(symbols: i32): i32 {
  let used = 0;
  for (let symbol = 0; symbol < symbols; symbol++) {
    if (load<u32>(SCALED + (symbol << 2)) > 0) store<u16>(ORDER + (used++ << 1), <u16>symbol);
  }
  for (let gap = used >> 1; gap > 0; gap >>= 1) {
    for (let i = gap; i < used; i++) {
      const symbol = load<u16>(ORDER + (i << 1));
      const frequency = frequencyOf(symbol);
      let to = i;
      for (; to >= gap; to -= gap) {
        const other = load<u16>(ORDER + ((to - gap) << 1));
        if (frequencyOf(other) <= frequency) break;
        store<u16>(ORDER + (to << 1), other);
      }
      store<u16>(ORDER + (to << 1), symbol);
    }
  }
  return used;
}

function frequencyOf(symbol: u16): u32 {
  return load<u32>(SCALED + ((<usize>symbol) << 2));
}

/** Huffman's tree in linear time: leaves come first, then inner nodes in the order of creation, both sorted by weight. */
function buildTree(used: i32): void {
  for (let i = 0; i < used; i++) {
    store<u32>(WEIGHTS + (i << 2), frequencyOf(load<u16>(ORDER + (i << 1))));
  }
  let leaf = 0;
  let node = used;
  for (let made = used; made < 2 * used - 1; made++) {
    let weight: u32 = 0;
    for (let child = 0; child < 2; child++) {
      const takeLeaf = leaf < used && (node >= made || weightOf(leaf) <= weightOf(node));
      const taken = takeLeaf ? leaf++ : node++;
      weight += weightOf(taken);
      store<u16>(PARENTS + (taken << 1), <u16>made);
    }
    store<u32>(WEIGHTS + (made << 2), weight);
  }
}

function weightOf(node: i32): u32 {
  return load<u32>(WEIGHTS + (node << 2));
}

/** The codes (u16) of these lengths by RFC 1951, 3.2.2, with their bits reversed, as they are written. */
export function codesOf(lengths: usize, symbols: i32, codes: usize): void {
  // The count of codes of a length is stored at the next length, to whose first code it is added.
  memory.fill(NEXT_CODES, 0, 17 * 4);
  for (let i = 0; i < symbols; i++) {
    const length = <usize>load<u8>(lengths + i);
    if (length > 0) add(NEXT_CODES + ((length + 1) << 2), 1);
  }
  for (let length: usize = 1; length < 17; length++) {
    const place = NEXT_CODES + (length << 2);
    store<u32>(place, (load<u32>(place) + load<u32>(place - 4)) << 1);
  }
  for (let i = 0; i < symbols; i++) {
    const length = <usize>load<u8>(lengths + i);
    if (length === 0) continue;
    const place = NEXT_CODES + (length << 2);
    const code = load<u32>(place);
    store<u32>(place, code + 1);
    store<u16>(codes + (i << 1), <u16>reversed(code, <u32>length));
  }
}

function reversed(code: u32, bits: u32): u32 {
  let left = code;
  let result: u32 = 0;
  for (let i: u32 = 0; i < bits; i++) {
    result = (result << 1) | (left & 1);
    left >>= 1;
  }
  return result;
}

export function add(place: usize, amount: u32): void {
  store<u32>(place, load<u32>(place) + amount);
}
