import type { z as Zod } from 'zod';
import { FORMAT_NAMES } from '../../domain/format.ts';
import type { SchemaKit } from '../../lib/schemas.ts';
import { httpSchemas } from '../http-options.ts';
import { namesTile, placeholdersOf, TILE_PLACEHOLDERS } from './tile-url.ts';

const MAX_SUBDOMAINS = 32;
const MAX_ZOOM_OFFSET = 30;

export const xyzSourceOptions = (kit: SchemaKit) => {
  const { z, text, whole } = kit;
  const template = z.string().superRefine(checkTemplate);
  const zoomOffset = whole(-MAX_ZOOM_OFFSET, MAX_ZOOM_OFFSET);
  const keyName = z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, 'must be a plain name')
    .refine((name) => !TILE_PLACEHOLDERS.has(name), { error: 'is the name of another placeholder' });
  return z
    .strictObject({
      type: z.literal('xyz'),
      url: template.describe(
        'Address of a tile with {z} {x} {y}, {quadkey}, {tilecache} or {arcgis}, and {s} and the names of keys; rows count from the top, those of {-y}, {-tilecache} and {-arcgis} from the bottom',
      ),
      subdomains: z
        .array(z.string().regex(/^[A-Za-z0-9.-]{1,63}$/, 'must be part of a host name'))
        .min(1)
        .max(MAX_SUBDOMAINS)
        .optional()
        .describe('The values of {s}, used in turn'),
      keys: z
        .record(keyName, text)
        .default({})
        .describe('Secrets that the address holds by name, e.g. {key}; never shown'),
      format: z
        .enum([...FORMAT_NAMES, 'any'])
        .optional()
        .describe(
          "What the server sends; by the address's extension, or else the tiles' own format, when left out",
        ),
      zoomOffset: zoomOffset.default(0).describe("Added to our zoom to get the server's"),
      gridSets: z
        .record(text, z.strictObject({ url: template.optional(), zoomOffset: zoomOffset.optional() }))
        .optional()
        .describe('Grid sets in which the server has tiles; web mercator when left out'),
      absent: z
        .array(z.literal([204, 403, 404, 410]))
        .default([204])
        .describe('HTTP statuses that mean there is no tile here: an empty tile is kept'),
      ...httpSchemas(kit).httpOptions,
    })
    .superRefine(checkPlaceholders);
};

export type XyzSourceOptions = Zod.output<ReturnType<typeof xyzSourceOptions>>;

function checkTemplate(url: string, context: Zod.RefinementCtx): void {
  const refuse = (message: string) => context.addIssue({ code: 'custom', message, input: url });
  const filled = url.replace(/\{[^{}]*\}/g, '0');
  if (!URL.canParse(filled) || !/^https?:$/.test(new URL(filled).protocol)) {
    refuse('must be an http or https address with placeholders such as {z}/{x}/{y}');
    return;
  }
  if (new URL(filled).username !== '') refuse('must not contain credentials; use username and password');
  if (!namesTile(placeholdersOf(url)))
    refuse('must hold {z}, {x} and {y} (or {-y}), or one of {quadkey}, {tilecache}, {arcgis}');
}

interface Templates {
  readonly url: string;
  readonly gridSets?: Readonly<Record<string, { readonly url?: string | undefined }>> | undefined;
  readonly keys: Readonly<Record<string, string>>;
  readonly subdomains?: readonly string[] | undefined;
}

function checkPlaceholders(options: Templates, context: Zod.RefinementCtx): void {
  const known = new Set([...TILE_PLACEHOLDERS, ...Object.keys(options.keys)]);
  for (const { url, path } of templatesOf(options)) {
    const refuse = (message: string) => context.addIssue({ code: 'custom', message, path, input: url });
    const used = placeholdersOf(url);
    for (const name of [...used].filter((one) => !known.has(one))) {
      refuse(
        `holds {${name}}, which is neither a placeholder nor one of keys; known here: ${[...known].join(', ')}`,
      );
    }
    if (used.has('s') && !options.subdomains) refuse('holds {s}, but subdomains is empty');
  }
}

function templatesOf({
  url,
  gridSets = {},
}: Templates): readonly { readonly url: string; readonly path: string[] }[] {
  const others = Object.entries(gridSets).flatMap(([name, own]) =>
    own.url === undefined ? [] : [{ url: own.url, path: ['gridSets', name, 'url'] }],
  );
  return [{ url, path: ['url'] }, ...others];
}
