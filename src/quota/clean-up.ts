import { isTilewardenError } from '../domain/errors.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { BLOCK_SIZE, PAGE_SIZE } from '../domain/tile-key.ts';
import { blockAt, type TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { countMask, maskOf, numberInBlock } from '../storage/page-mask.ts';
import { NO_CHANGE, type TileStore } from '../storage/tile-store.ts';
import { type Candidate, type EvictionQueue, type EvictionQueues, isInUse } from './eviction-queues.ts';
import type { Ledger } from './ledger.ts';
import { keyOf } from './ledger-block.ts';
import type { PageUses } from './page-uses.ts';
import type { QuotaScope } from './quota-credit.ts';

export interface CleanUpParts {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly ledger: Ledger;
  readonly uses: PageUses;
  readonly queues: EvictionQueues;
  readonly events: TileEvents;
  readonly clock: Clock;
}

export interface Evicted {
  readonly pages: number;
  readonly tiles: number;
  /** The sum of the tiles' lengths. */
  readonly bytes: number;
}

export const NOTHING_EVICTED: Evicted = { pages: 0, tiles: 0, bytes: 0 };

/** Milliseconds after which a clean-up comes back, so that waiting writers learn of the room there is. */
const TURN = 250;
/** How often what was freed is measured and the rest gone for. */
const MAX_ROUNDS = 20;

/**
 * Removes whole pages, one at a time, until the rest fits or a turn is over. Returns the removed pages by layer.
 */
export async function cleanUp(
  scope: QuotaScope,
  parts: CleanUpParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Evicted>> {
  const until = parts.clock.monotonic() + TURN;
  const isOver = () => signal.aborted || parts.clock.monotonic() > until;
  const evicted = new Map<string, Evicted>();
  for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
    const excess = parts.ledger.diskBytes(scope.layer) - scope.limit;
    if (excess <= 0) break;
    const queue = await parts.queues.for(scope);
    const pages = await evict(excess, queue, parts, evicted, isOver);
    if (pages === 0 || isOver()) break;
    await parts.ledger.refresh();
  }
  return evicted;
}

/** How many pages. Those in use stay in the queue. */
async function evict(
  excess: number,
  queue: EvictionQueue,
  parts: CleanUpParts,
  evicted: Map<string, Evicted>,
  isOver: () => boolean,
): Promise<number> {
  const spared: Candidate[] = [];
  let pages = 0;
  let freed = 0;
  try {
    while (freed < excess && (pages === 0 || !isOver())) {
      const candidate = queue.take();
      if (!candidate) break;
      spared.push(candidate);
      if (isInUse(candidate.touchedAt, parts.clock.now())) continue;
      const removed = await remove(candidate, parts);
      freed += removed.freed;
      const { layer } = candidate.block.set;
      evicted.set(layer, add(evicted.get(layer) ?? NOTHING_EVICTED, removed));
      spared.pop();
      pages++;
    }
  } finally {
    for (const { block, ...page } of spared) queue.add(block, page);
  }
  return pages;
}

/** `freed`: bytes on disk, an estimate. */
async function remove(candidate: Candidate, parts: CleanUpParts): Promise<Evicted & { freed: number }> {
  const { stores, ledger, uses, events, clock } = parts;
  const { block, pageX, pageY } = candidate;
  const { set, z } = block;
  const drop = async (rect: TileRect, mask: bigint) => {
    const removed = (await stores.get(block.store)?.edit(set, z, rect, { type: 'remove' })) ?? NO_CHANGE;
    events.emit({ type: 'deleted', set, z, rect, evicted: true, at: clock.now() });
    const freed = ledger.removed(keyOf(block), mask, removed);
    return { pages: countMask(mask), ...removed, freed };
  };
  uses.forget({ set, z, pageX, pageY });
  try {
    return await drop(blockAt(pageX, pageY, PAGE_SIZE), maskOf([numberInBlock(candidate)]));
  } catch (error) {
    // A disk without any room takes no change of a block, but lets a whole one go.
    if (!isTilewardenError(error, 'store-full')) throw error;
    return drop(blockAt(block.x, block.y, BLOCK_SIZE), block.mask);
  }
}

export function add(a: Evicted, b: Evicted): Evicted {
  return { pages: a.pages + b.pages, tiles: a.tiles + b.tiles, bytes: a.bytes + b.bytes };
}

export function sumOf(byLayer: ReadonlyMap<string, Evicted>): Evicted {
  return [...byLayer.values()].reduce(add, NOTHING_EVICTED);
}
