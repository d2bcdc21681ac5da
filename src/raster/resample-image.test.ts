import { describe, expect, it } from 'vitest';
import type { RasterImage } from './decode-image.ts';
import { layOver } from './draw-map.ts';
import { reachOf, resampleImage } from './resample-image.ts';

type Pixel = readonly [number, number, number, number];

function picture(width: number, height: number, at: (x: number, y: number) => Pixel): RasterImage {
  const pixels = Buffer.alloc(width * height * 4);
  for (let i = 0; i < width * height; i++) pixels.set(at(i % width, Math.floor(i / width)), i * 4);
  return { width, height, pixels };
}

const pixelAt = ({ width, pixels }: RasterImage, x: number, y: number) => [
  ...pixels.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
];

const slope = picture(64, 64, (x, y) => [x * 4, y * 4, 7, 255]);

describe('resampling', () => {
  it('resampling copies pixels where source and output agree', async () => {
    const [across, down] = [
      { origin: 60, scale: 1, length: 4 },
      { origin: 2, scale: 1, length: 3 },
    ];
    const image = await resampleImage(slope, across, down);
    expect([image.width, image.height]).toEqual([4, 3]);
    expect(pixelAt(image, 3, 2)).toEqual([252, 16, 7, 255]);
  });

  it.each([0.00003, 0.001, 0.04, 0.25, 0.8, 1, 1.3, 2, 2.7, 3.2])(
    'resampling keeps a slope a slope at scale %d',
    async (scale) => {
      const origin = reachOf(scale) + 0.3;
      const length = Math.min(200, Math.floor((62 - 2 * origin) / scale));
      const image = await resampleImage(
        slope,
        { origin, scale, length },
        { origin: origin + 0.4, scale, length },
      );
      for (const [x, y] of [
        [0, 0],
        [length - 1, 1],
        [Math.floor(length / 2), length - 1],
      ] as const) {
        const [red = 0, green = 0, blue, alpha] = pixelAt(image, x, y);
        expect(Math.abs(red - (origin + (x + 0.5) * scale - 0.5) * 4)).toBeLessThanOrEqual(2);
        expect(Math.abs(green - (origin + 0.4 + (y + 0.5) * scale - 0.5) * 4)).toBeLessThanOrEqual(2);
        expect([blue, alpha]).toEqual([7, 255]);
      }
    },
  );

  it('resampling does not show the colour of invisible pixels', async () => {
    const edge = picture(8, 8, (x) => (x < 4 ? [255, 0, 0, 255] : [0, 255, 0, 0]));
    const axis = { origin: 1, scale: 1, length: 6 };
    const image = await resampleImage(edge, { ...axis, origin: 1.5 }, axis);
    expect(pixelAt(image, 2, 2).slice(0, 3)).toEqual([255, 0, 0]);
    expect(Math.abs((pixelAt(image, 2, 2)[3] ?? 0) - 127.5)).toBeLessThanOrEqual(1);
  });
});

describe('laying pictures on each other', () => {
  it('a picture laid on another shows the lower one where it is transparent', async () => {
    const bottom = picture(3, 1, () => [0, 0, 200, 255]);
    const top = picture(3, 1, (x) => [200, 0, 0, [0, 128, 255][x] ?? 0]);
    const image = await layOver(bottom, top);
    expect(pixelAt(image, 0, 0)).toEqual([0, 0, 200, 255]);
    const [red = 0, , blue = 0, alpha] = pixelAt(image, 1, 0);
    for (const value of [red, blue]) expect(Math.abs(value - 100)).toBeLessThanOrEqual(1);
    expect(alpha).toBe(255);
    expect(pixelAt(image, 2, 0)).toEqual([200, 0, 0, 255]);
  });
});
