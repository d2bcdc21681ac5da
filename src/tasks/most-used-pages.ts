import { pageOf } from '../domain/page.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';

export interface PageOfSet {
  readonly set: TileSetKey;
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
}

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
  #last: PageOfSet | null = null;
  #uses = 0;

  constructor(set: TileSetKey, usesOf: UsesOf) {
    this.#set = set;
    this.#usesOf = usesOf;
  }

  /** Of all pages that were seen. */
  get uses(): number {
    return this.#uses;
  }

  /** The page that holds `rect`; tiles of one page come one after the other. */
  see(z: number, { minX, minY }: TileRect): void {
    const page = { set: this.#set, z, pageX: pageOf(minX), pageY: pageOf(minY) };
    if (samePage(page, this.#last)) return;
    this.#last = page;
    const uses = this.#usesOf(page);
    this.#uses += uses;
    if (uses > 0) this.#kept.push({ ...page, uses });
    if (this.#kept.length >= 2 * MOST_KEPT) this.#kept = this.#most();
  }

  /** The most used first. */
  pages(): readonly PageOfSet[] {
    return this.#most();
  }

  #most(): UsedPage[] {
    return this.#kept.toSorted((a, b) => b.uses - a.uses).slice(0, MOST_KEPT);
  }
}

function samePage(a: PageOfSet, b: PageOfSet | null): boolean {
  return b !== null && a.z === b.z && a.pageX === b.pageX && a.pageY === b.pageY;
}
