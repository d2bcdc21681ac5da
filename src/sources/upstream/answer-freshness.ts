import { textOf } from './read-answer.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What a server says of how long its answer is good, and what it knows this version of it by. */
export interface AnswerFreshness {
  /** Null when it says nothing. */
  readonly freshSeconds: number | null;
  /** An entity tag, or `@` with a date; null when it gives neither. */
  readonly validator: string | null;
}

/** RFC 9110, 15.4.5. */
export const NOT_MODIFIED = 304;
const MAX_VALIDATOR = 200;
/** Seconds; what a server promises beyond it is not believed. */
const LONGEST_FRESH = 366 * 86_400;
const DATE_MARK = '@';

/** RFC 9111, 4.2.1: `s-maxage` before `max-age` before `Expires`. */
export function freshnessOf(headers: Headers, now: number): AnswerFreshness {
  return { freshSeconds: freshSecondsOf(headers, now), validator: validatorOf(headers) };
}

/** RFC 9110, 13.1: ask for the answer only if it is another one. */
export function conditionOf(validator: string | null | undefined): Readonly<Record<string, string>> {
  if (!validator) return {};
  if (validator.startsWith(DATE_MARK)) return { 'if-modified-since': validator.slice(DATE_MARK.length) };
  return { 'if-none-match': validator };
}

function freshSecondsOf(headers: Headers, now: number): number | null {
  const control = textOf(headers['cache-control'])?.toLowerCase() ?? '';
  if (/\bno-(?:store|cache)\b/.test(control)) return 0;
  const age = /\bs-maxage\s*=\s*"?(\d+)/.exec(control) ?? /(?:^|[\s,])max-age\s*=\s*"?(\d+)/.exec(control);
  if (age) return Math.min(Number(age[1]), LONGEST_FRESH);
  const expires = Date.parse(textOf(headers.expires) ?? '');
  if (Number.isNaN(expires)) return null;
  const seconds = Math.floor((expires - (dateOf(headers) ?? now)) / 1000);
  return Math.min(Math.max(0, seconds), LONGEST_FRESH);
}

function dateOf(headers: Headers): number | null {
  const date = Date.parse(textOf(headers.date) ?? '');
  return Number.isNaN(date) ? null : date;
}

function validatorOf(headers: Headers): string | null {
  const etag = textOf(headers.etag);
  if (etag && /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) && etag.length <= MAX_VALIDATOR) return etag;
  const modified = textOf(headers['last-modified']);
  return modified && !Number.isNaN(Date.parse(modified)) && modified.length <= MAX_VALIDATOR
    ? DATE_MARK + modified
    : null;
}
