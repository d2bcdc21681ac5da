import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { mapLike, paintImage, photoLike } from '../../test/fixtures/pictures.ts';
import { formatOf } from '../domain/format.ts';
import { recogniseImage } from './check-structure.ts';
import { decodeImage, type RasterImage } from './decode-image.ts';
import { encodeImage } from './encode-image.ts';

async function encode(image: RasterImage, mediaType: string): Promise<Buffer> {
  const format = formatOf(mediaType);
  if (!format) throw new Error(`no format ${mediaType}`);
  return await encodeImage(image, format);
}

async function decode(bytes: Buffer): Promise<RasterImage> {
  return await decodeImage(bytes, { maxPixels: 10_000_000 });
}

const translucent = paintImage(64, 64, (x, y) => [x * 4, y * 4, 7, x < 32 ? y * 4 : 255]);

function coloursIn(pixels: Buffer): number {
  const seen = new Set<number>();
  for (let at = 0; at < pixels.length; at += 4) seen.add(pixels[at + 3] === 0 ? 0 : pixels.readUInt32LE(at));
  return seen.size;
}

/** Mean of visible pixels, by channel. */
function difference(one: RasterImage, other: RasterImage): number {
  let [sum, count] = [0, 0];
  for (let at = 0; at < one.pixels.length; at++) {
    if (one.pixels[at | 3] === 0) continue;
    sum += Math.abs((one.pixels[at] ?? 0) - (other.pixels[at] ?? 0));
    count++;
  }
  return sum / count;
}

describe('encodeImage', () => {
  it.each([
    ['image/png', 'image/png'],
    ['image/png8', 'image/png'],
    ['image/png24', 'image/png'],
    ['image/jpeg', 'image/jpeg'],
    ['image/webp', 'image/webp'],
    ['image/avif', 'image/avif'],
    ['image/gif', 'image/gif'],
  ])('encodeImage writes %s as %s of the same size', async (format, written) => {
    for (const image of [mapLike(256, 256), photoLike(61, 47), photoLike(700, 500)]) {
      const bytes = await encode(image, format);
      expect(recogniseImage(bytes)).toBe(written);
      const decoded = await decode(bytes);
      expect([decoded.width, decoded.height]).toEqual([image.width, image.height]);
    }
  });

  it('a PNG8 has at most the declared number of colours, near those of the picture', async () => {
    const smooth = paintImage(256, 256, (x, y) => [x, y, (x + y) >> 1, x < 8 ? 0 : y < 8 ? 90 : 255]);
    const images = [smooth, photoLike(61, 47), translucent, mapLike(100, 90, 200)];
    const settings = fc.record({
      colors: fc.integer({ min: 2, max: 256 }),
      dither: fc.constantFrom(0, 0.5, 1),
      picture: fc.nat(images.length - 1),
    });
    await fc.assert(
      fc.asyncProperty(settings, async ({ picture, ...options }) => {
        const image = images[picture] ?? smooth;
        const bytes = await encodeImage(image, { mediaType: 'image/png8', ...options });
        const { pixels } = await decode(bytes);
        expect(coloursIn(pixels)).toBeLessThanOrEqual(options.colors);
        for (let at = 3; at < pixels.length; at += 4) {
          if ((image.pixels[at] === 0) !== (pixels[at] === 0)) expect.fail('transparency moved');
        }
      }),
      { numRuns: inLength(25, 300) },
    );
    const few = async (colors: number) =>
      difference(smooth, await decode(await encodeImage(smooth, { mediaType: 'image/png8', colors })));
    const [with16, with128] = [await few(16), await few(128)];
    expect(with128).toBeLessThan(8);
    expect(with128).toBeLessThan(with16 / 2);
  });

  it.each(['image/png', 'image/png24'])('encodeImage keeps every pixel in %s', async (format) => {
    for (const image of [mapLike(256, 256), photoLike(61, 47), photoLike(700, 500), translucent]) {
      const decoded = await decode(await encode(image, format));
      expect(decoded.pixels.equals(image.pixels)).toBe(true);
    }
  });

  it('encodeImage keeps every pixel in a PNG for any number of colours, any alpha and any width', async () => {
    const images = fc.record({
      width: fc.integer({ min: 1, max: 40 }),
      height: fc.integer({ min: 1, max: 20 }),
      colours: fc.array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: 1, maxLength: 300 }),
      step: fc.integer({ min: 1, max: 7 }),
    });
    await fc.assert(
      fc.asyncProperty(images, async ({ width, height, colours, step }) => {
        const words = Uint32Array.from(
          { length: width * height },
          (_, i) => colours[(i * step) % colours.length] ?? 0,
        );
        const image = { width, height, pixels: Buffer.from(words.buffer) };
        const decoded = await decode(await encode(image, 'image/png'));
        expect(decoded.pixels.equals(image.pixels)).toBe(true);
      }),
      { numRuns: inLength(50, 1000) },
    );
  });

  it('encodeImage writes a PNG of few colours with a palette, and image/png24 never', async () => {
    const image = mapLike(256, 256, 200);
    const withPalette = await encode(image, 'image/png');
    expect((await sharp(withPalette).metadata()).isPalette).toBe(true);
    const trueColour = await encode(image, 'image/png24');
    expect((await sharp(trueColour).metadata()).isPalette).toBe(false);
    expect(withPalette.length).toBeLessThan(trueColour.length);
  });

  it('encodeImage writes image/png8 with a palette however many colours there are', async () => {
    const metadata = await sharp(await encode(photoLike(256, 256), 'image/png8')).metadata();
    expect(metadata.isPalette).toBe(true);
  });

  it('encodeImage lays transparent pixels on white in a JPEG', async () => {
    const clear = paintImage(16, 16, () => [0, 0, 0, 0]);
    const half = paintImage(16, 16, () => [0, 0, 0, 128]);
    expect((await decode(await encode(clear, 'image/jpeg'))).pixels[0]).toBeGreaterThan(252);
    expect((await decode(await encode(half, 'image/jpeg'))).pixels[0]).toBeCloseTo(127, -1);
  });

  it('encodeImage refuses formats that are not images', async () => {
    await expect(encode(mapLike(2, 2), 'application/vnd.mapbox-vector-tile')).rejects.toMatchObject({
      code: 'format-unknown',
    });
  });
});
