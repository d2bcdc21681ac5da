import { DISTANCE_SYMBOLS, END_OF_BLOCK, LITERAL_SYMBOLS } from './deflate-symbols.ts';
import { reversed } from './huffman-code.ts';
import { checksumOf } from './pixel-checksum.ts';
import { type PixelSymbols, symbolsFor } from './pixel-symbols.ts';
import {
  AS_LEFT,
  createPixelTokens,
  LITERAL,
  type PixelRows,
  type PixelTokens,
  ROW_START,
  tokenise,
} from './pixel-tokens.ts';

/** RFC 1950: a window of 32 KiB, compressed by the fastest way. */
const ZLIB_HEADER = 0x0178;
/** Number of codes for code lengths, in the order of RFC 1951, 3.2.7: the first three are not used. */
const LENGTH_CODES = 19;
const UNUSED_LENGTH_CODES = 3;
const LENGTH_CODE_BITS = 4;
/** Header, code lengths, end and checksum, rounded up. */
const FRAME_BYTES = 512;
/** A literal's byte takes at most 11 bits, a run of pixels less than its literals would. */
const BYTES_PER_LITERAL_BYTE = 2;

export interface DeflatedPixels {
  /** Valid until the next call. */
  readonly data: Buffer;
  /** 3: every pixel is opaque, and alpha is left out. */
  readonly channels: 3 | 4;
}

/** Used again and again, because the work is done in one turn: a tile's worth of garbage each time costs more than it. */
const tokens: PixelTokens = createPixelTokens();
let halves = new Uint16Array(0);

/**
 * PNG's image data in zlib's form, the rows without a filter. Only what is like its left or its upper neighbour is
 * shortened: in drawn maps that is nearly all there is to find, and it is found at a glance.
 */
export function deflatePixels(rows: PixelRows): DeflatedPixels {
  tokenise(rows, tokens);
  const symbols = symbolsFor(tokens, rows.width);
  const { channels } = symbols;
  const size = FRAME_BYTES + tokens.size * channels * BYTES_PER_LITERAL_BYTE;
  if (halves.length * 2 < size) halves = new Uint16Array(size);
  const length = new PixelWriter(halves).write(tokens, symbols);
  const bytes = Buffer.from(halves.buffer);
  const end = bytes.writeUInt32BE(checksumOf(rows, channels), length);
  return { data: bytes.subarray(0, end), channels };
}

/** Sends bits, the lowest first, in halves of 32-bit numbers; up to 15 of them wait for their half to be full. */
class PixelWriter {
  readonly #out: Uint16Array;
  #at = 0;
  #waiting = 0;
  #count = 0;

  constructor(out: Uint16Array) {
    this.#out = out;
  }

  /** The number of bytes. */
  write(tokens: PixelTokens, symbols: PixelSymbols): number {
    this.#writeHeader(symbols);
    this.#writeTokens(tokens, symbols);
    this.#writeSymbol(symbols, END_OF_BLOCK);
    this.#out[this.#at] = this.#waiting;
    return this.#at * 2 + Math.ceil(this.#count / 8);
  }

  /** One last block with codes of its own; their lengths are sent with four bits each. */
  #writeHeader({ lengths, distanceLengths }: PixelSymbols): void {
    this.#put(ZLIB_HEADER, 16);
    this.#put(0b101, 3);
    this.#put(LITERAL_SYMBOLS - 257, 5);
    this.#put(DISTANCE_SYMBOLS - 1, 5);
    this.#put(LENGTH_CODES - 4, 4);
    for (let i = 0; i < LENGTH_CODES; i++) this.#put(i < UNUSED_LENGTH_CODES ? 0 : LENGTH_CODE_BITS, 3);
    for (const length of lengths) this.#put(reversed(length, LENGTH_CODE_BITS), LENGTH_CODE_BITS);
    for (const length of distanceLengths) this.#put(reversed(length, LENGTH_CODE_BITS), LENGTH_CODE_BITS);
  }

  #writeSymbol({ code }: PixelSymbols, symbol: number): void {
    const own = code[symbol] as number;
    this.#put(own & 0xffff, own >>> 16);
  }

  /** At most 16 bits. */
  #put(bits: number, count: number): void {
    this.#waiting |= bits << this.#count;
    this.#count += count;
    if (this.#count < 16) return;
    this.#out[this.#at++] = this.#waiting;
    this.#waiting >>>= 16;
    this.#count -= 16;
  }

  /**
   * The loop that costs: `put` is written out each time, on local variables, and without a branch, because none
   * here can be foreseen.
   */
  #writeTokens({ kinds, values, size }: PixelTokens, symbols: PixelSymbols): void {
    const { channels, code, runs, runBits, left, above } = symbols;
    const out = this.#out;
    const longest = runs.length - 1;
    const literalBits = channels * 8;
    let at = this.#at;
    let waiting = this.#waiting;
    let count = this.#count;
    for (let token = 0; token < size; token++) {
      const value = values[token] as number;
      const kind = kinds[token] as number;
      if (kind <= ROW_START) {
        const end = kind === LITERAL ? literalBits : 8;
        for (let shift = 0; shift < end; shift += 8) {
          const own = code[(value >>> shift) & 0xff] as number;
          waiting |= (own & 0xffff) << count;
          count += own >>> 16;
          out[at] = waiting;
          at += count >> 4;
          waiting >>>= count & 16;
          count &= 15;
        }
        continue;
      }
      const distance = kind === AS_LEFT ? left : above;
      for (let rest = value; rest > 0; rest -= longest) {
        const pixels = Math.min(rest, longest);
        waiting |= (runs[pixels] as number) << count;
        count += runBits[pixels] as number;
        out[at] = waiting;
        at += count >> 4;
        waiting >>>= count & 16;
        count &= 15;
        waiting |= distance.bits << count;
        count += distance.count;
        out[at] = waiting;
        at += count >> 4;
        waiting >>>= count & 16;
        count &= 15;
      }
    }
    this.#at = at;
    this.#waiting = waiting;
    this.#count = count;
  }
}
