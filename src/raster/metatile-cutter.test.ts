import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { evenGutter } from '../../test/fixtures/layers.ts';
import { mapLike, paintImage, photoLike } from '../../test/fixtures/pictures.ts';
import { silentLogger } from '../lib/logger.ts';
import { recogniseImage } from './check-structure.ts';
import { copyPart, decodeImage, type RasterImage, samplesOf } from './decode-image.ts';
import { MetatileCutter } from './metatile-cutter.ts';
import { openCutterThread } from './open-cutter-thread.ts';
import type { CutJob, CutTile } from './tile-cutter.ts';

const GRID = { columns: 3, rows: 2, tileWidth: 64, tileHeight: 48, gutter: evenGutter(5) };
const [WIDTH, HEIGHT] = [3 * 64 + 10, 2 * 48 + 10];
/** Every tile of it has other pixels. */
const drawn = paintImage(WIDTH, HEIGHT, (x, y) => [x >> 3, y >> 3, 7, 255]);
const sea = paintImage(WIDTH, HEIGHT, () => [10, 20, 30, 255]);

async function jobOf(
  image: RasterImage,
  format = 'image/png',
  sent: 'png' | 'jpeg' | 'webp' = 'png',
): Promise<CutJob> {
  const { width, height, pixels } = image;
  const bytes = await sharp(pixels, { raw: { width, height, channels: 4 } })
    [sent]()
    .toBuffer();
  return {
    picture: { kind: 'encoded', bytes, mediaType: `image/${sent}` },
    grid: GRID,
    format: { mediaType: format },
  };
}

async function expectTiles(tiles: readonly CutTile[], image: RasterImage): Promise<void> {
  expect(tiles).toHaveLength(6);
  for (const [i, { bytes }] of tiles.entries()) {
    const part = { left: 5 + (i % 3) * 64, top: 5 + Math.floor(i / 3) * 48, width: 64, height: 48 };
    const tile = await decodeImage(bytes, { maxPixels: 64 * 48 });
    expect(tile.pixels.equals(copyPart(samplesOf(image), part).data), `tile ${i}`).toBe(true);
  }
}

describe('a mixture of JPEG and PNG', () => {
  const halfOpen = paintImage(WIDTH, HEIGHT, (x, y) => [
    x,
    y,
    x ^ y,
    x < 5 + 64 ? 255 : x < 5 + 128 ? 128 : 0,
  ]);

  it.each([
    ['image/vnd.jpeg-png', 'image/png'],
    ['image/vnd.jpeg-png8', 'image/png'],
  ])('a mixture %s has tiles as JPEG where nothing shows through, as PNG otherwise', async (format, png) => {
    const cutter = new MetatileCutter();
    for (const job of [
      await jobOf(halfOpen, format),
      { picture: { kind: 'pixels', ...halfOpen }, grid: GRID, format: { mediaType: format } } as const,
    ]) {
      const tiles = await cutter.cut(job);
      expect(tiles.map(({ bytes }) => recogniseImage(bytes))).toEqual([
        'image/jpeg',
        png,
        png,
        'image/jpeg',
        png,
        png,
      ]);
      expect(tiles.map(({ colour }) => colour)).toEqual([null, null, 0, null, null, 0]);
    }
    const tiles = await cutter.cut(await jobOf(sea, format));
    expect(recogniseImage(tiles[0]?.bytes ?? Buffer.alloc(0))).toBe('image/jpeg');
  });
});

describe('a cutter of metatiles', () => {
  it('a cutter of metatiles cuts the tiles row by row, without what belongs to the neighbours', async () => {
    for (const image of [drawn, photoLike(WIDTH, HEIGHT), mapLike(WIDTH, HEIGHT, 700)]) {
      const cutter = new MetatileCutter();
      await expectTiles(await cutter.cut(await jobOf(image)), image);
      await expectTiles(await cutter.cut(await jobOf(image, 'image/png24')), image);
    }
  });

  it('a cutter of metatiles cuts pictures that our own image reader cannot read', async () => {
    const { pixels } = drawn;
    const image = sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 4 } });
    for (const bytes of [
      await image.clone().png({ progressive: true }).toBuffer(),
      await image.clone().webp({ lossless: true }).toBuffer(),
    ]) {
      const picture = { kind: 'encoded', bytes, mediaType: null } as const;
      await expectTiles(
        await new MetatileCutter().cut({ picture, grid: GRID, format: { mediaType: 'image/png' } }),
        drawn,
      );
    }
  });

  it('a cutter of metatiles keeps metatiles separate that are cut at the same time', async () => {
    const cutter = new MetatileCutter();
    const images = [drawn, sea, photoLike(WIDTH, HEIGHT), mapLike(WIDTH, HEIGHT, 9)];
    const jobs = await Promise.all(images.map((image) => jobOf(image)));
    const odd = await sharp(drawn.pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 4 } })
      .png({ progressive: true })
      .toBuffer();
    const unusual = {
      picture: { kind: 'encoded', bytes: odd, mediaType: null },
      grid: GRID,
      format: { mediaType: 'image/png' },
    } as const;
    const all = await Promise.all([unusual, ...jobs].map((job) => cutter.cut(job)));
    for (const [i, image] of [drawn, ...images].entries()) await expectTiles(all[i] ?? [], image);
  });

  it.each(['image/jpeg', 'image/webp', 'image/avif', 'image/gif', 'image/png8'])(
    'a cutter writes %s',
    async (format) => {
      const tiles = await new MetatileCutter().cut(await jobOf(photoLike(WIDTH, HEIGHT), format));
      for (const { bytes } of tiles) {
        const { width, height } = await sharp(bytes).metadata();
        expect([width, height]).toEqual([64, 48]);
      }
    },
  );

  it.each(['png', 'jpeg'] as const)('a cutter writes JPEG in the declared quality, from %s', async (sent) => {
    const cutter = new MetatileCutter();
    const job = await jobOf(photoLike(WIDTH, HEIGHT), 'image/jpeg', sent);
    const sizes: number[] = [];
    for (const quality of [20, 60, 80, 95]) {
      const [tile] = await cutter.cut({ ...job, format: { mediaType: 'image/jpeg', quality } });
      sizes.push(tile?.bytes.length ?? 0);
    }
    const [usual] = await cutter.cut(job);
    expect(usual?.bytes.length).toBe(sizes[2]);
    // What came as JPEG of quality 80 is never written finer.
    if (sent === 'png') expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b));
    expect(sizes[0]).toBeLessThan(sizes[2] ?? 0);
  });

  it('a single tile with a declared quality is encoded again', async () => {
    const { pixels } = photoLike(64, 48);
    const image = sharp(pixels, { raw: { width: 64, height: 48, channels: 4 } });
    const grid = { ...GRID, columns: 1, rows: 1, gutter: evenGutter(0) };
    for (const mediaType of ['image/jpeg', 'image/webp'] as const) {
      const bytes = await image[mediaType === 'image/jpeg' ? 'jpeg' : 'webp']({ quality: 95 }).toBuffer();
      const picture = { kind: 'encoded', bytes, mediaType } as const;
      const [tile] = await new MetatileCutter().cut({ picture, grid, format: { mediaType, quality: 30 } });
      expect(tile?.bytes.length).toBeLessThan(bytes.length);
    }
  });

  it.each(['image/webp', 'image/avif'])('a lossless tile keeps every pixel in %s', async (mediaType) => {
    const image = photoLike(WIDTH, HEIGHT);
    const job = await jobOf(image);
    const tiles = await new MetatileCutter().cut({ ...job, format: { mediaType, lossless: true } });
    if (mediaType === 'image/webp') await expectTiles(tiles, image);
    else expect(tiles).toHaveLength(6);
  });

  it('a cutter of metatiles reads grey pictures of any kind', async () => {
    const grey = paintImage(WIDTH, HEIGHT, (x) => [x, x, x, 255]);
    const image = sharp(grey.pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 4 } }).removeAlpha();
    for (const sent of [
      await image.clone().greyscale().toColourspace('b-w').jpeg({ quality: 100 }).toBuffer(),
      await image.clone().greyscale().toColourspace('b-w').png().toBuffer(),
    ]) {
      for (const format of ['image/png', 'image/jpeg']) {
        const picture = { kind: 'encoded', bytes: sent, mediaType: null } as const;
        const tiles = await new MetatileCutter().cut({ picture, grid: GRID, format: { mediaType: format } });
        const tile = await decodeImage(tiles[0]?.bytes ?? Buffer.alloc(0), { maxPixels: 1e6 });
        const [red, green, blue] = tile.pixels.subarray(40 * 4);
        expect(Math.abs((red ?? 0) - 45)).toBeLessThan(4);
        expect([green, blue]).toEqual([red, red]);
      }
    }
  });

  it('a cutter of metatiles reports the colour of a one-colour tile, and encodes it once', async () => {
    const cutter = new MetatileCutter();
    const tiles = await cutter.cut(await jobOf(sea));
    expect(tiles.map(({ colour }) => colour)).toEqual(Array(6).fill(0xff1e140a));
    expect(cutter.counts.encodes).toBe(1);
  });

  it('a cutter of metatiles treats fully transparent tiles as one, whatever is under them', async () => {
    const odd = paintImage(WIDTH, HEIGHT, (x, y) => [x & 255, y & 255, 9, 0]);
    const cutter = new MetatileCutter();
    const tiles = await cutter.cut(await jobOf(odd));
    const nothing = await cutter.cut({
      picture: { kind: 'nothing' },
      grid: GRID,
      format: { mediaType: 'image/png' },
    });
    expect(tiles.every(({ colour }) => colour === 0)).toBe(true);
    expect(nothing[0]?.bytes.equals(tiles[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
    expect(cutter.counts.encodes).toBe(1);
  });

  it('a cutter of metatiles decodes and encodes an identical answer once', async () => {
    const cutter = new MetatileCutter();
    const job = await jobOf(drawn);
    const first = await cutter.cut(job);
    const before = { ...cutter.counts };
    expect(await cutter.cut(job)).toEqual(first);
    expect(cutter.counts).toEqual({ ...before, knownResponses: 1 });
  });

  it('a cutter of metatiles makes new tiles of the same bytes when they are cut in another way', async () => {
    const cutter = new MetatileCutter();
    const job = await jobOf(drawn);
    await cutter.cut(job);
    const other = await cutter.cut({ ...job, format: { mediaType: 'image/png24' } });
    expect(cutter.counts.knownResponses).toBe(0);
    await expectTiles(other, drawn);
    await expect(cutter.cut({ ...job, grid: { ...GRID, gutter: evenGutter(4) } })).rejects.toMatchObject({
      reason: 'wrong-size',
    });
  });

  it('a cutter of metatiles encodes a tile once whose pixels come again in another metatile', async () => {
    const cutter = new MetatileCutter();
    await cutter.cut(await jobOf(drawn));
    const { encodes } = cutter.counts;
    // The frame differs, the tiles do not.
    const framed = paintImage(WIDTH, HEIGHT, (x, y) => (x < 5 ? [255, 0, 0, 255] : [x >> 3, y >> 3, 7, 255]));
    await expectTiles(await cutter.cut(await jobOf(framed)), framed);
    expect(cutter.counts.encodes).toBe(encodes);
    expect(cutter.counts.knownTiles).toBe(6);
  });

  it('a cutter of metatiles keeps the bytes of a single tile that is in the right format already', async () => {
    const { pixels } = photoLike(64, 48);
    const bytes = await sharp(pixels, { raw: { width: 64, height: 48, channels: 4 } })
      .jpeg()
      .toBuffer();
    const grid = { ...GRID, columns: 1, rows: 1, gutter: evenGutter(0) };
    const picture = { kind: 'encoded', bytes, mediaType: 'image/jpeg' } as const;
    const tiles = await new MetatileCutter().cut({ picture, grid, format: { mediaType: 'image/jpeg' } });
    expect(tiles[0]?.bytes.equals(bytes)).toBe(true);
    await expect(
      new MetatileCutter().cut({
        picture: { ...picture, bytes: bytes.subarray(0, 300) },
        grid,
        format: { mediaType: 'image/jpeg' },
      }),
    ).rejects.toMatchObject({ code: 'source-bad-answer', reason: 'truncated' });
  });

  it('a cutter of metatiles refuses a picture that is invalid, of another size, damaged or of another type', async () => {
    const job = await jobOf(drawn);
    const { bytes } = job.picture as { bytes: Buffer };
    const cases: [Partial<{ bytes: Buffer; mediaType: string }>, string][] = [
      [{ bytes: Buffer.from('<html>') }, 'html'],
      [{ bytes: Buffer.alloc(0) }, 'empty'],
      [{ bytes: bytes.subarray(0, -20) }, 'truncated'],
      [{ mediaType: 'image/jpeg' }, 'wrong-type'],
    ];
    for (const [change, reason] of cases) {
      const picture = { kind: 'encoded', bytes, mediaType: 'image/png', ...change } as const;
      await expect(new MetatileCutter().cut({ ...job, picture })).rejects.toMatchObject({ reason });
    }
    await expect(
      new MetatileCutter().cut({ ...job, picture: { kind: 'pixels', ...mapLike(8, 8) } }),
    ).rejects.toMatchObject({ reason: 'wrong-size' });
  });
});

describe('a thread that cuts metatiles', () => {
  it('a cutting thread makes the same tiles, refuses the same answers, and restarts after it died', async () => {
    const errors: unknown[] = [];
    const cutter = openCutterThread({
      ...silentLogger,
      error: (...all: unknown[]) => errors.push(all),
    } as never);
    try {
      const job = await jobOf(drawn);
      expect(await cutter.cut(job)).toEqual(await new MetatileCutter().cut(job));
      await expectTiles(
        await cutter.cut({
          ...job,
          picture: { kind: 'pixels', ...drawn, pixels: Buffer.from(drawn.pixels) },
        }),
        drawn,
      );
      const broken = { kind: 'encoded', bytes: Buffer.from('<?xml'), mediaType: null } as const;
      await expect(cutter.cut({ ...job, picture: broken })).rejects.toMatchObject({
        code: 'source-bad-answer',
        reason: 'service-exception',
      });
      // With a request in hand the thread itself ends: see spawn-built-thread.ts.
      await Promise.allSettled([cutter.cut(job), cutter.close()]);
      expect(await cutter.cut(job)).toEqual(await new MetatileCutter().cut(job));
      expect(errors).toEqual([]);
    } finally {
      await cutter.close();
    }
  });
});
