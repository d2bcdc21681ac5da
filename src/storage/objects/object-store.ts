import type { Counters } from '../../lib/counters.ts';

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** The cursor of the next page; null after the last. */
  readonly next: string | null;
}

export interface DatedObject {
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** A bucket or container. Drivers send all requests through an `ObjectGuard`, which makes failures `store-failed`. */
export interface ObjectStore {
  put(key: string, bytes: Buffer): Promise<void>;
  /** Null if there is no such object; a missing bucket is a failure. `range`: first and last byte, both inclusive. */
  get(key: string, range?: readonly [first: number, last: number]): Promise<Buffer | null>;
  /** As `get`, with the time of the last change. */
  read(key: string): Promise<DatedObject | null>;
  /** Removes at most 1,000 objects; missing ones count as removed. */
  remove(keys: readonly string[]): Promise<void>;
  /** A page of objects in the order of keys. */
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
