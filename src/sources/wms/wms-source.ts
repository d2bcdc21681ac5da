import { isTilewardenError } from '../../domain/errors.ts';
import { hostClosedIn } from '../../domain/upstream-status.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { CONNECTION_OPTIONS } from '../http-options.ts';
import { openMapServer, withoutSecrets } from '../map-server.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import type { InfoResponse, SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import { readWmsDimension } from '../wms-capabilities.ts';
import {
  capabilitiesUrl,
  infoRequestUrl,
  legendRequestUrl,
  mapRequest,
  mapRequestUrl,
  requestFormat,
  type WmsSourceOptions,
  wmsSourceOptions,
} from './map-request.ts';

/** Requests whole metatiles from a WMS. With several URLs, the one that responded last is tried first. */
export function openWmsSource(
  options: WmsSourceOptions,
  { upstream }: Pick<SourceTools, 'upstream'>,
): TileSource {
  const server = openMapServer(options, upstream);
  let preferred = 0;
  const places = options.concurrency === undefined ? null : new Semaphore(options.concurrency);

  /** Requests of clients go first. */
  async function fetch(request: SourceRequest): Promise<SourceResult> {
    const { signal, priority } = request;
    const type = requestFormat(options, request);
    const fetchNow = () =>
      fromAny(signal, (base) => server.picture(request, mapRequest(base, options, request), type));
    return places ? places.during(fetchNow, signal, priority === 'interactive' ? 1 : 0) : fetchNow();
  }

  /** For requests other than GetMap, whose responses are not cached. */
  function ask(
    signal: AbortSignal,
    urlAt: (base: string) => URL,
    priority: SourceRequest['priority'] = 'interactive',
  ): Promise<InfoResponse> {
    return fromAny(signal, async (base) => {
      const { bytes, mediaType } = await server.get({ url: urlAt(base), priority, signal });
      return { bytes, mediaType };
    });
  }

  async function fromAny<Response>(
    signal: AbortSignal,
    ask: (base: string) => Promise<Response>,
  ): Promise<Response> {
    const first = preferred;
    const count = options.url.length;
    let failure: unknown;
    for (let attempt = 0; attempt < count; attempt++) {
      const index = (first + attempt) % count;
      try {
        const answer = await ask(options.url[index] ?? '');
        preferred = index;
        return answer;
      } catch (error) {
        if (signal.aborted || !isHostToBlame(error)) throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  return {
    maxMetatile: null,
    confirms: true,
    addressOf: (request) => withoutSecrets(mapRequestUrl(options.url[preferred] ?? '', options, request)),
    fetch,
    featureInfo: (request) => ask(request.signal, (base) => infoRequestUrl(base, options, request)),
    legend: (request) => ask(request.signal, (base) => legendRequestUrl(base, options, request)),
    async dimensionValues(dimension, caller) {
      const { bytes } = await ask(caller, (base) => capabilitiesUrl(base, options), 'task');
      return readWmsDimension(bytes, options.layers.split(','), dimension);
    },
    close: server.close,
  };
}

/** Whether another address may work. */
function isHostToBlame(error: unknown): boolean {
  const closed = hostClosedIn(error)?.closing.reason;
  if (closed === 'failing' || closed === 'paused') return true;
  return isTilewardenError(error, 'source-unavailable', 'source-timeout');
}

export const wmsDriver = {
  type: 'wms',
  options: wmsSourceOptions,
  shown: ['url', 'layers', 'styles', 'version'],
  connection: CONNECTION_OPTIONS,
  pictures: 'drawn',
  passesCredentials: true,
  queryable: true,
  listsDimensions: true,
  open: openWmsSource,
} as const satisfies SourceDriver<WmsSourceOptions>;
