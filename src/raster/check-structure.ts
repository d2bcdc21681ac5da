import { crc32 } from 'node:zlib';
import { TilewardenError } from '../domain/errors.ts';

/**
 * Refuses faults that the decoder accepts: a PNG without its end, with a wrong checksum or animated; a GIF without its
 * trailer; a WebP that was truncated and padded with zeros.
 */
export function checkStructure(bytes: Buffer, mediaType: ImageMediaType): void {
  if (mediaType === 'image/png') checkPng(bytes);
  if (mediaType === 'image/gif' && bytes.at(-1) !== GIF_TRAILER) throw refuseImage('truncated');
  if (mediaType === 'image/webp' && endsInZeros(bytes)) throw refuseImage('truncated');
}

const GIF_TRAILER = 0x3b;
const PNG_SIGNATURE_LENGTH = 8;
const PNG_CHUNK_OVERHEAD = 12;
/** The arithmetic coding of lossy WebP never writes this many zeros in a row. */
const ZERO_TAIL = 64;

function checkPng(bytes: Buffer): void {
  let at = PNG_SIGNATURE_LENGTH;
  while (at + PNG_CHUNK_OVERHEAD <= bytes.length) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'acTL') throw refuseImage('animated');
    const next = at + PNG_CHUNK_OVERHEAD + bytes.readUInt32BE(at);
    // PNG (third edition), 5.3: each chunk ends with a checksum over its type and content.
    const isWhole =
      next <= bytes.length && crc32(bytes.subarray(at + 4, next - 4)) === bytes.readUInt32BE(next - 4);
    if (!isWhole) break;
    if (type === 'IEND') return;
    at = next;
  }
  throw refuseImage('truncated');
}

function endsInZeros(bytes: Buffer): boolean {
  return bytes.length > ZERO_TAIL && bytes.subarray(-ZERO_TAIL).every((byte) => byte === 0);
}

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/avif';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The format by the first bytes, regardless of the declared type; null if it is not a supported image. */
export function recogniseImage(bytes: Buffer): ImageMediaType | null {
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return 'image/png';
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'image/jpeg';
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'image/gif';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp';
  if (start.endsWith('ftypavif') || start.endsWith('ftypavis')) return 'image/avif';
  return null;
}

/** Why an image may not enter the cache; a label of metrics. */
type RefusalReason =
  | 'empty'
  | 'service-exception'
  | 'html'
  | 'not-an-image'
  | 'wrong-type'
  | 'wrong-size'
  | 'truncated'
  | 'animated'
  | 'oversized'
  | 'other-value';

const MESSAGES: Readonly<Record<RefusalReason, string>> = {
  empty: 'The map source sent an empty answer.',
  'service-exception': 'The map source reported an error instead of sending an image.',
  html: 'The map source sent a web page instead of an image.',
  'not-an-image': 'The map source sent something that is not an image.',
  'wrong-type': 'The map source sent an image of another type than it said.',
  'wrong-size': 'The map source sent an image of another size than was asked for.',
  truncated: 'The map source sent a damaged or incomplete image.',
  animated: 'The map source sent an animated image.',
  oversized: 'The map source sent an image that is too large.',
  'other-value': 'The map source drew another value of a dimension than was asked for.',
};

/** `detail` is for the log, `text` for callers with a role: neither is sent to clients of tiles. */
export function refuseImage(
  reason: RefusalReason,
  detail?: unknown,
  text: string | null = null,
): TilewardenError {
  const upstream = text === null ? null : { text };
  return new TilewardenError('source-bad-answer', MESSAGES[reason], { reason, cause: detail, upstream });
}
