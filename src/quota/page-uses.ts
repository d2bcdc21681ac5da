import { setImmediate as nextTurn } from 'node:timers/promises';
import { addRanks, rankOfRequests } from '../domain/page-rank.ts';
import { PAGE_SIZE, pageOf, type TileIndex, type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { rectAround } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { Store, UsedPage } from '../storage/store.ts';

/** Pages of one zoom of a tile set. */
interface UsedLevel {
  readonly set: TileSetKey;
  readonly z: number;
  readonly pages: Map<number, Mutable<UsedPage>>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Pages along an axis: zoom 30 has 2^26, and two such numbers fit into one exact one. */
const AXIS = 2 ** 26;
/** Pages of which uses are gathered between two saves; those of further ones are not counted. */
const MAX_PAGES = 20_000;
/** Pages in one transaction of a store. */
const BATCH = 500;

/** Gathers the uses of pages, in a fraction of a microsecond each: every hit passes here. */
export class PageUses {
  /** By tile set, then by zoom. */
  #levels = new Map<string, UsedLevel[]>();
  /** Most hits come with the same few key objects. */
  #byKey = new WeakMap<TileSetKey, UsedLevel[]>();
  #pages = 0;

  count(set: TileSetKey, { z, x, y }: TileIndex, at: number, times = 1): void {
    const levels = getOrCreate(this.#byKey, set, () =>
      getOrCreate(this.#levels, tileSetId(set), (): UsedLevel[] => []),
    );
    levels[z] ??= { set, z, pages: new Map() };
    const [pageX, pageY] = [pageOf(x), pageOf(y)];
    const place = pageY * AXIS + pageX;
    const use = levels[z].pages.get(place);
    const rank = rankOfRequests(times, at);
    if (use) {
      use.hits += times;
      use.rank = addRanks(use.rank, rank);
      use.usedAt = Math.max(use.usedAt, at);
    } else if (this.#pages < MAX_PAGES) {
      levels[z].pages.set(place, { pageX, pageY, hits: times, usedAt: at, rank });
      this.#pages++;
    }
  }

  /** Uses since the last call, by tile set and zoom. */
  take(): readonly { readonly set: TileSetKey; readonly z: number; readonly pages: readonly UsedPage[] }[] {
    const levels = [...this.#levels.values()].flatMap((zooms) => zooms.filter(Boolean));
    this.#levels = new Map();
    this.#byKey = new WeakMap();
    this.#pages = 0;
    return levels.map(({ set, z, pages }) => ({ set, z, pages: [...pages.values()] }));
  }
}

/** Adds the gathered uses to those in the stores. A store that fails loses the rest, and the others do not. */
export async function saveUses(
  uses: PageUses,
  stores: ReadonlyMap<string, Pick<Store, 'edit'>>,
): Promise<void> {
  const failed = new Map<Pick<Store, 'edit'>, unknown>();
  for (const { set, z, pages } of uses.take()) {
    for (let at = 0; at < pages.length; at += BATCH) {
      const some = pages.slice(at, at + BATCH);
      const corners = some.map(({ pageX, pageY }) => ({ x: pageX * PAGE_SIZE, y: pageY * PAGE_SIZE }));
      const rect = rectAround(corners);
      if (!rect) continue;
      for (const store of stores.values()) {
        if (failed.has(store)) continue;
        await store
          .edit(set, z, rect, { type: 'use', pages: some })
          .catch((error: unknown) => failed.set(store, error));
      }
      await nextTurn();
    }
  }
  for (const error of failed.values()) throw error;
}
