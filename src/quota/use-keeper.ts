import { tileSetId } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Ledger } from './ledger.ts';
import type { PageName, PageUses } from './page-uses.ts';
import type { UseRecords } from './use-records.ts';

export interface UseKeeperOptions {
  readonly uses: PageUses;
  readonly ledger: Ledger;
  readonly records: UseRecords;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds. What a crash may forget of the uses, and nothing else. */
const SAVE_INTERVAL = 5000;
/** Milliseconds between looks for uses of pages that are no more. */
const PRUNE_INTERVAL = 3_600_000;

/** Writes uses down in batches, and brings them back at the start. */
export class UseKeeper {
  readonly #options: UseKeeperOptions;
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;

  private constructor(options: UseKeeperOptions) {
    this.#options = options;
    this.#loop = this.#run();
  }

  static async open(options: UseKeeperOptions): Promise<UseKeeper> {
    for (const use of await options.records.load()) options.uses.restore(use, use);
    return new UseKeeper(options);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#save();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    let prunedAt = clock.monotonic();
    while (!signal.aborted) {
      await clock.sleep(SAVE_INTERVAL, signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.#save();
      if (clock.monotonic() - prunedAt < PRUNE_INTERVAL) continue;
      prunedAt = clock.monotonic();
      await this.#prune();
    }
  }

  async #save(): Promise<void> {
    const { uses, records, log } = this.#options;
    const unsaved = uses.takeUnsaved();
    if (unsaved.length === 0) return;
    await records.save(unsaved).catch((error: unknown) => {
      log.warn({ err: error }, 'the uses of tiles could not be recorded; later ones are tried again');
    });
  }

  async #prune(): Promise<void> {
    const { uses, ledger, records, log } = this.#options;
    try {
      await ledger.refresh();
      const present = new Set<string>();
      for (const { set, z, pages } of ledger.blocks()) {
        for (const { pageX, pageY } of pages) present.add(idOf({ set, z, pageX, pageY }));
      }
      const gone = (await records.load()).filter((page) => !present.has(idOf(page)));
      await records.forget(gone);
      for (const page of gone) uses.forget(page);
    } catch (error) {
      log.warn({ err: error }, 'uses of tiles that are gone could not be forgotten');
    }
  }
}

function idOf({ set, z, pageX, pageY }: PageName): string {
  return `${tileSetId(set)} ${z} ${pageX} ${pageY}`;
}
