import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlacedPicture } from '../domain/placed-picture.ts';
import { createComposer } from './compose-pictures.ts';
import { encodeImage } from './encode-image.ts';

const composer = createComposer();
const { compose } = composer;
const SIZE = { width: 23, height: 9 };
const INSIDE = { minX: 0, minY: 0, maxX: SIZE.width - 1, maxY: SIZE.height - 1 };

/** Of maps: many pixels are opaque, many transparent. */
const pixel = fc.tuple(
  fc.nat(255),
  fc.nat(255),
  fc.nat(255),
  fc.oneof(fc.constantFrom(0, 255), fc.constant(255), fc.nat(255)),
);

const picture: fc.Arbitrary<PlacedPicture> = fc
  .record({
    width: fc.integer({ min: 1, max: 30 }),
    height: fc.integer({ min: 1, max: 12 }),
    left: fc.integer({ min: -12, max: 24 }),
    top: fc.integer({ min: -12, max: 10 }),
    inside: fc.constantFrom(INSIDE, { minX: 3, minY: 2, maxX: 19, maxY: 7 }),
    opacity: fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true })),
    clear: fc.option(
      fc.record({ rgb: fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)), tolerance: fc.nat(255) }),
    ),
    colours: fc.array(pixel, { minLength: 1, maxLength: 40 }),
    run: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ colours, run, ...rest }) => {
    const count = rest.width * rest.height;
    const colourAt = (i: number) => colours[Math.floor(i / run) % colours.length] ?? [0, 0, 0, 0];
    return {
      ...rest,
      kind: 'pixels',
      bytes: Buffer.from(Array.from({ length: count }, (_, i) => colourAt(i)).flat()),
    };
  });

/** What is shown of each pixel: colours weighted by their opacity. */
function expected(pictures: readonly PlacedPicture[]): number[][] {
  const shown = Array.from({ length: SIZE.width * SIZE.height }, () => [0, 0, 0, 0]);
  for (const { bytes, left, top, width, height, inside, opacity, clear } of pictures) {
    for (let y = Math.max(inside.minY, top); y <= Math.min(inside.maxY, top + height - 1); y++) {
      for (let x = Math.max(inside.minX, left); x <= Math.min(inside.maxX, left + width - 1); x++) {
        const at = 4 * ((y - top) * width + x - left);
        const [over, onto] = [[...bytes.subarray(at, at + 4)], shown[y * SIZE.width + x] ?? []];
        const isClear = clear?.rgb.every((value, i) => Math.abs(value - (over[i] ?? 0)) <= clear.tolerance);
        const alpha = isClear ? 0 : (over[3] ?? 0) * opacity;
        if (alpha === 0) continue;
        const below = ((onto[3] ?? 0) * (255 - alpha)) / 255;
        const mix = (i: number) => ((over[i] ?? 0) * alpha + (onto[i] ?? 0) * below) / (alpha + below);
        shown[y * SIZE.width + x] = [mix(0), mix(1), mix(2), alpha + below].map(Math.round);
      }
    }
  }
  return shown;
}

describe('composing pictures', () => {
  it('draws each on those below, weighted by its opacity, where it is and may be', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(picture, { maxLength: 4 }), async (pictures) => {
        const pixels = await compose(SIZE, pictures);
        for (const [i, colour] of expected(pictures).entries()) {
          const shown = [...pixels.subarray(4 * i, 4 * i + 4)];
          if (colour[3] === 0) expect(shown[3]).toBe(0);
          else
            for (const [channel, value] of colour.entries()) {
              expect(Math.abs((shown[channel] ?? 0) - value)).toBeLessThanOrEqual(1);
            }
        }
      }),
    );
  });

  it('reads files, and refuses one that is damaged', async () => {
    const red = Buffer.alloc(4 * 23 * 9, Buffer.from([255, 0, 0, 255]));
    const image = { ...SIZE, pixels: Buffer.from(red).fill(0, 0, 400) };
    const place = { ...SIZE, left: 0, top: 0, inside: INSIDE, opacity: 1, clear: null };
    for (const mediaType of ['image/png', 'image/webp']) {
      const bytes = await encodeImage(image, { mediaType, lossless: true });
      const prepared = await composer.prepare(bytes, SIZE);
      expect(prepared.kind).toBe(mediaType === 'image/png' ? 'encoded' : 'pixels');
      for (const picture of [prepared, { kind: 'encoded', bytes } as const])
        expect((await compose(SIZE, [{ ...place, ...picture }])).equals(image.pixels)).toBe(true);
      const cut = { ...place, kind: 'encoded', bytes: bytes.subarray(0, -20) } as const;
      await expect(compose(SIZE, [cut])).rejects.toMatchObject({ code: 'source-bad-answer' });
    }
    expect((await compose(SIZE, [])).equals(Buffer.alloc(red.length))).toBe(true);
  });
});
