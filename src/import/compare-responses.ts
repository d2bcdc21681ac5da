/** Compares the responses of two servers to one request, to prove that a move changes nothing. */
import type { ImageDifference } from '../raster/compare-images.ts';

export interface ServerResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Why there is no response, e.g. `no answer in time`. */
export type NoResponse = string;

export const VERDICTS = ['same', 'differs', 'only-old', 'only-new', 'neither'] as const;

export interface Comparison {
  readonly address: string;
  /** `only-old`: the new server refuses or fails; `neither`: both do. */
  readonly verdict: (typeof VERDICTS)[number];
  /** Differences, or why a server gave no result. */
  readonly reasons: readonly string[];
  /** Header, its old and its new value; they do not decide the verdict. */
  readonly headers: readonly (readonly [string, string, string])[];
  readonly old: ServerResponse | NoResponse;
  readonly new: ServerResponse | NoResponse;
  /** Pixels that differ, as PNG. */
  readonly marked: Buffer | null;
}

/** Null: the pictures have different sizes. */
type CompareImages = (one: Buffer, other: Buffer) => Promise<ImageDifference | null>;

/** Headers that change what clients do. */
const HEADERS = [
  'cache-control',
  'expires',
  'access-control-allow-origin',
  'content-disposition',
  'content-encoding',
];
/** Services may report an exception with status 200. `Exception` alone is an element of capabilities. */
const EXCEPTION = /<(?:\w+:)?(?:ServiceExceptionReport|ExceptionReport|WMTException)[\s>]/;
const EXCEPTION_WITHIN = 2048;
/** Documents that contain addresses of their server, so that their bytes are not compared. */
const DOCUMENT = /xml|html/;

export async function compareResponses(
  address: string,
  [before, after]: readonly (ServerResponse | NoResponse)[],
  tolerance: number,
  compareImages: CompareImages,
): Promise<Comparison> {
  const [old, fresh] = [before ?? '', after ?? ''];
  const common = { address, old, new: fresh, headers: [], marked: null };
  const failures = [failureOf(old), failureOf(fresh)];
  const reasons = failures.flatMap((why, i) => (why === null ? [] : [`${i === 0 ? 'old' : 'new'}: ${why}`]));
  if (typeof old === 'string' || typeof fresh === 'string' || reasons.length > 0) {
    const verdict = reasons.length === 2 ? 'neither' : failures[0] === null ? 'only-old' : 'only-new';
    return { ...common, verdict, reasons };
  }
  const headers = HEADERS.map((name) => [name, headerOf(old, name), headerOf(fresh, name)] as const);
  const { what, marked } = await contentDifference(old, fresh, tolerance, compareImages);
  return {
    ...common,
    verdict: what.length === 0 ? 'same' : 'differs',
    reasons: what,
    headers: headers.filter(([, one, other]) => one !== other),
    marked,
  };
}

function failureOf(response: ServerResponse | NoResponse): string | null {
  if (typeof response === 'string') return response;
  const location = headerOf(response, 'location');
  if (response.status >= 300) return `status ${response.status}${location && ` to ${location}`}`;
  const isText = DOCUMENT.test(typeOf(response));
  const start = isText ? response.bytes.subarray(0, EXCEPTION_WITHIN).toString('latin1') : '';
  return EXCEPTION.test(start) ? 'an exception report' : null;
}

async function contentDifference(
  old: ServerResponse,
  fresh: ServerResponse,
  tolerance: number,
  compareImages: CompareImages,
): Promise<{ readonly what: readonly string[]; readonly marked: Buffer | null }> {
  const different = (one: unknown, other: unknown, name: string) =>
    one === other ? [] : [`${name} ${one} → ${other}`];
  const type = typeOf(old);
  const what = [...different(old.status, fresh.status, 'status'), ...different(type, typeOf(fresh), 'type')];
  const arePictures = [type, typeOf(fresh)].every((one) => one.startsWith('image/'));
  if (!arePictures) {
    const isCompared = what.length === 0 && !DOCUMENT.test(type) && !old.bytes.equals(fresh.bytes);
    return { what: isCompared ? ['other bytes'] : what, marked: null };
  }
  if (old.bytes.equals(fresh.bytes)) return { what, marked: null };
  try {
    const difference = await compareImages(old.bytes, fresh.bytes);
    if (difference === null) return { what: [...what, 'another size'], marked: null };
    const { largest, share, marked } = difference;
    if (largest <= tolerance) return { what, marked: null };
    return { what: [...what, `${(share * 100).toFixed(2)} % of pixels, by up to ${largest}`], marked };
  } catch (error) {
    return { what: [...what, error instanceof Error ? error.message : String(error)], marked: null };
  }
}

function typeOf(response: ServerResponse): string {
  const type = headerOf(response, 'content-type').replace(/;.*/s, '').trim().toLowerCase();
  // RFC 7303, 9.2: both names mean the same.
  return type === 'text/xml' ? 'application/xml' : type;
}

function headerOf({ headers }: ServerResponse, name: string): string {
  return headers.get(name) ?? '';
}

/** For each header, the most frequent difference first. */
export function headerDifferences(comparisons: readonly Comparison[]) {
  const counts = new Map<string, number>();
  for (const { headers } of comparisons)
    for (const header of headers)
      counts.set(JSON.stringify(header), (counts.get(JSON.stringify(header)) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([key, count]) => ({ header: JSON.parse(key) as Comparison['headers'][number], count }));
}
