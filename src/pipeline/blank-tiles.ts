import { contentTypeOf, type Format, formatOf } from '../domain/format.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { filledImage } from '../raster/decode-image.ts';

/** Transparent tiles in a format, or as PNG if it has no transparency, as in GeoWebCache: clients inspect the bytes. */
export function createBlankTiles() {
  const made = new Map<string, ReturnType<typeof make>>();
  const make = async (format: Format, width: number, height: number) => {
    // Loaded only now: a process that answers hits has no other use for the image library.
    const { encodeImage } = await import('../raster/encode-image.ts');
    const bytes = await encodeImage(filledImage(width, height, 0), format);
    return { bytes, contentType: contentTypeOf(format, bytes) };
  };
  return (requested: Format, width: number, height: number) => {
    const format = requested.alpha ? requested : (formatOf('image/png') ?? requested);
    const key = `${format.mediaType} ${width} ${height}`;
    const making = getOrCreate(made, key, () => make(format, width, height));
    making.catch(() => made.delete(key));
    return making;
  };
}
