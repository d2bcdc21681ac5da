import { buffer } from 'node:stream/consumers';
import {
  BlobServiceClient,
  type ContainerClient,
  type ContainerListBlobFlatSegmentResponse,
  type HttpHeaders,
  type IHttpClient,
  RestError,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
  type WebResource,
} from '@azure/storage-blob';
import type { Agent, Dispatcher } from 'undici';
import { misconfigured } from '../../domain/errors.ts';
import { createObjectAgent, type GuardTools, ObjectGuard } from '../objects/object-guard.ts';
import type { DatedObject, ObjectStore } from '../objects/object-store.ts';
import type { AzureBucketOptions } from './azure-store-options.ts';

/** Limits of objects that a request removes, and lists. */
const BATCH = 256;
const PAGE = 1000;

/** Throws `config-invalid` if the container is missing or the credentials do not give access to it. */
export async function openAzureObjects(options: AzureBucketOptions, tools: GuardTools): Promise<ObjectStore> {
  const { container } = options;
  const guard = new ObjectGuard({ what: `container ${container}`, statusOf, ...options }, tools);
  const agent = createObjectAgent(options);
  const client = serviceClient(options, {
    httpClient: createAzureRequests(agent),
    // `ObjectGuard` repeats requests.
    retryOptions: { maxTries: 1 },
  }).getContainerClient(container);
  const close = () => void agent.destroy();
  try {
    await guard.check((abortSignal) => client.getProperties({ abortSignal }));
    return createAzureObjects(client, guard, close);
  } catch (error) {
    close();
    throw error;
  }
}

function serviceClient(
  { account = '', key = '', connectionString, endpoint }: AzureBucketOptions,
  options: StoragePipelineOptions,
): BlobServiceClient {
  const address = endpoint ?? `https://${account}.blob.core.windows.net`;
  try {
    return connectionString === undefined
      ? new BlobServiceClient(address, new StorageSharedKeyCredential(account, key), options)
      : BlobServiceClient.fromConnectionString(connectionString, options);
  } catch {
    // The SDK's message may contain the string, which is a secret.
    throw misconfigured(
      'The connectionString of an azure store is invalid; copy it from the storage account.',
    );
  }
}

function createAzureObjects(client: ContainerClient, guard: ObjectGuard, close: () => void): ObjectStore {
  function read(key: string, range?: readonly [first: number, last: number]): Promise<DatedObject | null> {
    const [first, last] = range ?? [0];
    const length = last === undefined ? undefined : last - first + 1;
    const blob = client.getBlobClient(key);
    const get = async (abortSignal: AbortSignal) => {
      try {
        const { readableStreamBody, lastModified } = await blob.download(first, length, { abortSignal });
        const bytes = readableStreamBody ? await buffer(readableStreamBody) : Buffer.alloc(0);
        return { bytes, modifiedAt: lastModified?.getTime() ?? 0 };
      } catch (error) {
        if (codeOf(error) === 'BlobNotFound') return null;
        throw error;
      }
    };
    return guard.send('get', get, (found) => found?.bytes.length ?? 0);
  }

  return {
    counters: guard.counters,
    close,
    async put(key, bytes) {
      const blob = client.getBlockBlobClient(key);
      const upload = (abortSignal: AbortSignal) => blob.upload(bytes, bytes.length, { abortSignal });
      await guard.send('put', upload, () => bytes.length);
    },
    async remove(keys) {
      const batch = client.getBlobBatchClient();
      for (let at = 0; at < keys.length; at += BATCH) {
        const blobs = keys.slice(at, at + BATCH).map((key) => client.getBlobClient(key));
        await guard.send('delete', async (abortSignal) => {
          const { subResponses } = await batch.deleteBlobs(blobs, { abortSignal });
          const left = subResponses.filter(
            ({ status, errorCode }) => status >= 300 && errorCode !== 'BlobNotFound',
          );
          const [one] = left;
          if (one)
            throw new Error(`${left.length} of ${blobs.length} blobs were not removed: ${one.errorCode}`);
        });
      }
    },
    async list(prefix, next) {
      const from = { maxPageSize: PAGE, ...(next !== null && { continuationToken: next }) };
      const { value } = await guard.send('list', (abortSignal) =>
        client.listBlobsFlat({ prefix, abortSignal }).byPage(from).next(),
      );
      const { segment, continuationToken }: Partial<ContainerListBlobFlatSegmentResponse> = value ?? {};
      const objects = (segment?.blobItems ?? []).map(({ name, properties }) => {
        const { contentLength = 0, lastModified } = properties;
        return { key: name, bytes: contentLength, modifiedAt: lastModified?.getTime() ?? 0 };
      });
      return { objects, next: continuationToken || null };
    },
    get: async (key, range) => (await read(key, range))?.bytes ?? null,
    read,
  };
}

/** The service's error code: a status of 404 may also mean `ContainerNotFound`, or another server. */
function codeOf(error: unknown): string | undefined {
  return error instanceof RestError ? error.code : undefined;
}

function statusOf(error: unknown): number | null {
  return error instanceof RestError ? (error.statusCode ?? null) : null;
}

/** Sends the SDK's requests by undici; `createObjectAgent` says why. */
function createAzureRequests(agent: Agent): IHttpClient {
  return {
    async sendRequest(request) {
      const { statusCode, headers, body } = await agent.request(dispatchOf(request));
      const streamed = request.streamResponseStatusCodes?.has(statusCode) ?? false;
      const content = streamed ? { readableStreamBody: body } : { bodyAsText: await body.text() };
      return { request, status: statusCode, headers: sdkHeaders(headers), ...content };
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

/** The only method of the headers that the SDK uses in a response. */
function sdkHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): HttpHeaders {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { toJson: () => plain } as unknown as HttpHeaders;
}
