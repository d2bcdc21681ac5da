/**
 * Marks: truncations and invalidations that take effect before any tile is touched.
 *
 *   state     readers                                  who ends it
 *   raised    obey it: hidden, or renewed when read    the cleaner, when it has removed or marked what is stored
 *   settled   nothing is left that it concerns         –
 *
 * A raised mark is durable in the store, so whoever leads finds it after a crash and cleans up.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { boundLayer, type Catalog, storesOf } from '../catalog/catalog.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { intersectRects, rectAround, type TileRect } from '../domain/tile-rect.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { concerns } from '../storage/open-marks.ts';
import type { MarkEffect, OpenMark, TilePlace, TileStore } from '../storage/tile-store.ts';
import { coveredRects } from './area-cover.ts';
import {
  DEEPEST_ZOOM,
  isMeantBy,
  placesOf,
  type TruncationSelection,
  WHOLE_LEVEL,
} from './mass-truncation-selection.ts';

interface MarksOptions extends Surroundings {
  readonly catalog: Pick<Catalog, 'layer' | 'stores'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  /** Resolves when all processes and nodes obey every change made before. */
  readonly forgottenByAll: () => Promise<void>;
  /** Only one node cleans up. */
  readonly leads: () => boolean;
}

/** Milliseconds between looks for marks of other nodes, or of a process that died. */
const CLEAN_INTERVAL = 10_000;
/** Rectangles of a place that readers compare with; neighbours of more are taken together. */
const MAX_PARTS = 128;

export type Marks = ReturnType<typeof openMarks>;

export function openMarks({ catalog, pipeline, forgottenByAll, leads, clock, log }: MarksOptions) {
  const cleaner = openRepeater((signal) => leads() && cleanAll(catalog.stores().values(), signal), {
    clock,
    log,
    pause: CLEAN_INTERVAL,
    failure: 'marked tiles could not be cleaned up; trying again',
  });
  return {
    /**
     * Of all tiles that one of the selections means, which differ in places alone. In force for every reader, and
     * durable, when it resolves; nothing has been listed or touched by then.
     */
    async mark(
      name: string,
      selections: readonly TruncationSelection[],
      type: MarkEffect['type'],
    ): Promise<void> {
      const bound = boundLayer(catalog, name);
      const { layer } = bound;
      const places = await placesToMark(layer, selections);
      if (places?.length === 0) return;
      const effect = effectOf(selections[0] ?? {}, type, clock.now());
      for (const store of storesOf(bound).values()) await store.raiseGeneration(layer.name, places, effect);
      pipeline.forgetPlaces(layer.name, places ?? undefined);
      await forgottenByAll();
      cleaner.wake();
    },
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

/** Null: the whole layer. */
export async function placesToMark(
  layer: Layer,
  selections: readonly TruncationSelection[],
): Promise<readonly TilePlace[] | null> {
  if (selections.some(isEverywhere)) return null;
  const places: TilePlace[] = [];
  for (const selection of selections) {
    for (const gridSet of gridSetsOf(layer, selection)) {
      // At zooms that the layer does not offer the box around the area is enough.
      const deepest = findGridSubset(layer, gridSet)?.zoomStop ?? 0;
      for (const { z, rect, cover } of placesOf(layer, gridSet, selection)) {
        const parts = cover && z <= deepest ? atMost(MAX_PARTS, [...coveredRects(cover, z, rect)]) : null;
        places.push({ gridSet, z, rect, ...(parts && { parts }) });
        await nextTurn();
      }
    }
  }
  return places.filter(({ parts }) => parts?.length !== 0);
}

function isEverywhere({ gridSets, zoomStart, zoomStop, bounds, area }: TruncationSelection): boolean {
  return [gridSets, zoomStart, zoomStop, bounds, area].every((narrowed) => narrowed === undefined);
}

/** Also those that the layer no longer has. */
function gridSetsOf(layer: Layer, { gridSets }: TruncationSelection): readonly string[] {
  const offered = everySubset(layer).map(({ gridSet }) => gridSet.name);
  if (!gridSets) return offered;
  return [
    ...new Set([...gridSets, ...offered.filter((name) => gridSets.some((one) => isMeantBy(one, name)))]),
  ];
}

/** From the top; neighbours are taken together. */
function atMost(count: number, rects: readonly TileRect[]): readonly TileRect[] {
  const size = Math.ceil(rects.length / count);
  if (size <= 1) return rects;
  const groups = Array.from({ length: Math.ceil(rects.length / size) }, (_, i) =>
    rects.slice(i * size, (i + 1) * size),
  );
  return groups.flatMap((group) => rectAround(group.flatMap(cornersOf)) ?? []);
}

function cornersOf({ minX, minY, maxX, maxY }: TileRect) {
  return [
    { x: minX, y: minY },
    { x: maxX, y: maxY },
  ];
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
  const limits = { before: number, createdBefore: effect.createdBefore };
  for await (const set of store.tileSets(layer)) {
    if (!concerns(effect, set)) continue;
    for (const { z, rect, parts = [rect] } of places?.filter(isIn(set)) ?? EVERY_LEVEL) {
      for await (const there of store.parts(set, z, rect)) {
        for (const part of parts.flatMap((one) => intersectRects(one, there) ?? [])) {
          if (effect.type === 'hide') await store.deleteRange(set, z, part, signal, limits);
          else await store.markStale(set, z, part, effect.at, signal, limits);
        }
      }
    }
  }
  await store.settleMark(layer, number);
}
