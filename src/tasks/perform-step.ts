import { storesOf } from '../catalog/catalog.ts';
import { countCovered, coveredRects } from '../domain/area-cover.ts';
import { boundsAround } from '../domain/bounds.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { type HostClosed, hostClosedIn, isHostAway } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import { metatilesIn } from '../pipeline/resolve-tile-set.ts';
import type { RenewMode, RenewResult, ResolvedTileSet, TilePipeline } from '../pipeline/tile-pipeline.ts';
import { rectsOf, selects } from '../removal/tile-selection.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import { NO_CHANGE, type Store, type StoreChange, sumOfChanges } from '../storage/store.ts';
import { type Exporter, type ExportWork, isStoreAway } from './exporter.ts';
import { type Counts, NO_COUNTS } from './store/lease.ts';
import { EVERY_FORMAT, type TaskRequest, type TaskWait } from './task.ts';

export interface StepContext extends ExportWork {
  readonly pipeline: TilePipeline;
  readonly clock: Clock;
  /** Called when the step begins to wait for a host or a store. */
  readonly waits: (wait: TaskWait) => void;
  readonly exporter: Exporter | null;
  readonly sent: () => void;
  /** One for each request that may be under way at the upstream. */
  readonly threads: Semaphore;
}

/** Immediate retries of a step that did not cause its failure. */
const MAX_RETRIES = 10;
/** An hour, with the pause below: an administrator has to make room first. */
const MAX_RETRIES_FULL_DISK = 720;
/** About two minutes, with pauses of `MAX_PAUSE` after the first few. */
const MAX_RETRIES_FAILING_STORE = 30;
/** Milliseconds that a step waits for a paused host: each time, and in all. */
const MAX_HOST_WAIT = 5000;
const MAX_HOST_WAITS_MS = 10_000;
const MIN_HOST_WAIT = 50;
const MAX_RETRIES_HOST_AWAY = 6;
const AWAY_PAUSE = 1000;
/** Seconds. */
const USUAL_PAUSE = 1;
const MAX_PAUSE = 5;
const FULL_DISK_PAUSE = 5;

/** Performs a step or throws; `HostClosed`: it has to be done later. Null: the area has no tiles of the step. */
export async function performStep(step: TileRangeLevel, context: StepContext): Promise<Counts | null> {
  const { request } = context.lease;
  const exports = request.type === 'export';
  const expected = exports ? null : countCovered(context.cover, step.z, step.rect);
  if (expected === 0n) return null;
  let hostWaitLeft = MAX_HOST_WAITS_MS;
  let attempt = 0;
  const again = (error: unknown) => worthWaiting(error, ++attempt, context);
  for (;;) {
    try {
      if (expected === null) return await exportLayer(context);
      if (request.type === 'truncate') return await removeTiles(step, expected, context);
      return await renewTiles(step, Number(expected), context, again);
    } catch (error) {
      context.signal.throwIfAborted();
      const closed = hostClosedIn(error);
      if (closed && (request.waitsForHosts || closed.closing.reason !== 'failing')) {
        hostWaitLeft -= await waitForHost(closed, hostWaitLeft, context);
        continue;
      }
      if (!(await again(error))) throw error;
    }
  }
}

/** Throws `closed` if the wait is too long: the thread can work for other tasks. Returns the milliseconds waited. */
async function waitForHost(closed: HostClosed, waitLeft: number, context: StepContext): Promise<number> {
  const wait = Math.max(MIN_HOST_WAIT, closed.closing.until - context.clock.now());
  if (wait > Math.min(waitLeft, MAX_HOST_WAIT)) throw closed;
  context.waits({ host: closed.host, ...closed.closing });
  await context.clock.sleep(wait, context.signal);
  return wait;
}

async function exportLayer(context: StepContext): Promise<null> {
  await context.exporter?.perform(context);
  return null;
}

function maxRetries(error: unknown, { lease, tiles }: StepContext): number {
  const exports = lease.request.type === 'export';
  if (isHostAway(error)) return MAX_RETRIES_HOST_AWAY;
  if (exports && isStoreAway(error)) return tiles.bound.store.files ? Number.POSITIVE_INFINITY : 0;
  if (isStoreAway(error)) return MAX_RETRIES_FAILING_STORE;
  if (isTilewardenError(error, 'store-full')) return exports ? 0 : MAX_RETRIES_FULL_DISK;
  return MAX_RETRIES;
}

/**
 * Whether to try again, after a pause: a truncation is later than the fetch, the upstream is unavailable or sent
 * `Retry-After`, the disk is full for now, or the store fails.
 */
async function worthWaiting(error: unknown, attempt: number, context: StepContext): Promise<boolean> {
  const { clock, signal } = context;
  if (attempt >= maxRetries(error, context)) return false;
  if (isTilewardenError(error, 'generation-stale')) return true;
  if (isStoreAway(error) || isTilewardenError(error, 'store-full')) {
    const reason = isStoreAway(error) ? 'store-failed' : 'store-full';
    const seconds = Math.min(reason === 'store-full' ? FULL_DISK_PAUSE : attempt, MAX_PAUSE);
    const until = clock.now() + 2 * seconds * 1000;
    context.waits({ reason, until, message: error.message });
    await clock.sleep(seconds * 1000, signal);
    return true;
  }
  if (!context.lease.request.waitsForHosts) return false;
  if (isHostAway(error)) {
    await clock.sleep(AWAY_PAUSE, signal);
    return true;
  }
  if (!isTilewardenError(error, 'source-busy')) return false;
  const seconds = Math.min(error.retryAfterSeconds ?? USUAL_PAUSE, MAX_PAUSE);
  await clock.sleep(seconds * 1000, signal);
  return true;
}

function modeOf({ type, onlyStale }: TaskRequest): RenewMode {
  if (type === 'reseed') return 'all';
  return onlyStale ? 'stale' : 'missing';
}

async function renewTiles(
  step: TileRangeLevel,
  expected: number,
  context: StepContext,
  storeAgain: (error: unknown) => Promise<boolean>,
): Promise<Counts> {
  let sum: RenewResult = NO_COUNTS;
  const rect = boundsAround([...coveredRects(context.cover, step.z, step.rect)]);
  // By the current layer: its metatiles may have changed since the task was cut into steps.
  for (const { metatile, within } of metatilesIn(context.tiles, step.z, rect)) {
    sum = addResults(sum, await renewMetatile(metatile, within, context, storeAgain));
  }
  if (sum.made + sum.present < expected) {
    throw new TilewardenError('tile-outside', 'The layer no longer offers these tiles.');
  }
  // Where an area covers only part of a metatile, the other tiles are made too but not counted.
  const made = Math.min(sum.made, expected);
  return {
    processed: BigInt(expected),
    made,
    present: expected - made,
    removed: 0,
    blank: Math.min(sum.blank, made),
    bytes: sum.bytes,
    upstreamRequests: 0,
  };
}

/** Holds a thread only during the upstream request, not while tiles are looked up, cut or stored. */
async function renewMetatile(
  metatile: Metatile,
  within: TileRect,
  context: StepContext,
  storeAgain: (error: unknown) => Promise<boolean>,
): Promise<RenewResult> {
  const { tiles, pipeline, signal, sent } = context;
  const { taskId: task, token: lease, request } = context.lease;
  let giveBack = () => {};
  const turn = async () => {
    giveBack();
    giveBack = await context.threads.acquire(signal);
  };
  try {
    const mode = modeOf(request);
    return await pipeline.renew({
      tiles,
      metatile,
      within,
      mode,
      task,
      lease,
      signal,
      sent,
      storeAgain,
      turn,
      answered: () => giveBack(),
    });
  } finally {
    giveBack();
  }
}

export function addResults(a: RenewResult, b: RenewResult): RenewResult {
  return {
    made: a.made + b.made,
    present: a.present + b.present,
    blank: a.blank + b.blank,
    bytes: a.bytes + b.bytes,
    upstreamRequests: a.upstreamRequests + b.upstreamRequests,
  };
}

/** Includes former declarations: if one comes back, its tiles would be shown again. */
export async function setsToEmpty(
  store: Store,
  { set: { layer, gridSet } }: ResolvedTileSet,
  request: TaskRequest,
): Promise<readonly TileSetKey[]> {
  const selection = { gridSets: [gridSet], ...partitionOf(request) };
  return (await tileSetsIn(store, layer)).filter((set) => selects(selection, set));
}

/** The formats and parameters that a truncation selects. */
export function partitionOf({ format, parametersId }: TaskRequest) {
  return format === EVERY_FORMAT ? {} : { formats: [format], parametersId };
}

/** Tiles stored after the truncation was accepted stay, even if this runs late. */
async function removeFrom(
  name: string,
  store: Store,
  step: TileRangeLevel,
  { tiles, signal, cover, lease }: StepContext,
): Promise<StoreChange> {
  const edit = { type: 'remove', before: lease.plan.raised?.[name] } as const;
  let removed = NO_CHANGE;
  for (const set of await setsToEmpty(store, tiles, lease.request)) {
    const rects = cover ? rectsOf(store, set, { ...step, cover }) : [step.rect];
    for await (const rect of rects) {
      removed = sumOfChanges([removed, await store.edit(set, step.z, rect, edit, signal)]);
    }
  }
  return removed;
}

async function removeTiles(step: TileRangeLevel, expected: bigint, context: StepContext): Promise<Counts> {
  let removed = NO_CHANGE;
  for (const [name, store] of storesOf(context.tiles.bound)) {
    removed = sumOfChanges([removed, await removeFrom(name, store, step, context)]);
  }
  return { ...NO_COUNTS, processed: expected, removed: removed.tiles, bytes: removed.bytes };
}
