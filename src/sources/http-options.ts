import { z } from 'zod';

/** These headers belong to our connection: they would change the target of a request or the framing of a response. */
const OWN_HEADERS = new Set([
  ...['accept-encoding', 'connection', 'content-length', 'expect', 'host', 'if-range', 'keep-alive'],
  ...['range', 'transfer-encoding', 'upgrade', 'user-agent'],
]);

export function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

export const MAX_TIMEOUT_SECONDS = 600;

/** Options of `httpOptions` that change no picture. Headers may: a server can choose language or style by them. */
export const CONNECTION_OPTIONS = ['username', 'password', 'timeoutSeconds'] as const;

export const httpAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((url) => !URL.canParse(url) || new URL(url).username === '', {
    error: 'must not contain credentials; use username and password',
  });

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be a header name')
  .refine((name) => !isOwnHeader(name), { error: 'is a header that cannot be set' });

export const httpOptions = {
  username: z.string().optional(),
  password: z.string().optional(),
  headers: z
    .record(headerName, z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text'))
    .default({})
    .describe('Sent with every request'),
  timeoutSeconds: z
    .number()
    .positive()
    .max(MAX_TIMEOUT_SECONDS)
    .optional()
    .describe('Time for a whole answer; 15 to its first byte and 60 in all when left out'),
};

export type HttpOptions = z.output<z.ZodObject<typeof httpOptions>>;

/** The address with these query values; names are case-insensitive, the last of several counts. */
export function withQuery(base: string, values: Iterable<readonly [name: string, value: string]>): URL {
  const url = new URL(base);
  const query = new Map<string, [string, string]>();
  for (const [name, value] of [...url.searchParams, ...values]) {
    query.delete(name.toUpperCase());
    query.set(name.toUpperCase(), [name, value]);
  }
  url.search = new URLSearchParams([...query.values()]).toString();
  return url;
}

/** Headers with credentials, and the timeout, of every request. */
export function requestManners(options: HttpOptions) {
  const { timeoutSeconds } = options;
  return { headers: headersOf(options), timeoutMs: timeoutSeconds && timeoutSeconds * 1000 };
}

function headersOf({ username, password, headers }: HttpOptions): Readonly<Record<string, string>> {
  if (username === undefined && password === undefined) return headers;
  const credentials = Buffer.from(`${username ?? ''}:${password ?? ''}`, 'utf8').toString('base64');
  return { ...headers, authorization: `Basic ${credentials}` };
}

/** All digits that are needed to read the same number back, without an exponent: 1e-7 as 0.0000001. */
export function plainNumber(value: number): string {
  const text = String(value === 0 ? 0 : value);
  const [mantissa = '', exponent] = text.split('e');
  if (exponent === undefined) return text;
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.slice(0, point).padEnd(point, '0')}${point < digits.length ? `.${digits.slice(point)}` : ''}`;
}
