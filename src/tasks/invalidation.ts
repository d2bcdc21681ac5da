import { type BoundLayer, boundLayer, type Catalog, storesOf } from '../catalog/catalog.ts';
import type { ParameterBook } from '../catalog/parameter-book.ts';
import { everySubset, gridSubsetOf, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import { pageOf, type TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { type PageStatistics, sumOfChanges, type TileStore } from '../storage/tile-store.ts';
import { placesToMark } from './mark-places.ts';
import { effectOf, settle } from './marks.ts';
import {
  countSelected,
  partitionsOf,
  type SelectedTiles,
  selects,
  type TruncationSelection,
} from './mass-truncation-selection.ts';
import { MAX_PRIORITY } from './plan-task.ts';
import { raiseGenerations } from './raise-generations.ts';
import type { Task } from './task.ts';
import type { TaskAuthor } from './task-author.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskService } from './task-service.ts';

interface InvalidationOptions {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly parameters: Pick<ParameterBook, 'values'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  readonly tasks: Pick<TaskService, 'createAll' | 'refuseUnlessRoomFor'>;
  readonly usesOf: UsesOf;
  readonly clock: Clock;
}

interface InvalidationResult {
  /** By tile set; those that are asked for most first. */
  readonly marked: readonly SelectedTiles[];
  /** That renew what was marked, in the same order; none unless it was asked for. */
  readonly tasks: readonly Task[];
}

interface MarkedSet {
  readonly selected: SelectedTiles;
  /** From the lowest on, some of them several times. */
  readonly zooms: readonly number[];
  readonly used: MostUsedPages;
}

export type Invalidation = ReturnType<typeof createInvalidation>;

/**
 * Tells that a part of the map has changed. Tiles stay where they are and count as stale: each is renewed when it is
 * asked for next, and with `renew` by tasks in the background. Nothing fetched before is stored any more.
 */
export function createInvalidation(options: InvalidationOptions) {
  const { catalog, parameters, pipeline, tasks, usesOf, clock } = options;

  /** What there is to mark. */
  async function look(store: TileStore, layer: Layer, set: TileSetKey, selection: TruncationSelection) {
    const used = new MostUsedPages(set, usesOf);
    const zooms: number[] = [];
    const selected = await countSelected(store, layer, set, selection, (z, rect) => {
      used.see(z, rect);
      zooms.push(z);
    });
    return { selected, used, zooms } satisfies MarkedSet;
  }

  async function* setsOf(store: TileStore, layer: string, selection: TruncationSelection) {
    for await (const set of store.tileSets(layer)) if (selects(selection, set)) yield set;
  }

  /**
   * Seeds over what was marked, for each tile set that the layer can still make: one of all of it, and before it one
   * of the pages that are asked for most, which the first then finds fresh.
   */
  async function renewalsOf(
    layer: Layer,
    marked: readonly MarkedSet[],
    { bounds, area, buffer }: TruncationSelection,
  ): Promise<readonly TaskDraft[]> {
    const { named } = partitionsOf(layer, await parameters.values());
    return marked.flatMap(({ selected: { set }, zooms, used }): TaskDraft[] => {
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

  /** What there is in the selection, the most used first, and drafts that renew it. */
  async function lookAt({ layer, store }: BoundLayer, selection: TruncationSelection) {
    const seen: MarkedSet[] = [];
    for await (const set of setsOf(store, layer.name, selection)) {
      seen.push(await look(store, layer, set, selection));
    }
    const touched = seen
      .filter(({ selected }) => selected.tiles > 0)
      .sort((a, b) => b.used.uses - a.used.uses || b.selected.tiles - a.selected.tiles);
    return { touched, renewals: () => renewalsOf(layer, touched, selection) };
  }

  async function invalidate(
    name: string,
    selection: TruncationSelection,
    renew: TaskAuthor | null,
  ): Promise<InvalidationResult> {
    const bound = boundLayer(catalog, name);
    const { layer } = bound;
    const { touched, ...found } = await lookAt(bound, selection);
    const renewals = renew ? await found.renewals() : [];
    if (renew) await tasks.refuseUnlessRoomFor(renewals.length, renew);
    const places = await placesToMark(layer, [selection]);
    const effect = effectOf(selection, 'outdate', clock.now());
    const stores = [...storesOf(bound).values()].map((each) => [each, each] as const);
    const raised = await raiseGenerations(stores, layer.name, places, effect);
    pipeline.forgetPlaces(layer.name, places ?? undefined, 'invalidate');
    for (const [each, number] of raised) await settle(each, { layer: layer.name, number, effect, places });
    const started = renew ? await tasks.createAll(renewals, renew) : [];
    return { marked: touched.map(({ selected }) => selected), tasks: started };
  }

  return {
    invalidate,

    /** Starts tasks that renew what is marked already, the most used first. */
    async renew(name: string, selection: TruncationSelection, by: TaskAuthor): Promise<void> {
      const { renewals } = await lookAt(boundLayer(catalog, name), selection);
      const drafts = await renewals();
      await tasks.refuseUnlessRoomFor(drafts.length, by);
      await tasks.createAll(drafts, by);
    },

    /** What a schedule names; returns how many tiles were marked. */
    async invalidateDraft(draft: TaskDraft): Promise<number> {
      const { layer } = boundLayer(catalog, draft.layer);
      const { marked } = await invalidate(layer.name, selectionOf(layer, draft), null);
      return sumOfChanges(marked).tiles;
    },

    async count(name: string, selection: TruncationSelection): Promise<readonly SelectedTiles[]> {
      const { layer, store } = boundLayer(catalog, name);
      const counted: SelectedTiles[] = [];
      for await (const set of setsOf(store, layer.name, selection)) {
        counted.push(await countSelected(store, layer, set, selection));
      }
      return counted.filter(({ tiles }) => tiles > 0);
    },
  };
}

function selectionOf(layer: Layer, draft: TaskDraft): TruncationSelection {
  const { gridSetId, format, parameters, zoomStart, zoomStop, coords, area } = draft;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = coords ?? [];
  const placed = coords !== undefined || area !== undefined;
  const everywhere = placed ? everySubset(layer).map(({ gridSet }) => gridSet.name) : null;
  const gridSets = gridSetId === undefined ? everywhere : [gridSubsetOf(layer, gridSetId).gridSet.name];
  return {
    ...(gridSets && { gridSets }),
    ...(format !== undefined && { formats: [format] }),
    ...(parameters && { parametersId: selectParameters(layer.parameters, parameters).id }),
    ...(zoomStart !== undefined && { zoomStart }),
    ...(zoomStop !== undefined && { zoomStop }),
    ...(coords && { bounds: { minX, minY, maxX, maxY } }),
    ...(area && { area }),
  };
}

type PageOfSet = Pick<PageStatistics, 'set' | 'z' | 'pageX' | 'pageY'>;

/** How often tiles of the page are asked for, as far as anybody knows. */
export type UsesOf = (page: PageOfSet) => number;

interface UsedPage extends PageOfSet {
  readonly uses: number;
}

/** Kept in the task's plan, which is read with each piece. */
const MAX_KEPT = 256;

/** The pages of a tile set that are asked for most, of however many are shown to it. */
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
