import fc from 'fast-check';
import sharp, { type JpegOptions } from 'sharp';
import { describe, expect, it } from 'vitest';
import { evenGutter } from '../../test/fixtures/layers.ts';
import { randomSeed } from '../../test/fixtures/length.ts';
import { copyPart, type Samples } from './image.ts';
import { JpegCutter } from './jpeg-cutter.ts';

const QUALITY = 80;
const cutter = new JpegCutter(QUALITY);

/** Soft hills with grain on them, different for each seed. */
function landscape(width: number, height: number, seed: number): Samples {
  const data = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const grain = (Math.imul(x * 7919 + y * 104729 + seed, 0x9e3779b1) >>> 27) - 16;
      const at = (y * width + x) * 3;
      data[at] = 120 + 90 * Math.sin((x + seed) / 37) + grain;
      data[at + 1] = 120 + 90 * Math.sin((y - seed) / 23) + grain;
      data[at + 2] = 120 + 90 * Math.cos((x + y) / 51) + grain;
    }
  }
  return { width, height, channels: 3, data };
}

const imageOf = ({ width, height, channels, data }: Samples) =>
  sharp(data, { raw: { width, height, channels } });

const jpegOf = (samples: Samples, options: JpegOptions) => imageOf(samples).jpeg(options).toBuffer();

async function decoded(bytes: Buffer): Promise<Samples> {
  const { data, info } = await sharp(bytes, { failOn: 'warning' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, channels: 3, data };
}

/** The greatest difference of two pictures, without a frame: at an edge chroma is smoothed with what lies beyond. */
function greatestDifference(a: Samples, b: Samples, frame: number): number {
  let greatest = 0;
  for (let y = frame; y < a.height - frame; y++) {
    for (let i = (y * a.width + frame) * 3; i < (y * a.width + a.width - frame) * 3; i++) {
      greatest = Math.max(greatest, Math.abs((a.data[i] ?? 0) - (b.data[i] ?? 0)));
    }
  }
  return greatest;
}

function meanSquare(a: Samples, b: Samples): number {
  return a.data.reduce((sum, value, i) => sum + (value - (b.data[i] ?? 0)) ** 2, 0) / a.data.length;
}

function bufferOf(tile: Buffer | number | undefined): Buffer {
  if (!Buffer.isBuffer(tile)) throw new Error('a tile of one colour where none was expected');
  return tile;
}

describe('a JPEG that is cut without making pixels of it', () => {
  const seed = randomSeed();
  it(`a cut JPEG keeps every pixel of a picture that is no finer than our tiles (seed ${seed})`, async () => {
    const shapes = fc.record({
      columns: fc.integer({ min: 1, max: 3 }),
      rows: fc.integer({ min: 1, max: 3 }),
      tileWidth: fc.constantFrom(16, 32, 64, 256),
      tileHeight: fc.constantFrom(16, 48, 256),
      gutter: fc.constantFrom(0, 16, 32).map(evenGutter),
    });
    const jpegs = fc.record({
      quality: fc.integer({ min: 5, max: QUALITY }),
      optimiseCoding: fc.boolean(),
      seed: fc.nat(1000),
    });
    await fc.assert(
      fc.asyncProperty(shapes, jpegs, async (grid, { seed: place, ...options }) => {
        const { columns, rows, tileWidth: width, tileHeight: height } = grid;
        const gutter = grid.gutter.left;
        const whole = landscape(columns * width + 2 * gutter, rows * height + 2 * gutter, place);
        const bytes = await jpegOf(whole, options);
        const cut = cutter.cut(bytes, grid);
        const picture = await decoded(bytes);
        expect(cut).toHaveLength(columns * rows);
        for (const [i, tile] of (cut ?? []).entries()) {
          if (typeof tile === 'number') continue;
          const left = gutter + (i % columns) * width;
          const top = gutter + Math.floor(i / columns) * height;
          const part = copyPart(picture, { left, top, width, height });
          expect(greatestDifference(await decoded(tile), part, 2)).toBe(0);
        }
      }),
      { numRuns: 30, seed },
    );
  });

  it('a cut JPEG of a finer picture is coarser, with no more loss and bytes than encoding it again', async () => {
    for (const quality of [85, 90, 95, 100]) {
      const bytes = await jpegOf(landscape(512, 256, quality), { quality });
      const picture = await decoded(bytes);
      const grid = { columns: 2, rows: 1, tileWidth: 256, tileHeight: 256, gutter: evenGutter(0) };
      const tile = bufferOf(cutter.cut(bytes, grid)?.[1]);
      const part = copyPart(picture, { left: 256, top: 0, width: 256, height: 256 });
      const again = await jpegOf(part, { quality: QUALITY, optimiseCoding: false });
      expect(meanSquare(await decoded(tile), part)).toBeLessThan(
        1.1 * meanSquare(await decoded(again), part),
      );
      expect(tile.length).toBeLessThan(1.03 * again.length);
    }
  });

  it('a tile of one colour of a cut JPEG is that colour', async () => {
    const whole = landscape(512, 256, 3);
    for (let y = 0; y < 256; y++) whole.data.fill(Buffer.from([40, 80, 120]), y * 1536, y * 1536 + 256 * 3);
    const bytes = await jpegOf(whole, { quality: QUALITY });
    const grid = { columns: 2, rows: 1, tileWidth: 256, tileHeight: 256, gutter: evenGutter(0) };
    const cut = cutter.cut(bytes, grid);
    const { data } = await decoded(bytes);
    const [red = 0, green = 0, blue = 0] = data;
    expect(cut?.[0]).toBe((0xff000000 | (blue << 16) | (green << 8) | red) >>> 0);
  });

  it('all tiles of a JPEG of one colour have that colour', async () => {
    const whole = landscape(64, 64, 0);
    whole.data.fill(Buffer.from([10, 200, 30]));
    const cut = cutter.cut(await jpegOf(whole, { quality: 95 }), {
      columns: 2,
      rows: 2,
      tileWidth: 32,
      tileHeight: 32,
      gutter: evenGutter(0),
    });
    expect(new Set(cut).size).toBe(1);
    expect(cut?.[0]).toBeTypeOf('number');
  });

  it('a JPEG that is unusual or damaged is left to the image library', async () => {
    const whole = landscape(256, 256, 9);
    const grid = { columns: 2, rows: 2, tileWidth: 128, tileHeight: 128, gutter: evenGutter(0) };
    const bytes = await jpegOf(whole, { quality: 90 });
    const isCut = (jpeg: Buffer) => cutter.cut(jpeg, grid) !== null;
    expect(isCut(bytes)).toBe(true);
    const unusual = {
      progressive: await jpegOf(whole, { progressive: true }),
      'with all of its chroma': await jpegOf(whole, { chromaSubsampling: '4:4:4' }),
      grey: await imageOf(whole).toColourspace('b-w').jpeg().toBuffer(),
      'with a profile': await imageOf(whole).withIccProfile('p3').jpeg().toBuffer(),
      'of another size': await jpegOf(landscape(256, 240, 9), { quality: 90 }),
    };
    for (const [name, other] of Object.entries(unusual)) expect(isCut(other), name).toBe(false);
    const end = Buffer.from([0xff, 0xd9]);
    const damaged = [
      bytes.subarray(0, -2),
      Buffer.concat([bytes.subarray(0, bytes.length >> 1), end]),
      Buffer.concat([bytes.subarray(0, -3), end]),
      Buffer.concat([bytes.subarray(0, -2), Buffer.from([1, 2, 3]), end]),
      Buffer.concat([bytes, Buffer.from([0])]),
      bytes.subarray(0, 300),
      Buffer.alloc(0),
    ];
    for (const [i, broken] of damaged.entries()) expect(isCut(broken), `damage ${i}`).toBe(false);
    expect(cutter.cut(bytes, { ...grid, tileWidth: 120, gutter: evenGutter(8) })).toBeNull();
  });

  it('a JPEG with damaged bytes never leads the cutter astray', async () => {
    const bytes = await jpegOf(landscape(128, 128, 5), { quality: 90 });
    const grid = { columns: 2, rows: 2, tileWidth: 64, tileHeight: 64, gutter: evenGutter(0) };
    const spoiled = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(spoiled, async (changes) => {
        const copy = Buffer.from(bytes);
        for (const [at, value] of changes) copy[at] = value;
        for (const tile of cutter.cut(copy, grid) ?? []) {
          if (Buffer.isBuffer(tile)) await decoded(tile);
        }
      }),
      { numRuns: 200, seed },
    );
  });
});
