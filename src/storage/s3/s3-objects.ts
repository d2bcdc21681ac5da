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
    await this.#guard.send('put', async (abortSignal) => {
      await this.#client.send(command, { abortSignal });
      return bytes.length;
    });
  }

  async get(Key: string, range?: readonly [first: number, last: number]): Promise<Buffer | null> {
    const part = range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` };
    const command = new GetObjectCommand({ ...this.#bucket, ...part, Key });
    let found: Buffer | null = null;
    await this.#guard.send('get', async (abortSignal) => {
      try {
        const { Body } = await this.#client.send(command, { abortSignal });
        found = Buffer.from((await Body?.transformToByteArray()) ?? []);
        return found.length;
      } catch (error) {
        if (isNoSuchKey(error)) return 0;
        throw error;
      }
    });
    return found;
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
      return 0;
    });
  }

  async list(Prefix: string, next: string | null): Promise<ObjectPage> {
    const where = { ...this.#bucket, Prefix, ...(next !== null && { ContinuationToken: next }) };
    let page: ObjectPage = { objects: [], next: null };
    await this.#guard.send('list', async (abortSignal) => {
      const { Contents = [], NextContinuationToken = null } = await this.#client.send(
        new ListObjectsV2Command(where),
        { abortSignal },
      );
      const objects = Contents.map(({ Key = '', Size = 0, LastModified }) => {
        return { key: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      });
      page = { objects, next: NextContinuationToken };
      return 0;
    });
    return page;
  }

  async upload(Key: string, parts: AsyncIterable<Buffer>): Promise<void> {
    let UploadId: string | undefined;
    await this.#guard.send('multipart', async (abortSignal) => {
      const begin = new CreateMultipartUploadCommand({ ...this.#bucket, Key });
      ({ UploadId } = await this.#client.send(begin, { abortSignal }));
      return 0;
    });
    const Parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
    for await (const Body of parts) {
      const part = { ...this.#bucket, Key, UploadId, PartNumber: Parts.length + 1 };
      await this.#guard.send('put', async (abortSignal) => {
        const put = new UploadPartCommand({ ...part, Body, ContentLength: Body.length });
        const { ETag } = await this.#client.send(put, { abortSignal });
        Parts.push({ PartNumber: part.PartNumber, ETag });
        return Body.length;
      });
    }
    const whole = { ...this.#bucket, Key, UploadId, MultipartUpload: { Parts } };
    await this.#guard.send('multipart', async (abortSignal) => {
      await this.#client.send(new CompleteMultipartUploadCommand(whole), { abortSignal });
      return 0;
    });
  }

  async unfinished(Prefix: string): Promise<readonly UnfinishedObject[]> {
    let found: readonly UnfinishedObject[] = [];
    await this.#guard.send('list', async (abortSignal) => {
      const list = new ListMultipartUploadsCommand({ ...this.#bucket, Prefix });
      const { Uploads = [] } = await this.#client.send(list, { abortSignal });
      found = Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, upload: UploadId }));
      return 0;
    });
    return found;
  }

  async abort({ key, upload }: UnfinishedObject): Promise<void> {
    const command = new AbortMultipartUploadCommand({ ...this.#bucket, Key: key, UploadId: upload });
    await this.#guard.send('multipart', async (abortSignal) => {
      await this.#client.send(command, { abortSignal });
      return 0;
    });
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
