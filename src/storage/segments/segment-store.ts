import { TilewardenError } from '../../domain/errors.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';
import { patiently, storeFailure } from '../index/index-failure.ts';
import { IndexReader } from '../index/index-reader.ts';
import type { Store } from '../store.ts';
import { createIndexedStore } from './indexed-store.ts';
import { openSegmentIndex, Reserve, SegmentReader } from './segment-files.ts';
import { SegmentWriter } from './segment-writer.ts';

interface OpenOptions {
  readonly maxOpenSegments: number;
  readonly sweepBytesPerSecond: number;
  /** Bytes at which a segment is full. */
  readonly segmentBytes?: number;
}

interface SegmentStoreTools extends Env {
  /** Absolute; created if missing. */
  readonly root: string;
}

/** Milliseconds after which segments are closed, which frees the space of removed ones. */
const REOPEN_INTERVAL_MS = 30_000;

/** Several stores, in one or more processes, may be open on the same root. */
export async function openSegmentStore(
  { maxOpenSegments, sweepBytesPerSecond, segmentBytes }: OpenOptions,
  { root, clock, log }: SegmentStoreTools,
): Promise<Store> {
  // Only the writing thread copies the log into the file, so that a ticket, a reader's commit, never waits for the disk.
  const openIndex = () => openSegmentIndex(root, { timeoutMs: 0, checkpointPages: 0 });
  const reserve = new Reserve(root);
  const db = await patiently(() => reserve.use(openIndex), clock).catch((error: Error) => {
    throw storeFailure(error.cause ?? error, root);
  });
  if (!db.readonly) reserve.refill();
  const segments = new SegmentReader(root, maxOpenSegments);
  const writer = new SegmentWriter({ root, sweepBytesPerSecond, ...(segmentBytes && { segmentBytes }) }, log);
  const tidying = openRepeater(() => segments.close(), {
    clock,
    log,
    pause: REOPEN_INTERVAL_MS,
    failure: 'could not close segments',
    pauseFirst: true,
  });
  const store = createIndexedStore({
    db,
    reader: new IndexReader(db),
    readBytes: (set, place) => segments.read(set, place),
    run: async (method, parameters) => {
      if (db.readonly) throw new TilewardenError('store-failed', `${root} is read-only.`);
      return writer.run(method, parameters);
    },
    start: () => db.readonly || writer.start(),
    clock,
    log,
  });
  return {
    ...store,
    async close() {
      await tidying.close();
      await writer.close();
      segments.close();
      db.close();
    },
  };
}
