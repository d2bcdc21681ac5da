import type { PixelRows } from './pixel-tokens.ts';

const BASE = 65521;

/**
 * Adler-32 (RFC 1950) of the rows, each after a byte 0 that names its filter. Within a row of at most 1024 pixels
 * no sum outgrows 31 bits.
 */
export function checksumOf({ words, width }: PixelRows, channels: 3 | 4): number {
  const sumRow = channels === 3 ? sumRgb : sumRgba;
  let a = 1;
  let b = 0;
  for (let start = 0; start < words.length; start += width) {
    const row = sumRow(words, start, start + width, a);
    b = (b + a + row.b) % BASE;
    a = row.a % BASE;
  }
  return ((b << 16) | a) >>> 0;
}

interface RowSums {
  readonly a: number;
  readonly b: number;
}

function sumRgb(words: Int32Array, start: number, end: number, before: number): RowSums {
  let sum = before;
  let sums = 0;
  let weighted = 0;
  for (let at = start; at < end; at++) {
    const pixel = words[at] as number;
    const red = pixel & 0xff;
    const green = (pixel >>> 8) & 0xff;
    const blue = (pixel >>> 16) & 0xff;
    sums = (sums + sum) | 0;
    sum = (sum + red + green + blue) | 0;
    weighted = (weighted + 3 * red + 2 * green + blue) | 0;
  }
  return { a: sum, b: 3 * sums + weighted };
}

function sumRgba(words: Int32Array, start: number, end: number, before: number): RowSums {
  let sum = before;
  let sums = 0;
  let weighted = 0;
  for (let at = start; at < end; at++) {
    const pixel = words[at] as number;
    const red = pixel & 0xff;
    const green = (pixel >>> 8) & 0xff;
    const blue = (pixel >>> 16) & 0xff;
    const alpha = pixel >>> 24;
    sums = (sums + sum) | 0;
    sum = (sum + red + green + blue + alpha) | 0;
    weighted = (weighted + 4 * red + 3 * green + 2 * blue + alpha) | 0;
  }
  return { a: sum, b: 4 * sums + weighted };
}
