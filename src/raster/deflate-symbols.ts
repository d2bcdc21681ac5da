/** RFC 1951, 3.2.5: how lengths and distances of matches are written. */
export interface MatchSymbol {
  readonly symbol: number;
  readonly extraBits: number;
  readonly extra: number;
}

export const LITERAL_SYMBOLS = 286;
export const DISTANCE_SYMBOLS = 30;
export const END_OF_BLOCK = 256;

const FIRST_LENGTH_SYMBOL = 257;
const LONGEST_MATCH = 258;

/** 3 to 258 bytes. */
export function lengthSymbol(length: number): MatchSymbol {
  if (length === LONGEST_MATCH) return { symbol: LITERAL_SYMBOLS - 1, extraBits: 0, extra: 0 };
  const { symbol, extraBits, extra } = grouped(length - 3, 4);
  return { symbol: FIRST_LENGTH_SYMBOL + symbol, extraBits, extra };
}

/** 1 to 32768 bytes. */
export function distanceSymbol(distance: number): MatchSymbol {
  return grouped(distance - 1, 2);
}

/** The first two groups of `groupSize` symbols stand for one value each; a symbol of each further group for twice as many. */
function grouped(value: number, groupSize: number): MatchSymbol {
  if (value < 2 * groupSize) return { symbol: value, extraBits: 0, extra: 0 };
  const extraBits = Math.clz32(groupSize) - Math.clz32(value);
  const symbol = (value >> extraBits) - groupSize + (extraBits + 1) * groupSize;
  return { symbol, extraBits, extra: value & ((1 << extraBits) - 1) };
}
