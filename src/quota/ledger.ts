import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { countMask } from '../storage/page-mask.ts';
import type { BlockContent, PageStatistics, StoreChange, TileStore } from '../storage/tile-store.ts';
import { keyOf, type LedgerBlock, withoutPages } from './ledger-block.ts';
import { type StoresUsage, UsageSums } from './usage-report.ts';

interface LedgerOptions {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly clock: Clock;
}

type BlockListener = (key: string, block: LedgerBlock) => void;

/** Blocks handled before others get their turn. */
const BLOCKS_IN_A_TURN = 1000;
/** Blocks whose pages are read together. */
const BLOCKS_IN_A_READ = 32;

/**
 * Usage by blocks of eight by eight pages: a mask and three sums for each, whatever the number of pages. The stores
 * themselves are the truth: each block keeps its page table in the same transaction as its tiles. The ledger keeps what
 * it has read and reads what has changed since, so it is exact after every refresh, whichever process wrote, crashed or
 * restarted in the meantime, and a refresh costs as much as has changed.
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

  find(key: string): LedgerBlock | null {
    return this.#blocks.get(key) ?? null;
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

  /** The blocks of a tile set, at every zoom or at one, some in each turn. */
  async *blocksOf(set: TileSetKey, zoom?: number): AsyncGenerator<LedgerBlock> {
    let seen = 0;
    for (const block of this.#sums.blocksOf(set, zoom)) {
      yield block;
      if (++seen % BLOCKS_IN_A_TURN === 0) await nextTurn();
    }
  }

  /** The pages of blocks as they are now, some blocks at a time. */
  async *pagesIn(
    blocks: Iterable<LedgerBlock> | AsyncIterable<LedgerBlock>,
  ): AsyncGenerator<readonly [LedgerBlock, readonly PageStatistics[]]> {
    let waiting: LedgerBlock[] = [];
    for await (const block of blocks) {
      if (waiting.length >= BLOCKS_IN_A_READ || (waiting[0] && waiting[0].store !== block.store)) {
        yield* await this.#readPages(waiting);
        waiting = [];
        await nextTurn();
      }
      waiting.push(block);
    }
    yield* await this.#readPages(waiting);
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

  /** Pages of a block were removed. Returns the bytes on disk that this freed, an estimate until the next refresh. */
  removed(key: string, pages: bigint, removed: StoreChange): number {
    const block = this.#blocks.get(key);
    if (!block) return 0;
    const rest = withoutPages(block, pages, removed);
    this.#put(key, rest);
    return block.diskBytes - rest.diskBytes;
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  async #readPages(blocks: readonly LedgerBlock[]) {
    const [first] = blocks;
    const store = this.#options.stores.get(first?.store ?? '');
    const pages = await store?.pagesIn(blocks.map(({ id }) => id));
    return blocks.map((block) => [block, pages?.get(block.id) ?? []] as const);
  }

  async #refreshNow(): Promise<void> {
    const { clock, stores } = this.#options;
    const begun = clock.monotonic();
    for (const [name, store] of stores) await this.#read(name, store);
    this.lastRefresh = clock.monotonic() - begun;
  }

  async #read(store: string, source: TileStore): Promise<void> {
    const changes = await source.blocks(this.#cursors.get(store) ?? null);
    const gone = (changes.gone ?? []).map((beginning) => keyOf({ store, id: beginning }));
    if (gone.length > 0) await this.#forgetIf((key) => gone.some((beginning) => key.startsWith(beginning)));
    const seen = new Set<string>();
    let read = 0;
    for await (const { id, content } of changes.blocks) {
      if (++read % BLOCKS_IN_A_TURN === 0) await nextTurn();
      const key = keyOf({ store, id });
      if (changes.complete) seen.add(key);
      if (content) this.#learn(key, { store, id, content });
      if (!content) this.#forget(key);
    }
    if (changes.complete) await this.#forgetIf((key, block) => block.store === store && !seen.has(key));
    // A memory store always lists all blocks, and does not count its changes.
    if (!changes.complete || changes.cursor !== 0) this.#cursors.set(store, changes.cursor);
  }

  #learn(key: string, { store, id, content }: { store: string; id: string; content: BlockContent }): void {
    const set = this.#sums.known(content.set);
    this.#noteChange(set.layer, content.changedAt);
    const block: LedgerBlock = { ...content, set, store, id };
    this.#put(key, block);
    for (const listener of this.#listeners) listener(key, block);
  }

  async #forgetIf(isGone: (key: string, block: LedgerBlock) => boolean): Promise<void> {
    let seen = 0;
    for (const [key, block] of this.#blocks) {
      if (isGone(key, block)) this.#forget(key);
      if (++seen % BLOCKS_IN_A_TURN === 0) await nextTurn();
    }
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
    this.#pages += countMask(block?.mask ?? 0n) - countMask(before?.mask ?? 0n);
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
