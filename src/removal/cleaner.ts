/**
 * The cleaner removes, or outdates, the tiles of open marks and closes them. The node that leads runs it, and finds
 * marks of other nodes and of processes that died, since they are durable.
 *
 *   a mark that is open              what the cleaner does
 *   not of a task                    applies and closes it
 *   of a task that is unfinished     leaves it: the task closes it when it is done, or when it is stopped
 *   of a task that failed, or that   applies and closes it, a minute after it was raised
 *   was never recorded
 */
import { once } from 'node:events';
import type { Catalog } from '../catalog/catalog.ts';
import type { Database, Lead } from '../db/database.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import { concerns } from '../storage/index/mark-rows.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import type { OpenMark, Store, TilePlace } from '../storage/store.ts';
import { EVERY_LEVEL, type RaisedMarks } from './removal.ts';

interface CleanerOptions extends Env {
  readonly catalog: Pick<Catalog, 'stores'>;
  readonly database: Pick<Database, 'listen'>;
  readonly lead: Lead;
  /** The marks of unfinished truncations. */
  readonly marksOfTasks: () => Promise<readonly RaisedMarks[]>;
  /** Drops tile sets that no declaration reaches any more. */
  readonly dropUnreachable: (signal: AbortSignal) => Promise<void>;
}

/** The database channel that wakes the cleaner. */
export const MARKS_RAISED = 'marks-raised';
/** Milliseconds between searches for marks whose announcement was lost. */
const CLEAN_INTERVAL = 10_000;
/** Milliseconds after its mark in which a task is recorded. */
const LEFT_TO_TASKS = 60_000;
/** Milliseconds between checks of marks that were left to tasks: so many for each of them, and at least. */
const REVIEW_EACH = 100;
const REVIEW_INTERVAL = 60_000;
/** Milliseconds between searches for tile sets that no declaration reaches: a change of a declaration drops its own. */
const DROP_INTERVAL = 3_600_000;

export type Cleaner = ReturnType<typeof openCleaner>;

export function openCleaner(options: CleanerOptions) {
  const { database, lead, clock, log } = options;

  /** While this node leads. */
  async function run(signal: AbortSignal): Promise<void> {
    const seen = new Map<string, number>();
    let reviewAt = Number.NEGATIVE_INFINITY;
    let dropAt = clock.monotonic() + DROP_INTERVAL;
    const round = async () => {
      const isReview = clock.monotonic() >= reviewAt;
      if (isReview) seen.clear();
      const left = await cleanStores(options, seen, signal);
      if (isReview) reviewAt = clock.monotonic() + Math.max(REVIEW_INTERVAL, left * REVIEW_EACH);
      if (clock.monotonic() < dropAt) return;
      dropAt = clock.monotonic() + DROP_INTERVAL;
      await options.dropUnreachable(signal);
    };
    const failure = 'tiles of marks could not be removed; trying again';
    const listen = (wake: () => void) => database.listen(MARKS_RAISED, wake);
    const repeater = openRepeater(round, { clock, log, pause: CLEAN_INTERVAL, failure, listen });
    if (!signal.aborted) await once(signal, 'abort');
    await repeater.close();
  }

  return lead(run);
}

/** `seen`: the latest mark that was read, by store. Returns how many were left to tasks. */
async function cleanStores(
  { catalog, marksOfTasks, clock }: Pick<CleanerOptions, 'catalog' | 'marksOfTasks' | 'clock'>,
  seen: Map<string, number>,
  signal: AbortSignal,
): Promise<number> {
  let unfinished: Promise<ReadonlySet<string>> | null = null;
  let left = 0;
  const failures: unknown[] = [];

  async function isLeftToTask(name: string, { number, effect }: OpenMark): Promise<boolean> {
    if (!effect.byTask) return false;
    if (Math.abs(clock.now() - effect.at) < LEFT_TO_TASKS) return true;
    unfinished ??= marksOfTasks().then((tasks) => new Set(tasks.flatMap(namesOf)));
    return (await unfinished).has(`${name} ${number}`);
  }

  /** A failing layer does not prevent the clean-up of others. */
  async function clean(
    name: string,
    store: Store,
    mark: OpenMark,
    sets: readonly TileSetKey[],
  ): Promise<void> {
    signal.throwIfAborted();
    try {
      if (await isLeftToTask(name, mark)) left++;
      else await applyMark(store, mark, sets, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }

  async function cleanStore(name: string, store: Store): Promise<void> {
    for (;;) {
      const marks = await store.marks(seen.get(name) ?? 0);
      if (marks.length === 0) return;
      // A set that is not listed by now has no tile with an earlier ticket.
      const sets = await tileSetsIn(store, null);
      for (const mark of marks) {
        await clean(name, store, mark, sets);
        seen.set(name, mark.number);
      }
    }
  }

  for (const [name, store] of catalog.stores()) {
    await cleanStore(name, store).catch((error: unknown) => failures.push(error));
  }
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  return left;
}

function namesOf(marks: RaisedMarks): readonly string[] {
  return Object.entries(marks).map(([store, number]) => `${store} ${number}`);
}

/** Removes or outdates tiles with an earlier ticket, and closes the mark; repeatable. `sets`: all that may have any. */
export async function applyMark(
  store: Pick<Store, 'edit' | 'mark'>,
  mark: OpenMark,
  sets: readonly TileSetKey[],
  signal?: AbortSignal,
): Promise<void> {
  const { layer, number, effect, places } = mark;
  const { at, createdBefore } = effect;
  const edit = effect.type === 'hide' ? ({ type: 'remove' } as const) : ({ type: 'outdate', at } as const);
  const isIn = (set: TileSetKey) => (place: TilePlace) => place.gridSet === set.gridSet;
  for (const set of sets) {
    if (set.layer !== layer || !concerns(effect, set)) continue;
    for (const { z, rect, parts } of places?.filter(isIn(set)) ?? EVERY_LEVEL) {
      await store.edit(set, z, rect, { ...edit, before: number, createdBefore, within: parts }, signal);
    }
  }
  await store.mark({ type: 'close', numbers: [number] });
}
