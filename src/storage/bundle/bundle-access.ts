import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';
import { BundleReader, type FoundTile, type OpenBundle } from './bundle-reader.ts';
import type { BundleWriter } from './bundle-writer.ts';
import { DAMAGE_MESSAGE, DamagedBundle, isBusy, storeFailure } from './sqlite-failure.ts';

/** Milliseconds a reader waits for another process that opens or closes the same bundle. */
const BUSY_TIMEOUT_MS = 5000;
const BUSY_PAUSE = 1;
/** Milliseconds without a read after which a bundle is closed. */
const IDLE_AFTER = 30_000;
const TIDY_INTERVAL = 2000;

export type BundleAccess = ReturnType<typeof openBundleAccess>;

/** Reads bundles as they come: busy, damaged, gone. */
export function openBundleAccess(maxOpenBundles: number, writer: BundleWriter, { clock, log }: Env) {
  const stopping = new AbortController();
  /** Bundles that are being put to rest. */
  const resting = new Set<Promise<void>>();
  const reader = new BundleReader(maxOpenBundles, (path) => void putToRest(path));
  const tidying = openRepeater(() => reader.closeIdle(clock.monotonic() - IDLE_AFTER), {
    clock,
    log,
    pause: TIDY_INTERVAL,
    failure: 'could not close unused bundles',
    pauseFirst: true,
  });

  /** Never rejects: what cannot be put to rest stays as it is. */
  function putToRest(path: string): Promise<void> {
    const ending = writer
      .run('rest', [path])
      .catch((error: unknown) =>
        log.debug({ err: error, file: path }, 'could not fold the log of a bundle; retrying later'),
      )
      .finally(() => resting.delete(ending));
    resting.add(ending);
    return ending;
  }

  async function carefully<T>(folder: string, work: () => T | null): Promise<T | null> {
    try {
      return await patiently(work, clock, stopping.signal);
    } catch (error) {
      if (!(error instanceof DamagedBundle)) throw storeFailure(error);
      reader.close(folder);
      const removed = await writer.run('discardBundle', [error.path]);
      if (removed) log.warn({ file: error.path, reason: error.message }, DAMAGE_MESSAGE);
      return null;
    }
  }

  /** Undefined when it cannot be done now. */
  function now<T>(work: () => T): T | undefined {
    if (stopping.signal.aborted) return undefined;
    try {
      return work();
    } catch {
      return undefined;
    }
  }

  return {
    now,
    putToRest,
    resting,
    patiently: <T>(work: () => T): Promise<T> => patiently(work, clock, stopping.signal),
    /** Null when the bundle does not exist or cannot be read as one. */
    read: <T>(folder: string, use: (bundle: OpenBundle) => T): Promise<T | null> =>
      carefully(folder, () => reader.read(folder, clock.monotonic(), use)),
    /** The same for a tile. */
    readTile: (folder: string, key: number): Promise<FoundTile | null> =>
      carefully(folder, () => reader.readTile(folder, clock.monotonic(), key)),
    /** The same, synchronously. Undefined when the bundle is busy or damaged: `readTile` deals with that. */
    readTileNow: (folder: string, key: number): FoundTile | null | undefined =>
      now(() => reader.readTile(folder, clock.monotonic(), key)),
    closeBelow: (folder: string): void => reader.closeBelow(folder),
    async close(): Promise<void> {
      stopping.abort();
      await tidying.close();
      reader.closeAll();
      await Promise.all(resting);
    },
  };
}

/** Retries while another process holds what `work` needs, and yields the thread in between. */
export async function patiently<T>(work: () => T, clock: Clock, signal?: AbortSignal): Promise<T> {
  const begun = clock.monotonic();
  while (!signal?.aborted) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() - begun > BUSY_TIMEOUT_MS) throw error;
      await clock.sleep(BUSY_PAUSE);
    }
  }
  throw new TilewardenError('store-failed', 'The tile store is closed.');
}
