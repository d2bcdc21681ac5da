import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { state as sdkState } from '@aws-sdk/core/client';
import { ATTEMPTS, type GuardTools, ObjectGuard } from '../packs/object-guard.ts';
import type { ObjectPage, ObjectStore, UnfinishedObject } from '../packs/object-store.ts';
import { createS3Requests } from './s3-requests.ts';
import type { S3StoreOptions } from './s3-store-options.ts';

/** Refuses a bucket that is missing, or that the credentials do not lead to. */
export async function openS3Objects(options: S3StoreOptions, tools: GuardTools): Promise<ObjectStore> {
  // The SDK warns on standard error of its future versions; ours is pinned and runs on Node.js 20.
  sdkState.warningEmitted = true;
  const guard = new ObjectGuard({ what: `bucket ${options.bucket}`, ...options }, tools);
  const client = new S3Client(clientOptions(options, createS3Requests(options, guard.admit.bind(guard))));
  const head = new HeadBucketCommand({ Bucket: options.bucket });
  try {
    await guard.check((abortSignal) => client.send(head, { abortSignal }), statusOf);
    return new S3Objects(client, options.bucket, guard);
  } catch (error) {
    client.destroy();
    throw error;
  }
}

function clientOptions(
  options: S3StoreOptions,
  requestHandler: S3Client['config']['requestHandler'],
): S3ClientConfig {
  const { endpoint, region, pathStyle, accessKeyId, secretAccessKey } = options;
  return {
    region,
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS,
    // Checksums are our own, and not all stores know Amazon's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    requestHandler,
    ...(endpoint !== undefined && { endpoint }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
  };
}

class S3Objects implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: { readonly Bucket: string };
  readonly #guard: ObjectGuard;

  constructor(client: S3Client, bucket: string, guard: ObjectGuard) {
    this.#client = client;
    this.#bucket = { Bucket: bucket };
    this.#guard = guard;
  }

  get counters() {
    return this.#guard.counters;
  }

  async put(Key: string, bytes: Buffer): Promise<void> {
    const command = new PutObjectCommand({ ...this.#bucket, Key, Body: bytes, ContentLength: bytes.length });
    const put = (abortSignal: AbortSignal) => this.#client.send(command, { abortSignal });
    await this.#guard.send('put', put, () => bytes.length);
  }

  get(Key: string, range?: readonly [first: number, last: number]): Promise<Buffer | null> {
    const part = range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` };
    const command = new GetObjectCommand({ ...this.#bucket, ...part, Key });
    const get = async (abortSignal: AbortSignal) => {
      try {
        const { Body } = await this.#client.send(command, { abortSignal });
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      } catch (error) {
        if (isNoSuchKey(error)) return null;
        throw error;
      }
    };
    return this.#guard.send('get', get, (found) => found?.length ?? 0);
  }

  /** One request. */
  async remove(keys: readonly string[]): Promise<void> {
    const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
    const command = new DeleteObjectsCommand({ ...this.#bucket, Delete });
    await this.#guard.send('delete', async (abortSignal) => {
      const { Errors = [] } = await this.#client.send(command, { abortSignal });
      const [first] = Errors;
      if (first)
        throw new Error(`${Errors.length} of ${keys.length} objects were not removed: ${first.Code}`);
    });
  }

  async list(Prefix: string, next: string | null): Promise<ObjectPage> {
    const where = { ...this.#bucket, Prefix, ...(next !== null && { ContinuationToken: next }) };
    const command = new ListObjectsV2Command(where);
    const { Contents = [], NextContinuationToken = null } = await this.#guard.send('list', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    const objects = Contents.map(({ Key = '', Size = 0, LastModified }) => {
      return { key: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
    });
    return { objects, next: NextContinuationToken };
  }

  async upload(Key: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const begin = new CreateMultipartUploadCommand({ ...this.#bucket, Key });
    const { UploadId } = await this.#guard.send('multipart', (abortSignal) =>
      this.#client.send(begin, { abortSignal }),
    );
    const upload = { ...this.#bucket, Key, UploadId };
    const Parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
    for await (const Body of parts) {
      const PartNumber = Parts.length + 1;
      const part = new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength: Body.length });
      const put = (abortSignal: AbortSignal) => this.#client.send(part, { abortSignal });
      const { ETag } = await this.#guard.send('put', put, () => Body.length);
      Parts.push({ PartNumber, ETag });
    }
    const whole = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
    await this.#guard.send('multipart', (abortSignal) => this.#client.send(whole, { abortSignal }));
  }

  async unfinished(Prefix: string): Promise<readonly UnfinishedObject[]> {
    const command = new ListMultipartUploadsCommand({ ...this.#bucket, Prefix });
    const { Uploads = [] } = await this.#guard.send('list', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    return Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, upload: UploadId }));
  }

  async abort({ key, upload }: UnfinishedObject): Promise<void> {
    const command = new AbortMultipartUploadCommand({ ...this.#bucket, Key: key, UploadId: upload });
    await this.#guard.send('multipart', (abortSignal) => this.#client.send(command, { abortSignal }));
  }

  close(): void {
    this.#client.destroy();
  }
}

/** An absent bucket, another server's page or a wrong address are 404 too, and say nothing of an object. */
function isNoSuchKey(error: unknown): boolean {
  return error instanceof Error && error.name === 'NoSuchKey';
}

function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null;
  const { httpStatusCode } = error.$metadata as { readonly httpStatusCode?: number };
  return httpStatusCode ?? null;
}
