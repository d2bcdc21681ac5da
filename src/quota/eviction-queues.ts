import { setImmediate as nextTurn } from 'node:timers/promises';
import { getOrMake } from '../lib/get-or-make.ts';
import type { Ledger } from './ledger.ts';
import { type LedgerBlock, type LedgerPage, placeInBlock } from './ledger-block.ts';
import { HALF_LIFE, type PageUse, type PageUses } from './page-uses.ts';
import type { ExpirationPolicy } from './quota-configuration.ts';
import type { QuotaScope } from './quota-credit.ts';

interface Kept {
  readonly scope: QuotaScope;
  readonly queue: EvictionQueue;
}

/** Pages put into a queue before others get their turn. */
const SLICE = 2000;
/** Entries beyond twice the pages there are, of pages that came and went, at which a queue is made anew. */
const SLACK = 1000;

/** One queue for each quota that was once exceeded, kept up to date from then on. */
export class EvictionQueues {
  readonly #ledger: Ledger;
  readonly #uses: PageUses;
  readonly #kept = new Map<string, Kept>();

  constructor(ledger: Ledger, uses: PageUses) {
    this.#ledger = ledger;
    this.#uses = uses;
    ledger.onBlock((key, block) => this.#addNew(key, block));
  }

  async for(scope: QuotaScope): Promise<EvictionQueue> {
    const known = this.#kept.get(scope.scope);
    const most = 2 * this.#ledger.pages + SLACK;
    const isLost = known?.queue.size === 0 && this.#ledger.diskBytes(scope.layer) > 0;
    if (known && !isLost && known.scope.policy === scope.policy && known.queue.size <= most)
      return known.queue;
    return this.#make(scope);
  }

  /** Those of quotas that are no more are let go. */
  keepOnly(scopes: readonly QuotaScope[]): void {
    const names = new Set(scopes.map(({ scope }) => scope));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
  }

  #addNew(key: string, block: LedgerBlock): void {
    const concerned = [...this.#kept.values()].filter(({ scope }) => isIn(scope, block));
    if (concerned.length === 0) return;
    for (const page of block.pages) for (const { queue } of concerned) queue.add(key, block, page);
  }

  /** What the ledger learns meanwhile is added too. */
  async #make(scope: QuotaScope): Promise<EvictionQueue> {
    const queue = new EvictionQueue(scope.policy, this.#ledger, this.#uses);
    this.#kept.set(scope.scope, { scope, queue });
    let added = 0;
    for (const [key, block] of this.#ledger.entries()) {
      if (!isIn(scope, block)) continue;
      for (const page of block.pages) queue.add(key, block, page);
      added += block.pageCount;
      if (added < SLICE) continue;
      added = 0;
      await nextTurn();
    }
    return queue;
  }
}

function isIn({ layer }: QuotaScope, { set }: LedgerBlock): boolean {
  return layer === null || set.layer === layer;
}

export interface Candidate {
  readonly block: LedgerBlock;
  readonly page: LedgerPage;
  /** Milliseconds since 1970: when somebody last asked for it or wrote it. */
  readonly touchedAt: number;
}

interface Rank {
  /** What the policy goes by; it only ever rises while the page is there. */
  readonly rank: number;
  readonly touchedAt: number;
}

interface Entry extends Rank {
  readonly key: string;
  readonly pageX: number;
  readonly pageY: number;
}

/** Milliseconds for which a page counts as in use. */
const IN_USE = 1000;

export function isInUse(touchedAt: number, now: number): boolean {
  return touchedAt > now - IN_USE && touchedAt <= now + IN_USE;
}

/**
 * Pages in the order in which they go. Writing counts as a use for LRU; for LFU a page that nobody asked for has no
 * frequency, and of several such the one written first goes first. So what a running seed has just written outlives
 * older pages that nobody uses, under either policy.
 *
 * A heap by what each page's rank was when it was put in. Ranks only rise: the first page is put back when it has
 * been used since, and is the right one otherwise. So a use costs nothing here, and the next page costs as much with
 * a million pages as with a thousand. The queue itself knows which pages it holds, one bit each: whatever a block went
 * through between two looks, a page that is there is in the queue.
 */
export class EvictionQueue {
  readonly #policy: ExpirationPolicy;
  readonly #ledger: Pick<Ledger, 'find'>;
  readonly #uses: PageUses;
  readonly #heap: Entry[] = [];
  /** Of each block, which of its 64 pages are held. */
  readonly #held = new Map<string, Uint32Array>();

  constructor(policy: ExpirationPolicy, ledger: Pick<Ledger, 'find'>, uses: PageUses) {
    this.#policy = policy;
    this.#ledger = ledger;
    this.#uses = uses;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Unless it is held already. */
  add(key: string, block: LedgerBlock, page: LedgerPage): void {
    const { pageX, pageY } = page;
    if (!this.#hold(key, page)) return;
    this.#push({ key, pageX, pageY, ...this.#rankOf(block, page) });
  }

  /** Takes out the page that goes first; null when there is none. */
  take(): (Candidate & { readonly key: string }) | null {
    for (let entry = this.#pop(); entry; entry = this.#pop()) {
      const { key, pageX, pageY } = entry;
      const found = this.#ledger.find(key, pageX, pageY);
      const now = found && this.#rankOf(found.block, found.page);
      if (now && isBefore(entry, now)) {
        this.#push({ key, pageX, pageY, ...now });
        continue;
      }
      this.#release(key, entry);
      if (found && now) return { key, ...found, touchedAt: now.touchedAt };
    }
    return null;
  }

  /** False: it was held before. */
  #hold(key: string, page: Pick<LedgerPage, 'pageX' | 'pageY'>): boolean {
    const bits = getOrMake(this.#held, key, () => new Uint32Array(2));
    const { word, bit } = placeInBlock(page);
    const held = ((bits[word] ?? 0) & bit) !== 0;
    bits[word] = (bits[word] ?? 0) | bit;
    return !held;
  }

  #release(key: string, page: Pick<LedgerPage, 'pageX' | 'pageY'>): void {
    const bits = this.#held.get(key);
    if (!bits) return;
    const { word, bit } = placeInBlock(page);
    bits[word] = (bits[word] ?? 0) & ~bit;
    if (bits.every((held) => held === 0)) this.#held.delete(key);
  }

  #rankOf({ set, z }: LedgerBlock, { pageX, pageY, writtenAt }: LedgerPage): Rank {
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
      if (!above || !isBefore(entry, above)) break;
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
      const toLeft = left && (!right || !isBefore(right, left));
      const below = toLeft ? left : right;
      if (!below || !isBefore(below, last)) break;
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
