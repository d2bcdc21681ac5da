import type { S3Client } from '@aws-sdk/client-s3';
import { Agent, type Dispatcher } from 'undici';
import type { S3StoreOptions } from './s3-store-options.ts';

type RequestHandler = S3Client['config']['requestHandler'];
type SdkRequest = Parameters<RequestHandler['handle']>[0];

/**
 * Sends what the SDK asks by undici. Its own way is Node's HTTP client, which shares code with Node's HTTP server: a
 * process that has used both answers every tile a tenth slower, because that code is then compiled for either.
 */
export function createS3Requests({ connections, timeoutSeconds }: S3StoreOptions): RequestHandler {
  const timeout = timeoutSeconds * 1000;
  const agent = new Agent({
    connections,
    connect: { timeout },
    headersTimeout: timeout,
    bodyTimeout: timeout,
  });
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request, options: { readonly abortSignal?: unknown } = {}) {
      const signal = options.abortSignal as AbortSignal | undefined;
      try {
        const { statusCode, headers, body } = await agent.request({ ...dispatchOf(request), signal });
        return { response: { statusCode, headers: headers as Record<string, string>, body } };
      } catch (cause) {
        throw refusalOf(cause, signal?.aborted ?? false);
      }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
    destroy: () => void agent.destroy(),
  };
}

function dispatchOf({ protocol, hostname, port, path, query, method, headers, body }: SdkRequest) {
  const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
  const asked = Object.entries((query ?? {}) as Readonly<Record<string, string | string[] | null>>);
  const search = asked.flatMap(([name, values]) =>
    [values ?? ''].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return {
    origin,
    path: search.length === 0 ? path : `${path}?${search.join('&')}`,
    method: method as Dispatcher.HttpMethod,
    headers,
    body: body ?? null,
  };
}

/** In the words by which the SDK knows whether to try again. */
function refusalOf(cause: unknown, aborted: boolean): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  return Object.assign(
    new Error(message, { cause }),
    aborted ? { name: 'AbortError' } : { code: 'ECONNRESET' },
  );
}
