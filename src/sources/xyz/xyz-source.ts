import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { formatOf, formatOfExtension } from '../../domain/format.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { onBehalfOf, requestManners } from '../request-manners.ts';
import type { SourceTools } from '../source-driver.ts';
import { createSourceLife } from '../source-life.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import {
  checkMediaType,
  pictureRequest,
  serverResponse,
  withoutSecrets,
} from '../upstream/server-response.ts';
import { type TileTemplate, tileUrl } from './tile-url.ts';
import type { XyzSourceOptions } from './xyz-source-options.ts';

/** Requests single ready-made tiles from a server. */
export function openXyzSource(
  options: XyzSourceOptions,
  { upstream }: Pick<SourceTools, 'upstream'>,
): TileSource {
  const life = createSourceLife();
  const manners = requestManners(options);
  const secrets = Object.values(options.keys);

  async function fetch(request: SourceRequest, signal: AbortSignal): Promise<SourceResult> {
    const url = tileUrl(templateFor(options, request.gridSet), request.gridSet, tileOf(request));
    const upstreamRequest = {
      url,
      ...onBehalfOf(request, manners),
      ...pictureRequest(request, signal),
      alsoAccept: options.absent,
    };
    const answer = await upstream.get(upstreamRequest).catch((error: unknown) => {
      throw withoutWords(error, secrets);
    });
    if (options.absent.some((absent) => absent === answer.status)) return { kind: 'nothing' };
    const expected = expectedType(options, request);
    return serverResponse(answer, (type) => expected && checkMediaType(type, expected));
  }

  return {
    maxMetatile: { columns: 1, rows: 1 },
    confirms: true,
    addressOf: (request) => shownAddress(options, request),
    fetch: (request) => life.during(request.signal, (signal) => fetch(request, signal)),
    close: async () => life.end(),
  };
}

/** Whether the server has tiles in the grid set, as far as it was declared. */
export function xyzOffers(options: XyzSourceOptions, gridSet: GridSet): boolean {
  if (!options.gridSets) return isWebMercator(gridSet);
  return [gridSet.name, ...gridSet.aliases].some((name) => Object.hasOwn(options.gridSets ?? {}, name));
}

function templateFor(options: XyzSourceOptions, gridSet: GridSet): TileTemplate {
  if (!xyzOffers(options, gridSet)) throw notOffered(options, gridSet);
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

function notOffered({ gridSets }: XyzSourceOptions, gridSet: GridSet): TilewardenError {
  const offered = gridSets ? Object.keys(gridSets).join(', ') : 'web mercator';
  return new TilewardenError(
    'source-unavailable',
    `The map source has no tiles in grid set ${gridSet.name}; it has ${offered}.`,
    { reason: 'grid-set' },
  );
}

function tileOf({ metatile: { z, rect } }: SourceRequest): { z: number; x: number; y: number } {
  return { z, x: rect.minX, y: rect.minY };
}

/** A media type; null when anything may come. */
function expectedType(options: XyzSourceOptions, { gridSet, format }: SourceRequest): string | null {
  if (options.format === 'any') return null;
  if (options.format) return formatOf(options.format)?.contentType ?? null;
  const { pathname } = new URL(templateFor(options, gridSet).url.replace(/[{}]/g, ''));
  const extension = /\.([a-z0-9]+)$/i.exec(pathname)?.[1];
  return (extension && formatOfExtension(extension)?.contentType) || format.contentType;
}

/** Keys may be anywhere in the address: they are shown by name. */
function shownAddress(options: XyzSourceOptions, request: SourceRequest): string {
  const template = templateFor(options, request.gridSet);
  const masked = Object.fromEntries(Object.keys(template.keys).map((name) => [name, '***']));
  return withoutSecrets(tileUrl({ ...template, keys: masked }, request.gridSet, tileOf(request)));
}

/** The same failure without these words in its cause: an error page may repeat the request. */
function withoutWords(error: unknown, words: readonly string[]): unknown {
  if (!isTilewardenError(error) || !(error.cause instanceof Error)) return error;
  const hidden = words.flatMap((word) => [word, encodeURIComponent(word)]);
  const causeText = error.cause.message;
  if (!hidden.some((word) => causeText.includes(word))) return error;
  const cause = new Error(hidden.reduce((text, word) => text.replaceAll(word, '***'), causeText));
  const { code, message, reason, retryAfterSeconds } = error;
  return new TilewardenError(code, message, { cause, reason, retryAfterSeconds });
}
