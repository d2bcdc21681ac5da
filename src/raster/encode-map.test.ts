import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatOf } from '../domain/format.ts';
import { decodeImage } from './decode-image.ts';
import { encodeMap } from './encode-map.ts';

const MAX_PIXELS = 200_000;
const sizes = fc
  .tuple(fc.integer({ min: 1, max: 8192 }), fc.integer({ min: 1, max: 8192 }))
  .map(([width, height]) => ({
    width,
    height: Math.min(height, Math.max(1, Math.floor(MAX_PIXELS / width))),
  }));

/** Runs of pixels of so many colours, some of them translucent. */
function drawing(width: number, height: number, colours: number, seed: number): Buffer {
  const words = new Uint32Array(width * height);
  let state = seed;
  for (let i = 0; i < words.length; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const alpha = state % 3 === 0 ? 0x80000000 : 0xff000000;
    const colour = (alpha + (Math.imul(state % colours, 2654435761) & 0xffffff)) >>> 0;
    for (const end = i + 1 + ((state >>> 8) % 40); i < Math.min(end, words.length); i++) words[i] = colour;
  }
  return Buffer.from(words.buffer);
}

describe('encoding a map', () => {
  it.each(['image/png', 'image/png24'])(
    'encoding a map keeps every pixel in %s, whatever its size and colours',
    async (name) => {
      const format = formatOf(name);
      if (!format) throw new Error(name);
      const check = async (width: number, height: number, colours: number, seed: number) => {
        const pixels = drawing(width, height, colours, seed);
        const bytes = await encodeMap({ width, height, pixels }, format, null);
        const decoded = await decodeImage(bytes, { maxPixels: width * height });
        expect([decoded.width, decoded.height]).toEqual([width, height]);
        expect(decoded.pixels.equals(pixels)).toBe(true);
      };
      for (const [width, height] of [
        [4096, 32],
        [3000, 40],
        [8192, 16],
        [8192, 1],
        [1, 8192],
      ] as const) {
        await check(width, height, 300, 1);
      }
      await fc.assert(
        fc.asyncProperty(
          sizes,
          fc.integer({ min: 1, max: 5000 }),
          fc.nat(),
          ({ width, height }, colours, seed) => check(width, height, colours, seed),
        ),
        { numRuns: 30 },
      );
    },
  );

  it('encoding a map lays transparent pixels on the background', async () => {
    const format = formatOf('image/png');
    if (!format) throw new Error('no PNG');
    const pixels = Buffer.from([100, 100, 100, 0, 100, 100, 100, 51]);
    const bytes = await encodeMap({ width: 2, height: 1, pixels }, format, [255, 255, 0]);
    const decoded = await decodeImage(bytes, { maxPixels: 2 });
    expect([...decoded.pixels]).toEqual([255, 255, 0, 255, 224, 224, 20, 255]);
  });
});
