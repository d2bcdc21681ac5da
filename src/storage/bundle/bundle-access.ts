import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { openRepeater, type Repeater } from '../../lib/repeat.ts';
import { BundleReader, type FoundTile, type OpenBundle } from './bundle-reader.ts';
import type { BundleWriter } from './bundle-writer.ts';
import { DAMAGE_MESSAGE, DamagedBundle, isBusy, storeFailure } from './sqlite-failure.ts';

/** Milliseconds a reader waits for another process that opens or closes the same bundle. */
const BUSY_TIMEOUT_MS = 5000;
const BUSY_PAUSE = 1;
/** Milliseconds without a read after which a bundle is closed. */
const IDLE_AFTER = 30_000;
const TIDY_INTERVAL = 2000;

/** Reads bundles as they come: busy, damaged, gone. */
export class BundleAccess {
  readonly #reader: BundleReader;
  readonly #writer: BundleWriter;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #tidying: Repeater;
  readonly #resting = new Set<Promise<void>>();

  constructor(maxOpenBundles: number, writer: BundleWriter, clock: Clock, log: Logger) {
    this.#reader = new BundleReader(maxOpenBundles, (path) => void this.putToRest(path));
    this.#writer = writer;
    this.#clock = clock;
    this.#log = log;
    const tidy = () => this.#reader.closeIdle(clock.monotonic() - IDLE_AFTER);
    const failure = 'could not close unused bundles';
    this.#tidying = openRepeater(tidy, { clock, log, pause: TIDY_INTERVAL, failure, pauseFirst: true });
  }

  /** Null when the bundle does not exist or cannot be read as one. */
  async read<T>(folder: string, use: (bundle: OpenBundle) => T): Promise<T | null> {
    return this.#careful(folder, () => this.#reader.read(folder, this.#clock.monotonic(), use));
  }

  /** Null when the bundle does not exist or cannot be read as one. */
  async readTile(folder: string, key: number): Promise<FoundTile | null> {
    return this.#careful(folder, () => this.#reader.readTile(folder, this.#clock.monotonic(), key));
  }

  /** The same, synchronously. Undefined when the bundle is busy or damaged: `readTile` deals with that. */
  readTileNow(folder: string, key: number): FoundTile | null | undefined {
    return this.now(() => this.#reader.readTile(folder, this.#clock.monotonic(), key));
  }

  /** Undefined when it cannot be done now. */
  now<T>(work: () => T): T | undefined {
    if (this.#stopping.signal.aborted) return undefined;
    try {
      return work();
    } catch {
      return undefined;
    }
  }

  async #careful<T>(folder: string, work: () => T | null): Promise<T | null> {
    try {
      return await this.patiently(work);
    } catch (error) {
      if (error instanceof DamagedBundle) return this.#remove(folder, error);
      throw storeFailure(error);
    }
  }

  async patiently<T>(work: () => T): Promise<T> {
    return patiently(work, this.#clock, this.#stopping.signal);
  }

  closeBelow(folder: string): void {
    this.#reader.closeBelow(folder);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#tidying.close();
    this.#reader.closeAll();
    await Promise.all(this.#resting);
  }

  /** Bundles that are being put to rest. */
  get resting(): number {
    return this.#resting.size;
  }

  /** Never rejects: what cannot be put to rest stays as it is. */
  putToRest(path: string): Promise<void> {
    const resting = this.#writer
      .run('rest', [path])
      .then(() => undefined)
      .catch((error: unknown) =>
        this.#log.debug({ err: error, file: path }, 'could not fold the log of a bundle; retrying later'),
      )
      .finally(() => this.#resting.delete(resting));
    this.#resting.add(resting);
    return resting;
  }

  async #remove(folder: string, damage: DamagedBundle): Promise<null> {
    this.#reader.close(folder);
    const removed = await this.#writer.run('discardBundle', [damage.path]);
    if (removed) this.#log.warn({ file: damage.path, reason: damage.message }, DAMAGE_MESSAGE);
    return null;
  }
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
