import { setImmediate as nextTurn } from 'node:timers/promises';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { Logger } from '../lib/logger.ts';
import { isInMask, numberInBlock, pageInBlock } from '../storage/page-mask.ts';
import type { PageStatistics } from '../storage/tile-store.ts';
import type { Ledger } from './ledger.ts';
import { keyOf, type LedgerBlock } from './ledger-block.ts';
import { HALF_LIFE, type PageUse, type PageUses } from './page-uses.ts';
import type { ExpirationPolicy } from './quota-configuration.ts';
import type { QuotaScope } from './quota-credit.ts';

interface Kept {
  readonly scope: QuotaScope;
  readonly queue: EvictionQueue;
  /** Keys of blocks that have changed since their pages were put in. */
  changed: Set<string>;
}

/** Blocks listed before others get their turn. */
const BLOCKS_IN_A_TURN = 2000;
/** Entries beyond twice the pages there are, of pages that came and went, at which a queue is made again. */
const SLACK = 1000;

/** One queue for each quota that was once exceeded, kept up to date from then on. */
export class EvictionQueues {
  readonly #ledger: Ledger;
  readonly #uses: PageUses;
  readonly #log: Logger;
  readonly #kept = new Map<string, Kept>();
  /** How often a queue was empty although there were pages; anything but 0 is a bug. */
  rebuilds = 0;

  constructor(ledger: Ledger, uses: PageUses, log: Logger) {
    this.#ledger = ledger;
    this.#uses = uses;
    this.#log = log;
    ledger.onBlock((key, block) => {
      for (const { scope, changed } of this.#kept.values()) if (isIn(scope, block)) changed.add(key);
    });
  }

  /** With all pages that the ledger knows of. */
  async for(scope: QuotaScope): Promise<EvictionQueue> {
    const known = this.#kept.get(scope.scope);
    const most = 2 * this.#ledger.pages + SLACK;
    const fits = known && known.scope.policy === scope.policy && known.queue.size <= most;
    if (!fits) return this.#make(scope);
    await this.#catchUp(known);
    if (known.queue.size > 0 || !this.#hasPages(scope)) return known.queue;
    this.rebuilds++;
    this.#log.warn({ scope: scope.scope }, 'an eviction queue had lost its pages and was rebuilt');
    return this.#make(scope);
  }

  /** Queues of removed quotas are dropped. */
  keepOnly(scopes: readonly QuotaScope[]): void {
    const names = new Set(scopes.map(({ scope }) => scope));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
  }

  /** Blocks that the ledger learns of in the meantime are put in too. */
  async #make(scope: QuotaScope): Promise<EvictionQueue> {
    const queue = new EvictionQueue(scope.policy, this.#ledger, this.#uses);
    const kept: Kept = { scope, queue, changed: new Set() };
    this.#kept.set(scope.scope, kept);
    let listed = 0;
    for (const [key, block] of this.#ledger.entries()) {
      if (isIn(scope, block)) kept.changed.add(key);
      if (++listed % BLOCKS_IN_A_TURN === 0) await nextTurn();
    }
    await this.#catchUp(kept);
    return queue;
  }

  async #catchUp(kept: Kept): Promise<void> {
    const { queue, changed } = kept;
    kept.changed = new Set();
    try {
      for await (const [block, pages] of this.#ledger.pagesIn(this.#blocksNamed(changed))) {
        for (const page of pages) queue.add(block, page);
      }
    } catch (error) {
      for (const key of changed) kept.changed.add(key);
      throw error;
    }
  }

  *#blocksNamed(keys: Iterable<string>): Generator<LedgerBlock> {
    for (const key of keys) {
      const block = this.#ledger.find(key);
      if (block) yield block;
    }
  }

  #hasPages(scope: QuotaScope): boolean {
    if (this.#ledger.diskBytes(scope.layer) === 0) return false;
    for (const block of this.#ledger.blocks()) if (block.mask !== 0n && isIn(scope, block)) return true;
    return false;
  }
}

function isIn({ layer }: QuotaScope, { set }: LedgerBlock): boolean {
  return layer === null || set.layer === layer;
}

type QueuedPage = Pick<PageStatistics, 'pageX' | 'pageY' | 'writtenAt'>;

export interface Candidate extends QueuedPage {
  readonly block: LedgerBlock;
  /** Milliseconds since 1970: when it was last requested or written. */
  readonly touchedAt: number;
}

interface Rank {
  /** What the policy goes by; it only ever rises while the page is there. */
  readonly rank: number;
  readonly touchedAt: number;
}

interface Entry {
  readonly key: string;
  /** In its block. */
  readonly number: number;
  writtenAt: number;
  /** As of when it was put in. */
  rank: Rank;
}

/** Milliseconds for which a page counts as in use. */
const IN_USE = 1000;

export function isInUse(touchedAt: number, now: number): boolean {
  return touchedAt > now - IN_USE && touchedAt <= now + IN_USE;
}

/**
 * Pages in the order in which they go. Writing counts as a use for LRU; for LFU a page that was never requested has no
 * frequency, and of several such the one written first goes first. So what a running seed has just written outlives
 * older pages without requests, under either policy.
 *
 * A heap by what each page's rank was when it was put in. Ranks only rise: the first page is put back when it has
 * been used since, and is the right one otherwise. So a use costs nothing here, and the next page costs as much with
 * a million pages as with a thousand.
 */
export class EvictionQueue {
  readonly #policy: ExpirationPolicy;
  readonly #ledger: Pick<Ledger, 'find'>;
  readonly #uses: PageUses;
  readonly #heap: Entry[] = [];
  /** The entries of each block, by their numbers in it. */
  readonly #held = new Map<string, (Entry | null)[]>();

  constructor(policy: ExpirationPolicy, ledger: Pick<Ledger, 'find'>, uses: PageUses) {
    this.#policy = policy;
    this.#ledger = ledger;
    this.#uses = uses;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** One that is in the queue stays where it is, until its turn comes. */
  add(block: LedgerBlock, page: QueuedPage): void {
    const key = keyOf(block);
    const held = getOrCreate(this.#held, key, () => []);
    const number = numberInBlock(page);
    const known = held[number];
    if (known) known.writtenAt = page.writtenAt;
    if (known) return;
    const entry = { key, number, writtenAt: page.writtenAt, rank: this.#rankOf(block, page) };
    held[number] = entry;
    this.#push(entry);
  }

  /** Takes out the page that goes first; null when there is none. */
  take(): Candidate | null {
    for (let entry = this.#pop(); entry; entry = this.#pop()) {
      const { key, number, writtenAt } = entry;
      const block = this.#ledger.find(key);
      const held = this.#held.get(key);
      if (!block) this.#held.delete(key);
      if (!block || held?.[number] !== entry) continue;
      const page = { ...pageInBlock(block, number), writtenAt };
      const rank = this.#rankOf(block, page);
      if (isBefore(entry.rank, rank)) {
        entry.rank = rank;
        this.#push(entry);
        continue;
      }
      held[number] = null;
      if (isInMask(block.mask, number)) return { block, ...page, touchedAt: rank.touchedAt };
    }
    return null;
  }

  #rankOf({ set, z }: LedgerBlock, { pageX, pageY, writtenAt }: QueuedPage): Rank {
    const use = this.#uses.get({ set, z, pageX, pageY });
    const touchedAt = Math.max(writtenAt, use?.lastUsedAt ?? 0);
    return { rank: this.#policy === 'LRU' ? touchedAt : lastingFrequency(use), touchedAt };
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const above = heap[up];
      if (!above || !isBefore(entry.rank, above.rank)) break;
      heap[at] = above;
      at = up;
    }
    heap[at] = entry;
  }

  #pop(): Entry | null {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first ?? null;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const toLeft = left && (!right || !isBefore(right.rank, left.rank));
      const below = toLeft ? left : right;
      if (!below || !isBefore(below.rank, last.rank)) break;
      heap[at] = below;
      at = 2 * at + (toLeft ? 1 : 2);
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Rank, b: Rank): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.touchedAt < b.touchedAt);
}

/** All frequencies fade alike, so this orders them at any time as their faded values would. */
function lastingFrequency(use: PageUse | null): number {
  return use && use.frequency > 0 ? Math.log2(use.frequency) + use.lastUsedAt / HALF_LIFE : -Infinity;
}
