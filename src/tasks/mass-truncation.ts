import type { BoundLayer } from '../catalog/bound-layer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ParameterBook } from '../catalog/parameter-book.ts';
import { TilewardenError } from '../domain/errors.ts';
import { coverageAt } from '../domain/grid-subset.ts';
import { everySubset, gridSubsetOf, type Layer } from '../domain/layer.ts';
import { PAGE_SIZE } from '../domain/page.ts';
import { parametersIdOf, refuseUnknownParameters, selectParameters } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { tileRangeOf } from '../domain/tile-range.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { type Partitions, partitionsOf, sameValues } from './mass-truncation-partitions.ts';
import {
  countWhole,
  goThroughSelected,
  isMeantBy,
  refuseUnknownNames,
  type SelectedTiles,
  selects,
  selectsWholeSets,
  type TruncationSelection,
} from './mass-truncation-selection.ts';
import type { Task } from './task.ts';
import type { TaskService } from './task-service.ts';

export interface MassTruncationOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'layerNames' | 'stores'>;
  readonly parameters: Pick<ParameterBook, 'values'>;
  readonly tasks: Pick<TaskService, 'create'>;
  readonly events: TileEvents;
  readonly clock: Clock;
}

export interface ExtentTruncation {
  readonly layer: string;
  readonly gridSetId: string;
  /** minX, minY, maxX, maxY in the grid set's CRS. */
  readonly coords: readonly number[];
}

/**
 * Empties whole layers or parts of them at once. When a promise resolves, no reader sees what was removed and
 * nothing fetched before is stored any more; the space is freed behind it. Unknown layers are `layer-unknown`.
 */
export interface MassTruncation {
  /** Everything cached under the layer's name, in every store, whether or not the layer still offers it. */
  truncateLayer(layer: string): Promise<void>;
  /** The layers that were emptied; also those that nobody declares any more. */
  truncateAll(): Promise<readonly string[]>;
  /** One combination of parameter values, over all grid sets and formats. */
  truncateParameters(layer: string, parameters: ReadonlyMap<string, string>): Promise<void>;
  /** What the layer, as it is declared now, could not produce any more. */
  truncateOrphans(layer: string): Promise<void>;
  /** An area, over all formats and every cached combination of parameter values. Part of it goes on as tasks. */
  truncateExtent(extent: ExtentTruncation, createdBy: string): Promise<readonly Task[]>;
  /** What a selection holds, by tile set; gone when this resolves, unless `dryRun`. */
  truncateSelection(
    layer: string,
    selection: TruncationSelection,
    dryRun: boolean,
  ): Promise<readonly SelectedTiles[]>;
}

/** Beyond any tile index: zoom 30 ends at 2^30. */
const FAR = 2 ** 31;
const WHOLE_LEVEL: TileRect = { minX: 0, minY: 0, maxX: FAR, maxY: FAR };

export function createMassTruncation(options: MassTruncationOptions): MassTruncation {
  const { catalog, parameters: book, tasks, events, clock } = options;
  const stores = () => [...catalog.stores().values()];

  function boundLayer(name: string): BoundLayer {
    const bound = catalog.layer(name);
    if (bound) return bound;
    throw new TilewardenError('layer-unknown', `Could not find layer ${name}`);
  }

  /**
   * The generation rises before anything is removed, so that nothing fetched earlier follows it into the store;
   * memory lets go after the removal, so that nothing is loaded again from what is being removed.
   */
  async function empty(layer: string, remove: (store: TileStore) => Promise<void>): Promise<void> {
    await Promise.all(
      stores().map(async (store) => {
        await store.raiseGeneration(layer);
        await remove(store);
      }),
    );
    events.emit({ type: 'layer-dropped', layer, at: clock.now() });
  }

  const emptyWhole = (layer: string) => empty(layer, (store) => store.dropLayer(layer));

  async function dropSets(layer: string, doomed: (set: TileSetKey) => boolean): Promise<void> {
    await empty(layer, async (store) => {
      for (const set of await collect(store.tileSets(layer))) if (doomed(set)) await store.dropTileSet(set);
    });
  }

  async function allLayers(): Promise<Set<string>> {
    const names = new Set(catalog.layerNames());
    for (const store of stores()) for await (const layer of store.layers()) names.add(layer);
    return names;
  }

  async function removeOrphans(store: TileStore, layer: Layer, partitions: Partitions): Promise<void> {
    for (const set of await collect(store.tileSets(layer.name))) {
      const possible = couldBeMade(layer, set, partitions);
      if (!possible) await store.dropTileSet(set);
      if (possible) await removeOutside(store, layer, set);
    }
  }

  /** Tile sets whose parameter values a task cannot name are cleared on the spot. */
  async function clearUnnamed(extent: ExtentTruncation, unnamed: readonly TileSetKey[]): Promise<void> {
    const { layer, store } = boundLayer(extent.layer);
    const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent.coords;
    const subset = gridSubsetOf(layer, extent.gridSetId);
    const range = tileRangeOf(subset, subset.zoomStart, subset.zoomStop, { minX, minY, maxX, maxY });
    if (unnamed.length === 0) return;
    await store.raiseGeneration(layer.name);
    for (const set of unnamed) for (const { z, rect } of range.levels) await store.deleteRange(set, z, rect);
    events.emit({ type: 'layer-dropped', layer: layer.name, at: clock.now() });
  }

  async function storedSets(layer: string): Promise<readonly TileSetKey[]> {
    const found = await Promise.all(stores().map((store) => collect(store.tileSets(layer))));
    return found.flat();
  }

  /** In every store, tile set by tile set. */
  async function goThrough(
    layer: Layer,
    selection: TruncationSelection,
    dryRun: boolean,
  ): Promise<readonly SelectedTiles[]> {
    const selected: SelectedTiles[] = [];
    for (const store of stores()) {
      for (const set of await collect(store.tileSets(layer.name))) {
        if (!selects(selection, set)) continue;
        const whole = selectsWholeSets(selection);
        if (whole) selected.push(await countWhole(store, set));
        if (whole && !dryRun) await store.dropTileSet(set);
        const remove = async (z: number, rect: TileRect) => dryRun || store.deleteRange(set, z, rect);
        if (!whole) selected.push(await goThroughSelected(store, layer, set, selection, remove));
      }
    }
    return selected.filter(({ tiles }) => tiles > 0);
  }

  return {
    async truncateLayer(name) {
      await emptyWhole(boundLayer(name).layer.name);
    },

    async truncateAll() {
      const layers = await allLayers();
      for (const layer of layers) await emptyWhole(layer);
      return [...layers];
    },

    async truncateParameters(name, parameters) {
      const { layer } = boundLayer(name);
      const noted = await book.values();
      const alike = new Set(
        [...noted].filter(([, values]) => sameValues(values, parameters)).map(([of]) => of),
      );
      if (alike.size === 0) refuseUnknownParameters(layer.parameters, parameters);
      const id = partitionOf(layer, parameters);
      await dropSets(layer.name, (set) => set.parametersId === id || alike.has(set.parametersId ?? ''));
    },

    async truncateOrphans(name) {
      const { layer } = boundLayer(name);
      const partitions = partitionsOf(layer, await book.values());
      await empty(layer.name, (store) => removeOrphans(store, layer, partitions));
    },

    async truncateExtent(extent, createdBy) {
      const { layer, store } = boundLayer(extent.layer);
      const cached = (await collect(store.tileSets(layer.name))).filter((set) => set.parametersId !== null);
      const ids = new Set(cached.map((set) => set.parametersId ?? ''));
      const partitions = partitionsOf(layer, await book.values());
      const named = [...partitions.named].filter(([id]) => ids.has(id));
      const selections = [new Map<string, string>(), ...named.map(([, values]) => values)];
      const started: Task[] = [];
      for (const parameters of selections) {
        for (const { mediaType } of layer.formats) {
          const { layer: of, gridSetId, coords } = extent;
          const draft = { layer: of, type: 'truncate', gridSetId, coords, format: mediaType, parameters };
          started.push(await tasks.create(draft, createdBy));
        }
      }
      const known = new Set(named.map(([id]) => id));
      const { gridSet } = gridSubsetOf(layer, extent.gridSetId);
      const unnamed = cached.filter(
        (set) => isMeantBy(gridSet.name, set.gridSet) && !known.has(set.parametersId ?? ''),
      );
      await clearUnnamed(extent, unnamed);
      return started;
    },

    async truncateSelection(name, selection, dryRun) {
      const { layer } = boundLayer(name);
      await refuseUnknownNames(layer, selection, () => storedSets(layer.name));
      if (dryRun) return goThrough(layer, selection, true);
      for (const store of stores()) await store.raiseGeneration(layer.name);
      const selected = await goThrough(layer, selection, false);
      events.emit({ type: 'layer-dropped', layer: layer.name, at: clock.now() });
      return selected;
    },
  };
}

/** Values that the filters refuse today name a partition of yesterday. */
function partitionOf(layer: Layer, parameters: ReadonlyMap<string, string>): string | null {
  try {
    return selectParameters(layer.parameters, parameters).id;
  } catch {
    return parametersIdOf(new Map([...parameters].map(([name, value]) => [name.toUpperCase(), value])));
  }
}

/** Where nobody can tell, what is there gets the benefit of the doubt. */
function couldBeMade(layer: Layer, set: TileSetKey, partitions: Partitions): boolean {
  if (!everySubset(layer).some(({ gridSet }) => gridSet.name === set.gridSet)) return false;
  if (!layer.formats.some(({ mediaType }) => mediaType === set.format)) return false;
  return set.parametersId === null || partitions.couldBeMade(set.parametersId) !== false;
}

/** Tiles at zooms, or in places, that the layer does not offer any more. */
async function removeOutside(store: TileStore, layer: Layer, set: TileSetKey): Promise<void> {
  const subset = gridSubsetOf(layer, set.gridSet);
  const outside = new Set<number>();
  for await (const { z, pageX, pageY } of store.pages(set)) {
    const coverage = coverageAt(subset, z);
    if (!coverage || !holdsPage(coverage, pageX, pageY)) outside.add(z);
  }
  for (const z of outside) {
    const coverage = coverageAt(subset, z);
    for (const rect of coverage ? around(coverage) : [WHOLE_LEVEL]) await store.deleteRange(set, z, rect);
  }
}

function holdsPage({ minX, minY, maxX, maxY }: TileRect, pageX: number, pageY: number): boolean {
  const [left, top] = [pageX * PAGE_SIZE, pageY * PAGE_SIZE];
  return left >= minX && top >= minY && left + PAGE_SIZE - 1 <= maxX && top + PAGE_SIZE - 1 <= maxY;
}

function around({ minX, minY, maxX, maxY }: TileRect): readonly TileRect[] {
  const sides = [
    { ...WHOLE_LEVEL, maxY: minY - 1 },
    { ...WHOLE_LEVEL, minY: maxY + 1 },
    { minX: 0, maxX: minX - 1, minY, maxY },
    { minX: maxX + 1, maxX: FAR, minY, maxY },
  ];
  return sides.filter((rect) => rect.minX <= rect.maxX && rect.minY <= rect.maxY);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
