/**
 * Marks: truncations and invalidations that take effect before any tile is touched.
 *
 *   state     readers                                  who ends it
 *   raised    obey it: hidden, or renewed when read    the cleaner, when it has removed or marked what is stored
 *   settled   nothing is left that it concerns         –
 *
 * A raised mark is durable in the store, so the leading node finds it after a crash and cleans up.
 */
import { boundLayer, type Catalog, storesOf } from '../catalog/catalog.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { concerns } from '../storage/open-marks.ts';
import type { MarkEffect, OpenMark, TilePlace, TileStore } from '../storage/tile-store.ts';
import { placesToMark } from './mark-places.ts';
import { DEEPEST_ZOOM, type TruncationSelection, WHOLE_LEVEL } from './mass-truncation-selection.ts';

interface MarksOptions extends Surroundings {
  readonly catalog: Pick<Catalog, 'layer' | 'stores'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  /** Resolves when all processes and nodes obey every change made before. */
  readonly forgottenByAll: () => Promise<void>;
  /** Only one node cleans up. */
  readonly leads: () => boolean;
}

/** Of all tiles that one of the selections means, which differ in places alone. */
interface NewMark {
  readonly layer: string;
  readonly selections: readonly TruncationSelection[];
  readonly type: MarkEffect['type'];
}

/** Milliseconds between looks for marks of other nodes, or of a process that died. */
const CLEAN_INTERVAL = 10_000;

export type Marks = ReturnType<typeof openMarks>;

export function openMarks({ catalog, pipeline, forgottenByAll, leads, clock, log }: MarksOptions) {
  const cleaner = openRepeater((signal) => leads() && cleanAll(catalog.stores().values(), signal), {
    clock,
    log,
    pause: CLEAN_INTERVAL,
    failure: 'marked tiles could not be cleaned up; trying again',
  });
  /** Whether there was anything to raise. */
  async function raise({ layer: name, selections, type }: NewMark): Promise<boolean> {
    const bound = boundLayer(catalog, name);
    const { layer } = bound;
    const places = await placesToMark(layer, selections);
    if (places?.length === 0) return false;
    const effect = effectOf(selections[0] ?? {}, type, clock.now());
    for (const store of storesOf(bound).values()) await store.raiseGeneration(layer.name, places, effect);
    pipeline.forgetPlaces(layer.name, places ?? undefined);
    return true;
  }

  async function markAll(marks: readonly NewMark[]): Promise<void> {
    const raised = [];
    for (const one of marks) raised.push(await raise(one));
    if (!raised.includes(true)) return;
    await forgottenByAll();
    cleaner.wake();
  }

  return {
    /** In force for every reader, and durable, when it resolves; nothing has been listed or touched by then. */
    markAll,
    mark: (layer: string, selections: NewMark['selections'], type: NewMark['type']): Promise<void> =>
      markAll([{ layer, selections, type }]),
    close: () => cleaner.close(),
  };
}

export function effectOf(
  { formats, parametersId, olderThan }: TruncationSelection,
  type: MarkEffect['type'],
  at: number,
): MarkEffect {
  return {
    type,
    at,
    ...(formats && { formats }),
    ...(parametersId !== undefined && { parametersId }),
    ...(olderThan !== undefined && { createdBefore: olderThan }),
  };
}

const EVERY_LEVEL: readonly Omit<TilePlace, 'gridSet'>[] = Array.from(
  { length: DEEPEST_ZOOM + 1 },
  (_, z) => ({
    z,
    rect: WHOLE_LEVEL,
  }),
);

const isIn =
  ({ gridSet }: TileSetKey) =>
  (place: TilePlace) =>
    place.gridSet === gridSet;

async function cleanAll(stores: Iterable<TileStore>, signal: AbortSignal): Promise<void> {
  for (const store of stores) {
    for (const mark of await store.openMarks()) await settle(store, mark, signal);
  }
}

/** Removes or marks what is stored with an earlier ticket; a repeat finds nothing to do. */
export async function settle(store: TileStore, mark: OpenMark, signal?: AbortSignal): Promise<void> {
  const { layer, number, effect, places } = mark;
  for await (const set of store.tileSets(layer)) {
    if (!concerns(effect, set)) continue;
    for (const { z, rect, parts } of places?.filter(isIn(set)) ?? EVERY_LEVEL) {
      const limits = { before: number, createdBefore: effect.createdBefore, within: parts };
      if (effect.type === 'hide') await store.deleteRange(set, z, rect, signal, limits);
      else await store.markStale(set, z, rect, effect.at, signal, limits);
    }
  }
  await store.settleMark(layer, number);
}
