import { HALF_LIFE } from '../../src/quota/page-uses.ts';
import type { ExpirationPolicy } from '../../src/quota/quota-configuration.ts';

interface Page {
  touchedAt: number;
  /** As of `usedAt`. */
  frequency: number;
  usedAt: number;
}

/** Milliseconds for which a page counts as in use. */
const IN_USE = 1000;

/** A cache of pages that knows every write and read to the millisecond, and removes exactly what its policy says. */
export class ExactModel {
  readonly #policy: ExpirationPolicy;
  readonly #pages = new Map<number, Page>();
  readonly evicted: number[] = [];

  constructor(policy: ExpirationPolicy) {
    this.#policy = policy;
  }

  get kept(): readonly number[] {
    return [...this.#pages.keys()];
  }

  written(page: number, at: number): void {
    const known = this.#pages.get(page) ?? { touchedAt: 0, frequency: 0, usedAt: at };
    this.#pages.set(page, { ...known, touchedAt: at });
  }

  read(page: number, at: number): void {
    const known = this.#pages.get(page);
    if (!known) return;
    this.#pages.set(page, { touchedAt: at, frequency: frequencyAt(known, at) + 1, usedAt: at });
  }

  evictOne(at: number): void {
    const free = [...this.#pages].filter(([, { touchedAt }]) => touchedAt <= at - IN_USE);
    const first = free.toSorted(([, a], [, b]) => this.#compare(a, b, at))[0];
    if (!first) return;
    this.#pages.delete(first[0]);
    this.evicted.push(first[0]);
  }

  #compare(a: Page, b: Page, at: number): number {
    const byTime = a.touchedAt - b.touchedAt;
    return this.#policy === 'LRU' ? byTime : frequencyAt(a, at) - frequencyAt(b, at) || byTime;
  }
}

function frequencyAt({ frequency, usedAt }: Page, at: number): number {
  return frequency * 2 ** ((usedAt - at) / HALF_LIFE);
}

/** Spearman's correlation of two orders in which the same pages went; those that stayed share the last rank. */
export function rankCorrelation(
  pages: readonly number[],
  a: readonly number[],
  b: readonly number[],
): number {
  const [ranksA, ranksB] = [ranksOf(pages, a), ranksOf(pages, b)];
  const mean = (pages.length + 1) / 2;
  let [covariance, varianceA, varianceB] = [0, 0, 0];
  for (const [at, rankA] of ranksA.entries()) {
    const [fromA, fromB] = [rankA - mean, (ranksB[at] ?? mean) - mean];
    covariance += fromA * fromB;
    varianceA += fromA ** 2;
    varianceB += fromB ** 2;
  }
  return covariance / Math.sqrt(varianceA * varianceB);
}

function ranksOf(pages: readonly number[], gone: readonly number[]): readonly number[] {
  const places = new Map(gone.map((page, at) => [page, at + 1]));
  const last = (gone.length + 1 + pages.length) / 2;
  return pages.map((page) => places.get(page) ?? last);
}
