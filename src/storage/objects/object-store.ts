import type { Counters } from '../../lib/counters.ts';

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** The cursor of the next page; null: no more objects. */
  readonly next: string | null;
}

export interface DatedObject {
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** A bucket or container. Failures are `store-failed`: a driver sends every request through an `ObjectGuard`. */
export interface ObjectStore {
  put(key: string, bytes: Buffer): Promise<void>;
  /** Null: there is no such object; a missing bucket is a failure instead. `range`: only these bytes, both included. */
  get(key: string, range?: readonly [first: number, last: number]): Promise<Buffer | null>;
  /** As `get`, with the time of the last change. */
  read(key: string): Promise<DatedObject | null>;
  /** At most 1,000; missing objects count as removed. */
  remove(keys: readonly string[]): Promise<void>;
  /** A page in the order of keys. */
  list(prefix: string, next: string | null): Promise<ObjectPage>;
  readonly counters: Counters;
  close(): void;
}

export async function* objectsUnder(
  bucket: Pick<ObjectStore, 'list'>,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<ListedObject> {
  let next: string | null = null;
  do {
    signal?.throwIfAborted();
    const page: ObjectPage = await bucket.list(prefix, next);
    yield* page.objects;
    next = page.next;
  } while (next !== null);
}
