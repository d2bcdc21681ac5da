import { createRequire } from 'node:module';
import type { Sharp } from 'sharp';
import { TilewardenError } from '../domain/errors.ts';
import { encodingOf, type Format } from '../domain/format.ts';
import { escapeXml } from '../lib/xml/write-xml.ts';
import { imageLibrary, type RasterImage } from './decode-image.ts';
import { encodeImage, type ImageWriter, JPEG_QUALITY, WRITERS } from './encode-image.ts';

/** Red, green, blue. */
export type Colour = readonly [number, number, number];

const trueColour: ImageWriter = (image) => image.png({ compressionLevel: 3, adaptiveFiltering: false });

/** As for tiles, except that the image library writes PNG too, on its threads: a map may be large and is made once. */
const MAP_WRITERS: typeof WRITERS = {
  ...WRITERS,
  'image/png': trueColour,
  'image/png24': trueColour,
  'image/jpeg': (image, { quality = JPEG_QUALITY }) => image.jpeg({ quality }),
  'image/gif': (image) => image.gif({ effort: 1, dither: 0 }),
};

/** Encodes a picture of any size; transparent pixels show `background`, unless that is null. */
export async function encodeMap(
  image: RasterImage,
  format: Format,
  background: Colour | null,
): Promise<Buffer> {
  const { width, height, pixels } = image;
  const sharp = await imageLibrary();
  return await writeMap(sharp(pixels, { raw: { width, height, channels: 4 } }), format, background);
}

async function writeMap(image: Sharp, format: Format, background: Colour | null): Promise<Buffer> {
  const encoding = encodingOf(format, () => background !== null);
  const write = MAP_WRITERS[encoding.mediaType];
  if (!write) throw new TilewardenError('format-unknown', `Images are not made as ${format.mediaType}.`);
  const [r, g, b] = background ?? [];
  const shown = background ? image.flatten({ background: { r, g, b } }) : image;
  if (encoding.mediaType !== 'image/png8' || encoding.colors === undefined) {
    return await write(shown, encoding).toBuffer();
  }
  const { data, info } = await shown.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return await encodeImage({ pixels: data, width: info.width, height: info.height }, encoding);
}

const FONT_FILE = '@fontsource/inter/files/inter-latin-400-normal.woff';
const MARGIN = 4;
/** A smaller picture has no room for a readable word. */
const MIN_SIDE = 16;
const MAX_CHARACTERS = 1000;

export interface TextPicture {
  readonly text: string;
  readonly width: number;
  readonly height: number;
  readonly format: Format;
  /** Null: transparent. */
  readonly background: Colour | null;
}

/** A picture with as much of the text as fits, black on white; drawn on the image library's threads. */
export async function drawText({ text, width, height, format, background }: TextPicture): Promise<Buffer> {
  const input = await renderText(text, width - 2 * MARGIN, height - 2 * MARGIN);
  const sharp = await imageLibrary();
  const canvas = sharp({ create: { width, height, channels: 4, background: '#00000000' } });
  const picture = input ? canvas.composite([{ input, left: MARGIN, top: MARGIN }]) : canvas;
  return await writeMap(picture, format, background);
}

async function renderText(text: string, width: number, height: number): Promise<Buffer | null> {
  if (width < MIN_SIDE || height < MIN_SIDE || text.trim() === '') return null;
  const sharp = await imageLibrary();
  const { data, info } = await sharp({
    text: {
      text: `<span foreground="black" background="white">${escapeXml(text.slice(0, MAX_CHARACTERS))}</span>`,
      font: 'Inter 11',
      fontfile: createRequire(import.meta.url).resolve(FONT_FILE),
      width,
      rgba: true,
      wrap: 'word-char',
    },
  })
    .png()
    .toBuffer({ resolveWithObject: true });
  const visible = {
    left: 0,
    top: 0,
    width: Math.min(info.width, width),
    height: Math.min(info.height, height),
  };
  return await sharp(data).extract(visible).toBuffer();
}
