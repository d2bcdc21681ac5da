import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { SourceAnswer, SourceRequest, TileSource } from '../tile-source.ts';
import { linkAbort } from '../upstream/linked-abort.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { withoutSecrets } from '../upstream/without-secrets.ts';
import { mapRequestUrl, requestFormat } from './map-request.ts';
import type { WmsSourceOptions } from './wms-source-options.ts';

export interface WmsSourceTools {
  /** Shared with other sources; closing it is its owner's business. */
  readonly upstream: UpstreamClient;
}

/** Asks a WMS for whole metatiles. With several addresses the one that answered last is asked first. */
export function openWmsSource(options: WmsSourceOptions, { upstream }: WmsSourceTools): TileSource {
  const closing = new AbortController();
  const headers = headersOf(options);
  let preferred = 0;

  async function fetchFrom(base: string, request: SourceRequest, signal: AbortSignal): Promise<SourceAnswer> {
    const answer = await upstream.get({
      url: mapRequestUrl(base, options, request),
      headers,
      priority: request.priority,
      signal,
      ...(options.timeoutSeconds === undefined ? {} : { timeoutMs: options.timeoutSeconds * 1000 }),
    });
    checkType(answer.mediaType, requestFormat(options, request));
    return { kind: 'encoded', ...answer };
  }

  async function fetchFromAny(request: SourceRequest, signal: AbortSignal): Promise<SourceAnswer> {
    const first = preferred;
    const count = options.url.length;
    let failure: unknown;
    for (let attempt = 0; attempt < count; attempt++) {
      const index = (first + attempt) % count;
      try {
        const answer = await fetchFrom(options.url[index] ?? '', request, signal);
        preferred = index;
        return answer;
      } catch (error) {
        if (!isTilewardenError(error, 'source-unavailable', 'source-timeout') || signal.aborted) throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  return {
    maxMetatile: null,
    addressOf: (request) => withoutSecrets(mapRequestUrl(options.url[preferred] ?? '', options, request)),
    async fetch(request) {
      const stop = linkAbort(request.signal, closing.signal);
      try {
        stop.signal.throwIfAborted();
        return await fetchFromAny(request, stop.signal);
      } finally {
        stop.release();
      }
    },
    async close() {
      closing.abort(
        new TilewardenError('source-unavailable', 'The map source is closed.', { reason: 'stopping' }),
      );
    },
  };
}

function headersOf(options: WmsSourceOptions): Readonly<Record<string, string>> {
  const { username, password } = options;
  if (username === undefined && password === undefined) return options.headers;
  const credentials = Buffer.from(`${username ?? ''}:${password ?? ''}`, 'utf8').toString('base64');
  return { ...options.headers, authorization: `Basic ${credentials}` };
}

/** WMS 1.3.0, 7.3.3.7: the answer has the type that was asked for. What is no image is left for the gate to name. */
function checkType(mediaType: string | null, asked: string): void {
  if (!mediaType?.startsWith('image/') || plainType(mediaType) === plainType(asked)) return;
  throw new TilewardenError(
    'source-bad-answer',
    'The map source sent an image of another type than was asked for.',
    {
      reason: 'wrong-type',
      cause: new Error(`asked for ${asked}, got ${mediaType}`),
    },
  );
}

/** `image/png; mode=8bit`, `image/png8` and `image/x-png` are all `image/png`. */
function plainType(mediaType: string): string {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase().replace('image/x-', 'image/');
  return type.replace(/^image\/png\d+$/, 'image/png').replace(/^image\/p?jpe?g$/, 'image/jpeg');
}
