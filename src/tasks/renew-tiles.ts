import type { BoundLayer } from '../catalog/catalog.ts';
import { partitionsOf } from '../catalog/parameter-partitions.ts';
import type { ParameterStore } from '../catalog/parameter-store.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import { findGridSubset, type Layer } from '../domain/layer.ts';
import { frequencyAt } from '../domain/page-rank.ts';
import type { Clock } from '../lib/clock.ts';
import {
  countSelected,
  type SelectedTiles,
  type StoredSet,
  setsOf,
  type TileSelection,
} from '../removal/tile-selection.ts';
import { MostUsedPages } from './pages-by-use.ts';
import { MAX_PRIORITY } from './plan-task.ts';
import type { TaskDraft } from './task-draft.ts';

export interface RenewalOptions {
  readonly parameters: Pick<ParameterStore, 'values'>;
  readonly clock: Pick<Clock, 'now'>;
}

interface CountedSet {
  readonly selected: SelectedTiles;
  /** In ascending order, with repetitions. */
  readonly zooms: readonly number[];
  readonly used: MostUsedPages;
}

/** The stored tiles of a selection, by tile set, the most used first, and drafts of tasks that renew them. */
export async function selectStored(bound: BoundLayer, selection: TileSelection, options: RenewalOptions) {
  const { layer } = bound;
  const seen: CountedSet[] = [];
  for (const stored of await setsOf(bound, selection)) {
    seen.push(await countUses(stored, layer, selection, options.clock.now()));
  }
  const sets = seen
    .filter(({ selected }) => selected.tiles > 0)
    .sort((a, b) => b.used.uses - a.used.uses || b.selected.tiles - a.selected.tiles);
  return {
    stored: sets.map(({ selected }) => selected),
    renewals: async () => renewalsOf(layer, sets, selection, await options.parameters.values()),
  };
}

async function countUses(
  { store, set }: StoredSet,
  layer: Layer,
  selection: TileSelection,
  now: number,
): Promise<CountedSet> {
  const used = new MostUsedPages(MAX_KEPT);
  const parts: TileRangeLevel[] = [];
  const selected = await countSelected(store, layer, set, selection, (z, rect) => parts.push({ z, rect }));
  for (const { z, rect } of parts)
    for await (const pages of store.usage({ set, z, rect }))
      for (const { pageX, pageY, rank } of pages) used.add({ z, pageX, pageY, uses: frequencyAt(rank, now) });
  return { selected, used, zooms: parts.map(({ z }) => z) };
}

/**
 * Seeds over stale tiles, for each tile set that the layer can still make: one of all of it, and before it one of the
 * most requested pages, which the first then finds fresh.
 */
function renewalsOf(
  layer: Layer,
  sets: readonly CountedSet[],
  { bounds, area, buffer }: TileSelection,
  combinations: ReadonlyMap<string, ReadonlyMap<string, string>>,
): readonly TaskDraft[] {
  const { named } = partitionsOf(layer, combinations);
  return sets.flatMap(({ selected: { set }, zooms, used }): TaskDraft[] => {
    const values = set.parametersId === null ? new Map<string, string>() : named.get(set.parametersId);
    const [zoomStart, zoomStop] = [zooms[0], zooms.at(-1)];
    if (!values || zoomStart === undefined || zoomStop === undefined) return [];
    if (!findGridSubset(layer, set.gridSet)) return [];
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

/** Limit of the most used pages: they are in the task's plan, which is read with each piece. */
const MAX_KEPT = 256;
