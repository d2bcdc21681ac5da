/**
 * Texts without secrets. Which function to call:
 *
 *   hideValues       a response to a request with secrets that are known: without exactly those
 *   hideSecrets      settings for administrators: without passwords, and values with names such as `token`
 *   hideKeys         declarations and addresses for other readers: queries keep only values known to be harmless
 *   hideCredentials  free text from elsewhere, such as an error, for any reader: `hideSecrets` and `hideKeys`
 */
import { replaceSections } from './scan-text.ts';

const MASK = '***';
const SECRET_NAME = /key|token|secret|pass|pwd|auth|sig|credential|session/i;
const NAME = /(?<![\w.-])[\w.-]+(?:=|%3D|"\s*:\s*")/gi;
const END_OF_VALUE = /(?=[&\s"'<>;])/g;
/** RFC 9110, 11.4, as a server may repeat it. */
const AUTHORIZATION = /\b(basic|bearer)\s+[\w+/=.~-]{6,}/gi;
/** The password in `https://user:password@host`. */
const CREDENTIALS = /(:\/\/[^/?#@:\s]*):[^/?#@\s]*@/g;

/** Whether a parameter of that name is likely to hold a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Without passwords in URLs, `Authorization` values, and values whose names are likely to be those of secrets. */
export function hideSecrets(text: string, mask = MASK): string {
  const bare = text.replace(AUTHORIZATION, `$1 ${mask}`).replace(CREDENTIALS, `$1:${mask}@`);
  // `?api_key=…`, also percent-encoded, and `"token":"…"`.
  return replaceSections(bare, {
    open: NAME,
    closeOf: (name) => (isSecretName(name) ? END_OF_VALUE : null),
    replace: (value, name) => (value === '' ? name : name + mask),
  });
}

/** A shorter value is not a secret, and hiding it would blank out words. */
const MIN_SECRET_LENGTH = 4;

export function hideValues(text: string, values: readonly string[]): string {
  const secrets = values.filter(({ length }) => length >= MIN_SECRET_LENGTH);
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, MASK), text);
}

export function hideCredentials(text: string): string {
  return String(hideKeys(hideSecrets(text)));
}

const WORD = /[^\s"'<>]+/g;
/** Query values that name the resource, never the caller. */
const PLAIN_NAMES = new Set(
  'map service version request layers layer styles style query_layers format info_format infoformat srs crs bbox width height transparent bgcolor exceptions tiled tilematrixset tilematrix tilerow tilecol x y z i j time elevation'.split(
    ' ',
  ),
);
/** Segments of a path that look like keys: long, and not a word. */
const OPAQUE = /^(?=.*\d)[\w~-]{16,}$|^[\w~-]{32,}$/;
/** Options hidden unless their names are plain. Those of `postgres` are an address with an account, and a query. */
const NAMED_OPTIONS = new Set(['vendorParameters', 'dimensions', 'postgres']);

/**
 * The names that a map server gives its credentials cannot be known (`app_code`, `ticket`), so addresses keep only
 * query values of `PLAIN_NAMES`, and no path segment that looks like a key.
 */
export function hideKeys(document: unknown): unknown {
  if (typeof document === 'string') return document.replace(WORD, hideKeysInWord);
  if (Array.isArray(document)) return document.map(hideKeys);
  if (document === null || typeof document !== 'object') return document;
  return withValues(document, (value, key) => (NAMED_OPTIONS.has(key) ? hideOptions : hideKeys)(value));
}

function hideOptions(options: unknown): unknown {
  if (options === null || typeof options !== 'object') return options;
  return withValues(options, (value, name) => (PLAIN_NAMES.has(name.toLowerCase()) ? value : MASK));
}

function withValues(fields: object, replace: (value: unknown, name: string) => unknown): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, replace(value, name)]));
}

/** An address begins with its scheme, or is the whole word if it has a query. */
function hideKeysInWord(word: string): string {
  const query = word.indexOf('?');
  const scheme = word.search(/https?:\/\//i);
  const isAfterQuery = query >= 0 && query < scheme;
  if (scheme >= 0 && !isAfterQuery) return word.slice(0, scheme) + hideKeysIn(word.slice(scheme));
  return query >= 0 && word.includes('=', query) ? hideKeysIn(word) : word;
}

/** Leaves out the fragment as well: no source needs it, and some sign-ins put a token there. */
function hideKeysIn(address: string): string {
  const [, host = '', path = '', query = null] =
    /^(https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(address) ?? [];
  const isOpaque = (segment: string) => segment.split('.').some((part) => OPAQUE.test(part));
  const segments = path.split('/').map((segment) => (isOpaque(segment) ? MASK : segment));
  const start = host.replace(/\/\/[^/]*@/, '//') + segments.join('/');
  if (query === null) return start;
  const pairs = query.split('&').map((pair) => {
    const [name = '', value] = pair.split(/=(.*)/s, 2);
    if (PLAIN_NAMES.has(name.toLowerCase()) || pair === '' || /^\{\w+\}$/.test(value ?? '')) return pair;
    return value === undefined ? MASK : `${name}=${MASK}`;
  });
  return `${start}?${pairs.join('&')}`;
}
