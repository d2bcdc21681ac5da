import { type BoundLayer, storesOf } from '../catalog/catalog.ts';
import type { ParameterStore } from '../catalog/parameter-store.ts';
import type { Layer } from '../domain/layer.ts';
import { pageOf, type TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { PageStatistics, TileStore } from '../storage/tile-store.ts';
import { partitionsOf } from './parameter-partitions.ts';
import { MAX_PRIORITY } from './plan-task.ts';
import type { TaskDraft } from './task-draft.ts';
import { countSelected, type SelectedTiles, selects, type TileSelection } from './tile-selection.ts';

export interface RenewalOptions {
  readonly parameters: Pick<ParameterStore, 'values'>;
  readonly usesOf: UsesOf;
}

interface CountedSet {
  readonly selected: SelectedTiles;
  /** From the lowest on, some of them several times. */
  readonly zooms: readonly number[];
  readonly used: MostUsedPages;
}

/** The stored tiles of a selection, by tile set, the most used first, and drafts of tasks that renew them. */
export async function lookAt(bound: BoundLayer, selection: TileSelection, options: RenewalOptions) {
  const { layer } = bound;
  const seen: CountedSet[] = [];
  for (const store of storesOf(bound).values()) {
    for await (const set of store.tileSets(layer.name)) {
      if (selects(selection, set)) seen.push(await countUses(store, layer, set, selection, options.usesOf));
    }
  }
  const found = seen
    .filter(({ selected }) => selected.tiles > 0)
    .sort((a, b) => b.used.uses - a.used.uses || b.selected.tiles - a.selected.tiles);
  return {
    stored: found.map(({ selected }) => selected),
    renewals: async () => renewalsOf(layer, found, selection, await options.parameters.values()),
  };
}

async function countUses(
  store: TileStore,
  layer: Layer,
  set: TileSetKey,
  selection: TileSelection,
  usesOf: UsesOf,
): Promise<CountedSet> {
  const used = new MostUsedPages(set, usesOf);
  const zooms: number[] = [];
  const selected = await countSelected(store, layer, set, selection, (z, rect) => {
    used.see(z, rect);
    zooms.push(z);
  });
  return { selected, used, zooms };
}

/**
 * Seeds over what is stale, for each tile set that the layer can still make: one of all of it, and before it one of the
 * pages that are asked for most, which the first then finds fresh.
 */
function renewalsOf(
  layer: Layer,
  found: readonly CountedSet[],
  { bounds, area, buffer }: TileSelection,
  noted: ReadonlyMap<string, ReadonlyMap<string, string>>,
): readonly TaskDraft[] {
  const { named } = partitionsOf(layer, noted);
  return found.flatMap(({ selected: { set }, zooms, used }): TaskDraft[] => {
    const values = set.parametersId === null ? new Map<string, string>() : named.get(set.parametersId);
    const [zoomStart, zoomStop] = [zooms[0], zooms.at(-1)];
    if (!values || zoomStart === undefined || zoomStop === undefined) return [];
    const whole: TaskDraft = {
      layer: layer.name,
      type: 'seed',
      onlyStale: true,
      gridSetId: set.gridSet,
      format: set.format,
      parameters: values,
      zoomStart,
      zoomStop,
      ...(bounds && { coords: [bounds.minX, bounds.minY, bounds.maxX, bounds.maxY] }),
      ...(area && { area }),
      ...(buffer && { buffer }),
    };
    const pages = used.pages();
    return pages.length === 0 ? [whole] : [{ ...whole, pages, priority: MAX_PRIORITY }, whole];
  });
}

type PageOfSet = Pick<PageStatistics, 'set' | 'z' | 'pageX' | 'pageY'>;

/** How often tiles of the page are requested, as far as recorded. */
export type UsesOf = (page: PageOfSet) => number;

interface UsedPage extends PageOfSet {
  readonly uses: number;
}

/** Kept in the task's plan, which is read with each piece. */
const MAX_KEPT = 256;

/** The most requested pages of a tile set. */
class MostUsedPages {
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

  /** The pages of a block. A page that several blocks share counts again. */
  see(z: number, { minX, minY, maxX, maxY }: TileRect): void {
    for (let pageY = pageOf(minY); pageY <= pageOf(maxY); pageY++) {
      for (let pageX = pageOf(minX); pageX <= pageOf(maxX); pageX++) {
        const page = { set: this.#set, z, pageX, pageY };
        const uses = this.#usesOf(page);
        this.#uses += uses;
        if (uses > 0) this.#kept.push({ ...page, uses });
      }
    }
    if (this.#kept.length >= 2 * MAX_KEPT) this.#kept = this.#most();
  }

  /** The most used first. */
  pages(): readonly PageOfSet[] {
    return this.#most();
  }

  #most(): UsedPage[] {
    const once = new Map(this.#kept.map((page) => [`${page.z}/${page.pageX}/${page.pageY}`, page]));
    return [...once.values()].sort((a, b) => b.uses - a.uses).slice(0, MAX_KEPT);
  }
}
