import type { Sharp } from 'sharp';
import { TilewardenError } from '../domain/errors.ts';
import { encodingOf, type Format } from '../domain/format.ts';
import { imageLibrary } from './decode-image.ts';
import type { RasterImage } from './raster-image.ts';

/** Red, green, blue. */
export type Colour = readonly [number, number, number];

type Writer = (image: Sharp) => Sharp;

const TRUE_COLOUR: Writer = (image) => image.png({ compressionLevel: 3, adaptiveFiltering: false });

/** As tiles are encoded, but for PNG: a map has any size and is made once, so the library writes it, off the main thread. */
const WRITERS: Readonly<Record<string, Writer>> = {
  'image/png': TRUE_COLOUR,
  'image/png24': TRUE_COLOUR,
  'image/png8': (image) => image.png({ palette: true, effort: 1, dither: 0 }),
  'image/jpeg': (image) => image.jpeg({ quality: 80 }),
  'image/webp': (image) => image.webp({ quality: 80, effort: 2 }),
  'image/gif': (image) => image.gif({ effort: 1, dither: 0 }),
};

/** Encodes a picture of any size; what one can see through shows `background`, or nothing when that is null. */
export async function encodeMap(
  image: RasterImage,
  format: Format,
  background: Colour | null,
): Promise<Buffer> {
  const { width, height, pixels } = image;
  const sharp = await imageLibrary();
  return await writeMap(sharp(pixels, { raw: { width, height, channels: 4 } }), format, background);
}

export async function writeMap(image: Sharp, format: Format, background: Colour | null): Promise<Buffer> {
  const write = WRITERS[encodingOf(format.mediaType, () => background !== null)];
  if (!write) throw new TilewardenError('format-unknown', `Images are not made as ${format.mediaType}.`);
  return await write(background ? image.flatten({ background: colourOf(background) }) : image).toBuffer();
}

function colourOf([r, g, b]: Colour) {
  return { r, g, b };
}
