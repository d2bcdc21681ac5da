import { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { someOf } from '../../lib/closest-name.ts';
import { orAborted } from '../../lib/deferred.ts';
import { text } from '../../lib/schemas.ts';
import { CONNECTION_OPTIONS, httpAddress, httpOptions, withQuery } from '../http-options.ts';
import { fillTemplate, keepDescription, openMapServer, unfit } from '../map-server.ts';
import { absent, SINGLE_TILES, tileOf } from '../single-tiles.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import {
  matchTile,
  readWmtsDimension,
  readWmtsLayer,
  type WmtsCapabilities,
  type WmtsLayer,
} from '../wmts-capabilities.ts';

export const wmtsSourceOptions = z.strictObject({
  type: z.literal('wmts'),
  url: httpAddress.describe('Address of the service or of its capabilities document'),
  layer: text.describe('Identifier of the layer'),
  style: z.string().optional().describe("Identifier of the style; the layer's default when left out"),
  format: text
    .optional()
    .describe("Format to ask for; the tiles' own if the server has it, else PNG or the first it has"),
  tileMatrixSet: text
    .optional()
    .describe('Use only this tile matrix set; by default the one that fits the requested grid set'),
  encoding: z
    .enum(['auto', 'kvp', 'rest'])
    .default('auto')
    .describe('How tiles are requested: by query or by path; auto: as the address is given'),
  dimensions: z
    .record(text, z.union([z.string(), z.number()]).transform(String))
    .default({})
    .describe("Values of dimensions; a parameter of the same name goes before, the server's default behind"),
  absent,
  ...httpOptions,
});

type WmtsSourceOptions = z.output<typeof wmtsSourceOptions>;

/** Requests single ready-made tiles of a WMTS, by its capabilities. */
export function openWmtsSource(
  options: WmtsSourceOptions,
  { upstream, clock }: Pick<SourceTools, 'upstream' | 'clock'>,
): TileSource {
  const server = openMapServer(options, upstream, new URL(options.url).origin);
  const readDocument = async (signal: AbortSignal, priority: SourceRequest['priority']) =>
    (await server.get({ url: capabilitiesUrl(options), priority, signal })).bytes;
  const capabilities = keepDescription(clock, async () =>
    readCapabilities(await readDocument(new AbortController().signal, 'interactive'), options.layer),
  );

  async function fetch(request: SourceRequest): Promise<SourceResult> {
    const known = await orAborted(capabilities.current(), request.signal);
    const choice = chooseTile(options, known, request);
    if (!choice.tile.offered) return { kind: 'nothing' };
    return server.picture(request, { url: tileUrl(options, known, choice) }, choice.format);
  }

  return {
    maxMetatile: SINGLE_TILES,
    confirms: true,
    addressOf: (request) =>
      capabilities.address(
        (known) => tileUrl(options, known, chooseTile(options, known, request)),
        () => capabilitiesUrl(options),
      ),
    fetch,
    dimensionValues: async (dimension, signal) =>
      readWmtsDimension(await readDocument(signal, 'task'), options.layer, dimension),
    close: server.close,
  };
}

type TileChoice = ReturnType<typeof chooseTile>;

function chooseTile(options: WmtsSourceOptions, known: WmtsCapabilities, request: SourceRequest) {
  const { gridSet, format, parameters } = request;
  const layer = known.layers.get(options.layer);
  if (!layer) throw unfit(`has no layer ${options.layer}; it has ${someOf([...known.layers.keys()])}`);
  const { tileMatrixSet: wanted } = options;
  const links = layer.links.filter(({ set }) => wanted === undefined || set.id === wanted);
  const index = tileOf(request);
  const tile = matchTile(links, gridSet, index);
  if (!tile) {
    const offered = someOf(layer.links.map(({ set }) => `${set.id} (${set.crs})`));
    throw unfit(
      `has no tile matrix set${wanted === undefined ? '' : ` ${wanted}`} that fits grid set ${gridSet.name} at zoom ${index.z}, with the same CRS, resolution, origin and tile size; layer ${layer.id} has ${offered}`,
    );
  }
  return {
    layer,
    tile,
    format: chooseFormat(options, layer, format.contentType),
    style: parameters.get('STYLE') || parameters.get('STYLES') || (options.style ?? layer.style),
    dimensions: chooseDimensions(options, layer, parameters),
  };
}

function chooseFormat(options: WmtsSourceOptions, layer: WmtsLayer, own: string): string {
  if (options.format !== undefined) return options.format;
  const { formats } = layer;
  return [own, 'image/png'].find((wanted) => formats.includes(wanted)) ?? formats[0] ?? own;
}

/** A parameter, else the declared value, else the server's default; dimensions without a value are omitted. */
function chooseDimensions(
  { dimensions: declared }: WmtsSourceOptions,
  { dimensions }: WmtsLayer,
  parameters: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const declaredValues = new Map(
    Object.entries(declared).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const values = [...dimensions].map(([name, byDefault]) => {
    const upper = name.toUpperCase();
    return [name, parameters.get(upper) || declaredValues.get(upper) || byDefault] as const;
  });
  return new Map(values.filter(([, value]) => value !== ''));
}

/** By query: at the declared address, unless it is a document, which names another. By path: by the document's template. */
function tileUrl({ url, encoding }: WmtsSourceOptions, known: WmtsCapabilities, choice: TileChoice): URL {
  const pathFirst = isDocument(url);
  const queryBase = pathFirst ? known.queryAddress : url;
  const byPath = () => pathUrl(url, choice);
  const byQuery = () => queryBase && queryUrl(queryBase, choice);
  const ways = { rest: [byPath], kvp: [byQuery], auto: pathFirst ? [byPath, byQuery] : [byQuery, byPath] };
  for (const way of ways[encoding]) {
    const address = way();
    if (address) return address;
  }
  throw unfit(`gives no address for ${choice.format} of layer ${choice.layer.id}`);
}

async function readCapabilities(bytes: Buffer, layer: string): Promise<WmtsCapabilities> {
  try {
    return await readWmtsLayer(bytes, layer);
  } catch (cause) {
    const message = 'The capabilities of the map source cannot be read.';
    throw new TilewardenError('source-bad-answer', message, { reason: 'capabilities', cause });
  }
}

function queryUrl(base: string, choice: TileChoice): URL {
  const { matrixSet, matrix, row, column } = choice.tile;
  const url = withQuery(base, [
    ['SERVICE', 'WMTS'],
    ['REQUEST', 'GetTile'],
    ['VERSION', '1.0.0'],
    ['LAYER', choice.layer.id],
    ['STYLE', choice.style],
    ['FORMAT', choice.format],
    ['TILEMATRIXSET', matrixSet],
    ['TILEMATRIX', matrix],
    ['TILEROW', String(row)],
    ['TILECOL', String(column)],
    ...choice.dimensions,
  ]);
  for (const name of [...url.searchParams.keys()]) {
    if (/^acceptversions$/i.test(name)) url.searchParams.delete(name);
  }
  return url;
}

/** OGC 07-057r7, 10.2.1: a template with names in braces. Null when the layer has none for the format. */
function pathUrl(base: string, choice: TileChoice): URL | null {
  const template = choice.layer.templates.get(choice.format);
  if (template === undefined) return null;
  const { matrixSet, matrix, row, column } = choice.tile;
  const values = new Map<string, string>([
    ['layer', choice.layer.id],
    ['style', choice.style],
    ['tilematrixset', matrixSet],
    ['tilematrix', matrix],
    ['tilerow', String(row)],
    ['tilecol', String(column)],
  ]);
  for (const [name, value] of choice.dimensions) values.set(name.toLowerCase(), value);
  const filled = fillTemplate(template, values);
  return URL.canParse(filled, base) ? new URL(filled, base) : null;
}

/** Whether the declared address is a document rather than a service that reads queries. */
function isDocument(url: string): boolean {
  return /\.xml$/i.test(new URL(url).pathname);
}

function capabilitiesUrl({ url: declared }: Pick<WmtsSourceOptions, 'url'>): URL {
  const url = new URL(declared);
  const asksAlready = [...url.searchParams].some(
    ([name, value]) => /^request$/i.test(name) && /^getcapabilities$/i.test(value),
  );
  if (asksAlready || isDocument(declared)) return url;
  return withQuery(
    declared,
    Object.entries({ SERVICE: 'WMTS', REQUEST: 'GetCapabilities', VERSION: '1.0.0' }),
  );
}

export const wmtsDriver = {
  type: 'wmts',
  options: wmtsSourceOptions,
  shown: ['url', 'layer', 'style', 'tileMatrixSet'],
  connection: CONNECTION_OPTIONS,
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  listsDimensions: true,
  open: openWmtsSource,
} as const satisfies SourceDriver<WmtsSourceOptions>;
