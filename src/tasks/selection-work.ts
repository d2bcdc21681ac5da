import { type BoundLayer, boundLayer, type Catalog, storesOf } from '../catalog/catalog.ts';
import { everySubset, gridSubsetOf, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { Clock } from '../lib/clock.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { amountInSet } from '../storage/read-tiles.ts';
import { NO_CHANGE, sumOfChanges } from '../storage/tile-store.ts';
import { placesToMark } from './mark-places.ts';
import { effectOf, markTiles } from './mark-tiles.ts';
import { finishMark } from './marks.ts';
import { lookAt, type RenewalOptions } from './renew-tiles.ts';
import type { Task } from './task.ts';
import type { TaskAuthor } from './task-author.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskService } from './task-service.ts';
import {
  countSelected,
  placesOf,
  rectsOf,
  refuseUnknownNames,
  type SelectedTiles,
  type StoredSet,
  selectsWholeSets,
  setsOf,
  type TileSelection,
} from './tile-selection.ts';

interface SelectionWorkOptions extends RenewalOptions {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  readonly tasks: Pick<TaskService, 'createAll' | 'refuseUnlessRoomFor'>;
  readonly events: Pick<TileEvents, 'emit'>;
  readonly clock: Clock;
}

interface Invalidated {
  /** By tile set; the most requested first. */
  readonly marked: readonly SelectedTiles[];
  /** Tasks that renew the marked tiles, in the same order; none unless requested. */
  readonly tasks: readonly Task[];
}

export type SelectionWork = ReturnType<typeof createSelectionWork>;

/**
 * The two verbs for a selection of a layer's tiles: `truncate` removes them, `invalidate` has them renewed. In force for
 * every reader when a promise resolves, and nothing fetched before is stored any more. Unknown layers are `layer-unknown`,
 * unknown grid sets and formats `request-invalid`.
 */
export function createSelectionWork(options: SelectionWorkOptions) {
  const { catalog, pipeline, tasks, events, clock } = options;

  async function boundFor(name: string, selection: TileSelection): Promise<BoundLayer> {
    const bound = boundLayer(catalog, name);
    await refuseUnknownNames(bound.layer, selection, async () => (await setsOf(bound)).map(({ set }) => set));
    return bound;
  }

  async function visit(
    bound: BoundLayer,
    selection: TileSelection,
    each: (stored: StoredSet) => Promise<SelectedTiles>,
  ): Promise<readonly SelectedTiles[]> {
    const selected: SelectedTiles[] = [];
    for (const stored of await setsOf(bound, selection)) selected.push(await each(stored));
    return selected.filter(({ tiles }) => tiles > 0);
  }

  async function mark(bound: BoundLayer, selection: TileSelection, type: 'hide' | 'outdate') {
    const places = await placesToMark(bound.layer, [selection]);
    const effect = effectOf(selection, type, clock.now());
    const above = type === 'outdate' ? 'invalidate' : 'truncate';
    const { raised, marked } = await markTiles(pipeline, bound, { places, effect, above });
    return {
      raised,
      forgetUnmarked: () => marked || pipeline.forgetPlaces(bound.layer.name, places ?? undefined),
      async apply(): Promise<void> {
        for (const [name, store] of storesOf(bound)) {
          await finishMark(store, { layer: bound.layer.name, number: raised.get(name) ?? 0, effect, places });
        }
      },
    };
  }

  async function dropWhole(stored: StoredSet): Promise<SelectedTiles> {
    const counted = await countWhole(stored);
    const { store, set } = stored;
    await store.drop(set.layer, set);
    events.emit({ type: 'layer-dropped', layer: set.layer, at: clock.now() });
    return counted;
  }

  async function removeSelected(
    { store, set }: StoredSet,
    layer: Layer,
    selection: TileSelection,
    before: number,
  ): Promise<SelectedTiles> {
    const edit = { type: 'remove', createdBefore: selection.olderThan, before } as const;
    let removed = NO_CHANGE;
    for (const place of placesOf(layer, set.gridSet, selection)) {
      const { z } = place;
      for await (const rect of place.cover ? rectsOf(store, set, place) : [place.rect]) {
        removed = sumOfChanges([removed, await store.edit(set, z, rect, edit)]);
      }
      events.emit({ type: 'deleted', set, z, rect: place.rect, at: clock.now() });
    }
    return { set, ...removed };
  }

  async function invalidate(
    name: string,
    selection: TileSelection,
    renew: TaskAuthor | null,
  ): Promise<Invalidated> {
    const bound = await boundFor(name, selection);
    const { stored, renewals } = await lookAt(bound, selection, options);
    const drafts = renew ? await renewals() : [];
    if (renew) await tasks.refuseUnlessRoomFor(drafts.length, renew);
    await (await mark(bound, selection, 'outdate')).apply();
    return { marked: stored, tasks: renew ? await tasks.createAll(drafts, renew) : [] };
  }

  return {
    async count(name: string, selection: TileSelection): Promise<readonly SelectedTiles[]> {
      const bound = await boundFor(name, selection);
      return visit(bound, selection, (stored) =>
        selectsWholeSets(selection)
          ? countWhole(stored)
          : countSelected(stored.store, bound.layer, stored.set, selection),
      );
    },

    /** Removed tiles, by tile set. */
    async truncate(name: string, selection: TileSelection): Promise<readonly SelectedTiles[]> {
      const bound = await boundFor(name, selection);
      const isWhole = selectsWholeSets(selection);
      const dropped = isWhole ? await visit(bound, selection, dropWhole) : [];
      const { raised, forgetUnmarked, apply } = await mark(bound, selection, 'hide');
      if (isWhole) {
        // Some may have been stored since.
        await apply();
        forgetUnmarked();
        return dropped;
      }
      const removed = await visit(bound, selection, (stored) =>
        removeSelected(stored, bound.layer, selection, raised.get(stored.name) ?? 0),
      );
      forgetUnmarked();
      for (const [store, number] of raised) {
        await storesOf(bound).get(store)?.closeMark(bound.layer.name, number);
      }
      return removed;
    },

    /** Tiles stay where they are; each is renewed when it is requested next, and with `renew` by tasks. */
    invalidate,

    /** Starts tasks that renew tiles already marked, the most used first. */
    async renew(name: string, selection: TileSelection, by: TaskAuthor): Promise<void> {
      const { renewals } = await lookAt(boundLayer(catalog, name), selection, options);
      const drafts = await renewals();
      await tasks.refuseUnlessRoomFor(drafts.length, by);
      await tasks.createAll(drafts, by);
    },

    /** For a schedule; returns how many tiles were marked. */
    async invalidateDraft(draft: TaskDraft): Promise<number> {
      const { layer } = boundLayer(catalog, draft.layer);
      const { marked } = await invalidate(layer.name, selectionOf(layer, draft), null);
      return sumOfChanges(marked).tiles;
    },
  };
}

async function countWhole({ store, set }: StoredSet): Promise<SelectedTiles> {
  return { set, ...(await amountInSet(store, set)) };
}

function selectionOf(layer: Layer, draft: TaskDraft): TileSelection {
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
