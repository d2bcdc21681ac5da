import { describe, expect, it } from 'vitest';
import { layOnColour, layOver } from './lay-over.ts';
import type { RasterImage } from './raster-image.ts';
import { createResampleAxis } from './resample-axis.ts';
import { resampleImage } from './resample-image.ts';

type Pixel = readonly [number, number, number, number];

function picture(width: number, height: number, at: (x: number, y: number) => Pixel): RasterImage {
  const pixels = Buffer.alloc(width * height * 4);
  for (let i = 0; i < width * height; i++) pixels.set(at(i % width, Math.floor(i / width)), i * 4);
  return { width, height, pixels };
}

const pixelAt = ({ width, pixels }: RasterImage, x: number, y: number) => [
  ...pixels.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
];

interface Window {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
  readonly width: number;
  readonly height: number;
}

async function viewOf(source: RasterImage, { left, top, scale, width, height }: Window) {
  const asked: number[] = [];
  const image = await resampleImage({
    across: createResampleAxis({ length: width, origin: left, scale, available: source.width }),
    down: createResampleAxis({ length: height, origin: top, scale, available: source.height }),
    async sourceRow(row) {
      asked.push(row);
      return source.pixels.subarray(row * source.width * 4, (row + 1) * source.width * 4);
    },
  });
  return { image, asked };
}

const slope = picture(64, 64, (x, y) => [x * 4, y * 4, 7, 255]);

describe('resampling', () => {
  it('copies pixels where source and output agree, and leaves the rest empty', async () => {
    const { image } = await viewOf(slope, { left: 60.01, top: -2, scale: 1.00001, width: 8, height: 4 });
    expect(pixelAt(image, 0, 2)).toEqual([240, 0, 7, 255]);
    expect(pixelAt(image, 3, 3)).toEqual([252, 4, 7, 255]);
    expect(pixelAt(image, 4, 3)).toEqual([0, 0, 0, 0]);
    expect(pixelAt(image, 0, 1)).toEqual([0, 0, 0, 0]);
  });

  it.each([0.25, 0.8, 1, 1.3, 2, 3.7])('keeps a slope a slope at scale %d', async (scale) => {
    const size = Math.floor(40 / scale);
    const { image } = await viewOf(slope, { left: 8.3, top: 9.6, scale, width: size, height: size });
    for (const [x, y] of [
      [0, 0],
      [size - 1, 1],
      [Math.floor(size / 2), size - 1],
    ] as const) {
      const [red = 0, green = 0, blue, alpha] = pixelAt(image, x, y);
      expect(Math.abs(red - (8.3 + (x + 0.5) * scale - 0.5) * 4)).toBeLessThanOrEqual(1);
      expect(Math.abs(green - (9.6 + (y + 0.5) * scale - 0.5) * 4)).toBeLessThanOrEqual(1);
      expect([blue, alpha]).toEqual([7, 255]);
    }
  });

  it('has no half-transparent rim where the source ends', async () => {
    const { image } = await viewOf(slope, { left: 0, top: 0, scale: 0.37, width: 170, height: 170 });
    for (const at of [0, 169]) expect(pixelAt(image, at, at)[3]).toBe(255);
  });

  it('does not let the colour of invisible pixels through', async () => {
    const edge = picture(4, 1, (x) => (x < 2 ? [255, 0, 0, 255] : [0, 255, 0, 0]));
    const { image } = await viewOf(edge, { left: 0.5, top: 0, scale: 1, width: 3, height: 1 });
    expect(pixelAt(image, 1, 0)).toEqual([255, 0, 0, 128]);
  });

  it('asks for each source row once, from the top down', async () => {
    const { asked } = await viewOf(slope, { left: 0, top: 3, scale: 1.7, width: 10, height: 30 });
    expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b));
  });
});

describe('laying pictures on each other', () => {
  it('shows the lower one through what is transparent', async () => {
    const bottom = picture(3, 1, () => [0, 0, 200, 255]);
    const top = picture(3, 1, (x) => [200, 0, 0, [0, 128, 255][x] ?? 0]);
    await layOver(bottom, top);
    expect([0, 1, 2].map((x) => pixelAt(bottom, x, 0))).toEqual([
      [0, 0, 200, 255],
      [100, 0, 100, 255],
      [200, 0, 0, 255],
    ]);
  });

  it('fills with a colour what is left', async () => {
    const image = picture(2, 1, (x) => [100, 100, 100, x === 0 ? 0 : 51]);
    await layOnColour(image, [255, 255, 0]);
    expect([pixelAt(image, 0, 0), pixelAt(image, 1, 0)]).toEqual([
      [255, 255, 0, 255],
      [224, 224, 20, 255],
    ]);
  });
});
