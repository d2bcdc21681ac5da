import { constants, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { mapLike, paintImage, photoLike } from '../../test/fixtures/pictures.ts';
import { copyPart, type ImagePart, type RasterImage, samplesOf } from './image.ts';
import { type OrdinaryPng, readOrdinaryPng } from './ordinary-png.ts';
import { Pixels } from './pixels.ts';

async function readBySharp(png: Buffer): Promise<Buffer> {
  return await sharp(png, { failOn: 'warning' }).toColourspace('srgb').ensureAlpha().raw().toBuffer();
}

/** Indexed where the colours suffice for it, unless `form` asks for true colour. */
type Form = 'smallest' | 'true colour';

const pixels = new Pixels();

function encode(image: RasterImage, form: Form = 'smallest', part: ImagePart = whole(image)): Buffer {
  pixels.load(image, part.width, part.height);
  const colours = form === 'smallest' ? pixels.index(part) : 0;
  return colours > 0 ? pixels.indexedPng(part, colours) : pixels.trueColourPng(part);
}

function whole({ width, height }: RasterImage): ImagePart {
  return { left: 0, top: 0, width, height };
}

async function expectExact(image: RasterImage, form?: Form, part = whole(image)): Promise<void> {
  const read = await readBySharp(encode(image, form, part));
  expect(read.equals(copyPart(samplesOf(image), part).data)).toBe(true);
}

/** Runs of colours, some of them broken by rows that repeat the one above. */
const images = fc
  .record({
    width: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 300 })),
    height: fc.integer({ min: 1, max: 24 }),
    colours: fc.array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: 1, maxLength: 400 }),
    opaque: fc.boolean(),
    step: fc.integer({ min: 1, max: 7 }),
    run: fc.integer({ min: 1, max: 300 }),
    repeated: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ width, height, colours, opaque, step, run, repeated }) => {
    const words = Uint32Array.from({ length: width * height }, (_, i) => {
      const row = Math.floor(Math.floor(i / width) / repeated);
      const colour = colours[(Math.floor((row * width + (i % width)) / run) * step) % colours.length] ?? 0;
      return opaque ? (colour | 0xff000000) >>> 0 : colour;
    });
    return { width, height, pixels: Buffer.from(words.buffer) };
  });

describe('a PNG that we write', () => {
  it('a PNG that we write has every pixel, for any size, number of colours and alpha', async () => {
    await fc.assert(
      fc.asyncProperty(images, async (image) => {
        await expectExact(image);
        await expectExact(image, 'true colour');
      }),
      { numRuns: inLength(50, 1000) },
    );
  });

  it('a PNG that we write has every pixel of the part that was asked for, and of no other', async () => {
    const parts = fc.tuple(images, fc.nat(), fc.nat(), fc.nat(), fc.nat());
    await fc.assert(
      fc.asyncProperty(parts, async ([image, a, b, c, d]) => {
        const [left, top] = [a % image.width, b % image.height];
        const [width, height] = [1 + (c % (image.width - left)), 1 + (d % (image.height - top))];
        await expectExact(image, 'smallest', { left, top, width, height });
      }),
      { numRuns: inLength(40, 1000) },
    );
  });

  it.each([
    [4096, 32],
    [3000, 40],
    [8192, 16],
    [8192, 1],
    [1, 8192],
    [10_923, 3],
    [700, 500],
  ])('a PNG that we write has every pixel when it is %i × %i', async (width, height) => {
    for (const image of [
      photoLike(width, height),
      mapLike(width, height, 300),
      paintImage(width, height, (x, y) => [x & 255, y & 255, (x >> 8) & 255, (x + y) & 255]),
      paintImage(width, height, () => [255, 255, 255, 255]),
    ]) {
      await expectExact(image);
      await expectExact(image, 'true colour');
    }
  });

  it.each([1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257])(
    'a PNG that we write has every pixel of %i colours',
    async (colours) => {
      const image = paintImage(67, 41, (x, y) => {
        const number = (x + y * 67) % colours;
        return [number & 255, number >> 8, 90, number % 3 === 0 ? 255 : number & 255];
      });
      await expectExact(image);
      const [bitDepth, colourType] = encode(image).subarray(24);
      expect(colourType).toBe(colours <= 256 ? 3 : 6);
      expect(bitDepth).toBe(colours <= 2 ? 1 : colours <= 4 ? 2 : colours > 4 && colours <= 16 ? 4 : 8);
    },
  );

  it('a PNG that we write has every pixel when one of its codes would get too long', async () => {
    const words = new Uint32Array(2 ** 18);
    for (let bit = 0; bit < 18; bit++) {
      const every = 2 ** (bit + 1);
      for (let at = every >> 1; at < words.length; at += every)
        words[at] = Math.imul(bit + 1, 0x0b0d0f) >>> 0;
    }
    await expectExact({ width: 512, height: 512, pixels: Buffer.from(words.buffer) });
    await expectExact({ width: 512, height: 512, pixels: Buffer.from(words.buffer) }, 'true colour');
  });

  it('a PNG that we write is small for areas and the lines between them', () => {
    const image = paintImage(256, 256, (x, y) => [x >> 5, y >> 5, (x * y) % 61 === 0 ? x : 0, 255]);
    expect(encode(image).length).toBeLessThan((256 * 256 * 3) / 20);
  });
});

describe('an ordinary PNG', () => {
  async function expectRead(png: Buffer, width: number, height: number): Promise<void> {
    const ordinary = readOrdinaryPng(png, width, height);
    if (!ordinary) throw new Error('not taken for ordinary');
    expect(pixels.loadPng(ordinary, 16, 16)).toBe(true);
    expect(pixels.samples.data.equals(await readBySharp(png))).toBe(true);
  }

  it('an ordinary PNG is read as the image library reads it, with every filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        images,
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        async (image, adaptive, channels) => {
          const { width, height } = image;
          const samples = sharp(image.pixels, { raw: { width, height, channels: 4 } });
          const shaped = [
            samples.clone().removeAlpha().greyscale(),
            samples.clone().greyscale(),
            samples.clone().removeAlpha(),
            samples,
          ];
          const png = await (shaped[channels - 1] as Sharp)
            .png({ adaptiveFiltering: adaptive, compressionLevel: 6 })
            .toBuffer();
          await expectRead(png, width, height);
        },
      ),
      { numRuns: inLength(50, 1000) },
    );
  });

  it('an ordinary PNG is read with a palette of 1 to 8 bits and its alpha', async () => {
    await fc.assert(
      fc.asyncProperty(images, async (image) => {
        await expectRead(encode(image), image.width, image.height);
      }),
      { numRuns: inLength(40, 1000) },
    );
  });

  it('the test images use every filter but none', async () => {
    const seen = new Set<number>();
    for (const image of [photoLike(256, 256), mapLike(256, 256, 300), noise(256, 256)]) {
      const png = await sharp(image.pixels, { raw: { width: 256, height: 256, channels: 4 } })
        .png({ adaptiveFiltering: true })
        .toBuffer();
      await expectRead(png, 256, 256);
      const rows = inflateSync(Buffer.concat(readOrdinaryPng(png, 256, 256)?.packed ?? []));
      for (let y = 0; y < 256; y++) seen.add(rows[(y * rows.length) / 256] ?? -1);
    }
    expect([...seen].sort()).toEqual([1, 2, 3, 4]);
  });

  it('a PNG is not ordinary with a wrong checksum, more or less data, bytes behind it or another size', async () => {
    const png = encode(mapLike(64, 64));
    expect(readOrdinaryPng(png, 64, 64)).not.toBeNull();
    expect(readOrdinaryPng(png, 64, 63)).toBeNull();
    expect(readOrdinaryPng(png, 63, 64)).toBeNull();
    expect(readOrdinaryPng(Buffer.concat([png, Buffer.alloc(1)]), 64, 64)).toBeNull();
    for (let at = 8; at < png.length; at++) {
      const changed = Buffer.from(png);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(readOrdinaryPng(changed, 64, 64), `byte ${at}`).toBeNull();
      expect(readOrdinaryPng(png.subarray(0, at), 64, 64), `cut at ${at}`).toBeNull();
    }
  });

  it('a PNG is not ordinary when it is interlaced, 16 bits deep, animated or has a colour profile', async () => {
    const { pixels } = photoLike(32, 32);
    const image = sharp(pixels, { raw: { width: 32, height: 32, channels: 4 } });
    for (const png of [
      await image.clone().png({ progressive: true }).toBuffer(),
      await image.clone().toColourspace('rgb16').png().toBuffer(),
      await image.clone().withIccProfile('p3').png().toBuffer(),
    ]) {
      expect(readOrdinaryPng(png, 32, 32)).toBeNull();
    }
  });

  /** Rows of grey without a filter, packed in one of the ways that zlib knows. */
  const packings = fc.record({
    width: fc.integer({ min: 1, max: 300 }),
    height: fc.integer({ min: 1, max: 300 }),
    values: fc.constantFrom(1, 2, 20, 256),
    level: fc.integer({ min: 0, max: 9 }),
    strategy: fc.constantFrom(
      constants.Z_DEFAULT_STRATEGY,
      constants.Z_FIXED,
      constants.Z_HUFFMAN_ONLY,
      constants.Z_RLE,
    ),
    memLevel: fc.integer({ min: 1, max: 9 }),
    parts: fc.integer({ min: 1, max: 3 }),
    seed: fc.nat(),
  });

  function greyRows(width: number, height: number, values: number, seed: number): Buffer {
    let state = seed >>> 0;
    return Buffer.from(
      Array.from({ length: (width + 1) * height }, (_, i) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        if (i % (width + 1) === 0) return 0;
        // Every other row repeats itself after a while.
        return Math.floor(i / width) % 2 === 0 ? (state >>> 24) % values : (i % 37) % values;
      }),
    );
  }

  function greyPng(width: number, height: number, stream: Buffer, parts: number): OrdinaryPng {
    const size = Math.ceil(stream.length / parts);
    const packed = Array.from({ length: parts }, (_, i) => stream.subarray(i * size, (i + 1) * size));
    const palette = new Uint32Array();
    return { width, height, depth: 8, colourType: 0, palette, packed, rowsLength: (width + 1) * height };
  }

  it('an ordinary PNG is unpacked as zlib unpacks it, however it was packed', () => {
    fc.assert(
      fc.property(packings, ({ width, height, values, parts, seed, ...options }) => {
        const rows = greyRows(width, height, values, seed);
        expect(pixels.loadPng(greyPng(width, height, deflateSync(rows, options), parts), 16, 16)).toBe(true);
        const { data } = pixels.samples;
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            if (data[(y * width + x) * 4] !== rows[y * (width + 1) + 1 + x]) throw new Error(`at ${x}, ${y}`);
          }
        }
      }),
      { numRuns: inLength(40, 1000) },
    );
  });

  it('an ordinary PNG is refused when its rows are damaged, too few or too many', () => {
    fc.assert(
      fc.property(packings, fc.nat(), fc.integer({ min: 1, max: 255 }), (packing, place, change) => {
        const { width, height, values, parts, seed, ...options } = packing;
        const stream = deflateSync(greyRows(width, height, values, seed), options);
        const load = (bytes: Buffer, rows = height) =>
          pixels.loadPng(greyPng(width, rows, bytes, parts), 16, 16);
        const changed = Buffer.from(stream);
        const at = place % stream.length;
        changed[at] = (changed[at] ?? 0) ^ change;
        // Some bits mean nothing, as those that fill up a byte; and a sum of 32 bits can be right by chance.
        expect(load(changed)).toBe(unpacksTo(changed, (width + 1) * height));
        expect(load(stream.subarray(0, at))).toBe(false);
        expect(load(Buffer.concat([stream, Buffer.alloc(1)]))).toBe(false);
        expect(load(stream, height + 1)).toBe(false);
        if (height > 1) expect(load(stream, height - 1)).toBe(false);
      }),
      { numRuns: inLength(60, 2000) },
    );
  });

  it('a stream that ends within the lengths of its codes is refused, also at the end of the memory', () => {
    const lengths = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].map((code) =>
      code < 13 ? 4 : 5,
    );
    const fields = [[1, 1], [2, 2], [29, 5], [29, 5], [15, 4], ...lengths.map((length) => [length, 3])];
    const bits = fields.map(([value = 0, size]) =>
      [...value.toString(2).padStart(size ?? 0, '0')].reverse().join(''),
    );
    const bytes =
      bits
        .join('')
        .match(/.{1,8}/g)
        ?.map((byte) => Number.parseInt([...byte].reverse().join(''), 2)) ?? [];
    const stream = Buffer.from([0x78, 0x9c, ...bytes, 0, 0, 0, 0]);
    const png = { ...greyPng(5449, 1, stream, 1), colourType: 6, rowsLength: 4 * 5449 + 1 };
    expect(new Pixels().loadPng(png, 1, 1)).toBe(false);
  });

  function unpacksTo(stream: Buffer, length: number): boolean {
    try {
      const { buffer, engine } = inflateSync(stream, { info: true }) as unknown as Unpacked;
      return buffer.length === length && engine.bytesWritten === stream.length;
    } catch {
      return false;
    }
  }
});

/** What `info` makes of an answer; the types of Node.js do not know it. */
interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

function noise(width: number, height: number): RasterImage {
  let state = 1;
  return paintImage(width, height, (x, y) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const grain = state >>> 28;
    return [(x + y) / 2 + grain, (x + 2 * y) / 3 + grain, y + grain, 255];
  });
}
