import { describe, expect, it } from 'vitest';
import { mapLike, paintImage } from '../../test/fixtures/sample-images.ts';
import { type Format, formatOf } from '../domain/format.ts';
import { createTileEncoder } from './tile-encoder.ts';

const png = formatOf('image/png') as Format;
const jpeg = formatOf('image/jpeg') as Format;
const sea = paintImage(256, 256, () => [10, 20, 30, 255]);

describe('a tile encoder', () => {
  it('says which colour a one-colour tile has, and reuses its bytes', async () => {
    const encoder = createTileEncoder();
    const first = await encoder.encodeTile(sea, png);
    const second = await encoder.encodeTile(sea, png);
    expect(first.colour).toBe(0xff1e140a);
    expect(second.bytes).toBe(first.bytes);
  });

  it('keeps one-colour tiles of other formats and sizes apart', async () => {
    const encoder = createTileEncoder();
    const asPng = await encoder.encodeTile(sea, png);
    const asJpeg = await encoder.encodeTile(sea, jpeg);
    const larger = await encoder.encodeTile(
      paintImage(512, 512, () => [10, 20, 30, 255]),
      png,
    );
    expect(asJpeg.bytes.equals(asPng.bytes)).toBe(false);
    expect(larger.bytes.equals(asPng.bytes)).toBe(false);
  });

  it('treats fully transparent tiles as one, whatever lies under them', async () => {
    const encoder = createTileEncoder();
    const plain = await encoder.encodeTile(
      paintImage(64, 64, () => [0, 0, 0, 0]),
      png,
    );
    const odd = await encoder.encodeTile(
      paintImage(64, 64, (x, y) => [x, y, 9, 0]),
      png,
    );
    expect(odd.bytes).toBe(plain.bytes);
  });

  it('has no colour to say of a tile with two', async () => {
    const encoded = await createTileEncoder().encodeTile(mapLike(256, 256, 2), png);
    expect(encoded.colour).toBeNull();
  });

  it('forgets the colours used longest ago when it knows too many', async () => {
    const encoder = createTileEncoder({ cachedColours: 2 });
    const encodeRed = async (red: number) =>
      await encoder.encodeTile(
        paintImage(8, 8, () => [red, 0, 0, 255]),
        png,
      );
    const one = await encodeRed(1);
    await encodeRed(2);
    expect((await encodeRed(1)).bytes).toBe(one.bytes);
    await encodeRed(3);
    await encodeRed(4);
    expect((await encodeRed(1)).bytes).not.toBe(one.bytes);
  });

  it('lets other work run between the tiles of a metatile', async () => {
    const encoder = createTileEncoder();
    let finished = false;
    let turns = 0;
    const count = () => {
      turns++;
      if (!finished) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(Array.from({ length: 16 }, () => encoder.encodeTile(mapLike(256, 256), png)));
    finished = true;
    expect(turns).toBeGreaterThanOrEqual(16);
  });
});
