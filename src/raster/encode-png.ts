import { deflatePixels } from './deflate-pixels.ts';
import { type IndexedImage, indexColours, isOpaque } from './palette.ts';
import { pixelWords } from './pixel-words.ts';
import { joinPng, type PngParts, writePng } from './png-file.ts';
import type { RasterImage } from './raster-image.ts';

/** PNG (third edition) table 15. */
const FILTER_NONE = 0;
const FILTER_SUB = 1;
const SAMPLED_ROWS = 16;

/** An indexed PNG of the very same pixels; null when they have more than 256 colours. */
export async function encodeIndexedPng(image: RasterImage): Promise<Buffer | null> {
  const indexed = indexColours(image);
  if (!indexed) return null;
  const bitDepth = bitDepthFor(indexed.palette.length);
  const { palette, paletteAlpha } = paletteChunks(indexed.palette);
  const { width, height } = image;
  return await writePng(
    { width, height, bitDepth, colourType: 'indexed', palette, paletteAlpha },
    packIndexes(indexed, bitDepth),
  );
}

/** RGB when every pixel is opaque, RGBA otherwise; for images of any number of colours. */
export async function encodeTrueColourPng(image: RasterImage): Promise<Buffer> {
  const words = signedWords(image);
  const channels = allOpaque(words) ? 3 : 4;
  const drawn = isDrawn(words, image.width, image.height);
  const rows = drawn ? plainRows(image, channels) : differences(image, channels);
  return await writePng(trueColourParts(image, channels), rows);
}

/** The same for images of many colours: drawn ones are compressed in a way of our own, in half the time. */
export async function encodeColourfulPng(image: RasterImage): Promise<Buffer> {
  const { width, height } = image;
  const words = signedWords(image);
  if (!isDrawn(words, width, height)) return await encodeTrueColourPng(image);
  const { data, channels } = deflatePixels({ words, width, height });
  return joinPng(trueColourParts(image, channels), data);
}

function trueColourParts({ width, height }: RasterImage, channels: 3 | 4): PngParts {
  return { width, height, bitDepth: 8, colourType: channels === 3 ? 'rgb' : 'rgba' };
}

/** The same numbers with a sign: they fit a machine word, which loops run on twice as fast. */
function signedWords(image: RasterImage): Int32Array {
  const { buffer, byteOffset, length } = pixelWords(image);
  return new Int32Array(buffer, byteOffset, length);
}

function allOpaque(words: Int32Array): boolean {
  let shared = -1;
  for (let i = 0; i < words.length; i++) shared &= words[i] as number;
  return shared >>> 24 === 0xff;
}

function bitDepthFor(colours: number): 1 | 2 | 4 | 8 {
  if (colours <= 2) return 1;
  if (colours <= 4) return 2;
  return colours <= 16 ? 4 : 8;
}

function paletteChunks(colours: Uint32Array): { palette: Buffer; paletteAlpha: Buffer } {
  const palette = Buffer.alloc(colours.length * 3);
  for (const [i, colour] of colours.entries()) palette.writeUIntBE(reversedRgb(colour), i * 3, 3);
  const paletteAlpha = Buffer.from(
    colours.filter((colour) => !isOpaque(colour)).map((colour) => colour >>> 24),
  );
  return { palette, paletteAlpha };
}

/** 0xAABBGGRR to 0xRRGGBB. */
function reversedRgb(colour: number): number {
  return ((colour & 0xff) << 16) | (colour & 0xff00) | ((colour >>> 16) & 0xff);
}

function packIndexes({ width, height, indexes }: IndexedImage, bitDepth: number): Buffer {
  const perByte = 8 / bitDepth;
  const rowBytes = Math.ceil(width / perByte) + 1;
  const rows = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y++) {
    const row = indexes.subarray(y * width, (y + 1) * width);
    if (perByte === 1) rows.set(row, y * rowBytes + 1);
    else packRow(row, rows, y * rowBytes + 1, bitDepth);
  }
  return rows;
}

function packRow(indexes: Uint8Array, rows: Buffer, start: number, bitDepth: number): void {
  let at = start;
  let shift = 8 - bitDepth;
  for (let x = 0; x < indexes.length; x++) {
    rows[at] = (rows[at] as number) | ((indexes[x] as number) << shift);
    shift -= bitDepth;
    if (shift >= 0) continue;
    shift = 8 - bitDepth;
    at++;
  }
}

/** Drawn maps repeat colours along a row, and plain rows compress best; for photographs differences do. */
function isDrawn(words: Int32Array, width: number, height: number): boolean {
  const step = Math.max(1, Math.floor(height / SAMPLED_ROWS));
  let same = 0;
  let seen = 0;
  for (let y = 0; y < height; y += step) {
    for (let x = 1; x < width; x++) {
      if (words[y * width + x] === words[y * width + x - 1]) same++;
      seen++;
    }
  }
  return same * 2 >= seen;
}

function plainRows({ width, height, pixels }: RasterImage, channels: 3 | 4): Buffer {
  const rows = Buffer.allocUnsafe((width * channels + 1) * height);
  let to = 0;
  for (let from = 0; from < pixels.length; from += 4) {
    if (from % (width * 4) === 0) rows[to++] = FILTER_NONE;
    for (let channel = 0; channel < channels; channel++) rows[to++] = pixels[from + channel] as number;
  }
  return rows;
}

/** Rows of the difference of each byte from the same channel of the pixel to the left. */
function differences({ width, height, pixels }: RasterImage, channels: 3 | 4): Buffer {
  const rows = Buffer.allocUnsafe((width * channels + 1) * height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    rows[to++] = FILTER_SUB;
    const start = y * width * 4;
    for (let channel = 0; channel < channels; channel++) rows[to++] = pixels[start + channel] as number;
    for (let from = start + 4; from < start + width * 4; from += 4) {
      for (let channel = 0; channel < channels; channel++) {
        rows[to++] = (pixels[from + channel] as number) - (pixels[from + channel - 4] as number);
      }
    }
  }
  return rows;
}
