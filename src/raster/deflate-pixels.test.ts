import { inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paintImage, photoLike } from '../../test/fixtures/sample-images.ts';
import { deflatePixels } from './deflate-pixels.ts';

/** What a PNG reader must find: each row after a 0, so many bytes a pixel. */
function plainRows(words: Int32Array, width: number, channels: 3 | 4): Buffer {
  const pixels = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
  const rows: number[] = [];
  for (let at = 0; at < words.length; at++) {
    if (at % width === 0) rows.push(0);
    rows.push(...pixels.subarray(at * 4, at * 4 + channels));
  }
  return Buffer.from(rows);
}

function expectTheSame(words: Int32Array, width: number): void {
  for (const alpha of [0xff000000, 0]) {
    const pixels = words.map((word) => word | alpha);
    const { data, channels } = deflatePixels({ words: pixels, width, height: words.length / width });
    expect(inflateSync(data).equals(plainRows(pixels, width, channels))).toBe(true);
    expect(channels).toBe(pixels.every((word) => word >>> 24 === 0xff) ? 3 : 4);
  }
}

function wordsOf({ pixels }: { readonly pixels: Buffer }): Int32Array {
  return new Int32Array(new Uint8Array(pixels).buffer);
}

describe('deflatePixels', () => {
  it('gives back every pixel, however they are laid out', () => {
    const colours = fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), {
      minLength: 1,
      maxLength: 40,
    });
    const runs = fc.array(fc.tuple(fc.nat({ max: 39 }), fc.integer({ min: 1, max: 300 })), { minLength: 1 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), colours, runs, (width, palette, lengths) => {
        const line = lengths.flatMap(([colour, length]) =>
          Array(length).fill(palette[colour % palette.length]),
        );
        const height = Math.ceil(line.length / width);
        const words = Int32Array.from({ length: width * height }, (_, at) => line[at % line.length]);
        expectTheSame(words, width);
      }),
      { numRuns: 100 },
    );
  });

  it('gives back rows that repeat the one above over any number of pixels', () => {
    for (const width of [1, 2, 63, 64, 65, 85, 86, 87, 172, 173, 256, 512]) {
      const row = Array.from({ length: width }, (_, x) => Math.imul(x + 1, 0x9e3779b1));
      expectTheSame(Int32Array.from([...row, ...row, ...row]), width);
    }
  });

  it('gives back a photograph, and the brightest and the darkest image', () => {
    expectTheSame(wordsOf(photoLike(256, 256)), 256);
    for (const value of [0, 255]) {
      expectTheSame(wordsOf(paintImage(384, 384, () => [value, value, value, value])), 384);
    }
  });

  it('gives back colours whose frequencies differ so much that a code would get too long', () => {
    const words = new Int32Array(2 ** 18);
    for (let bit = 0; bit < 18; bit++) {
      const every = 2 ** (bit + 1);
      for (let at = every >> 1; at < words.length; at += every) words[at] = Math.imul(bit + 1, 0x0b0d0f);
    }
    expectTheSame(words, 512);
  });

  it('makes areas and the lines between them small', () => {
    const words = wordsOf(paintImage(256, 256, (x, y) => [x >> 5, y >> 5, (x * y) % 61 === 0 ? x : 0, 255]));
    expect(deflatePixels({ words, width: 256, height: 256 }).data.length).toBeLessThan((256 * 256 * 3) / 20);
  });
});
