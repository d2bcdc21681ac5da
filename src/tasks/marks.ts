/**
 * Marks: truncations and invalidations that take effect before any tile is touched.
 *
 *   state     readers                                  ended by
 *   raised    obey it: hidden, or renewed when read    the cleaner, when it has removed or marked what is stored; or the
 *                                                      task that removes it, when it is done or is stopped
 *   closed    nothing is left that it concerns         –
 *
 * A raised mark is durable in the store, so the leading node finds it after a crash and cleans up. It leaves alone what an
 * unfinished task is removing.
 */
import { boundLayer, type Catalog } from '../catalog/catalog.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { DEEPEST_ZOOM, WHOLE_LEVEL } from '../domain/tile-rect.ts';
import type { Env } from '../lib/env.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { concerns } from '../storage/open-marks.ts';
import type { MarkEffect, OpenMark, TilePlace, TileStore } from '../storage/tile-store.ts';
import { placesToMark } from './mark-places.ts';
import { effectOf, markTiles } from './mark-tiles.ts';
import type { TaskStore } from './store/task-store.ts';
import type { TileSelection } from './tile-selection.ts';

interface MarksOptions extends Env {
  readonly catalog: Pick<Catalog, 'layer' | 'stores'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  /** Resolves when all processes and nodes obey every change made before. */
  readonly forgottenByAll: () => Promise<void>;
  readonly leads: () => boolean;
  readonly tasks: Pick<TaskStore, 'isTruncating'>;
}

/** Of all tiles that one of the selections means, which differ in places alone. */
interface NewMark {
  readonly layer: string;
  readonly selections: readonly TileSelection[];
  readonly type: MarkEffect['type'];
}

/** Milliseconds between looks for marks of other nodes, or of a process that died. */
const CLEAN_INTERVAL = 10_000;
/** Milliseconds in which a task is recorded after its mark, and closes it when it has ended. */
const LEFT_TO_TASKS = 60_000;

export type Marks = ReturnType<typeof openMarks>;

export function openMarks(options: MarksOptions) {
  const { catalog, pipeline, forgottenByAll, leads, tasks, clock, log } = options;
  const seen = new FirstSeen();

  /** Whether a task removes its tiles, or is about to report that it has. */
  async function isLeftToTask(store: string, { layer, number, effect }: OpenMark): Promise<boolean> {
    if (!effect.byTask) return false;
    const since = seen.at(`${store} ${number}`, clock.monotonic());
    return clock.monotonic() - since < LEFT_TO_TASKS || (await tasks.isTruncating(layer, store, number));
  }

  async function cleanAll(signal: AbortSignal): Promise<void> {
    for (const [name, store] of catalog.stores()) {
      for (const mark of await store.openMarks()) {
        if (!(await isLeftToTask(name, mark))) await finishMark(store, mark, signal);
      }
    }
    seen.forgetOthers();
  }

  const cleaner = openRepeater(async (signal) => leads() && cleanAll(signal), {
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
    // The caller that marks for a data change marks the layers above too.
    await markTiles(pipeline, bound, { places, effect, above: null });
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
    close: () => cleaner.close(),
  };
}

export const EVERY_LEVEL: readonly Omit<TilePlace, 'gridSet'>[] = Array.from(
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

/** When names that come again in every round were first seen. */
class FirstSeen {
  #former: ReadonlyMap<string, number> = new Map();
  #round = new Map<string, number>();

  at(name: string, now: number): number {
    return getOrCreate(this.#round, name, () => this.#former.get(name) ?? now);
  }

  forgetOthers(): void {
    this.#former = this.#round;
    this.#round = new Map();
  }
}

/** Removes or marks tiles with an earlier ticket, and closes the mark; can be repeated. */
export async function finishMark(store: TileStore, mark: OpenMark, signal?: AbortSignal): Promise<void> {
  const { layer, number, effect, places } = mark;
  const { at } = effect;
  const edit = effect.type === 'hide' ? ({ type: 'remove' } as const) : ({ type: 'outdate', at } as const);
  for await (const set of store.tileSets(layer)) {
    if (!concerns(effect, set)) continue;
    for (const { z, rect, parts } of places?.filter(isIn(set)) ?? EVERY_LEVEL) {
      const limits = { before: number, createdBefore: effect.createdBefore, within: parts };
      await store.edit(set, z, rect, { ...edit, ...limits }, signal);
    }
  }
  await store.closeMark(layer, number);
}
