import sharp, { type Sharp } from 'sharp';
import { expect, it } from 'vitest';
import { decodeImage } from './decode-image.ts';
import { decodeStrip } from './draw-map.ts';

const SIZE = { width: 32, height: 16 };

function picture(): Sharp {
  const noise = Buffer.from(Array.from({ length: SIZE.width * SIZE.height * 4 }, (_, at) => (at * 37) % 251));
  return sharp(noise, { raw: { ...SIZE, channels: 4 } });
}

const KINDS: Readonly<Record<string, () => Promise<Buffer>>> = {
  'true colour with alpha': () => picture().png().toBuffer(),
  'a palette': () => picture().png({ palette: true }).toBuffer(),
  'grey without alpha': () => picture().removeAlpha().greyscale().png().toBuffer(),
  'grey with alpha': () => picture().greyscale().png().toBuffer(),
  'sixteen bits': () => picture().toColourspace('rgb16').png().toBuffer(),
  JPEG: () => picture().jpeg().toBuffer(),
  WebP: () => picture().webp({ lossless: true }).toBuffer(),
  GIF: () => picture().gif().toBuffer(),
};

it.each(Object.keys(KINDS))(
  'a strip with %s, alone and beside tiles of every kind, is decoded like its tiles',
  async (kind) => {
    const [tile, ...others] = await Promise.all(
      [KINDS[kind], ...Object.values(KINDS)].map((make) => make?.()),
    );
    if (!tile) throw new Error('no tile');
    const alone = await decodeImage(tile, { maxPixels: 10_000 });
    for (const beside of [[], others.flatMap((other) => other ?? [])]) {
      const strip = await decodeStrip([tile, ...beside], SIZE, 3);
      expect([strip.width, strip.height]).toEqual([SIZE.width * (beside.length + 1) + 6, SIZE.height]);
      for (let row = 0; row < SIZE.height; row++) {
        const start = row * strip.width * 4;
        const pixels = strip.pixels.subarray(start + 12, start + 12 + SIZE.width * 4);
        expect(pixels.equals(alone.pixels.subarray(row * SIZE.width * 4, (row + 1) * SIZE.width * 4))).toBe(
          true,
        );
        for (let x = 0; x < 3; x++)
          expect(strip.pixels.readUInt32LE(start + x * 4)).toBe(pixels.readUInt32LE(0));
      }
    }
  },
);

it('a strip with a tile that is damaged, too large or too small is refused', async () => {
  const good = await picture().png().toBuffer();
  const larger = await picture().resize(64, 16).png().toBuffer();
  const smaller = await picture().resize(8, 8).png().toBuffer();
  for (const bad of [good.subarray(0, good.length / 2), larger]) {
    await expect(decodeStrip([good, bad], SIZE, 2)).rejects.toMatchObject({ code: 'source-bad-answer' });
  }
  await expect(decodeStrip([smaller], SIZE, 2)).rejects.toMatchObject({ code: 'source-bad-answer' });
});
