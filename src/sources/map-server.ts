/** Common part of all sources that request pictures from a map server. */
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { plainImageType } from '../domain/format.ts';
import type { Clock } from '../lib/clock.ts';
import { hideValues, isSecretName } from '../lib/hide-secrets.ts';
import { type HttpOptions, requestManners } from './http-options.ts';
import { createSourceLife } from './source-life.ts';
import type { SourceRequest, SourceResult } from './tile-source.ts';
import { NOT_MODIFIED } from './upstream/read-response.ts';
import type { SourceUpstream, UpstreamRequest } from './upstream/upstream-client.ts';

const TEXT = /^text\/|xml$|json$/;

/**
 * `absent`: statuses that mean "no tile". `origin`: receives credentials and headers, other hosts that a document names do
 * not; null: every host does.
 */
export function openMapServer(
  options: HttpOptions & { readonly absent?: readonly number[] },
  upstream: SourceUpstream,
  origin: string | null = null,
) {
  const { absent = [] } = options;
  const life = createSourceLife();
  const { headers: own, timeoutMs } = requestManners(options);

  function headersFor(url: URL, { authorization = null }: Pick<SourceRequest, 'authorization'> = {}) {
    if (origin !== null && url.origin !== origin) return {};
    return authorization === null ? own : { ...own, authorization };
  }

  return {
    close: async (): Promise<void> => life.end(),

    /** For documents, legends and feature information. */
    get({ headers = {}, ...request }: UpstreamRequest) {
      const all = { ...headers, ...headersFor(request.url) };
      return life.during(request.signal, (signal) =>
        upstream.get({ ...request, signal, headers: all, timeoutMs }),
      );
    },

    /** Refuses an image of another type than `expected`; null: accepts any. The gate reports other content. */
    async picture(
      request: SourceRequest,
      target: Pick<UpstreamRequest, 'url' | 'form' | 'secrets'>,
      expected: string | null,
    ): Promise<SourceResult> {
      const { priority, validator = null, format, sent } = request;
      const answer = await life.during(request.signal, (signal) =>
        upstream.get({
          ...target,
          ...{ priority, validator, sent, signal, timeoutMs, alsoAccept: absent },
          headers: headersFor(target.url, request),
          // Vector tiles are stored compressed; the gate refuses compressed pictures.
          packed: format.kind === 'opaque',
        }),
      );
      const { status, bytes, mediaType, secrets, ...freshness } = answer;
      if (absent.includes(status)) return { kind: 'nothing' };
      const { freshSeconds, validator: tag, warning } = freshness;
      if (status === NOT_MODIFIED) return { kind: 'unchanged', freshSeconds };
      if (expected !== null) checkMediaType(mediaType, expected);
      // Errors quote a text that comes in place of a picture: it must contain no secrets.
      const isText = TEXT.test(mediaType ?? '');
      const shown = isText ? Buffer.from(hideValues(bytes.toString('latin1'), secrets()), 'latin1') : bytes;
      return { kind: 'encoded', bytes: shown, mediaType, freshSeconds, validator: tag, warning };
    },
  };
}

function checkMediaType(mediaType: string | null, requested: string): void {
  if (!mediaType?.startsWith('image/') || plainImageType(mediaType) === plainImageType(requested)) return;
  throw new TilewardenError(
    'source-bad-answer',
    'The map source sent an image of another type than requested.',
    { reason: 'wrong-type', cause: new Error(`asked for ${requested}, got ${mediaType}`) },
  );
}

const HIDDEN = '***';

/** An address for readers of a layer: no user or password, fragment, or value of a key in the query. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  shown.hash = '';
  for (const name of new Set(shown.searchParams.keys())) {
    if (isSecretName(name)) shown.searchParams.set(name, HIDDEN);
  }
  return shown.toString();
}

/** Age of a description after which a request renews it in the background. */
const RENEW_AFTER_MS = 60 * 60 * 1000;

/**
 * The description of a service: read when it is first needed, once for all callers. It stays in use while it is
 * renewed, also when that fails.
 */
export function keepDescription<Description>(clock: Clock, load: () => Promise<Description>) {
  let known: Description | null = null;
  let readAt = 0;
  let reading: Promise<Description> | null = null;

  async function readOnce(): Promise<Description> {
    readAt = clock.monotonic();
    known = await load();
    return known;
  }

  function read(): Promise<Description> {
    reading ??= readOnce().finally(() => {
      reading = null;
    });
    return reading;
  }

  return {
    async current(): Promise<Description> {
      if (!known) return await read();
      if (clock.monotonic() - readAt > RENEW_AFTER_MS) read().catch(() => undefined);
      return known;
    },
    /** An address from the description; `otherwise` before the first read, or if the description lacks it. */
    address(find: (description: Description) => URL, otherwise: () => URL): string {
      try {
        if (known) return withoutSecrets(find(known));
      } catch (error) {
        if (!isTilewardenError(error)) throw error;
      }
      return withoutSecrets(otherwise());
    },
  };
}

/** Declaration and description do not match. The server's names are for the log, not for clients. */
export function unfit(what: string, cause?: unknown): TilewardenError {
  const why = cause instanceof Error ? `: ${cause.message.slice(0, 300)}` : '';
  return new TilewardenError('source-bad-answer', 'The map source does not offer what the layer declares.', {
    reason: 'capabilities',
    cause: new Error(`The map source ${what}${why}.`),
  });
}

/** A template with names in braces, whose case does not matter. Unknown ones stay. */
export function fillTemplate(template: string, values: ReadonlyMap<string, string>): string {
  return template.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const value = values.get(name.toLowerCase());
    return value === undefined ? whole : encodeURIComponent(value);
  });
}
