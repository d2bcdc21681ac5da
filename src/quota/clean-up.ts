import { PAGE_SIZE } from '../domain/page.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { Clock } from '../lib/clock.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { type Candidate, evictionOrder, isInUse, touchedAt } from './eviction-order.ts';
import type { Ledger } from './ledger.ts';
import { diskShare, type LedgerBlock } from './ledger-block.ts';
import type { PageUses } from './page-uses.ts';
import type { ExpirationPolicy } from './quota-configuration.ts';

export interface CleanUpParts {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly ledger: Ledger;
  readonly uses: PageUses;
  readonly events: TileEvents;
  readonly clock: Clock;
}

export interface CleanUpGoal {
  readonly policy: ExpirationPolicy;
  /** What the blocks may take on disk. */
  readonly limit: number;
  readonly concerns: (block: LedgerBlock) => boolean;
}

export interface Evicted {
  readonly pages: number;
  readonly tiles: number;
  /** The sum of the tiles' lengths. */
  readonly bytes: number;
}

export const NOTHING_EVICTED: Evicted = { pages: 0, tiles: 0, bytes: 0 };

/** Milliseconds after which a clean-up comes back, so that those who wait for room hear of what is there. */
const TURN = 250;
/** How often what was freed is measured and the rest gone for. */
const MAX_ROUNDS = 20;

/**
 * Removes whole pages, one at a time, until what is left fits or a turn is over: what is left then is for the next.
 * Says what was removed of which layer.
 */
export async function cleanUp(
  goal: CleanUpGoal,
  parts: CleanUpParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Evicted>> {
  const until = parts.clock.monotonic() + TURN;
  const isOver = () => signal.aborted || parts.clock.monotonic() > until;
  const evicted = new Map<string, Evicted>();
  for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
    const excess = usageOf(parts.ledger, goal.concerns) - goal.limit;
    if (excess <= 0) break;
    const pages = await evict(excess, goal, parts, evicted, isOver);
    if (pages === 0 || isOver()) break;
    await parts.ledger.refresh();
  }
  return evicted;
}

export function usageOf(ledger: Ledger, concerns: (block: LedgerBlock) => boolean): number {
  let bytes = 0;
  for (const block of ledger.blocks()) if (concerns(block)) bytes += block.diskBytes;
  return bytes;
}

/** How many pages. */
async function evict(
  excess: number,
  goal: CleanUpGoal,
  parts: CleanUpParts,
  evicted: Map<string, Evicted>,
  isOver: () => boolean,
): Promise<number> {
  const { ledger, uses, clock } = parts;
  const concerned = [...ledger.blocks()].filter(goal.concerns);
  let pages = 0;
  let freed = 0;
  for (const candidate of evictionOrder(goal.policy, concerned, uses, clock.now())) {
    if (freed >= excess || isOver()) break;
    if (usedJustNow(candidate, parts)) continue;
    freed += diskShare(candidate.block, candidate.page);
    const { layer } = candidate.block.set;
    evicted.set(layer, add(evicted.get(layer) ?? NOTHING_EVICTED, await remove(candidate, parts)));
    pages++;
  }
  return pages;
}

/** By the uses as they are now: the order was made a while ago. */
function usedJustNow({ block, page }: Candidate, { uses, clock }: CleanUpParts): boolean {
  const use = uses.get({ set: block.set, z: block.z, pageX: page.pageX, pageY: page.pageY });
  return isInUse(touchedAt(page, use), clock.now());
}

async function remove({ block, page }: Candidate, parts: CleanUpParts): Promise<Evicted> {
  const { stores, ledger, uses, events, clock } = parts;
  const { set, z } = block;
  const [minX, minY] = [page.pageX * PAGE_SIZE, page.pageY * PAGE_SIZE];
  const rect = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
  const change = await stores.get(block.store)?.deleteRange(set, z, rect);
  events.emit({ type: 'deleted', set, z, rect, at: clock.now() });
  ledger.removed(block, page);
  uses.forget({ set, z, pageX: page.pageX, pageY: page.pageY });
  return { pages: 1, tiles: Math.abs(change?.tiles ?? 0), bytes: Math.abs(change?.bytes ?? 0) };
}

export function add(a: Evicted, b: Evicted): Evicted {
  return { pages: a.pages + b.pages, tiles: a.tiles + b.tiles, bytes: a.bytes + b.bytes };
}

export function sumOf(byLayer: ReadonlyMap<string, Evicted>): Evicted {
  return [...byLayer.values()].reduce(add, NOTHING_EVICTED);
}
