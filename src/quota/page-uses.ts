import { PAGE_SIZE, type TileIndex, type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { PageStatistics } from '../storage/tile-store.ts';

export interface PageUse {
  readonly hits: number;
  /** Milliseconds since 1970. */
  readonly lastUsedAt: number;
  /** Hits that fade with time, as of `lastUsedAt`. */
  readonly frequency: number;
}

export type PageName = Pick<PageStatistics, 'set' | 'z' | 'pageX' | 'pageY'>;

interface Use {
  hits: number;
  lastUsedAt: number;
  frequency: number;
  /** Of these, what has not been taken to be saved. */
  newHits: number;
  newFrequency: number;
}

type UsedLevel = Pick<PageName, 'set' | 'z'>;

interface Level extends UsedLevel {
  readonly uses: Map<number, Use>;
}

/** Milliseconds after which a hit counts half: yesterday's favourite has a quarter of its weight. */
export const HALF_LIFE = 12 * 3_600_000;
/** Pages along an axis: zoom 30 has 2^26, and two such numbers fit into one exact one. */
const AXIS = 2 ** 26;
/** Pages listed at a time. */
const SLICE = 1000;

/** Counts the uses of pages, in memory and in a fraction of a microsecond: every hit passes here. */
export class PageUses {
  readonly #levels = new Map<string, Level[]>();
  /** Most hits come with the same few key objects. */
  readonly #byKey = new WeakMap<TileSetKey, Level[]>();
  readonly #unsaved: { level: Level; place: number; use: Use }[] = [];

  count(set: TileSetKey, tile: TileIndex, at: number, times = 1): void {
    const level = this.#levelFor(set, tile.z);
    const place = Math.floor(tile.y / PAGE_SIZE) * AXIS + Math.floor(tile.x / PAGE_SIZE);
    const use = level.uses.get(place) ?? this.#begin(level, place);
    use.newFrequency = faded({ frequency: use.newFrequency, lastUsedAt: use.lastUsedAt }, at) + times;
    use.frequency = faded(use, at) + times;
    use.hits += times;
    if (at > use.lastUsedAt) use.lastUsedAt = at;
    if (use.newHits === 0) this.#unsaved.push({ level, place, use });
    use.newHits += times;
  }

  get({ set, z, pageX, pageY }: PageName): PageUse | null {
    return this.#levelsOf(set)[z]?.uses.get(pageY * AXIS + pageX) ?? null;
  }

  /** What all nodes have saved; what this one has not is added. */
  restore({ set, z, pageX, pageY }: PageName, saved: PageUse): void {
    const { uses } = this.#levelFor(set, z);
    const place = pageY * AXIS + pageX;
    const here = uses.get(place);
    const { hits, lastUsedAt, frequency } = saved;
    if (!here) {
      uses.set(place, { hits, lastUsedAt, frequency, newHits: 0, newFrequency: 0 });
      return;
    }
    const unsaved = { hits: here.newHits, lastUsedAt: here.lastUsedAt, frequency: here.newFrequency };
    Object.assign(here, addUses(saved, unsaved));
  }

  forget({ set, z, pageX, pageY }: PageName): void {
    this.#levelsOf(set)[z]?.uses.delete(pageY * AXIS + pageX);
  }

  /** Of how many pages uses have come since they were last taken. */
  get unsaved(): number {
    return this.#unsaved.length;
  }

  /** Those uses, of some pages; the pages that wait longest come first. */
  takeUnsaved(most: number): readonly (PageName & PageUse)[] {
    return this.#unsaved.splice(0, most).map(({ level, place, use }) => {
      const { newHits: hits, newFrequency: frequency, lastUsedAt } = use;
      Object.assign(use, { newHits: 0, newFrequency: 0 });
      return { ...pageAt(level, place), hits, lastUsedAt, frequency };
    });
  }

  /** Zooms of tile sets that were used. */
  levels(): readonly UsedLevel[] {
    return [...this.#levels.values()].flat();
  }

  /** The pages of a zoom, some at a time. */
  *pagesOf(level: UsedLevel): Generator<readonly (PageName & Omit<PageUse, 'hits'>)[]> {
    const { uses } = this.#levelFor(level.set, level.z);
    let pages = [];
    for (const [place, { lastUsedAt, frequency }] of uses) {
      pages.push({ ...pageAt(level, place), lastUsedAt, frequency });
      if (pages.length < SLICE) continue;
      yield pages;
      pages = [];
    }
    yield pages;
  }

  #begin(level: Level, place: number): Use {
    const use = { hits: 0, lastUsedAt: 0, frequency: 0, newHits: 0, newFrequency: 0 };
    level.uses.set(place, use);
    return use;
  }

  #levelFor(set: TileSetKey, z: number): Level {
    const levels = this.#levelsOf(set);
    levels[z] ??= { set, z, uses: new Map() };
    return levels[z];
  }

  #levelsOf(set: TileSetKey): Level[] {
    return getOrCreate(this.#byKey, set, () => getOrCreate(this.#levels, tileSetId(set), () => []));
  }
}

function pageAt({ set, z }: UsedLevel, place: number): PageName {
  return { set, z, pageX: place % AXIS, pageY: Math.floor(place / AXIS) };
}

/** Uses of one page that were counted apart. */
export function addUses(one: PageUse, other: PageUse): PageUse {
  const lastUsedAt = Math.max(one.lastUsedAt, other.lastUsedAt);
  return {
    hits: one.hits + other.hits,
    lastUsedAt,
    frequency: faded(one, lastUsedAt) + faded(other, lastUsedAt),
  };
}

/** The frequency as it is at a later time. A clock that was put back makes nothing grow. */
export function faded(
  { frequency, lastUsedAt }: Pick<PageUse, 'frequency' | 'lastUsedAt'>,
  at: number,
): number {
  return frequency === 0 ? 0 : frequency * 2 ** (-Math.max(0, at - lastUsedAt) / HALF_LIFE);
}
