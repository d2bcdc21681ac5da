import { type IndexedImage, indexColours, isOpaque } from './palette.ts';
import { pixelWords } from './pixel-words.ts';
import { writePng } from './png-file.ts';
import type { RasterImage } from './raster-image.ts';

/** Numbers of PNG (third edition) table 15. */
const FILTER_NONE = 0;
const FILTER_SUB = 1;
const SAMPLED_ROWS = 16;

/** An indexed PNG of the very same pixels; null when they have more than 256 colours. */
export async function encodeIndexedPng(image: RasterImage): Promise<Buffer | null> {
  const indexed = indexColours(image);
  if (!indexed) return null;
  const bitDepth = bitDepthFor(indexed.palette.length);
  const { palette, paletteAlpha } = paletteChunks(indexed.palette);
  return await writePng({
    width: image.width,
    height: image.height,
    bitDepth,
    colourType: 'indexed',
    palette,
    paletteAlpha,
    rows: packIndexes(indexed, bitDepth),
  });
}

/** RGB when every pixel is opaque, RGBA otherwise. */
export async function encodeTrueColourPng(image: RasterImage): Promise<Buffer> {
  const { width, height } = image;
  const words = pixelWords(image);
  const channels = allOpaque(words) ? 3 : 4;
  const rows = plainRows(image, channels);
  if (!isDrawn(words, width, height)) subtractLeft(rows, width * channels + 1, channels);
  return await writePng({ width, height, bitDepth: 8, colourType: channels === 3 ? 'rgb' : 'rgba', rows });
}

function allOpaque(words: Uint32Array): boolean {
  for (let i = 0; i < words.length; i++) {
    if (!isOpaque(words[i] as number)) return false;
  }
  return true;
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
function isDrawn(words: Uint32Array, width: number, height: number): boolean {
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

function plainRows(image: RasterImage, channels: 3 | 4): Buffer {
  const { width, height, pixels } = image;
  const rowBytes = width * channels + 1;
  const rows = Buffer.allocUnsafe(rowBytes * height);
  for (let y = 0; y < height; y++) {
    const start = y * rowBytes;
    rows[start] = FILTER_NONE;
    if (channels === 4) pixels.copy(rows, start + 1, y * width * 4, (y + 1) * width * 4);
    else copyRgb(pixels, y * width * 4, rows, start + 1, width);
  }
  return rows;
}

function copyRgb(pixels: Buffer, from: number, rows: Buffer, to: number, count: number): void {
  const end = to + count * 3;
  for (let source = from, target = to; target < end; source += 4, target += 3) {
    rows[target] = pixels[source] as number;
    rows[target + 1] = pixels[source + 1] as number;
    rows[target + 2] = pixels[source + 2] as number;
  }
}

/** Each byte becomes its difference from the same channel of the pixel to the left. */
function subtractLeft(rows: Buffer, rowBytes: number, channels: number): void {
  for (let start = 0; start < rows.length; start += rowBytes) {
    rows[start] = FILTER_SUB;
    for (let at = start + rowBytes - 1; at > start + channels; at--) {
      rows[at] = (rows[at] as number) - (rows[at - channels] as number);
    }
  }
}
