import type { HttpHeaders, IHttpClient, WebResource } from '@azure/storage-blob';
import type { Agent, Dispatcher } from 'undici';
import { requestFailure } from '../objects/object-agent.ts';
import type { ObjectGuard } from '../objects/object-guard.ts';

/** Sends the requests of the SDK by undici. `admit` receives the operation of each, as they are counted. */
export function createAzureRequests(agent: Agent, admit: ObjectGuard['admit']): IHttpClient {
  return {
    async sendRequest(request) {
      const { abortSignal } = request;
      admit(operationOf(request), (abortSignal ?? null) as AbortSignal | null);
      try {
        const { statusCode, headers, body } = await agent.request(dispatchOf(request));
        const streamed = request.streamResponseStatusCodes?.has(statusCode) ?? false;
        const content = streamed ? { readableStreamBody: body } : { bodyAsText: await body.text() };
        return { request, status: statusCode, headers: sdkHeaders(headers), ...content };
      } catch (cause) {
        throw requestFailure(cause, abortSignal?.aborted ?? false);
      }
    },
  };
}

function dispatchOf({ url, method, headers, body, abortSignal }: WebResource) {
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    path: `${pathname}${search}`,
    method: method as Dispatcher.HttpMethod,
    headers: headers.rawHeaders(),
    body: (body ?? null) as Buffer | string | null,
    signal: (abortSignal ?? null) as AbortSignal | null,
  };
}

/** All that the SDK takes from the headers of a response. */
function sdkHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): HttpHeaders {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { toJson: () => plain } as unknown as HttpHeaders;
}

function operationOf({ url, method }: WebResource): string {
  const parameters = new URL(url).searchParams;
  const comp = parameters.get('comp');
  if (comp === 'list') return 'list';
  if (comp === 'batch' || method === 'DELETE') return 'delete';
  if (method === 'PUT') return 'put';
  return parameters.has('restype') ? 'head-bucket' : 'get';
}
