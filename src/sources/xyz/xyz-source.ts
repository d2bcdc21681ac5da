import { z } from 'zod';
import { FORMAT_NAMES, formatOf, formatOfExtension } from '../../domain/format.ts';
import { type GridSet, levelOf } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { text, whole } from '../../lib/schemas.ts';
import { CONNECTION_OPTIONS, httpOptions } from '../http-options.ts';
import { openMapServer, withoutSecrets } from '../map-server.ts';
import { absent, isOffered, requireOffered, SINGLE_TILES, tileOf } from '../single-tiles.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import { byQuadkey, inHexadecimal, inThousands } from '../tile-paths.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';

const TILE_PLACEHOLDERS: ReadonlySet<string> = new Set([
  ...['z', 'x', 'y', '-y', 'quadkey', 's'],
  ...['tilecache', '-tilecache', 'arcgis', '-arcgis'],
]);
/** Placeholders that identify a tile by themselves. */
const WHOLE_PLACES = ['quadkey', 'tilecache', '-tilecache', 'arcgis', '-arcgis'];

const PLACEHOLDER = /\{([^{}]*)\}/g;

export function placeholdersOf(template: string): ReadonlySet<string> {
  return new Set([...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name));
}

/** Whether a template with these placeholders has an address for each tile. */
function namesTile(used: ReadonlySet<string>): boolean {
  const row = used.has('y') || used.has('-y');
  return WHOLE_PLACES.some((name) => used.has(name)) || (used.has('z') && used.has('x') && row);
}

/** The address of a tile. Rows of `{y}` count from the top, those of `{-y}` from the bottom. */
function tileUrl(template: TileTemplate, gridSet: GridSet, { z, x, y }: TileIndex): URL {
  const zoom = z + template.zoomOffset;
  const fromBottom = () => levelOf(gridSet, z).rows - 1 - y;
  const values: Readonly<Record<string, () => string>> = {
    z: () => String(zoom),
    x: () => String(x),
    y: () => String(y),
    '-y': () => String(fromBottom()),
    quadkey: () => byQuadkey({ z: zoom, x, y }).join('/'),
    tilecache: () => inThousands({ z: zoom, x, y }).join('/'),
    '-tilecache': () => inThousands({ z: zoom, x, y: fromBottom() }).join('/'),
    arcgis: () => inHexadecimal({ z: zoom, x, y }).join('/'),
    '-arcgis': () => inHexadecimal({ z: zoom, x, y: fromBottom() }).join('/'),
    s: () => template.subdomains[(x + y) % template.subdomains.length] ?? '',
  };
  const fill = (whole: string, name: string) => {
    const key = Object.hasOwn(template.keys, name) ? template.keys[name] : undefined;
    return key === undefined ? (values[name]?.() ?? whole) : encodeURIComponent(key);
  };
  return new URL(template.url.replace(PLACEHOLDER, fill));
}

const MAX_SUBDOMAINS = 32;
const MAX_ZOOM_OFFSET = 30;

const template = z.string().superRefine(checkTemplate);
const zoomOffset = whole(-MAX_ZOOM_OFFSET, MAX_ZOOM_OFFSET);
const keyName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, 'must be a plain name')
  .refine((name) => !TILE_PLACEHOLDERS.has(name), { error: 'is the name of another placeholder' });

const xyzFields = z.strictObject({
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
  absent,
  ...httpOptions,
});
export const xyzSourceOptions = xyzFields.superRefine(checkPlaceholders);

type XyzSourceOptions = z.output<typeof xyzFields>;

function checkTemplate(url: string, context: z.RefinementCtx): void {
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

function checkPlaceholders(options: XyzSourceOptions, context: z.RefinementCtx): void {
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

function templatesOf({ url, gridSets = {} }: XyzSourceOptions) {
  const others = Object.entries(gridSets).flatMap(([name, own]) =>
    own.url === undefined ? [] : [{ url: own.url, path: ['gridSets', name, 'url'] }],
  );
  return [{ url, path: ['url'] }, ...others];
}

/** Requests single ready-made tiles from a server. */
export function openXyzSource(
  options: XyzSourceOptions,
  { upstream }: Pick<SourceTools, 'upstream'>,
): TileSource {
  const server = openMapServer(options, upstream);
  const secrets = Object.values(options.keys).flatMap((key) => [key, encodeURIComponent(key)]);

  async function fetch(request: SourceRequest): Promise<SourceResult> {
    const url = tileUrl(templateFor(options, request.gridSet), request.gridSet, tileOf(request));
    const expected = expectedType(options, request);
    return server.picture(request, { url, secrets }, expected);
  }

  return {
    maxMetatile: SINGLE_TILES,
    confirms: true,
    addressOf: (request) => shownAddress(options, request),
    fetch,
    close: server.close,
  };
}

function offeredBy({ gridSets }: XyzSourceOptions): readonly string[] | undefined {
  return gridSets && Object.keys(gridSets);
}

type TileTemplate = ReturnType<typeof templateFor>;

function templateFor(options: XyzSourceOptions, gridSet: GridSet) {
  requireOffered('The map source', offeredBy(options), gridSet);
  const { gridSets = {}, subdomains = [], keys } = options;
  const name = [gridSet.name, ...gridSet.aliases].find((known) => Object.hasOwn(gridSets, known));
  const own = name === undefined ? undefined : gridSets[name];
  return {
    url: own?.url ?? options.url,
    zoomOffset: own?.zoomOffset ?? options.zoomOffset,
    subdomains,
    keys,
  };
}

/** A media type; null: any. */
function expectedType(options: XyzSourceOptions, { gridSet, format }: SourceRequest): string | null {
  if (options.format === 'any') return null;
  if (options.format) return formatOf(options.format)?.contentType ?? null;
  const { pathname } = new URL(templateFor(options, gridSet).url.replace(/[{}]/g, ''));
  const extension = /\.([a-z0-9]+)$/i.exec(pathname)?.[1];
  return (extension && formatOfExtension(extension)?.contentType) || format.contentType;
}

/** Keys may be anywhere in the address: asterisks replace them. */
function shownAddress(options: XyzSourceOptions, request: SourceRequest): string {
  const template = templateFor(options, request.gridSet);
  const masked = Object.fromEntries(Object.keys(template.keys).map((name) => [name, '***']));
  return withoutSecrets(tileUrl({ ...template, keys: masked }, request.gridSet, tileOf(request)));
}

export const xyzDriver = {
  type: 'xyz',
  options: xyzSourceOptions,
  shown: ['url'],
  connection: ['keys', ...CONNECTION_OPTIONS],
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  offers: (options, gridSet) => isOffered(offeredBy(options), gridSet),
  open: openXyzSource,
} as const satisfies SourceDriver<XyzSourceOptions>;
