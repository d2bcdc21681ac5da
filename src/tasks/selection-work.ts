import { type BoundLayer, boundLayer, type Catalog } from '../catalog/catalog.ts';
import { everySubset, gridSubsetOf, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import { removalOf } from '../removal/mark-places.ts';
import type { Removal } from '../removal/removal.ts';
import type { Removals } from '../removal/removals.ts';
import {
  countSelected,
  refuseUnknownNames,
  type SelectedTiles,
  selectsWholeSets,
  setsOf,
  type TileSelection,
} from '../removal/tile-selection.ts';
import { amountInSet } from '../storage/read-tiles.ts';
import { sumOfChanges } from '../storage/store.ts';
import type { TaskService } from './open-task-service.ts';
import { type RenewalOptions, selectStored } from './renew-tiles.ts';
import type { Task } from './task.ts';
import type { TaskAuthor, TaskDraft } from './task-draft.ts';

interface SelectionWorkOptions extends RenewalOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'record'>;
  readonly removals: Pick<Removals, 'remove'>;
  readonly tasks: Pick<TaskService, 'createAll' | 'refuseUnlessRoomFor'>;
}

interface Invalidated {
  /** By tile set; the most requested first. */
  readonly marked: readonly SelectedTiles[];
  /** Tasks that renew the marked tiles, in the same order; none unless requested. */
  readonly tasks: readonly Task[];
}

export type SelectionWork = ReturnType<typeof createSelectionWork>;

/**
 * The two verbs for a selection of a layer's tiles: `truncate` removes them, `invalidate` has them renewed. In force
 * for every reader when a promise resolves, and no tile that was fetched earlier is stored; see `removals.ts`. Unknown
 * layers are `layer-unknown`, unknown grid sets and formats `request-invalid`.
 */
export function createSelectionWork(options: SelectionWorkOptions) {
  const { catalog, removals, tasks } = options;

  async function boundFor(name: string, selection: TileSelection): Promise<BoundLayer> {
    const bound = boundLayer(catalog, name);
    await refuseUnknownNames(bound.layer, selection, async () => (await setsOf(bound)).map(({ set }) => set));
    return bound;
  }

  async function count(bound: BoundLayer, selection: TileSelection): Promise<readonly SelectedTiles[]> {
    const selected: SelectedTiles[] = [];
    for (const { store, set } of await setsOf(bound, selection)) {
      selected.push(
        selectsWholeSets(selection)
          ? { set, ...(await amountInSet(store, set)) }
          : await countSelected(store, bound.layer, set, selection),
      );
    }
    return selected.filter(({ tiles }) => tiles > 0);
  }

  async function remove(
    { layer }: BoundLayer,
    selection: TileSelection,
    type: Removal['type'],
  ): Promise<void> {
    await removals.remove([await removalOf(layer, catalog.record(layer.name), selection, type)]);
  }

  async function invalidate(
    name: string,
    selection: TileSelection,
    renew: TaskAuthor | null,
  ): Promise<Invalidated> {
    const bound = await boundFor(name, selection);
    const { stored, renewals } = await selectStored(bound, selection, options);
    const drafts = renew ? await renewals() : [];
    if (renew) await tasks.refuseUnlessRoomFor(drafts.length, renew);
    await remove(bound, selection, 'outdate');
    return { marked: stored, tasks: renew ? await tasks.createAll(drafts, renew) : [] };
  }

  return {
    async count(name: string, selection: TileSelection): Promise<readonly SelectedTiles[]> {
      return count(await boundFor(name, selection), selection);
    },

    /** Returns the tiles that were there, by tile set. */
    async truncate(name: string, selection: TileSelection): Promise<readonly SelectedTiles[]> {
      const bound = await boundFor(name, selection);
      const counted = await count(bound, selection);
      await remove(bound, selection, 'hide');
      return counted;
    },

    /** Tiles stay where they are; each is renewed when it is requested next, and with `renew` by tasks. */
    invalidate,

    /** Starts tasks that renew tiles already marked, the most used first. */
    async renew(name: string, selection: TileSelection, by: TaskAuthor): Promise<void> {
      const { renewals } = await selectStored(boundLayer(catalog, name), selection, options);
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
