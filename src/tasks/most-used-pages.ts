import { pageOf, type TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { PageStatistics } from '../storage/tile-store.ts';

export type PageOfSet = Pick<PageStatistics, 'set' | 'z' | 'pageX' | 'pageY'>;

/** How often tiles of the page are asked for, as far as anybody knows. */
export type UsesOf = (page: PageOfSet) => number;

interface UsedPage extends PageOfSet {
  readonly uses: number;
}

/** Kept in the task's plan, which is read with each piece. */
const MOST_KEPT = 256;

/** The pages of a tile set that are asked for most, of however many are shown to it. */
export class MostUsedPages {
  readonly #usesOf: UsesOf;
  readonly #set: TileSetKey;
  #kept: UsedPage[] = [];
  #uses = 0;

  constructor(set: TileSetKey, usesOf: UsesOf) {
    this.#set = set;
    this.#usesOf = usesOf;
  }

  /** Of all pages that were seen. */
  get uses(): number {
    return this.#uses;
  }

  /** The pages of a block. One that is seen again, because several blocks share it, counts anew. */
  see(z: number, { minX, minY, maxX, maxY }: TileRect): void {
    for (let pageY = pageOf(minY); pageY <= pageOf(maxY); pageY++) {
      for (let pageX = pageOf(minX); pageX <= pageOf(maxX); pageX++) {
        const page = { set: this.#set, z, pageX, pageY };
        const uses = this.#usesOf(page);
        this.#uses += uses;
        if (uses > 0) this.#kept.push({ ...page, uses });
      }
    }
    if (this.#kept.length >= 2 * MOST_KEPT) this.#kept = this.#most();
  }

  /** The most used first. */
  pages(): readonly PageOfSet[] {
    return this.#most();
  }

  #most(): UsedPage[] {
    const once = new Map(this.#kept.map((page) => [`${page.z}/${page.pageX}/${page.pageY}`, page]));
    return [...once.values()].sort((a, b) => b.uses - a.uses).slice(0, MOST_KEPT);
  }
}
