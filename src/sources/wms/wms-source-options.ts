import { z } from 'zod';

/** The connection is ours: these would change what is asked of whom, or how an answer is framed. */
const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);

const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((url) => !URL.canParse(url) || new URL(url).username === '', {
    error: 'must not contain credentials; use username and password',
  });

const list = z
  .union([z.string(), z.array(z.string().min(1))])
  .transform((value) => (typeof value === 'string' ? value : value.join(',')));

const parameterName = z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be a plain parameter name');

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be a header name')
  .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), { error: 'is a header that cannot be set' });

const MAX_TIMEOUT_SECONDS = 600;

/** A map server that speaks WMS. */
export const wmsSourceOptions = z.strictObject({
  type: z.literal('wms'),
  url: z
    .union([address, z.array(address).min(1)])
    .transform((value) => (typeof value === 'string' ? [value] : value))
    .describe('Address of the service, query included; with several, the next is asked when one fails'),
  layers: list.describe('Layers to draw, first at the bottom'),
  styles: list
    .default('')
    .describe('Styles in the order of layers; a STYLES parameter filter goes before it'),
  version: z.enum(['1.1.1', '1.3.0']).default('1.1.1'),
  transparent: z
    .boolean()
    .default(false)
    .describe('Ask for a transparent background where the format has one'),
  bgColor: z
    .string()
    .regex(/^(0x|#)[0-9A-Fa-f]{6}$/, 'must be a colour like #FFFFFF')
    .transform((colour) => colour.replace('#', '0x'))
    .optional()
    .describe('Background, e.g. #FFFFFF'),
  requestFormat: z
    .string()
    .min(1)
    .optional()
    .describe('Format to ask for whatever the tiles are stored as; must keep what they need'),
  srs: z
    .record(z.string().regex(/^[0-9]+$/, 'must be an EPSG number'), z.string().min(1))
    .default({})
    .describe('Names by which the server knows an SRS number, e.g. 900913: EPSG:900913'),
  vendorParameters: z
    .record(parameterName, z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe('Sent with every request'),
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
});

export type WmsSourceOptions = z.output<typeof wmsSourceOptions>;
