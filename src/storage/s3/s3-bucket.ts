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
import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { getOrMake } from '../../lib/get-or-make.ts';
import type { Logger } from '../../lib/logger.ts';
import { jitter, type Random } from '../../lib/random.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { RequestCount } from '../tile-store.ts';
import { createS3Requests } from './s3-requests.ts';
import type { S3StoreOptions } from './s3-store-options.ts';

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

export interface UnfinishedObject {
  readonly key: string;
  readonly upload: string;
}

interface BucketTools extends Surroundings {
  readonly random: Random;
}

/** Tries of one request, with pauses between them that the SDK spreads. */
const ATTEMPTS = 3;
/** Somebody waits for what is read. */
const READ_FIRST = 1;

/** By status. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [404, 'does not exist; create it, or name another one'],
  [401, 'may not be used with these credentials'],
  [403, 'may not be used with these credentials'],
]);

/** Refuses a bucket that is missing, or that the credentials do not lead to. */
export async function openS3Bucket(options: S3StoreOptions, tools: BucketTools): Promise<S3Bucket> {
  // The SDK warns on standard error of its future versions; ours is pinned and runs on Node.js 20.
  sdkState.warningEmitted = true;
  const client = new S3Client(clientOptions(options));
  const bucket = new S3Bucket(client, options, tools);
  try {
    await bucket.check();
    return bucket;
  } catch (error) {
    bucket.close();
    throw error;
  }
}

function clientOptions(options: S3StoreOptions): S3ClientConfig {
  const { endpoint, region, pathStyle, accessKeyId, secretAccessKey } = options;
  return {
    region,
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS,
    // Checksums are our own, and not all stores know Amazon's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    requestHandler: createS3Requests(options),
    ...(endpoint !== undefined && { endpoint }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
  };
}

/** The one way to the object store. Failures are `store-failed`; while it fails again and again it is left alone. */
export class S3Bucket {
  readonly #client: S3Client;
  readonly #options: S3StoreOptions;
  readonly #breaker: BucketBreaker;
  readonly #log: Logger;
  /** Those who wait for a connection wait here: the SDK would count it as the request's time. */
  readonly #turns: Semaphore;
  readonly #counts = new Map<string, RequestCount & { requests: number; failures: number; bytes: number }>();
  #told = false;

  constructor(client: S3Client, options: S3StoreOptions, { clock, random, log }: BucketTools) {
    this.#client = client;
    this.#options = options;
    this.#breaker = new BucketBreaker(clock, random);
    this.#log = log;
    this.#turns = new Semaphore(options.connections);
    this.#countRequests();
  }

  get counts(): readonly RequestCount[] {
    return [...this.#counts.values()];
  }

  /** A store that does not answer is no reason not to start: it may be back before anybody asks for a tile. */
  async check(): Promise<void> {
    const { bucket } = this.#options;
    try {
      await this.#client.send(new HeadBucketCommand({ Bucket: bucket }), this.#limit());
    } catch (cause) {
      const why = REFUSALS.get(statusOf(cause) ?? 0);
      if (why)
        throw new TilewardenError('config-invalid', `The bucket ${bucket} of a tile store ${why}.`, {
          cause,
        });
      this.#log.warn(
        { bucket, err: cause },
        'the object store cannot be reached; tiles are not stored until it can',
      );
    }
  }

  async put(Key: string, bytes: Buffer): Promise<void> {
    await this.#send('put', async (to) => {
      const command = new PutObjectCommand({ ...to, Key, Body: bytes, ContentLength: bytes.length });
      await this.#client.send(command, this.#limit());
      return bytes.length;
    });
  }

  /** An object of any size, which is there when all its parts are. Each but the last has 5 MiB or more. */
  async upload(Key: string, parts: AsyncIterable<Buffer>): Promise<void> {
    let UploadId: string | undefined;
    await this.#send('multipart', async (to) => {
      const begin = new CreateMultipartUploadCommand({ ...to, Key });
      ({ UploadId } = await this.#client.send(begin, this.#limit()));
      return 0;
    });
    const Parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
    for await (const Body of parts) {
      const part = { Key, UploadId, PartNumber: Parts.length + 1 };
      await this.#send('put', async (to) => {
        const put = new UploadPartCommand({ ...to, ...part, Body, ContentLength: Body.length });
        const { ETag } = await this.#client.send(put, this.#limit());
        Parts.push({ PartNumber: part.PartNumber, ETag });
        return Body.length;
      });
    }
    await this.#send('multipart', async (to) => {
      const end = new CompleteMultipartUploadCommand({ ...to, Key, UploadId, MultipartUpload: { Parts } });
      await this.#client.send(end, this.#limit());
      return 0;
    });
  }

  /** What `upload` has begun and not ended: as many as one request lists. */
  async unfinished(Prefix: string): Promise<readonly UnfinishedObject[]> {
    let found: readonly UnfinishedObject[] = [];
    await this.#send('list', async (from) => {
      const list = new ListMultipartUploadsCommand({ ...from, Prefix });
      const { Uploads = [] } = await this.#client.send(list, this.#limit());
      found = Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, upload: UploadId }));
      return 0;
    });
    return found;
  }

  async abort({ key, upload }: UnfinishedObject): Promise<void> {
    await this.#send('multipart', async (to) => {
      const abort = new AbortMultipartUploadCommand({ ...to, Key: key, UploadId: upload });
      await this.#client.send(abort, this.#limit());
      return 0;
    });
  }

  /** Null: there is none. `range`: only these bytes, from the first to the last. */
  async get(Key: string, range?: readonly [first: number, last: number]): Promise<Buffer | null> {
    let found: Buffer | null = null;
    await this.#send('get', async (from) => {
      const part = range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` };
      try {
        const { Body } = await this.#client.send(
          new GetObjectCommand({ ...from, ...part, Key }),
          this.#limit(1),
        );
        found = Buffer.from((await Body?.transformToByteArray()) ?? []);
        return found.length;
      } catch (error) {
        if (isNoSuchKey(error)) return 0;
        throw error;
      }
    });
    return found;
  }

  /** At most 1,000; those that are not there count as removed. One request. */
  async remove(keys: readonly string[]): Promise<void> {
    await this.#send('delete', async (from) => {
      const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
      const { Errors = [] } = await this.#client.send(
        new DeleteObjectsCommand({ ...from, Delete }),
        this.#limit(),
      );
      const [first] = Errors;
      if (first)
        throw new Error(`${Errors.length} of ${keys.length} objects were not removed: ${first.Code}`);
      return 0;
    });
  }

  /** Some in the order of their keys; `next` leads to those behind them. */
  async list(prefix: string, next: string | null) {
    const page = { objects: [] as readonly ListedObject[], next: null as string | null };
    await this.#send('list', async (from) => {
      const where = { ...from, Prefix: prefix, ...(next !== null && { ContinuationToken: next }) };
      const answer = await this.#client.send(new ListObjectsV2Command(where), this.#limit());
      page.objects = (answer.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => {
        return { key: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      });
      page.next = answer.NextContinuationToken ?? null;
      return 0;
    });
    return page;
  }

  close(): void {
    this.#client.destroy();
  }

  async #send(operation: string, send: (to: { readonly Bucket: string }) => Promise<number>): Promise<void> {
    const sendNow = async () => {
      if (!this.#breaker.admits()) throw failed('is paused for a moment after several failures');
      await this.#try(this.#countOf(operation), send);
    };
    await this.#turns.during(sendNow, undefined, operation === 'get' ? READ_FIRST : 0);
  }

  async #try(
    count: { failures: number; bytes: number },
    send: (to: { readonly Bucket: string }) => Promise<number>,
  ): Promise<void> {
    try {
      count.bytes += await send({ Bucket: this.#options.bucket });
      this.#breaker.succeeded();
      this.#tell(false);
    } catch (cause) {
      count.failures++;
      this.#breaker.failed();
      this.#tell(this.#breaker.open, cause);
      throw failed('failed', cause);
    }
  }

  #tell(open: boolean, err?: unknown): void {
    if (open === this.#told) return;
    this.#told = open;
    const about = { bucket: this.#options.bucket };
    if (open) {
      const text = 'the object store fails; tiles that no cache has are made by their sources and not stored';
      this.#log.warn({ ...about, err }, text);
    }
    if (!open) this.#log.info(about, 'the object store answers again');
  }

  /** A request with all its tries; the SDK limits each of them. Somebody waits for what is read: one limit for all. */
  #limit(attempts = ATTEMPTS): { abortSignal: AbortSignal } {
    return { abortSignal: AbortSignal.timeout(this.#options.timeoutSeconds * 1000 * attempts) };
  }

  #countOf(operation: string) {
    return getOrMake(this.#counts, operation, () => ({ operation, requests: 0, failures: 0, bytes: 0 }));
  }

  /** Each try is one request. */
  #countRequests(): void {
    const names: Readonly<Record<string, string>> = {
      PutObjectCommand: 'put',
      UploadPartCommand: 'put',
      CreateMultipartUploadCommand: 'multipart',
      CompleteMultipartUploadCommand: 'multipart',
      AbortMultipartUploadCommand: 'multipart',
      ListMultipartUploadsCommand: 'list',
      GetObjectCommand: 'get',
      DeleteObjectsCommand: 'delete',
      ListObjectsV2Command: 'list',
      HeadBucketCommand: 'head-bucket',
    };
    this.#client.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (request) => {
          this.#countOf(names[commandName] ?? 'other').requests++;
          return next(request);
        },
      { step: 'deserialize', name: 'countRequests', priority: 'low' },
    );
  }
}

function failed(how: string, cause?: unknown): TilewardenError {
  return new TilewardenError('store-failed', `The object store ${how}.`, { cause });
}

/** A bucket that is not there, another server's page or a wrong address are 404 too, and say nothing of an object. */
function isNoSuchKey(error: unknown): boolean {
  return error instanceof Error && error.name === 'NoSuchKey';
}

function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null;
  const { httpStatusCode } = error.$metadata as { readonly httpStatusCode?: number };
  return httpStatusCode ?? null;
}

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Milliseconds. Pauses double with each trial that fails. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SPREAD = 0.2;

/** Leaves an object store alone that fails again and again, but for one trial after each pause. */
class BucketBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  #failures = 0;
  #until = 0;
  #pause = FIRST_PAUSE;

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get open(): boolean {
    return this.#failures >= THRESHOLD;
  }

  /** Whether a request may be sent. The first to ask after a pause is the trial; the others wait for another pause. */
  admits(): boolean {
    if (!this.open) return true;
    if (this.#clock.monotonic() < this.#until) return false;
    this.#until = this.#clock.monotonic() + this.#pause;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pause = FIRST_PAUSE;
  }

  failed(): void {
    this.#failures++;
    if (!this.open) return;
    this.#until = this.#clock.monotonic() + jitter(this.#pause, SPREAD, this.#random);
    this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
  }
}
