import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const deflateInBackground = promisify(deflate);

/** Length, type and checksum. */
const CHUNK_OVERHEAD = 12;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Measured in docs/decisions/0020-encoding-for-speed.md. */
const DEFLATE_LEVEL = 3;
/** Bytes handed out by the compressor at once: each portion costs a turn of the main thread. */
const LARGEST_PORTION = 128 * 1024;

export type PngColourType = 'rgb' | 'indexed' | 'rgba';

/** Numbers of PNG (third edition) table 12. */
const COLOUR_TYPE_NUMBERS: Readonly<Record<PngColourType, number>> = { rgb: 2, indexed: 3, rgba: 6 };

export interface PngParts {
  readonly width: number;
  readonly height: number;
  readonly bitDepth: 1 | 2 | 4 | 8;
  readonly colourType: PngColourType;
  /** Red, green, blue by entry. */
  readonly palette?: Buffer;
  /** Alpha of the first palette entries; the others are opaque. */
  readonly paletteAlpha?: Buffer;
}

/** Writes a PNG file of rows, each after the byte that names its filter; they are compressed off the main thread. */
export async function writePng(parts: PngParts, rows: Buffer): Promise<Buffer> {
  const chunkSize = Math.max(1024, Math.min(rows.length >> 1, LARGEST_PORTION));
  return joinPng(parts, await deflateInBackground(rows, { level: DEFLATE_LEVEL, chunkSize }));
}

/** `data`: the rows, compressed; it is copied. */
export function joinPng(parts: PngParts, data: Buffer): Buffer {
  const chunks: [type: string, data: Buffer][] = [['IHDR', header(parts)]];
  if (parts.palette) chunks.push(['PLTE', parts.palette]);
  if (parts.paletteAlpha?.length) chunks.push(['tRNS', parts.paletteAlpha]);
  chunks.push(['IDAT', data], ['IEND', Buffer.alloc(0)]);
  const size = chunks.reduce((sum, [, { length }]) => sum + length + CHUNK_OVERHEAD, SIGNATURE.length);
  const file = Buffer.allocUnsafeSlow(size);
  chunks.reduce((at, [type, bytes]) => writeChunk(file, at, type, bytes), SIGNATURE.copy(file));
  return file;
}

function header({ width, height, bitDepth, colourType }: PngParts): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.writeUInt32BE(width, 0);
  bytes.writeUInt32BE(height, 4);
  bytes[8] = bitDepth;
  bytes[9] = COLOUR_TYPE_NUMBERS[colourType];
  return bytes;
}

/** Returns where the next one starts. */
function writeChunk(file: Buffer, at: number, type: string, data: Buffer): number {
  const end = at + data.length + 8;
  file.writeUInt32BE(data.length, at);
  file.write(type, at + 4, 'latin1');
  data.copy(file, at + 8);
  return file.writeUInt32BE(crc32(file.subarray(at + 4, end)), end);
}
