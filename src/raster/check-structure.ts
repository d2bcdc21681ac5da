import { refuseImage } from './image-refusal.ts';
import type { ImageMediaType } from './recognise-image.ts';

/**
 * What the decoder lets pass: a PNG without its end or with more frames, a GIF without its trailer, a lossy
 * WebP whose second half is filled with zeros.
 */
export function checkStructure(bytes: Buffer, mediaType: ImageMediaType): void {
  if (mediaType === 'image/png') checkPng(bytes);
  if (mediaType === 'image/gif' && bytes.at(-1) !== GIF_TRAILER) throw refuseImage('truncated');
  if (mediaType === 'image/webp' && endsInZeros(bytes)) throw refuseImage('truncated');
}

const GIF_TRAILER = 0x3b;
const PNG_SIGNATURE_LENGTH = 8;
const PNG_CHUNK_OVERHEAD = 12;
/** Arithmetic coding never writes this many zeros in a row. */
const ZERO_TAIL = 64;

function checkPng(bytes: Buffer): void {
  let at = PNG_SIGNATURE_LENGTH;
  while (at + PNG_CHUNK_OVERHEAD <= bytes.length) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'acTL') throw refuseImage('animated');
    const next = at + PNG_CHUNK_OVERHEAD + bytes.readUInt32BE(at);
    if (type === 'IEND' && next <= bytes.length) return;
    at = next;
  }
  throw refuseImage('truncated');
}

function endsInZeros(bytes: Buffer): boolean {
  return bytes.length > ZERO_TAIL && bytes.subarray(-ZERO_TAIL).every((byte) => byte === 0);
}
