import { type Catalog, storesOf } from '../catalog/catalog.ts';
import type { Env } from '../lib/env.ts';
import type { ResolvedTileSet, TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { TilePlace } from '../storage/tile-store.ts';
import { placesToMark } from './mark-places.ts';
import { effectOf, markTiles } from './mark-tiles.ts';
import { gridSetsToEmpty, partitionOf } from './perform-step.ts';
import type { TaskStore } from './store/task-store.ts';
import type { Task, TaskRequest } from './task.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskPlan } from './task-plan.ts';

interface TruncationMarksOptions extends Env {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  readonly store: Pick<TaskStore, 'plan'>;
  readonly forgottenByAll: () => Promise<void>;
}

type Planned = Pick<TaskDraft, 'buffer'> & {
  readonly request: TaskRequest;
  readonly plan: TaskPlan;
  readonly tiles: ResolvedTileSet;
};

export type TruncationMarks = ReturnType<typeof createTruncationMarks>;

/**
 * Marks of truncations that tasks perform: their tiles are hidden from the moment in which the task is accepted, however
 * late it runs.
 *
 *   the task                     its mark
 *   pending, running, paused     in force
 *   done                         closed: nothing is left that it concerns
 *   stopped by a caller          closed: tiles not yet removed are shown again
 *   failed, or never recorded    in force until the cleaner of `marks.ts` has removed the rest
 */
export function createTruncationMarks(options: TruncationMarksOptions) {
  const { catalog, pipeline, store, forgottenByAll, clock, log } = options;

  /** In force for every reader, and durable, when it resolves. */
  async function raise(planned: Planned): Promise<Pick<TaskPlan, 'raised' | 'hidden'>> {
    const { bound } = planned.tiles;
    const places = await placesOfTask(planned);
    const hide = effectOf(partitionOf(planned.request), 'hide', clock.now());
    const effect = { ...hide, byTask: true } as const;
    const { raised, marked } = await markTiles(pipeline, bound, { places, effect });
    await forgottenByAll();
    return { raised: Object.fromEntries(raised), hidden: marked };
  }

  async function closeMarks(layer: string, { raised = {} }: Pick<TaskPlan, 'raised'>): Promise<void> {
    const bound = catalog.layer(layer);
    const stores = bound ? storesOf(bound) : new Map();
    for (const [name, number] of Object.entries(raised)) await stores.get(name)?.closeMark(layer, number);
  }

  /** Of a task that is done or stopped, if it truncates. */
  async function ended({ id, request }: Task): Promise<void> {
    if (request.type !== 'truncate') return;
    try {
      const plan = await store.plan(id);
      if (plan?.hidden !== undefined) await closeMarks(request.layer, plan);
    } catch (error) {
      log.warn({ err: error, task: id }, 'could not close the mark of a truncation; retrying later');
    }
  }

  return {
    raise,
    closeMarks,
    ended,
  };
}

/** Also of dense tiles. */
export function placesOfPlan({ levels }: TaskPlan, tiles: ResolvedTileSet): readonly TilePlace[] {
  return gridSetsToEmpty(tiles).flatMap((gridSet) => levels.map(({ z, rect }) => ({ gridSet, z, rect })));
}

/** A zoom of an area as readers compare it: see `mark-places.ts`. */
async function placesOfTask({ request, plan, tiles, buffer }: Planned): Promise<readonly TilePlace[]> {
  const { area, bounds, zoomStart, zoomStop } = request;
  const whole = placesOfPlan(plan, tiles);
  if (!area) return whole;
  const gridSets = gridSetsToEmpty(tiles);
  const selection = { gridSets, bounds, zoomStart, zoomStop, ...(buffer && { buffer }) };
  const polygons = { polygons: area, crs: 'grid-set' as const };
  return (await placesToMark(tiles.bound.layer, [{ ...selection, area: polygons }])) ?? whole;
}
