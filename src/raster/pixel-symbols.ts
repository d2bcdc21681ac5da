import {
  DISTANCE_SYMBOLS,
  distanceSymbol,
  END_OF_BLOCK,
  LITERAL_SYMBOLS,
  lengthSymbol,
} from './deflate-symbols.ts';
import { codeLengths, codeOf, type HuffmanCode } from './huffman-code.ts';
import { type PixelTokens, ROW_START } from './pixel-tokens.ts';

const OPAQUE = 255;

/** Bits to send, the first of them lowest, and how many. */
export interface BitString {
  readonly bits: number;
  readonly count: number;
}

/** How the tokens of one image are written as deflate's symbols. */
export interface PixelSymbols {
  /** Bytes sent of each pixel: red, green, blue, and alpha. */
  readonly channels: 3 | 4;
  /** Bits of the code of each symbol; 0: it does not occur. */
  readonly lengths: Uint8Array;
  readonly distanceLengths: Uint8Array;
  readonly code: HuffmanCode;
  /** By number of pixels in a run; a longer run is sent as several. */
  readonly runs: Int32Array;
  readonly runBits: Uint8Array;
  readonly left: BitString;
  readonly above: BitString;
}

/** By what occurs: without alpha where every pixel is opaque. */
export function symbolsFor(tokens: PixelTokens, rowPixels: number): PixelSymbols {
  const counts = new Uint32Array(LITERAL_SYMBOLS);
  const alphas = new Uint32Array(OPAQUE + 1);
  const runs = new Uint32Array(rowPixels + 1);
  countTokens(tokens, counts, alphas, runs);
  const channels = alphas.subarray(0, OPAQUE).some((count) => count > 0) ? 4 : 3;
  if (channels === 4) for (const [alpha, times] of alphas.entries()) add(counts, alpha, times);
  countRuns(runs, counts, channels);
  add(counts, END_OF_BLOCK, 1);
  const lengths = codeLengths(counts);
  const code = codeOf(lengths);
  return {
    channels,
    lengths,
    code,
    ...runsFor(code, channels),
    ...distancesFor(rowPixels * channels + 1, channels),
  };
}

function runsFor(code: HuffmanCode, channels: 3 | 4) {
  const runs = new Int32Array(longestRunOf(channels) + 1);
  const runBits = new Uint8Array(runs.length);
  for (let pixels = 1; pixels < runs.length; pixels++) {
    const { symbol, extra, extraBits } = lengthSymbol(pixels * channels);
    const own = code[symbol] as number;
    runs[pixels] = (own & 0xffff) | (extra << (own >>> 16));
    runBits[pixels] = (own >>> 16) + extraBits;
  }
  return { runs, runBits };
}

/** A match has at most 258 bytes; whole pixels, so that no rest is too short for a match of its own. */
function longestRunOf(channels: 3 | 4): number {
  return Math.floor(258 / channels);
}

/** There are two distances, the pixel to the left and the pixel above, with a code of one bit each. */
function distancesFor(rowBytes: number, channels: 3 | 4) {
  const above = distanceSymbol(rowBytes);
  const distanceLengths = new Uint8Array(DISTANCE_SYMBOLS);
  distanceLengths[distanceSymbol(channels).symbol] = 1;
  distanceLengths[above.symbol] = 1;
  return {
    distanceLengths,
    left: { bits: 0, count: 1 },
    above: { bits: 1 | (above.extra << 1), count: 1 + above.extraBits },
  };
}

function countRuns(runs: Uint32Array, counts: Uint32Array, channels: 3 | 4): void {
  const longest = longestRunOf(channels);
  for (const [pixels, times] of runs.entries()) {
    if (times === 0) continue;
    const rest = pixels % longest;
    add(counts, lengthSymbol(longest * channels).symbol, times * Math.floor(pixels / longest));
    if (rest > 0) add(counts, lengthSymbol(rest * channels).symbol, times);
  }
}

/** Where nearly all the counting is done: literals by byte, runs by their number of pixels. */
function countTokens(
  { kinds, values, size }: PixelTokens,
  counts: Uint32Array,
  alphas: Uint32Array,
  runs: Uint32Array,
): void {
  for (let i = 0; i < size; i++) {
    const value = values[i] as number;
    const kind = kinds[i] as number;
    if (kind > ROW_START) {
      runs[value] = (runs[value] as number) + 1;
      continue;
    }
    counts[value & 0xff] = (counts[value & 0xff] as number) + 1;
    if (kind === ROW_START) continue;
    counts[(value >>> 8) & 0xff] = (counts[(value >>> 8) & 0xff] as number) + 1;
    counts[(value >>> 16) & 0xff] = (counts[(value >>> 16) & 0xff] as number) + 1;
    alphas[value >>> 24] = (alphas[value >>> 24] as number) + 1;
  }
}

function add(counts: Uint32Array, symbol: number, times: number): void {
  counts[symbol] = (counts[symbol] as number) + times;
}
