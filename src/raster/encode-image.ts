import sharp, { type Sharp } from 'sharp';
import { TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import { encodeColourfulPng, encodeIndexedPng, encodeTrueColourPng } from './encode-png.ts';
import { opaqueRgb } from './opaque-rgb.ts';
import type { RasterImage } from './raster-image.ts';

/** Above so many pixels the library does all the work: our own loops would hold the event loop for too long. */
const MAX_PIXELS_FOR_LOOPS = 512 * 512;
const MAX_PIXELS_FOR_TRUE_COLOUR = 384 * 384;

type Encode = (image: RasterImage) => Promise<Buffer>;

/** The settings and their cost are in docs/decisions/0020-encoding-for-speed.md. */
const ENCODERS: Readonly<Record<string, Encode>> = {
  'image/png': async (image) => (await exactPalettePng(image)) ?? (await colourfulPng(image)),
  'image/png8': async (image) =>
    (await exactPalettePng(image)) ??
    (await rgba(image).png({ palette: true, effort: 1, dither: 0 }).toBuffer()),
  'image/png24': trueColourPng,
  'image/jpeg': async (image) => await rgb(image).jpeg({ quality: 80 }).toBuffer(),
  'image/webp': async (image) => await rgba(image).webp({ quality: 80, effort: 2 }).toBuffer(),
  'image/gif': async (image) => await rgba(image).gif({ effort: 4, dither: 0 }).toBuffer(),
};

export async function encodeImage(image: RasterImage, format: Format): Promise<Buffer> {
  const encode = ENCODERS[format.mediaType];
  if (!encode) throw new TilewardenError('format-unknown', `Images are not made as ${format.mediaType}.`);
  return await encode(image);
}

function isLarge({ width, height }: RasterImage, limit = MAX_PIXELS_FOR_LOOPS): boolean {
  return width * height > limit;
}

async function exactPalettePng(image: RasterImage): Promise<Buffer | null> {
  return isLarge(image) ? null : await encodeIndexedPng(image);
}

async function colourfulPng(image: RasterImage): Promise<Buffer> {
  return isLarge(image, MAX_PIXELS_FOR_TRUE_COLOUR) ? await largePng(image) : await encodeColourfulPng(image);
}

async function trueColourPng(image: RasterImage): Promise<Buffer> {
  return isLarge(image, MAX_PIXELS_FOR_TRUE_COLOUR)
    ? await largePng(image)
    : await encodeTrueColourPng(image);
}

async function largePng(image: RasterImage): Promise<Buffer> {
  return await rgba(image).png({ compressionLevel: 3, adaptiveFiltering: false }).toBuffer();
}

function rgba({ pixels, width, height }: RasterImage): Sharp {
  return sharp(pixels, { raw: { width, height, channels: 4 } });
}

function rgb(image: RasterImage): Sharp {
  const { width, height } = image;
  if (isLarge(image)) return rgba(image).flatten({ background: '#ffffff' });
  return sharp(opaqueRgb(image), { raw: { width, height, channels: 3 } });
}
