import { plainImageType } from '../domain/format.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { plainExcerpt } from '../lib/plain-excerpt.ts';
import { type ImageMediaType, recogniseImage, refuseImage } from './check-structure.ts';
import type { DecodeLimits } from './decode-image.ts';

/** Characters of a server's own words that are kept for the log. */
const EXCERPT_LENGTH = 500;
const SNIFFED_BYTES = 1024;
/** An image with this many times the requested pixels is an attack or a mistake of another kind than a wrong size. */
const OVERSIZED_FACTOR = 4;

/**
 * The first half of the gate between a server's answer and the cache: what it is, by its first bytes. Anything but an
 * image of the type it was called is `source-bad-answer` with a reason; the server's own words are in `cause` and `upstream` only.
 */
export function checkType(bytes: Buffer, declaredMediaType: string | null): ImageMediaType {
  if (bytes.length === 0) throw refuseImage('empty');
  const imageType = recogniseImage(bytes);
  if (!imageType) throw refusalOfText(bytes);
  if (declaredMediaType !== null && plainImageType(declaredMediaType) !== imageType) {
    throw refuseImage(
      'wrong-type',
      new Error(`it is ${imageType}, declared as ${declaredMediaType.slice(0, 100)}`),
    );
  }
  return imageType;
}

export function limitsFor(width: number, height: number): DecodeLimits {
  return { maxPixels: OVERSIZED_FACTOR * width * height, size: { width, height } };
}

function refusalOfText(bytes: Buffer): Error {
  const start = bytes
    .toString('utf8', 0, SNIFFED_BYTES)
    .replace(/^\uFEFF/, '')
    .trimStart();
  const begun = bytes.toString('utf8', 0, EXCERPT_LENGTH * 4);
  const detail = new Error(hideCredentials(begun).slice(0, EXCERPT_LENGTH));
  return refuseImage(kindOfText(start), detail, plainExcerpt(begun));
}

function kindOfText(start: string): 'html' | 'service-exception' | 'not-an-image' {
  if (/^<(!doctype\s+html|html[\s>])/i.test(start)) return 'html';
  if (!/^<(\?xml|!doctype|[a-z:]*serviceexception|[a-z:]*exceptionreport)/i.test(start))
    return 'not-an-image';
  return /<html[\s>]/i.test(start) ? 'html' : 'service-exception';
}
