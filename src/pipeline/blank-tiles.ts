import { contentTypeOf, type Format, formatOf } from '../domain/format.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { filledImage } from '../raster/decode-image.ts';

/** Transparent tiles in a format; as PNG if it has no transparency, as in GeoWebCache, because clients inspect the bytes. */
export function createBlankTiles() {
  const tiles = new Map<string, ReturnType<typeof make>>();
  const make = async (format: Format, width: number, height: number) => {
    // Imported when needed: a process that serves hits only does without the image library.
    const { encodeImage } = await import('../raster/encode-image.ts');
    const bytes = await encodeImage(filledImage(width, height, 0), format);
    return { bytes, contentType: contentTypeOf(format, bytes) };
  };
  return (requested: Format, width: number, height: number) => {
    const format = requested.alpha ? requested : (formatOf('image/png') ?? requested);
    const key = `${format.mediaType} ${width} ${height}`;
    const making = getOrCreate(tiles, key, () => make(format, width, height));
    making.catch(() => tiles.delete(key));
    return making;
  };
}
