import type { S3Client } from '@aws-sdk/client-s3';
import type { Dispatcher } from 'undici';
import { createObjectAgent, requestFailure } from '../objects/object-agent.ts';
import type { ObjectGuard } from '../objects/object-guard.ts';
import type { S3StoreOptions } from './s3-store-options.ts';

type RequestHandler = S3Client['config']['requestHandler'];
type SdkRequest = Parameters<RequestHandler['handle']>[0];

/** Sends the requests of the SDK by undici. `admit` receives the operation of each, as they are counted. */
export function createS3Requests(options: S3StoreOptions, admit: ObjectGuard['admit']): RequestHandler {
  const agent = createObjectAgent(options);
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request, { abortSignal }: { readonly abortSignal?: unknown } = {}) {
      const signal = (abortSignal ?? null) as AbortSignal | null;
      admit(operationOf(request), signal);
      try {
        const { statusCode, headers, body } = await agent.request({ ...dispatchOf(request), signal });
        return { response: { statusCode, headers: headers as Record<string, string>, body } };
      } catch (cause) {
        throw requestFailure(cause, signal?.aborted ?? false);
      }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
    destroy: () => void agent.destroy(),
  };
}

function dispatchOf({ protocol, hostname, port, path, query, method, headers, body }: SdkRequest) {
  const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
  const parameters = Object.entries((query ?? {}) as Readonly<Record<string, string | string[] | null>>);
  const search = parameters.flatMap(([name, values]) =>
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

function operationOf({ method, query = {} }: SdkRequest): string {
  if ('delete' in query) return 'delete';
  if ('list-type' in query) return 'list';
  if (method === 'PUT') return 'put';
  return method === 'HEAD' ? 'head-bucket' : 'get';
}
