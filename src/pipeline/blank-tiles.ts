import { contentTypeOf, type Format, formatOf } from '../domain/format.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { filledImage } from '../raster/decode-image.ts';

/** In the requested format; as PNG if that has no transparency, as GeoWebCache does: clients inspect the bytes. */
export function createBlankTiles() {
  const made = new Map<string, ReturnType<typeof make>>();
  const make = async (format: Format, width: number, height: number) => {
    // Loaded only now: a process that answers hits has no other use for the image library.
    const { encodeImage } = await import('../raster/encode-image.ts');
    const bytes = await encodeImage(filledImage(width, height, 0), format);
    return { bytes, contentType: contentTypeOf(format, bytes) };
  };
  return (asked: Format, width: number, height: number) => {
    const format = asked.alpha ? asked : (formatOf('image/png') ?? asked);
    const key = `${format.mediaType} ${width} ${height}`;
    const making = getOrCreate(made, key, () => make(format, width, height));
    making.catch(() => made.delete(key));
    return making;
  };
}
