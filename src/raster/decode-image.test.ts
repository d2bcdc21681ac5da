import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { photoLike } from '../../test/fixtures/pictures.ts';
import { decodeImage } from './decode-image.ts';

const LIMITS = { maxPixels: 1_000_000 };
const image = photoLike(200, 150);
const raw = { raw: { width: 200, height: 150, channels: 4 as const } };

const ENCODINGS: readonly (readonly [string, () => Promise<Buffer>])[] = [
  ['PNG', () => sharp(image.pixels, raw).png().toBuffer()],
  ['palette PNG', () => sharp(image.pixels, raw).png({ palette: true, effort: 1 }).toBuffer()],
  ['interlaced PNG', () => sharp(image.pixels, raw).png({ progressive: true }).toBuffer()],
  ['JPEG', () => sharp(image.pixels, raw).jpeg().toBuffer()],
  ['progressive JPEG', () => sharp(image.pixels, raw).jpeg({ progressive: true }).toBuffer()],
  ['WebP', () => sharp(image.pixels, raw).webp().toBuffer()],
  ['lossless WebP', () => sharp(image.pixels, raw).webp({ lossless: true }).toBuffer()],
  ['GIF', () => sharp(image.pixels, raw).gif({ effort: 1 }).toBuffer()],
  ['AVIF', () => sharp(image.pixels, raw).avif({ effort: 0 }).toBuffer()],
];

describe('decodeImage', () => {
  it('decodeImage returns the pixels of a PNG as they were', async () => {
    const decoded = await decodeImage(await sharp(image.pixels, raw).png().toBuffer(), LIMITS);
    expect(decoded.width).toBe(200);
    expect(decoded.pixels.equals(image.pixels)).toBe(true);
  });

  it('decodeImage returns RGBA whatever channels and depth the file has', async () => {
    const grey = await sharp(image.pixels, raw).greyscale().removeAlpha().png().toBuffer();
    const deep = await sharp(image.pixels, raw).toColourspace('rgb16').png().toBuffer();
    for (const bytes of [grey, deep]) {
      expect((await decodeImage(bytes, LIMITS)).pixels.length).toBe(200 * 150 * 4);
    }
  });

  describe.each(ENCODINGS)('a %s', (kind, encode) => {
    let bytes: Buffer;
    beforeAll(async () => {
      bytes = await encode();
    });

    it(`an image as ${kind} is read when it is whole`, async () => {
      const decoded = await decodeImage(bytes, LIMITS);
      expect([decoded.width, decoded.height]).toEqual([200, 150]);
    });

    it(`an image as ${kind} is refused when any part of its end is missing`, async () => {
      for (const length of [bytes.length >> 1, bytes.length - 100, bytes.length - 12, bytes.length - 1]) {
        await expect(decodeImage(bytes.subarray(0, length), LIMITS), `${length} bytes`).rejects.toMatchObject(
          {
            code: 'source-bad-answer',
            reason: 'truncated',
          },
        );
      }
    });

    it(`an image as ${kind} is refused when its second half is filled up with zeros`, async () => {
      const filled = Buffer.concat([bytes.subarray(0, bytes.length >> 1)], bytes.length);
      await expect(decodeImage(filled, LIMITS)).rejects.toMatchObject({ reason: 'truncated' });
    });
  });

  it('decodeImage refuses animated images', async () => {
    const frames = Buffer.concat([image.pixels, Buffer.from(image.pixels).fill(90)]);
    const animation = sharp(frames, { raw: { width: 200, height: 300, channels: 4, pageHeight: 150 } });
    for (const bytes of [
      await animation.clone().gif({ effort: 1 }).toBuffer(),
      await animation.clone().webp({ effort: 0 }).toBuffer(),
    ]) {
      await expect(decodeImage(bytes, LIMITS)).rejects.toMatchObject({ reason: 'animated' });
    }
  });

  it('decodeImage refuses an animated PNG, whose first frame the decoder would show', async () => {
    const png = await sharp(image.pixels, raw).png().toBuffer();
    const control = Buffer.from('00000008616354 4c00000002000000000000 0000'.replaceAll(' ', ''), 'hex');
    const animated = Buffer.concat([png.subarray(0, 33), control, png.subarray(33)]);
    await expect(decodeImage(animated, LIMITS)).rejects.toMatchObject({ reason: 'animated' });
  });

  it('decodeImage refuses more pixels than allowed without decoding them', async () => {
    const bytes = await sharp(image.pixels, raw).png().toBuffer();
    await expect(decodeImage(bytes, { maxPixels: 29_999 })).rejects.toMatchObject({ reason: 'oversized' });
  });

  it('decodeImage does not hand SVG, TIFF or text to the decoder', async () => {
    const tiff = await sharp(image.pixels, raw).tiff().toBuffer();
    for (const bytes of [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), tiff, Buffer.alloc(0)]) {
      await expect(decodeImage(bytes, LIMITS)).rejects.toMatchObject({ reason: 'not-an-image' });
    }
  });
});
