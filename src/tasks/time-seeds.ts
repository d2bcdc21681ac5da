/**
 * Seeds new instants of time parameters with `seed`, by the node that leads. Instants that come after the latest seeded
 * one are not listed until their tasks are over, or for `MAX_HOLD_MS`.
 *
 *   a stop before the tasks of an instant are recorded      the next poll records them
 *   … after that, before the instant counts as seeded       the next poll finds the same tasks by their keys
 *   … after that                                            nothing is left to do
 */
import type { Catalog } from '../catalog/catalog.ts';
import type { TimeStore } from '../catalog/time-lists.ts';
import type { Lead } from '../db/database.ts';
import { isTilewardenError } from '../domain/errors.ts';
import type { Layer } from '../domain/layer.ts';
import type { TimeDimension, TimeSeed } from '../domain/time-values.ts';
import type { Env } from '../lib/env.ts';
import { repeat } from '../lib/repeat.ts';
import type { TaskService } from './open-task-service.ts';
import { isFinal } from './task.ts';
import type { TaskDraft } from './task-draft.ts';

interface TimeSeederOptions extends Env {
  readonly catalog: Pick<Catalog, 'layer' | 'version'>;
  /** Layers that may have times. */
  readonly layers: () => Iterable<string>;
  readonly store: Pick<TimeStore, 'setSeeded'>;
  readonly tasks: Pick<TaskService, 'createAll' | 'get'>;
}

/** Milliseconds. */
const POLL_INTERVAL_MS = 1000;
/** Milliseconds for which an instant waits for its seed before it is listed without. */
const MAX_HOLD_MS = 600_000;

/** The tasks of an instant; null: they could not be recorded yet. */
interface Seeding {
  readonly tasks: readonly number[] | null;
  readonly since: number;
}

export function openTimeSeeder({ lead, ...options }: TimeSeederOptions & { readonly lead: Lead }) {
  const { clock, log } = options;
  const failure = 'new times could not be seeded; trying again';
  return lead((signal) => {
    const poll = createTimeSeeder(options);
    return repeat(poll, { clock, log, pause: POLL_INTERVAL_MS, failure }, signal);
  });
}

/** Returns a function that searches for new instants once. */
export function createTimeSeeder({ catalog, layers, store, tasks, clock, log }: TimeSeederOptions) {
  /** By layer and parameter, then by instant. */
  const seedings = new Map<string, ReadonlyMap<string, Seeding>>();
  let names: readonly string[] = [];
  let seen: number | null = null;

  async function start(drafts: readonly TaskDraft[], layer: string): Promise<Seeding> {
    const since = clock.now();
    try {
      const made = await tasks.createAll(drafts, { name: 'new times', account: 'times', unlimited: true });
      return {
        tasks: made.map(({ id }) => id),
        since: Math.min(since, ...made.map(({ createdAt }) => createdAt)),
      };
    } catch (error) {
      if (!isTilewardenError(error)) throw error;
      if (error.code === 'too-many-tasks') return { tasks: null, since };
      log.warn({ layer, reason: error.message }, 'a new time cannot be seeded; it is listed without');
      return { tasks: [], since };
    }
  }

  async function isOver({ tasks: ids, since }: Seeding): Promise<boolean> {
    if (clock.now() - since > MAX_HOLD_MS) return true;
    for (const id of ids ?? []) {
      const task = await tasks.get(id);
      if (task && !isFinal(task.state)) return false;
    }
    return ids !== null;
  }

  async function seedNewInstants(
    layer: Layer,
    name: string,
    times: TimeDimension,
    seed: TimeSeed,
  ): Promise<void> {
    const id = JSON.stringify([layer.name, name]);
    const before = seedings.get(id);
    const current = new Map<string, Seeding>();
    seedings.set(id, current);
    const until = times.seededUntil();
    let seeded: number | null = null;
    let isWaiting = false;
    for (const { at, text } of times.coming()) {
      const known = before?.get(text);
      const seeding = known?.tasks ? known : await start(draftsOf(layer, name, text, seed), layer.name);
      current.set(text, known ? { ...seeding, since: known.since } : seeding);
      // In order: no instant is listed before an earlier one. The first instants of a layer are listed immediately.
      isWaiting ||= until === null ? !seeding.tasks : !(await isOver(current.get(text) ?? seeding));
      if (!isWaiting) seeded = at;
    }
    const last = times.last()?.at ?? null;
    // If the last instant is now an earlier one, the list continues from there.
    if (seeded === null && last !== null && until !== null && until > last) seeded = last;
    if (seeded !== null) await store.setSeeded(layer.name, name, seeded);
  }

  return async (): Promise<void> => {
    if (seen !== catalog.version) {
      seen = catalog.version;
      names = [...layers()];
    }
    const failures: unknown[] = [];
    for (const layer of names.flatMap((name) => catalog.layer(name)?.layer ?? [])) {
      for (const { name, times } of layer.enabled ? layer.parameters : []) {
        if (times?.seed)
          await seedNewInstants(layer, name, times, times.seed).catch((error: unknown) =>
            failures.push(error),
          );
      }
    }
    if (failures.length > 0) throw failures[0];
  };
}

/** In all grid sets and formats. The idempotency key prevents duplicate tasks. */
function draftsOf(
  { name: layer, gridSubsets, formats }: Layer,
  parameter: string,
  value: string,
  { zoomStop }: TimeSeed,
): readonly TaskDraft[] {
  return gridSubsets
    .filter(({ zoomStart }) => zoomStart <= zoomStop)
    .flatMap(({ gridSet }) =>
      formats.map(({ mediaType }) => ({
        layer,
        type: 'seed',
        gridSetId: gridSet.name,
        format: mediaType,
        zoomStop,
        parameters: new Map([[parameter, value]]),
        key: { text: JSON.stringify([layer, parameter, value, gridSet.name, mediaType]), digest: null },
      })),
    );
}
