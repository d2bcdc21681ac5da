/** RFC 1951 allows 15; with 11 a code, its extra bits and what waits to be written fit into a number of 32 bits. */
const MAX_BITS = 11;

/** By symbol: the bits of its code in the low half, in the order in which they are sent, and their number in the high half. */
export type HuffmanCode = Int32Array;

export function codeOf(lengths: Uint8Array): HuffmanCode {
  const next = firstCodes(lengths);
  return Int32Array.from(lengths, (length) => {
    if (length === 0) return 0;
    const value = next[length] as number;
    next[length] = value + 1;
    return reversed(value, length) | (length << 16);
  });
}

/** RFC 1951, 3.2.2: codes of one length are consecutive, the shorter ones first. */
function firstCodes(lengths: Uint8Array): Uint16Array {
  const counts = new Uint16Array(MAX_BITS + 1);
  for (const length of lengths) if (length > 0) counts[length] = (counts[length] as number) + 1;
  const first = new Uint16Array(MAX_BITS + 1);
  for (let bits = 1; bits <= MAX_BITS; bits++) {
    first[bits] = ((first[bits - 1] as number) + (counts[bits - 1] as number)) << 1;
  }
  return first;
}

export function reversed(value: number, bits: number): number {
  let left = value;
  let result = 0;
  for (let i = 0; i < bits; i++) {
    result = (result << 1) | (left & 1);
    left >>= 1;
  }
  return result;
}

/** Bits for each symbol by how often it occurs: 0 where it does not, at most 11. At least two symbols must occur. */
export function codeLengths(counts: Uint32Array): Uint8Array {
  const symbols = Array.from(counts.keys()).filter((symbol) => (counts[symbol] as number) > 0);
  symbols.sort((a, b) => (counts[a] as number) - (counts[b] as number));
  const depths = depthsOf(symbols.map((symbol) => counts[symbol] as number));
  const lengths = new Uint8Array(counts.length);
  let at = 0;
  const ofLength = limited(depths);
  for (let bits = MAX_BITS; bits > 0; bits--) {
    for (let i = 0; i < (ofLength[bits] as number); i++) lengths[symbols[at++] as number] = bits;
  }
  return lengths;
}

/** Huffman's tree over weights that rise: how deep each of them lies. */
function depthsOf(weights: readonly number[]): Uint8Array {
  const leaves = weights.length;
  const size = 2 * leaves - 1;
  const weight = new Float64Array(size);
  weight.set(weights);
  const parent = new Int32Array(size);
  let leaf = 0;
  let inner = leaves;
  for (let node = leaves; node < size; node++) {
    for (let child = 0; child < 2; child++) {
      const leafIsLess =
        leaf < leaves && (inner >= node || (weight[leaf] as number) <= (weight[inner] as number));
      const taken = leafIsLess ? leaf++ : inner++;
      weight[node] = (weight[node] as number) + (weight[taken] as number);
      parent[taken] = node;
    }
  }
  const depth = new Uint8Array(size);
  for (let node = size - 2; node >= 0; node--) depth[node] = (depth[parent[node] as number] as number) + 1;
  return depth.subarray(0, leaves);
}

/** How many codes there are of each length, none too long: deep ones move up, and others down to make room. */
function limited(depths: Uint8Array): Int32Array {
  const counts = new Int32Array(MAX_BITS + 1);
  for (const depth of depths) {
    const bits = Math.min(depth, MAX_BITS);
    counts[bits] = (counts[bits] as number) + 1;
  }
  const room = 2 ** MAX_BITS;
  let used = counts.reduce((sum, count, bits) => sum + (bits > 0 ? count * 2 ** (MAX_BITS - bits) : 0), 0);
  for (; used > room; used--) {
    let bits = MAX_BITS - 1;
    while (counts[bits] === 0) bits--;
    counts[bits] = (counts[bits] as number) - 1;
    counts[bits + 1] = (counts[bits + 1] as number) + 2;
    counts[MAX_BITS] = (counts[MAX_BITS] as number) - 1;
  }
  return counts;
}
