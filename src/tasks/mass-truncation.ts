import type { BoundLayer, Catalog } from '../catalog/catalog.ts';
import { partitionsOf, sameValues } from '../catalog/parameter-partitions.ts';
import type { ParameterStore } from '../catalog/parameter-store.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { coverageAt } from '../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../domain/layer.ts';
import { parametersIdOf, refuseUnknownParameters, selectParameters } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { PAGE_SIZE, type TileSetKey } from '../domain/tile-key.ts';
import { type TileRect, WHOLE_LEVEL } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { withConcurrency } from '../lib/yielding.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { EVERY_LEVEL } from './marks.ts';
import { EVERY_FORMAT, type Task } from './task.ts';
import type { TaskAuthor } from './task-author.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskService } from './task-service.ts';

interface MassTruncationOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'layerNames' | 'stores'>;
  readonly parameters: Pick<ParameterStore, 'values'>;
  readonly tasks: Pick<TaskService, 'create'>;
  readonly events: TileEvents;
  readonly clock: Clock;
}

/** Each waits for the disk and for readers most of its time. */
const LAYERS_AT_ONCE = 32;

export type MassTruncation = ReturnType<typeof createMassTruncation>;

/**
 * Empties whole layers or tile sets. When a promise resolves, no reader sees what was removed and
 * nothing fetched before is stored any more; the space is freed behind it. Unknown layers are `layer-unknown`.
 */
export function createMassTruncation(options: MassTruncationOptions) {
  const { catalog, parameters: parameterStore, tasks, events, clock } = options;
  const stores = () => [...catalog.stores().values()];

  async function raise(layer: string): Promise<ReadonlyMap<TileStore, number>> {
    const raised = new Map<TileStore, number>();
    for (const store of stores()) raised.set(store, await store.raiseGeneration(layer, null));
    return raised;
  }

  function boundLayer(name: string): BoundLayer {
    const bound = catalog.layer(name);
    if (bound) return bound;
    throw new TilewardenError('layer-unknown', `Could not find layer ${name}`);
  }

  /**
   * Whole tile sets go first, and only then does the generation rise: nothing is dropped that was requested after it,
   * however long this process is stopped in between. Tiles stored in the meantime have an earlier ticket, and are removed
   * by it; flights do not store. Memory is emptied last, so that nothing is loaded again.
   */
  async function emptySets(
    layer: string,
    matches: (set: TileSetKey) => boolean,
    removeMore: (store: TileStore, before: number) => Promise<void> = async () => {},
  ): Promise<void> {
    await Promise.all(stores().map((store) => dropMatching(store, layer, matches)));
    for (const [store, before] of await raise(layer)) {
      await removeOlder(store, layer, matches, before);
      await removeMore(store, before);
    }
    emitDropped(layer);
  }

  const emitDropped = (layer: string) => events.emit({ type: 'layer-dropped', layer, at: clock.now() });

  /** Null where a driver cannot do that, or a disk has no room for so many marks. */
  async function raisedTogether(layers: readonly string[]): Promise<ReadonlyMap<TileStore, number> | null> {
    const raised = new Map<TileStore, number>();
    try {
      for (const store of stores()) {
        if (!store.raiseGenerations) return null;
        raised.set(store, await store.raiseGenerations(layers));
      }
      return raised;
    } catch (error) {
      if (isTilewardenError(error, 'store-full')) return null;
      throw error;
    }
  }

  /** As `emptySets`, of whole layers. */
  async function emptyLayers(layers: readonly string[]): Promise<void> {
    await withConcurrency(layers, LAYERS_AT_ONCE, (layer) =>
      Promise.all(stores().map((store) => store.dropLayer(layer))),
    );
    const raised = layers.length > 1 ? await raisedTogether(layers) : null;
    await withConcurrency(layers, LAYERS_AT_ONCE, async (layer) => {
      for (const [store, before] of raised ?? (await raise(layer))) {
        await removeOlder(store, layer, () => true, before);
      }
      emitDropped(layer);
    });
  }

  async function allLayers(): Promise<Set<string>> {
    const names = new Set(catalog.layerNames());
    for (const store of stores()) for await (const layer of store.layers()) names.add(layer);
    return names;
  }

  return {
    /** Everything cached under the layer's name, in every store, whether or not the layer still offers it. */
    async truncateLayer(name: string): Promise<void> {
      await emptyLayers([boundLayer(name).layer.name]);
    },

    /** The layers that were emptied; also those no longer declared. */
    async truncateAll(): Promise<readonly string[]> {
      const layers = [...(await allLayers())];
      await emptyLayers(layers);
      return layers;
    },

    /** One combination of parameter values, over all grid sets and formats. */
    async truncateParameters(name: string, parameters: ReadonlyMap<string, string>): Promise<void> {
      const { layer } = boundLayer(name);
      const combinations = await parameterStore.values();
      const alike = new Set(
        [...combinations].filter(([, values]) => sameValues(values, parameters)).map(([of]) => of),
      );
      if (alike.size === 0) refuseUnknownParameters(layer.parameters, parameters);
      const id = partitionOf(layer, parameters);
      await emptySets(layer.name, (set) => set.parametersId === id || alike.has(set.parametersId ?? ''));
    },

    /** Tile sets that the layer, as declared now, can no longer produce. */
    async truncateOrphans(name: string): Promise<void> {
      const { layer } = boundLayer(name);
      const { couldBeMade } = partitionsOf(layer, await parameterStore.values());
      const removeOutsideAll = async (store: TileStore, before: number) => {
        for (const set of await collect(store.tileSets(layer.name))) {
          if (couldBeMade(set)) await removeOutside(store, layer, set, before);
        }
      };
      await emptySets(layer.name, (set) => !couldBeMade(set), removeOutsideAll);
    },

    /** An area, over all formats and every cached combination of parameter values, as one task. */
    truncateExtent(
      extent: Required<Pick<TaskDraft, 'layer' | 'gridSetId' | 'coords'>>,
      author: TaskAuthor,
    ): Promise<Task> {
      return tasks.create({ ...extent, type: 'truncate', format: EVERY_FORMAT }, author);
    },
  };
}

async function dropMatching(
  store: TileStore,
  layer: string,
  matches: (set: TileSetKey) => boolean,
): Promise<void> {
  for (const set of await collect(store.tileSets(layer))) if (matches(set)) await store.dropTileSet(set);
}

async function removeOlder(
  store: TileStore,
  layer: string,
  matches: (set: TileSetKey) => boolean,
  before: number,
): Promise<void> {
  for (const set of await collect(store.tileSets(layer))) {
    if (!matches(set)) continue;
    for (const { z, rect } of EVERY_LEVEL) await store.edit(set, z, rect, { type: 'remove', before });
  }
}

/** Values that the filters refuse today name a partition of yesterday. */
function partitionOf(layer: Layer, parameters: ReadonlyMap<string, string>): string | null {
  try {
    return selectParameters(layer.parameters, parameters).id;
  } catch {
    return parametersIdOf(new Map([...parameters].map(([name, value]) => [name.toUpperCase(), value])));
  }
}

/** Tiles at zooms, or in places, that the layer does not offer any more. */
async function removeOutside(store: TileStore, layer: Layer, set: TileSetKey, before: number): Promise<void> {
  const subset = gridSubsetOf(layer, set.gridSet);
  const outside = new Set<number>();
  for await (const { z, pageX, pageY } of store.pages(set)) {
    const coverage = coverageAt(subset, z);
    if (!coverage || !holdsPage(coverage, pageX, pageY)) outside.add(z);
  }
  for (const z of outside) {
    const coverage = coverageAt(subset, z);
    for (const rect of coverage ? around(coverage) : [WHOLE_LEVEL]) {
      await store.edit(set, z, rect, { type: 'remove', before });
    }
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
    { minX: maxX + 1, maxX: WHOLE_LEVEL.maxX, minY, maxY },
  ];
  return sides.filter((rect) => rect.minX <= rect.maxX && rect.minY <= rect.maxY);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
