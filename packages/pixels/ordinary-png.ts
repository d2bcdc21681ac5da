import { crc32 } from 'node:zlib';

/** A PNG as nearly every map server writes it, its rows still compressed. */
export interface OrdinaryPng {
  readonly width: number;
  readonly height: number;
  /** 8; with a palette also 1, 2 and 4. */
  readonly depth: number;
  readonly colourType: number;
  /** 0xAABBGGRR. */
  readonly palette: Uint32Array;
  /** The zlib stream, in parts. */
  readonly packed: readonly Buffer[];
  /** Bytes of the rows when decompressed, including the filter byte of each. */
  readonly rowsLength: number;
}

interface Chunks {
  readonly header: Buffer;
  readonly palette: Buffer | null;
  readonly alpha: Buffer | null;
  readonly data: readonly Buffer[];
}

const SIGNATURE_LENGTH = 8;
/** Length, type and checksum. */
const CHUNK_OVERHEAD = 12;
const HEADER_LENGTH = 13;
const INDEXED = 3;
/** Samples of a pixel by colour type. PNG (third edition), table 12. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Chunks that the image library ignores too when it decodes pixels. */
const HARMLESS = new Set(['gAMA', 'cHRM', 'sRGB', 'pHYs', 'tEXt', 'zTXt', 'iTXt', 'tIME', 'bKGD', 'sBIT']);
const OPAQUE = 0xff;

/**
 * Null for a file that is unusual, damaged or of another size: the caller leaves it to the image library and its error
 * messages. The compressed rows are not checked here.
 */
export function readOrdinaryPng(bytes: Buffer, width: number, height: number): OrdinaryPng | null {
  const chunks = readChunks(bytes);
  if (!chunks || !isOrdinary(chunks, width, height)) return null;
  const [depth = 0, colourType = 0] = chunks.header.subarray(8);
  const rowsLength = (Math.ceil((width * depth * (SAMPLES[colourType] ?? 0)) / 8) + 1) * height;
  return { width, height, depth, colourType, palette: paletteOf(chunks), packed: chunks.data, rowsLength };
}

function isOrdinary({ header, palette, alpha }: Chunks, width: number, height: number): boolean {
  if (header.readUInt32BE(0) !== width || header.readUInt32BE(4) !== height) return false;
  const [depth = 0, colourType = 0, compression, filters, interlacing] = header.subarray(8);
  if (compression !== 0 || filters !== 0 || interlacing !== 0) return false;
  if (colourType !== INDEXED) return depth === 8 && SAMPLES[colourType] !== undefined && !alpha;
  const entries = (palette?.length ?? 0) / 3;
  const fits = Number.isInteger(entries) && entries > 0 && entries <= 2 ** depth;
  return [1, 2, 4, 8].includes(depth) && fits && (alpha?.length ?? 0) <= entries;
}

/** Checks the checksum of each chunk; null if one is wrong, unknown or out of order. */
function readChunks(bytes: Buffer): Chunks | null {
  const found = new Map<string, Buffer>();
  const data: Buffer[] = [];
  for (let at = SIGNATURE_LENGTH; at + CHUNK_OVERHEAD <= bytes.length; ) {
    const end = at + CHUNK_OVERHEAD + bytes.readUInt32BE(at);
    if (end > bytes.length || crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return null;
    const type = bytes.toString('latin1', at + 4, at + 8);
    const content = bytes.subarray(at + 8, end - 4);
    if (type === 'IEND') return end === bytes.length ? toChunks(found, data) : null;
    if (type === 'IDAT') data.push(content);
    else if (!mayFollow(type, found, data)) return null;
    found.set(type, content);
    at = end;
  }
  return null;
}

/** PNG (third edition), 5.6: the header first; the palette and its alpha at most once, before the data. */
function mayFollow(type: string, found: ReadonlyMap<string, Buffer>, data: readonly Buffer[]): boolean {
  if (type === 'IHDR') return found.size === 0;
  if (HARMLESS.has(type)) return found.has('IHDR');
  if (type !== 'PLTE' && type !== 'tRNS') return false;
  return data.length === 0 && !found.has(type) && (type === 'PLTE' || found.has('PLTE'));
}

function toChunks(found: ReadonlyMap<string, Buffer>, data: readonly Buffer[]): Chunks | null {
  const header = found.get('IHDR');
  if (header?.length !== HEADER_LENGTH || data.length === 0) return null;
  return { header, palette: found.get('PLTE') ?? null, alpha: found.get('tRNS') ?? null, data };
}

function paletteOf({ palette, alpha }: Chunks): Uint32Array {
  const entries = palette ? palette.length / 3 : 0;
  return Uint32Array.from({ length: entries }, (_, i) => {
    const [red = 0, green = 0, blue = 0] = palette?.subarray(i * 3, i * 3 + 3) ?? [];
    return (red | (green << 8) | (blue << 16) | ((alpha?.[i] ?? OPAQUE) << 24)) >>> 0;
  });
}
