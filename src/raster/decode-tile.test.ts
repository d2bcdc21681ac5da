import { expect, it } from 'vitest';
import { paintImage } from '../../test/fixtures/pictures.ts';
import { decodeImage } from './decode-image.ts';
import { decodeTile } from './decode-tile.ts';
import { encodeImage } from './encode-image.ts';

const SIZE = { width: 64, height: 48 };
const colourful = paintImage(64, 48, (x, y) => [4 * x, 5 * y, x * y, 255 - x]);
const opaque = paintImage(64, 48, (x, y) => [4 * x, 5 * y, (x * y) % 256, 255]);
const flat = paintImage(64, 48, (x) => (x > 20 ? [200, 10, 10, 128] : [0, 0, 0, 0]));

it.each([
  ['true colour with alpha', colourful, 'image/png'],
  ['true colour', opaque, 'image/png'],
  ['a palette with alpha', flat, 'image/png'],
  ['JPEG', opaque, 'image/jpeg'],
  ['WebP', colourful, 'image/webp'],
])('a tile in %s has the pixels that the image library reads', async (_, image, mediaType) => {
  const bytes = await encodeImage(image, { mediaType });
  const { pixels } = await decodeImage(bytes, { maxPixels: 64 * 48 });
  expect((await decodeTile(bytes, SIZE)).equals(pixels)).toBe(true);
});

it('a tile that is damaged or of another size is refused', async () => {
  const bytes = await encodeImage(colourful, { mediaType: 'image/png' });
  const damaged = Buffer.from(bytes).fill(7, bytes.length >> 1, bytes.length - 40);
  await expect(decodeTile(damaged, SIZE)).rejects.toMatchObject({ reason: 'truncated' });
  await expect(decodeTile(bytes, { width: 48, height: 64 })).rejects.toMatchObject({ reason: 'wrong-size' });
});
