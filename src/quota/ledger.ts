import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { type LedgerBlock, type LedgerPage, withoutPage } from './ledger-block.ts';
import type { BlockName, LedgerRecords } from './ledger-records.ts';

export interface LedgerOptions {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly records: LedgerRecords;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds between writings of what is known. */
const SAVE_INTERVAL = 5000;

/**
 * Who uses how many bytes. The stores themselves are the truth: each block keeps its page table in the same
 * transaction as its tiles. The ledger only remembers what it read, and reads again what has another stamp, so it is
 * exact after every refresh, whichever process wrote, crashed or restarted meanwhile.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #blocks = new Map<string, LedgerBlock>();
  /** Blocks whose record is not what is known, by key; null: gone. */
  readonly #unsaved = new Map<string, BlockName>();
  /** When each layer's tiles were last seen to change. Milliseconds since 1970. */
  readonly #changes = new Map<string, number>();
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #savedAt: number;
  /** Milliseconds that the last refresh took. */
  lastRefresh = 0;

  private constructor(options: LedgerOptions) {
    this.#options = options;
    this.#savedAt = options.clock.monotonic();
  }

  /** Knows what was recorded; `refresh` brings it up to date. A store that is not there now keeps its records. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options);
    for (const block of await options.records.load()) {
      if (!options.stores.has(block.store)) continue;
      ledger.#blocks.set(keyOf(block), block);
      for (const page of block.pages) ledger.#noteChange(block.set.layer, page.writtenAt);
    }
    return ledger;
  }

  blocks(): Iterable<LedgerBlock> {
    return this.#blocks.values();
  }

  /** As of the last refresh; null: nothing is known of the layer. */
  changedAt(layer: string): number | null {
    return this.#changes.get(layer) ?? null;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** Exact as of some moment after the call. Callers who come while one runs share the one after it. */
  refresh(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#refreshNow().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.refresh();
      });
    return this.#next;
  }

  /** A page was removed; until the next refresh its room is an estimate. */
  removed(name: BlockName, page: LedgerPage): void {
    const block = this.#blocks.get(keyOf(name));
    if (block) this.#blocks.set(keyOf(name), withoutPage(block, page));
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => undefined);
    await this.#save();
  }

  async #refreshNow(): Promise<void> {
    const { clock, stores } = this.#options;
    const begun = clock.monotonic();
    for (const [name, store] of stores) await this.#read(name, store);
    this.lastRefresh = clock.monotonic() - begun;
    if (clock.monotonic() - this.#savedAt > SAVE_INTERVAL) await this.#save();
  }

  async #read(store: string, source: TileStore): Promise<void> {
    const seen = new Set<string>();
    const known = (id: string) => this.#blocks.get(keyOf({ store, id }))?.stamp;
    for await (const { id, stamp, content } of source.blocks(known)) {
      const key = keyOf({ store, id });
      seen.add(key);
      if (!content) continue;
      const { set, z, diskBytes, changedAt, pages } = content;
      this.#noteChange(set.layer, changedAt);
      this.#blocks.set(key, { store, id, set, z, stamp, diskBytes, pages });
      if (stamp !== null) this.#unsaved.set(key, { store, id });
    }
    for (const [key, block] of this.#blocks) {
      if (block.store !== store || seen.has(key)) continue;
      this.#blocks.delete(key);
      this.#noteChange(block.set.layer, this.#options.clock.now());
      this.#unsaved.set(key, { store, id: block.id });
    }
  }

  #noteChange(layer: string, at: number): void {
    this.#changes.set(layer, Math.max(at, this.#changes.get(layer) ?? 0));
  }

  /** What cannot be recorded now is counted again after a restart; nothing is lost by it. */
  async #save(): Promise<void> {
    const { records, clock, log } = this.#options;
    this.#savedAt = clock.monotonic();
    const names = [...this.#unsaved];
    this.#unsaved.clear();
    const changed = names
      .flatMap(([key]) => this.#blocks.get(key) ?? [])
      .filter((block) => block.stamp !== null);
    const gone = names.filter(([key]) => !this.#blocks.has(key)).map(([, name]) => name);
    if (changed.length + gone.length === 0) return;
    await records.save(changed, gone).catch((error: unknown) => {
      log.warn({ err: error }, 'the usage of the stores could not be recorded; the next try is soon');
      for (const [key, name] of names) this.#unsaved.set(key, name);
    });
  }
}

function keyOf({ store, id }: BlockName): string {
  return `${store} ${id}`;
}
