import type { TileEvents } from '../domain/tile-events.ts';
import { PAGE_SIZE } from '../domain/tile-key.ts';
import { blockAt } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { pagesIn } from '../storage/read-tiles.ts';
import type { PageUsage, Store } from '../storage/store.ts';
import type { ExpirationPolicy } from './quota-configuration.ts';
import type { QuotaScope } from './quota-scopes.ts';

export interface CleanUpParts {
  readonly stores: ReadonlyMap<string, Pick<Store, 'usage' | 'edit'>>;
  readonly events: Pick<TileEvents, 'emit'>;
  readonly clock: Clock;
}

export interface Evicted {
  readonly pages: number;
  readonly tiles: number;
  /** The sum of the tiles' lengths. */
  readonly bytes: number;
}

export const NOTHING_EVICTED: Evicted = { pages: 0, tiles: 0, bytes: 0 };

interface Candidate extends PageUsage {
  readonly store: Pick<Store, 'edit'>;
}

interface CleanUpPlan {
  /** Bytes to remove. */
  readonly excess: number;
  /** Milliseconds since 1970. The stores have recorded all uses up to then. */
  readonly begunAt: number;
}

/** Milliseconds after which a clean-up returns, so that waiting writers can use the free space. */
const TURN = 250;
/** Milliseconds for which a page counts as in use. */
const IN_USE = 1000;

/**
 * Removes whole pages, one at a time, until so many bytes are removed or a turn is over. Those in use stay, and those of a
 * store that fails; throws if nothing was removed therefore. Returns the removed pages by layer.
 */
export async function cleanUp(
  { layer, policy }: Pick<QuotaScope, 'layer' | 'policy'>,
  { excess, begunAt }: CleanUpPlan,
  { stores, events, clock }: CleanUpParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Evicted>> {
  const until = clock.monotonic() + TURN;
  const evicted = new Map<string, Evicted>();
  let removed = 0;
  const failed = new Map<Candidate['store'], unknown>();
  for await (const { store, set, z, pageX, pageY, ...page } of candidates(stores, policy, layer, failed)) {
    if (removed >= excess || signal.aborted || clock.monotonic() > until) break;
    const now = clock.now();
    const isInUse = (at: number) => at > begunAt - IN_USE && at <= now + IN_USE;
    if (isInUse(page.writtenAt) || isInUse(page.usedAt)) continue;
    const rect = blockAt(pageX, pageY, PAGE_SIZE);
    const { tiles, bytes } = await store.edit(set, z, rect, { type: 'remove' }).catch((error: unknown) => {
      failed.set(store, error);
      return NOTHING_EVICTED;
    });
    if (tiles === 0) continue;
    events.emit({ type: 'deleted', set, z, rect, evicted: true, at: now });
    evicted.set(set.layer, add(evicted.get(set.layer) ?? NOTHING_EVICTED, { pages: 1, tiles, bytes }));
    removed += bytes;
  }
  if (removed === 0) for (const error of failed.values()) throw error;
  return evicted;
}

/** The pages of all stores, in the order of eviction, without those of a store that has `failed` in the meantime. */
async function* candidates(
  stores: CleanUpParts['stores'],
  first: ExpirationPolicy,
  layer: string | null,
  failed: ReadonlyMap<Candidate['store'], unknown>,
): AsyncGenerator<Candidate> {
  const order = layer === null ? { first } : { first, layer };
  const lists = Array.from(stores.values(), (store) => ({ store, pages: pagesIn(store, order) }));
  const isFailed = (place: number) => lists.some(({ store }, at) => at === place && failed.has(store));
  try {
    const heads = await Promise.all(lists.map(({ pages }) => pages.next()));
    for (;;) {
      let at = -1;
      for (const [place, { done, value }] of heads.entries())
        if (!done && !isFailed(place) && (at < 0 || isBefore(value, heads[at]?.value, first))) at = place;
      const [list, head] = [lists[at], heads[at]];
      if (!list || !head || head.done) return;
      yield { ...head.value, store: list.store };
      heads[at] = await list.pages.next();
    }
  } finally {
    await Promise.all(lists.map(({ pages }) => pages.return(undefined)));
  }
}

function isBefore(a: PageUsage, b: PageUsage | undefined, policy: ExpirationPolicy): boolean {
  if (!b) return true;
  if (policy === 'LFU' && a.rank !== b.rank) return a.rank < b.rank;
  return a.touchedAt === b.touchedAt ? a.usedAt < b.usedAt : a.touchedAt < b.touchedAt;
}

export function add(a: Evicted, b: Evicted): Evicted {
  return { pages: a.pages + b.pages, tiles: a.tiles + b.tiles, bytes: a.bytes + b.bytes };
}

export function sumOf(byLayer: ReadonlyMap<string, Evicted>): Evicted {
  return [...byLayer.values()].reduce(add, NOTHING_EVICTED);
}
