import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Surroundings } from '../lib/surroundings.ts';
import type { Ledger } from './ledger.ts';
import { placeOf } from './ledger-block.ts';
import type { PageName, PageUses } from './page-uses.ts';
import type { UseRecords } from './use-records.ts';

export interface UseKeeperOptions extends Surroundings {
  readonly uses: PageUses;
  readonly ledger: Ledger;
  readonly records: UseRecords;
  /** Other nodes count uses too. */
  readonly shared: boolean;
}

/** Milliseconds. What a crash may forget of the uses, and nothing else. */
const SAVE_INTERVAL = 5000;
/** Pages in one statement, and in one turn. */
const BATCH = 200;
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
    for await (const uses of options.records.load()) {
      for (const use of uses) options.uses.restore(use, use);
      await nextTurn();
    }
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
      await this.#hearOthers();
      if (clock.monotonic() - prunedAt < PRUNE_INTERVAL) continue;
      prunedAt = clock.monotonic();
      await this.#prune();
    }
  }

  /** What comes meanwhile is for the next time: a page that is always in use would never be done. */
  async #save(): Promise<void> {
    const { uses, records, log } = this.#options;
    try {
      for (let left = uses.unsaved; left > 0; left -= BATCH) {
        await records.save(uses.takeUnsaved(Math.min(left, BATCH)));
        await nextTurn();
      }
    } catch (error) {
      log.warn({ err: error }, 'the uses of tiles could not be recorded; later ones are tried again');
    }
  }

  /** What other nodes have recorded. */
  async #hearOthers(): Promise<void> {
    const { uses, records, clock, log, shared } = this.#options;
    if (!shared) return;
    try {
      const recorded = await records.since(clock.now() - 3 * SAVE_INTERVAL);
      for (const use of recorded) uses.restore(use, use);
    } catch (error) {
      log.warn({ err: error }, 'the uses of tiles on other nodes could not be read');
    }
  }

  async #forget(pages: readonly PageName[]): Promise<void> {
    for (let at = 0; at < pages.length; at += BATCH) {
      const some = pages.slice(at, at + BATCH);
      await this.#options.records.forget(some);
      for (const page of some) this.#options.uses.forget(page);
      await nextTurn();
    }
    await nextTurn();
  }

  async #prune(): Promise<void> {
    const { uses, ledger, clock, log } = this.#options;
    const begun = clock.now();
    try {
      await ledger.refresh();
      for (const pages of uses.pages()) {
        const [first] = pages;
        const present = new Set(first ? placesIn(ledger, first) : []);
        const gone = pages.filter((page) => page.lastUsedAt < begun && !present.has(placeOf(page)));
        await this.#forget(gone);
      }
    } catch (error) {
      log.warn({ err: error }, 'uses of tiles that are gone could not be forgotten');
    }
  }
}

function* placesIn(ledger: Ledger, { set, z }: PageName): Generator<string> {
  for (const block of ledger.blocksOf(set)) if (block.z === z) yield* block.pages.map(placeOf);
}
