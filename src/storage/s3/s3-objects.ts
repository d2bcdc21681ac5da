import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { state as sdkState } from '@aws-sdk/core/client';
import type { Dispatcher } from 'undici';
import { createObjectAgent, type GuardTools, ObjectGuard } from '../objects/object-guard.ts';
import type { DatedObject, ObjectStore } from '../objects/object-store.ts';
import type { S3BucketOptions } from './s3-store-options.ts';

/** Throws `config-invalid` if the bucket is missing or the credentials do not give access to it. */
export async function openS3Objects(options: S3BucketOptions, tools: GuardTools): Promise<ObjectStore> {
  // Suppresses the SDK's warning on standard error that future versions do not support Node.js 20.
  sdkState.warningEmitted = true;
  const guard = new ObjectGuard({ what: `bucket ${options.bucket}`, statusOf, ...options }, tools);
  const client = new S3Client(clientOptions(options, createS3Requests(options)));
  const head = new HeadBucketCommand({ Bucket: options.bucket });
  try {
    await guard.check((abortSignal) => client.send(head, { abortSignal }));
    return createS3Objects(client, options.bucket, guard);
  } catch (error) {
    client.destroy();
    throw error;
  }
}

function clientOptions(
  options: S3BucketOptions,
  requestHandler: S3Client['config']['requestHandler'],
): S3ClientConfig {
  const { endpoint, region, pathStyle, accessKeyId, secretAccessKey } = options;
  return {
    region,
    forcePathStyle: pathStyle,
    // `ObjectGuard` repeats requests.
    maxAttempts: 1,
    // Packs have their own checksums, and not all stores support Amazon's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    requestHandler,
    ...(endpoint !== undefined && { endpoint }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
  };
}

function createS3Objects(client: S3Client, Bucket: string, guard: ObjectGuard): ObjectStore {
  function read(Key: string, range?: readonly [first: number, last: number]): Promise<DatedObject | null> {
    const part = range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` };
    const command = new GetObjectCommand({ Bucket, ...part, Key });
    const get = async (abortSignal: AbortSignal) => {
      try {
        const { Body, LastModified } = await client.send(command, { abortSignal });
        const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
        return { bytes, modifiedAt: LastModified?.getTime() ?? 0 };
      } catch (error) {
        if (isNoSuchKey(error)) return null;
        throw error;
      }
    };
    return guard.send('get', get, (found) => found?.bytes.length ?? 0);
  }

  return {
    counters: guard.counters,
    async put(Key, bytes) {
      const command = new PutObjectCommand({ Bucket, Key, Body: bytes, ContentLength: bytes.length });
      const put = (abortSignal: AbortSignal) => client.send(command, { abortSignal });
      await guard.send('put', put, () => bytes.length);
    },
    get: async (key, range) => (await read(key, range))?.bytes ?? null,
    read,
    async remove(keys) {
      const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
      const command = new DeleteObjectsCommand({ Bucket, Delete });
      await guard.send('delete', async (abortSignal) => {
        const { Errors = [] } = await client.send(command, { abortSignal });
        const [first] = Errors;
        if (first)
          throw new Error(`${Errors.length} of ${keys.length} objects were not removed: ${first.Code}`);
      });
    },
    async list(Prefix, next) {
      const where = { Bucket, Prefix, ...(next !== null && { ContinuationToken: next }) };
      const command = new ListObjectsV2Command(where);
      const list = (abortSignal: AbortSignal) => client.send(command, { abortSignal });
      const { Contents = [], NextContinuationToken = null } = await guard.send('list', list);
      const objects = Contents.map(({ Key = '', Size = 0, LastModified }) => {
        return { key: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      });
      return { objects, next: NextContinuationToken };
    },
    close: () => client.destroy(),
  };
}

/** Only this code means a missing object: a status of 404 may also mean a missing bucket, or another server. */
function isNoSuchKey(error: unknown): boolean {
  return error instanceof Error && error.name === 'NoSuchKey';
}

function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null;
  const { httpStatusCode, clockSkewCorrected } = error.$metadata as ResponseMetadata;
  // May succeed if repeated: with the server's time after a clock skew, or after a slow upload, which is a 400.
  return clockSkewCorrected || error.name === 'RequestTimeout' ? null : (httpStatusCode ?? null);
}

interface ResponseMetadata {
  readonly httpStatusCode?: number;
  readonly clockSkewCorrected?: boolean;
}

type RequestHandler = S3Client['config']['requestHandler'];
type SdkRequest = Parameters<RequestHandler['handle']>[0];

/** Sends the SDK's requests by undici; `createObjectAgent` says why. */
function createS3Requests(options: S3BucketOptions): RequestHandler {
  const agent = createObjectAgent(options);
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request, { abortSignal }: { readonly abortSignal?: unknown } = {}) {
      const signal = (abortSignal ?? null) as AbortSignal | null;
      const { statusCode, headers, body } = await agent.request({ ...dispatchOf(request), signal });
      return { response: { statusCode, headers: headers as Record<string, string>, body } };
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
