import { boundLayer, type Catalog } from '../catalog/catalog.ts';
import { partitionsOf, sameValues } from '../catalog/parameter-partitions.ts';
import type { ParameterStore } from '../catalog/parameter-store.ts';
import { coverageAt } from '../domain/grid-subset.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import { parametersIdOf, refuseUnknownParameters, selectParameters } from '../domain/parameter-filter.ts';
import { type TileRect, WHOLE_LEVEL } from '../domain/tile-rect.ts';
import { EVERY_LEVEL, type Removal } from '../removal/removal.ts';
import type { Removals } from '../removal/removals.ts';
import { setsOf } from '../removal/tile-selection.ts';
import { layersIn } from '../storage/read-tiles.ts';
import type { TilePlace } from '../storage/store.ts';
import type { TaskService } from './open-task-service.ts';
import { EVERY_FORMAT, type Task } from './task.ts';
import type { TaskAuthor, TaskDraft } from './task-draft.ts';

interface MassTruncationOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'layerNames' | 'stores'>;
  readonly parameters: Pick<ParameterStore, 'values'>;
  readonly removals: Pick<Removals, 'remove'>;
  readonly tasks: Pick<TaskService, 'create'>;
}

export type MassTruncation = ReturnType<typeof createMassTruncation>;

/**
 * Empties whole layers or tile sets. When a promise resolves, no reader sees the removed tiles and no tile that was
 * fetched earlier is stored; the space is freed in the background. Unknown layers are `layer-unknown`.
 */
export function createMassTruncation({
  catalog,
  parameters: combinations,
  removals,
  tasks,
}: MassTruncationOptions) {
  const layerNamed = (name: string) => boundLayer(catalog, name).layer;

  return {
    /** Everything cached under the layer's name, in every store, whether or not the layer still offers it. */
    async truncateLayer(name: string): Promise<void> {
      await removals.remove([{ layer: layerNamed(name).name, places: null, type: 'hide' }]);
    },

    /** The layers that were emptied; also those no longer declared. */
    async truncateAll(): Promise<readonly string[]> {
      const names = new Set(catalog.layerNames());
      for (const store of catalog.stores().values())
        for (const layer of await layersIn(store)) names.add(layer);
      await removals.remove([...names].map((layer) => ({ layer, places: null, type: 'hide' })));
      return [...names];
    },

    /** One combination of parameter values, over all grid sets and formats. */
    async truncateParameters(name: string, parameters: ReadonlyMap<string, string>): Promise<void> {
      const layer = layerNamed(name);
      const alike = [...(await combinations.values())]
        .filter(([, values]) => sameValues(values, parameters))
        .map(([id]) => id);
      if (alike.length === 0) refuseUnknownParameters(layer.parameters, parameters);
      const ids = new Set([partitionOf(layer, parameters), ...alike]);
      await removals.remove(
        Array.from(ids, (parametersId) => ({ layer: name, places: null, type: 'hide', parametersId })),
      );
    },

    /** Tiles that the layer, as declared now, can no longer produce. */
    async truncateOrphans(name: string): Promise<void> {
      const bound = boundLayer(catalog, name);
      const { couldBeMade } = partitionsOf(bound.layer, await combinations.values());
      const orphans = (await setsOf(bound)).filter(({ set }) => !couldBeMade(set));
      const whole = orphans.map(({ set: { gridSet, format, parametersId } }): Removal => {
        const places = EVERY_LEVEL.map((level) => ({ gridSet, ...level }));
        return { layer: name, places, type: 'hide', formats: [format], parametersId };
      });
      await removals.remove([
        ...whole,
        { layer: name, places: [...placesOutside(bound.layer)], type: 'hide' },
      ]);
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

/** Values that the filters refuse now still name an older partition. */
function partitionOf(layer: Layer, parameters: ReadonlyMap<string, string>): string | null {
  try {
    return selectParameters(layer.parameters, parameters).id;
  } catch {
    return parametersIdOf(new Map([...parameters].map(([name, value]) => [name.toUpperCase(), value])));
  }
}

/** Zooms and places that the layer no longer offers. */
function* placesOutside(layer: Layer): Generator<TilePlace> {
  for (const subset of everySubset(layer)) {
    const { name: gridSet } = subset.gridSet;
    for (const { z } of EVERY_LEVEL) {
      const coverage = coverageAt(subset, z);
      for (const rect of coverage ? around(coverage) : [WHOLE_LEVEL]) yield { gridSet, z, rect };
    }
  }
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
