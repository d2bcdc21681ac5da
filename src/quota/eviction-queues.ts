import { setImmediate as nextTurn } from 'node:timers/promises';
import { EvictionQueue } from './eviction-queue.ts';
import type { Ledger } from './ledger.ts';
import { type LedgerBlock, placeOf } from './ledger-block.ts';
import type { PageUses } from './page-uses.ts';
import type { QuotaScope } from './quota-scope.ts';

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
    ledger.onBlock((key, block, before) => this.#addNew(key, block, before));
  }

  async for(scope: QuotaScope): Promise<EvictionQueue> {
    const known = this.#kept.get(scope.scope);
    const most = 2 * this.#ledger.pages + SLACK;
    if (known && known.scope.policy === scope.policy && known.queue.size <= most) return known.queue;
    return this.#make(scope);
  }

  /** Those of quotas that are no more are let go. */
  keepOnly(scopes: readonly QuotaScope[]): void {
    const names = new Set(scopes.map(({ scope }) => scope));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
  }

  /** Pages that were not known before. */
  #addNew(key: string, block: LedgerBlock, before: LedgerBlock | null): void {
    const concerned = [...this.#kept.values()].filter(({ scope }) => isIn(scope, block));
    if (concerned.length === 0) return;
    const known = new Set(before?.pages.map(placeOf));
    for (const page of block.pages) {
      if (!known.has(placeOf(page))) for (const { queue } of concerned) queue.add(key, block, page);
    }
  }

  /** What the ledger learns meanwhile is added too; a page that is there twice does no harm. */
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
