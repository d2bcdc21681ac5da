import type { LedgerBlock, LedgerPage } from './ledger-block.ts';
import { faded, type PageUse, type PageUses } from './page-uses.ts';
import type { ExpirationPolicy } from './quota-configuration.ts';

/** A page that may be removed. */
export interface Candidate {
  readonly block: LedgerBlock;
  readonly page: LedgerPage;
  /** Milliseconds since 1970: when somebody last asked for it or wrote it. */
  readonly touchedAt: number;
  /** Faded to now. */
  readonly frequency: number;
}

/** Milliseconds for which a page counts as in use. */
export const IN_USE = 1000;

/**
 * Pages in the order in which they go. Writing counts as a use for LRU; for LFU a page that nobody asked for has no
 * frequency, and of several such the one written first goes first. So what a running seed has just written outlives
 * older pages that nobody uses, under either policy.
 */
export function evictionOrder(
  policy: ExpirationPolicy,
  blocks: Iterable<LedgerBlock>,
  uses: PageUses,
  now: number,
): Candidate[] {
  const candidates: Candidate[] = [];
  for (const block of blocks) {
    for (const page of block.pages) candidates.push(candidateOf(block, page, uses, now));
  }
  return candidates.sort(policy === 'LRU' ? byTime : byFrequency);
}

export function isInUse(touchedAt: number, now: number): boolean {
  return touchedAt > now - IN_USE && touchedAt <= now + IN_USE;
}

export function touchedAt(page: LedgerPage, use: PageUse | null): number {
  return Math.max(page.writtenAt, use?.lastUsedAt ?? 0);
}

function candidateOf(block: LedgerBlock, page: LedgerPage, uses: PageUses, now: number): Candidate {
  const use = uses.get({ set: block.set, z: block.z, pageX: page.pageX, pageY: page.pageY });
  return { block, page, touchedAt: touchedAt(page, use), frequency: use ? faded(use, now) : 0 };
}

function byTime(a: Candidate, b: Candidate): number {
  return a.touchedAt - b.touchedAt;
}

function byFrequency(a: Candidate, b: Candidate): number {
  return a.frequency - b.frequency || a.touchedAt - b.touchedAt;
}
