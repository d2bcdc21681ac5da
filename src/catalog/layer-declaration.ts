import { z } from 'zod';
import { type Encoding, encodingOptions, FORMAT_NAMES } from '../domain/format.ts';
import { readPeriod } from '../domain/iso-time.ts';
import { INFO_FORMATS, LAYER_ACCESS, MISS_ANSWERS, NOT_KEPT, OUTSIDE_ANSWERS } from '../domain/layer.ts';
import type { NamedArea } from '../domain/named-area.ts';
import { flag, text, whole } from '../lib/schemas.ts';
import { type Adoption, adoptOptions } from '../sources/adopted/adopt-options.ts';
import { httpAddress } from '../sources/http-options.ts';
import { updateSources } from './update-source.ts';

export const extentSchema = z
  .tuple([z.number(), z.number(), z.number(), z.number()])
  .refine(([minX, minY, maxX, maxY]) => minX < maxX && minY < maxY, {
    error: 'must be [minX, minY, maxX, maxY] with minX < maxX and minY < maxY',
  })
  .describe('minX, minY, maxX, maxY in the units of the CRS, x before y always');

const MAX_ZOOM = 30;
const MAX_METATILE = 20;
const MAX_GUTTER = 512;
const MAX_ADOPTED = 20;
const MAX_LEGENDS = 200;
const MAX_WMS_CRS = 100;
/** Pixels. */
const MAX_LEGEND = 4096;

export const nameSchema = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, { error: 'must not hold control characters' })
  .regex(/^(\S(.*\S)?)?$/su, { error: 'must not begin or end with a space' })
  // The first two vanish from URLs, the third means all layers in accounts.
  .regex(/^(?!(\.|\.\.|\*)$)/, { error: 'must not be . or .. or *' });

const zoomSchema = whole(0, MAX_ZOOM);

interface Zooms {
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
}

const isInOrder = ({ zoomStart = 0, zoomStop = MAX_ZOOM }: Zooms) => zoomStart <= zoomStop;
const WRONG_ORDER = { error: 'must not be below zoomStart', path: ['zoomStop'] };

const gridSubsetSchema = z.union([
  text,
  z
    .strictObject({
      name: text,
      zoomStart: zoomSchema.optional(),
      zoomStop: zoomSchema.optional(),
      extent: extentSchema.optional(),
      minCachedLevel: zoomSchema.optional().describe('Tiles of lower zooms are served, but not kept'),
      maxCachedLevel: zoomSchema.optional().describe('Tiles of higher zooms are served, but not kept'),
    })
    .refine(isInOrder, WRONG_ORDER)
    .refine(({ minCachedLevel = 0, maxCachedLevel = MAX_ZOOM }) => minCachedLevel <= maxCachedLevel, {
      error: 'must not be below minCachedLevel',
      path: ['maxCachedLevel'],
    }),
]);

const formatSchema = z.union([
  z.enum(FORMAT_NAMES),
  z
    .strictObject({
      type: z.enum(FORMAT_NAMES),
      quality: whole(1, 100).optional().describe('Of JPEG (80), WebP (80) and AVIF (50)'),
      lossless: z.boolean().optional().describe('WebP and AVIF'),
      colors: whole(2, 256).optional().describe('PNG8: at most so many, transparent included'),
      dither: z.number().min(0).max(1).optional().describe('PNG8: 0 for none, 1 for most'),
    })
    .superRefine(({ type, ...options }, context) => {
      const known = encodingOptions(type);
      for (const name of Object.keys(options) as (keyof Encoding)[]) {
        if (known.includes(name) || options[name as keyof typeof options] === undefined) continue;
        const message = `${type} has ${known.length === 0 ? 'no options' : `only ${known.join(', ')}`}`;
        context.addIssue({ code: 'custom', message, path: [name], input: options });
      }
      if (options.lossless && options.quality !== undefined)
        context.addIssue({
          code: 'custom',
          message: 'goes only with lossy pictures',
          path: ['quality'],
          input: options,
        });
    }),
]);

/** Seconds: longer than an outage over a long weekend. */
const DEFAULT_STALE_IF_ERROR = 7 * 86_400;
const secondsSchema = z.int().min(0);
const expirySecondsSchema = z.int().min(NOT_KEPT);

const expirySchema = z.union([
  expirySecondsSchema,
  z
    .array(z.strictObject({ minZoom: zoomSchema, seconds: expirySecondsSchema }))
    .min(1)
    .refine((rules) => new Set(rules.map(({ minZoom }) => minZoom)).size === rules.length, {
      error: 'has two rules for one minZoom',
    }),
]);

/** YAML reads `default: 5` as a number; a parameter's value is text in the end. */
const textSchema = z.union([z.string(), z.number()]);

const MAX_TIMES_INTERVAL = 86_400;
const MAX_SEEDED_TIMES = 500;

/** Settings of times only. */
const TIME_KEYS = ['nearest', 'keep', 'from', 'every', 'seed'] as const;

type Refuse = (message: string, path?: string[]) => void;

interface TimesDeclared {
  readonly values?: unknown;
  readonly from?: unknown;
  readonly every?: unknown;
}

function checkTimes(parameter: TimesDeclared, refuse: Refuse): void {
  for (const key of ['regex', 'integers', 'floats', 'threshold', 'normalize']) {
    if (Object.hasOwn(parameter, key)) refuse('does not go with type: time', [key]);
  }
  const { values, from, every } = parameter;
  if ((values === undefined) === (from === undefined)) refuse('needs one of values and from');
  if (every !== undefined && from === undefined) refuse('goes only with from', ['every']);
}

const parameterSchema = z
  .strictObject({
    name: text.describe('Name of the request parameter'),
    type: z.literal('time').optional().describe('Values are instants; otherwise text or numbers'),
    default: textSchema
      .default('')
      .describe('The value that is used when a request has none; of times latest'),
    values: z
      .union([z.array(textSchema).min(1), textSchema])
      .optional()
      .describe('The allowed values; of times instants and intervals start/end/period, end may be now'),
    nearest: z.boolean().optional().describe('A time that is not listed means the nearest one'),
    from: z
      .union([
        z.literal('capabilities'),
        z.strictObject({
          postgres: z.strictObject({
            url: z
              .string()
              .regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' })
              .describe('Database; only in the configuration file'),
            query: text.describe('A query whose first column has the times'),
          }),
        }),
      ])
      .optional()
      .describe('Times follow the capabilities of the WMS or WMTS, or a query, in place of values'),
    every: whole(1, MAX_TIMES_INTERVAL).optional().describe('Seconds between reads of from; 300'),
    seed: z
      .strictObject({
        latest: whole(1, MAX_SEEDED_TIMES).describe('So many of the latest times'),
        zoomStop: zoomSchema.describe('Last zoom of the seed'),
      })
      .optional()
      .describe('New times are seeded, in all grid sets and formats, and listed when that is done'),
    keep: text
      .refine((period) => readPeriod(period) !== null, { error: 'must be a period such as P7D or PT6H' })
      .optional()
      .describe('How long a time is listed after the latest, or after now; then its tiles are removed'),
    regex: text.optional().describe('RE2 expression that must match the whole value'),
    integers: z.array(z.int()).optional().describe('The allowed whole numbers; an empty list allows any'),
    floats: z.array(z.number()).optional().describe('The allowed numbers; an empty list allows any'),
    threshold: z.number().positive().optional().describe('How far a value may be from a listed number'),
    normalize: z
      .enum(['none', 'upper', 'lower'])
      .optional()
      .describe('Letter case that values are converted to'),
  })
  .superRefine((parameter, context) => {
    const refuse = (message: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path, input: parameter });
    if (parameter.type === 'time') return checkTimes(parameter, refuse);
    for (const key of TIME_KEYS)
      if (Object.hasOwn(parameter, key)) refuse('goes only with type: time', [key]);
    if (parameter.values !== undefined && !Array.isArray(parameter.values))
      refuse('must be a list', ['values']);
    const kinds = ['values', 'regex', 'integers', 'floats'].filter((key) => Object.hasOwn(parameter, key));
    const numbers = parameter.integers ?? parameter.floats;
    if (kinds.length > 1) refuse('needs only one of values, regex, integers and floats');
    if (kinds.length === 0 && !parameter.normalize) {
      refuse('needs one of values, regex, integers, floats and normalize');
    }
    if (parameter.threshold !== undefined && !numbers)
      refuse('goes only with integers or floats', ['threshold']);
    if (parameter.normalize && numbers) refuse('goes only with values or regex', ['normalize']);
  });

const legendSchema = z.strictObject({
  style: z.string().default('').describe('The style that it explains; empty: the default one'),
  width: whole(1, MAX_LEGEND).optional().describe('Pixels'),
  height: whole(1, MAX_LEGEND).optional().describe('Pixels'),
  format: z
    .string()
    .regex(/^image\/[\w.+-]+$/, 'must be a media type such as image/png')
    .default('image/png'),
  url: httpAddress.optional().describe('Address of the picture; GetLegendGraphic of the source when absent'),
  minScale: z.number().min(0).optional().describe('Scale denominator'),
  maxScale: z.number().min(0).optional().describe('Scale denominator'),
});

const requestFilterSchema = z.strictObject({
  type: z.literal('circular').describe('Tiles far from the middle of the extent are empty'),
  name: z.string().min(1).max(200).default('circular'),
});

/** A layer in the configuration file, with the schemas of its source and schedules. */
export function createLayerSchema<Source extends z.ZodType, Schedule extends z.ZodType>(
  source: Source,
  schedule: Schedule,
) {
  return z.strictObject({
    name: nameSchema,
    enabled: z.boolean().default(true).describe('Tiles are served; tasks work on a disabled layer too'),
    advertised: z.boolean().default(true).describe('Capabilities and other lists name it'),
    transient: flag.describe(
      'A layer declared over HTTP that is forgotten when the server stops; its tiles stay',
    ),
    title: z.string().optional().describe('Shown to users; the name when absent'),
    description: z.string().default(''),
    attribution: z.string().max(2000).default('').describe('Attribution that clients show beside the map'),
    keywords: z.array(text).max(100).default([]).describe('For catalogues, in capabilities'),
    metadata: z
      .array(
        z.strictObject({
          url: httpAddress,
          type: text.default('ISO19115:2003').describe('Standard of the metadata'),
          format: text.default('application/xml').describe('Media type'),
        }),
      )
      .max(20)
      .default([])
      .describe('Documents that describe the data, in capabilities'),
    identifier: z
      .strictObject({
        authority: z.string().regex(/^[A-Za-z_][\w.-]*$/, 'must be a name such as EXAMPLE'),
        url: httpAddress.describe('Address of the authority'),
        value: text,
      })
      .optional()
      .describe('Identifier of the data at an authority, in WMS capabilities'),
    source,
    formats: z
      .array(formatSchema)
      .min(1)
      .default(['image/png'])
      .describe(
        'Media types, or a type with quality, lossless, colors or dither; the first one is the default',
      ),
    gridSets: z
      .array(gridSubsetSchema)
      .min(1)
      .default(['EPSG:900913', 'EPSG:4326'])
      .describe('Names, or a name with zoomStart, zoomStop and extent; the first one is the default'),
    metatile: z
      .tuple([whole(1, MAX_METATILE), whole(1, MAX_METATILE)])
      .default([4, 4])
      .describe('Columns and rows of tiles fetched in one request'),
    gutter: whole(0, MAX_GUTTER).default(0).describe('Pixels fetched around a metatile and cut away'),
    parameters: z
      .array(parameterSchema)
      .default([])
      .describe('Request parameters that make tile sets of their own'),
    store: z.string().default('default').describe('The name of a store'),
    adopt: z
      .union([adoptOptions, z.array(adoptOptions).min(1).max(MAX_ADOPTED)])
      .optional()
      .describe('The cache of another program, read where the store has no tile; or a list of them'),
    expireCache: expirySchema
      .default(0)
      .describe(
        'Seconds a tile stays fresh; 0: forever; -1: it is not kept. Or a list of { minZoom, seconds }',
      ),
    followSource: flag.describe(
      "Tiles stay fresh only as long as the source's Cache-Control says; at most expireCache",
    ),
    staleWhileRevalidate: secondsSchema
      .default(0)
      .describe(
        'Seconds for which a tile that is no longer fresh is served immediately and renewed in the background',
      ),
    staleIfError: secondsSchema
      .default(DEFAULT_STALE_IF_ERROR)
      .describe('Seconds for which a tile that is no longer fresh is answered when the source fails'),
    expireClients: expirySchema
      .default(0)
      .describe(
        'Seconds a client may keep a tile; 0: say nothing; -1: ask again each time. Or a list of { minZoom, seconds }',
      ),
    access: z.enum(LAYER_ACCESS).default('public').describe('Who may look at it'),
    retina: flag.describe('Tiles with twice the pixels too, at …@2x.png'),
    outside: z
      .enum(OUTSIDE_ANSWERS)
      .nullable()
      .default(null)
      .describe("Answer to tiles outside the layer's extent; null: as each service's standard requires"),
    onMiss: z
      .enum(MISS_ANSWERS)
      .default('source')
      .describe(
        'Answer to clients for a tile that is not cached; parent: the nearest cached tile above, stretched',
      ),
    fullWMS: flag.describe('WMS answers any box and size, composed from tiles'),
    wmsCrs: z
      .array(z.string().regex(/^EPSG:[1-9]\d{0,8}$/, 'must be a code such as EPSG:25832'))
      .max(MAX_WMS_CRS)
      .default([])
      .describe('With fullWMS: further CRS in which WMS answers, warped from tiles, e.g. EPSG:25832'),
    queryable: flag.describe('GetFeatureInfo is passed to the source, a WMS'),
    infoFormats: z
      .array(z.enum(INFO_FORMATS))
      .min(1)
      .default(['text/plain', 'text/html', 'application/json'])
      .describe('Formats in which GetFeatureInfo may be asked; the first one is the default'),
    cacheBypass: flag.describe('cached=false in a request is answered by the source, and nothing is kept'),
    passCredentials: flag.describe(
      "The caller's Authorization header is passed on to the source; nothing is stored or shared between callers",
    ),
    legends: z
      .array(legendSchema)
      .max(MAX_LEGENDS)
      .default([])
      .describe('Pictures that explain the styles: LegendURL in WMTS, GetLegendGraphic in WMS'),
    within: text.nullable().default(null).describe('Name of an area: outside it there is nothing to see'),
    background: z
      .string()
      .regex(/^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/, 'must be a colour like #FFFFFF')
      .nullable()
      .default(null)
      .describe('With within: the colour outside, e.g. #FFFFFF; null: transparent'),
    minScale: z
      .number()
      .min(0)
      .nullable()
      .default(null)
      .describe('Scale denominator from which on clients see it; null: any'),
    maxScale: z
      .number()
      .min(0)
      .nullable()
      .default(null)
      .describe('Scale denominator below which clients see it; null: any'),
    requestFilters: z.array(requestFilterSchema).max(1).default([]),
    updateSources,
    schedules: z.array(schedule).default([]).describe('Tasks that run repeatedly'),
  });
}

type Document = z.output<ReturnType<typeof createLayerSchema<z.ZodUnknown, z.ZodUnknown>>>;
export type ParameterDeclaration = Document['parameters'][number];

/** A layer as an administrator writes it down, defaults filled in. Plain data: it can be kept and compared. */
export interface LayerDeclaration<Source = unknown>
  extends Readonly<Omit<Document, 'source' | 'schedules' | 'adopt'>> {
  /** The declared document with all defaults, secrets in the clear. */
  readonly document: unknown;
  readonly title: string;
  /** Options of the layer's driver; opaque to the catalog. */
  readonly source: Source;
  /** Clipping areas of the layer and its parts, by name. */
  readonly areas: ReadonlyMap<string, NamedArea>;
  /** Searched in this order. */
  readonly adopt: readonly Adoption[];
}
