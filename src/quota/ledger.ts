import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import type { BlockContent, TileStore } from '../storage/tile-store.ts';
import { type LedgerBlock, type LedgerPage, withoutPage } from './ledger-block.ts';
import { type StoresUsage, UsageSums } from './usage-report.ts';

interface LedgerOptions {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly clock: Clock;
}

type BlockListener = (key: string, block: LedgerBlock) => void;

/**
 * Who uses how many bytes. The stores themselves are the truth: each block keeps its page table in the same
 * transaction as its tiles. The ledger remembers what it was told and asks what has changed since, so it is exact after
 * every refresh, whichever process wrote, crashed or restarted meanwhile, and a refresh costs as much as has changed.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #blocks = new Map<string, LedgerBlock>();
  readonly #sums = new UsageSums();
  readonly #cursors = new Map<string, number>();
  readonly #listeners: BlockListener[] = [];
  /** When each layer's tiles were last seen to change. Milliseconds since 1970. */
  readonly #changes = new Map<string, number>();
  #pages = 0;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  /** Milliseconds that the last refresh took. */
  lastRefresh = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  blocks(): Iterable<LedgerBlock> {
    return this.#blocks.values();
  }

  entries(): Iterable<[string, LedgerBlock]> {
    return this.#blocks.entries();
  }

  get pages(): number {
    return this.#pages;
  }

  find(key: string, pageX: number, pageY: number): { block: LedgerBlock; page: LedgerPage } | null {
    const block = this.#blocks.get(key);
    const page = block?.pages.find((each) => each.pageX === pageX && each.pageY === pageY);
    return block && page ? { block, page } : null;
  }

  /** Calls back for every block that may have changed. */
  onBlock(listener: BlockListener): void {
    this.#listeners.push(listener);
  }

  /** What the tiles of a layer take on disk; null: those of all layers. */
  diskBytes(layer: string | null): number {
    return this.#sums.diskBytes(layer);
  }

  usage(): StoresUsage {
    return this.#sums.usage();
  }

  blocksOf(set: TileSetKey): readonly LedgerBlock[] {
    return [...this.#sums.keysOf(set)].flatMap((key) => this.#blocks.get(key) ?? []);
  }

  /** As of the last refresh; null: nothing is known of the layer. */
  changedAt(layer: string): number | null {
    return this.#changes.get(layer) ?? null;
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
  removed(key: string, page: LedgerPage): void {
    const block = this.#blocks.get(key);
    if (block) this.#put(key, withoutPage(block, page));
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  async #refreshNow(): Promise<void> {
    const { clock, stores } = this.#options;
    const begun = clock.monotonic();
    for (const [name, store] of stores) await this.#read(name, store);
    this.lastRefresh = clock.monotonic() - begun;
  }

  async #read(store: string, source: TileStore): Promise<void> {
    const changes = await source.blocks(this.#cursors.get(store) ?? null);
    for (const beginning of changes.gone ?? []) this.#forgetAll(`${store} ${beginning}`);
    const seen = new Set<string>();
    for await (const { id, content } of changes.blocks) {
      const key = `${store} ${id}`;
      if (changes.complete) seen.add(key);
      if (content) this.#learn(key, { store, id, content });
      if (!content) this.#forget(key);
    }
    if (changes.complete) this.#forgetOthers(store, seen);
    // A memory store always tells everything, and keeps no count of its changes.
    if (!changes.complete || changes.cursor !== 0) this.#cursors.set(store, changes.cursor);
  }

  #learn(key: string, { store, id, content }: { store: string; id: string; content: BlockContent }): void {
    const { z, diskBytes, changedAt, tiles, pageCount } = content;
    const set = this.#sums.known(content.set);
    this.#noteChange(set.layer, changedAt);
    const block: LedgerBlock = {
      store,
      id,
      set,
      z,
      diskBytes,
      tiles,
      pageCount,
      get pages() {
        return content.pages;
      },
    };
    this.#put(key, block);
    for (const listener of this.#listeners) listener(key, block);
  }

  #forgetAll(beginning: string): void {
    for (const key of this.#blocks.keys()) if (key.startsWith(beginning)) this.#forget(key);
  }

  #forgetOthers(store: string, seen: ReadonlySet<string>): void {
    for (const [key, block] of this.#blocks) if (block.store === store && !seen.has(key)) this.#forget(key);
  }

  #forget(key: string): void {
    const block = this.#blocks.get(key);
    if (!block) return;
    this.#put(key, null);
    this.#noteChange(block.set.layer, this.#options.clock.now());
  }

  #put(key: string, block: LedgerBlock | null): void {
    const before = this.#blocks.get(key);
    if (before) this.#sums.subtract(key, before);
    this.#pages += (block?.pageCount ?? 0) - (before?.pageCount ?? 0);
    if (!block) {
      this.#blocks.delete(key);
      return;
    }
    this.#sums.add(key, block);
    this.#blocks.set(key, block);
  }

  #noteChange(layer: string, at: number): void {
    this.#changes.set(layer, Math.max(at, this.#changes.get(layer) ?? 0));
  }
}
