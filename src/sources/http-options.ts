import { z } from 'zod';

/** The connection is ours: these would change what is asked of whom, or how an answer is framed. */
const OWN_HEADERS = new Set([
  ...['accept-encoding', 'connection', 'content-length', 'expect', 'host', 'if-range', 'keep-alive'],
  ...['range', 'transfer-encoding', 'upgrade', 'user-agent'],
]);

const MAX_TIMEOUT_SECONDS = 600;

export const httpAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((url) => !URL.canParse(url) || new URL(url).username === '', {
    error: 'must not contain credentials; use username and password',
  });

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be a header name')
  .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), { error: 'is a header that cannot be set' });

/** What every source that speaks HTTP understands. */
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

/** The address with these values in its query; of names that are the same in any case the last counts. */
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

/** What goes with every request: headers with credentials, and the time it may take. */
export function requestManners(options: HttpOptions) {
  const { timeoutSeconds } = options;
  return { headers: headersOf(options), timeoutMs: timeoutSeconds && timeoutSeconds * 1000 };
}

function headersOf({ username, password, headers }: HttpOptions): Readonly<Record<string, string>> {
  if (username === undefined && password === undefined) return headers;
  const credentials = Buffer.from(`${username ?? ''}:${password ?? ''}`, 'utf8').toString('base64');
  return { ...headers, authorization: `Basic ${credentials}` };
}
