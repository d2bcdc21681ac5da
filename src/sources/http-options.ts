import { z } from 'zod';

/** The connection is ours: these headers would change the target of a request or the framing of a response. */
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
