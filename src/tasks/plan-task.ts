import { type BoundLayer, boundLayer } from '../catalog/catalog.ts';
import { type AreaCover, countInTurns, createAreaCover, zoomGeometryOf } from '../domain/area-cover.ts';
import { areaIn } from '../domain/area-in-grid-set.ts';
import {
  type Bounds,
  boundsOfPoints,
  expandBounds,
  intersectBounds,
  type Polygon,
} from '../domain/bounds.ts';
import { invalid, isTilewardenError } from '../domain/errors.ts';
import { levelOf } from '../domain/grid-set.ts';
import { type GridSubset, type TileRangeLevel, tileRangeOf } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import type { MetatileSize } from '../domain/metatile.ts';
import { sameSrs } from '../domain/srs.ts';
import type { Pace } from '../lib/yielding.ts';
import { onlyForCallers } from '../pipeline/passed-reads.ts';
import { metatileSizeOf, resolveTileSet } from '../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../pipeline/tile-pipeline.ts';
import { cutExportPlan, cutSeedPlan, cutTruncatePlan, onlyPages, type PagePlace } from './cut-plan.ts';
import { selectUsed, type UsedPages, useOrderOf } from './pages-by-use.ts';
import type { NewTask, TaskStore } from './store/task-store.ts';
import { EVERY_FORMAT, isFinal, type TaskRequest, type TaskType, WORK_TYPES } from './task.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskPlan } from './task-plan.ts';

export type PlannedTask = Awaited<ReturnType<typeof planTask>>;

interface PlanOptions {
  readonly layer: (name: string) => BoundLayer | null;
  readonly maxThreadCount: number;
  /** The pace of counting an area; a unit is an edge. */
  readonly pace: Pace;
  readonly usedPages?: UsedPages;
}

/** The database's largest integer. */
const MAX_TILES = 2n ** 63n - 1n;
export const MAX_PRIORITY = 10;
const DEFAULT_RETRY_COUNT = 2;
const MAX_RETRY_COUNT = 100;
/** Milliseconds. */
const DEFAULT_RETRY_WAIT = 1000;
const MAX_RETRY_WAIT = 3_600_000;
const DEFAULT_FAILURE_LIMIT = 1000;
/** In tiles of the deepest zoom: the buffer of a point or line, so that it covers a tile. */
const HAIR = 1e-6;

/** Fills in defaults, checks all names and numbers, and counts exactly. Reads no store but for recorded uses. */
export async function planTask(draft: TaskDraft, options: PlanOptions) {
  const bound = boundLayer(options, draft.layer);
  const type = draft.archive ? 'export' : typeOf(draft.type);
  const everyFormat = type === 'truncate' && draft.format === EVERY_FORMAT;
  if (everyFormat && draft.parameters?.size) throw invalid('parameters cannot be given with format *.');
  const { format: _, ...formatless } = draft;
  const tiles = draftTileSet(bound, everyFormat ? formatless : draft);
  const { subset } = tiles;
  const { passCredentials } = bound.layer;
  if (passCredentials && type !== 'truncate') throw onlyForCallers(draft.layer);
  const zooms = zoomsOf(draft, makesTiles(type) ? keptZooms(subset) : subset);
  const area = areaIn(subset.gridSet, draft.area);
  const bounds = boundsOf(draft, subset, zooms, area);
  const { levels } = tileRangeOf(subset, zooms.start, zooms.stop, bounds);
  const geometry = area && levels.map(({ z }) => zoomGeometryOf(subset.gridSet, z, draft.buffer));
  const cover = area && geometry && createAreaCover(area, geometry);
  const threadCount = threadsOf(draft, type, options.maxThreadCount);
  const request: TaskRequest = {
    layer: bound.layer.name,
    type,
    gridSet: tiles.set.gridSet,
    format: everyFormat ? EVERY_FORMAT : tiles.set.format,
    parameters: everyFormat ? {} : Object.fromEntries(tiles.selection.values),
    parametersId: tiles.set.parametersId,
    zoomStart: zooms.start,
    zoomStop: zooms.stop,
    bounds,
    area,
    ...(draft.areaName !== undefined && { areaName: draft.areaName }),
    onlyStale: type === 'seed' && (draft.onlyStale ?? false),
    threadCount,
    ...failureRulesOf(draft.archive ? { ...draft, tileFailureRetryCount: 0 } : draft),
    priority: draft.priority ?? 0,
    ...useOrderOf(draft, makesTiles(type)),
  };
  const whole = cutPlan(request, levels, () => metatileSizeOf(tiles), geometry);
  const used = draft.uses ?? options.usedPages?.(tiles.set) ?? [];
  const byUse = request.share === undefined ? null : await selectUsed(whole, used, request.share);
  const plan = pagesOnly(whole, draft, byUse?.pages ?? null);
  const covered = await countLevels(plan.levels, cover, options.pace);
  const total = totalOf(covered, byUse !== null);
  const tilesTotal = type === 'export' ? 0n : total;
  return { request, plan, levels, tiles, cover, covered, tilesTotal, coveredUse: byUse?.covered ?? null };
}

function pagesOnly(whole: TaskPlan, { pages }: TaskDraft, used: readonly PagePlace[] | null): TaskPlan {
  if (used) return onlyPages(whole, used, true);
  return pages ? onlyPages(whole, pages) : whole;
}

function cutPlan(
  { type, threadCount }: TaskRequest,
  levels: readonly TileRangeLevel[],
  metatile: () => MetatileSize,
  geometry: TaskPlan['geometry'],
): TaskPlan {
  if (type === 'export') return cutExportPlan(levels, geometry);
  if (type === 'truncate') return cutTruncatePlan(levels, geometry);
  return cutSeedPlan(levels, metatile(), threadCount, geometry);
}

export function makesTiles(type: TaskType): boolean {
  return type === 'seed' || type === 'reseed';
}

function typeOf(type = 'seed'): TaskType {
  const match = WORK_TYPES.find((known) => known === type.toLowerCase());
  if (match) return match;
  throw invalid(`type ${JSON.stringify(type)} is unknown; allowed: ${WORK_TYPES.join(', ')}.`);
}

function draftTileSet(bound: BoundLayer, draft: TaskDraft): ResolvedTileSet {
  const names = {
    gridSet: gridSetNameOf(bound.layer, draft),
    format: draft.format ?? null,
    parameters: draft.parameters ?? new Map<string, string>(),
  };
  try {
    return resolveTileSet(bound, names);
  } catch (error) {
    if (isTilewardenError(error, 'grid-set-unknown')) throw invalid(`gridSetId: ${error.message}`);
    if (isTilewardenError(error, 'format-unknown')) throw invalid(`format: ${error.message}`);
    throw error;
  }
}

/** `gridSetId` wins over `srs`; with neither, null for the layer's first. */
function gridSetNameOf(layer: Layer, { gridSetId, srs }: TaskDraft): string | null {
  if (gridSetId !== undefined) return gridSetId;
  if (srs === undefined) return null;
  const matching = layer.gridSubsets.filter(({ gridSet }) => sameSrs(gridSet.srs, srs));
  const [only, another] = matching;
  if (!only) {
    const offered = layer.gridSubsets
      .map(({ gridSet }) => `${gridSet.name} (EPSG:${gridSet.srs})`)
      .join(', ');
    throw invalid(`srs ${srs} is of none of the grid sets of layer ${layer.name}: ${offered}.`);
  }
  if (another) {
    const names = matching.map(({ gridSet }) => gridSet.name).join(', ');
    throw invalid(`gridSetId must be specified: several grid sets have srs ${srs} (${names}).`);
  }
  return only.gridSet.name;
}

/** Other zooms are not stored, or not visible to clients. */
function keptZooms({ cachedStart, cachedStop, shownStart, shownStop }: GridSubset): Zooms {
  return { zoomStart: Math.max(cachedStart, shownStart), zoomStop: Math.min(cachedStop, shownStop) };
}

type Zooms = Pick<GridSubset, 'zoomStart' | 'zoomStop'>;

function zoomsOf(draft: TaskDraft, subset: Zooms): { start: number; stop: number } {
  const start = wholeNumber('zoomStart', draft.zoomStart) ?? subset.zoomStart;
  const last = wholeNumber('zoomStop', draft.zoomStop) ?? subset.zoomStop;
  const stop = Math.min(last, subset.zoomStop);
  if (start > stop) {
    throw invalid(
      `zoomStart ${start} must not be greater than zoomStop ${stop}; the layer has zooms ${subset.zoomStart} to ${subset.zoomStop}.`,
    );
  }
  if (stop < subset.zoomStart) {
    throw invalid(`zoomStop ${stop} is below the layer's first zoom, ${subset.zoomStart}.`);
  }
  return { start: Math.max(start, subset.zoomStart), stop };
}

function wholeNumber(field: string, value: number | undefined): number | null {
  if (value === undefined) return null;
  if (Number.isInteger(value) && value >= 0) return value;
  throw invalid(`${field} must be a whole number from 0, not ${value}.`);
}

function boundsOf(
  draft: TaskDraft,
  subset: GridSubset,
  zooms: { readonly start: number; readonly stop: number },
  area: readonly Polygon[] | null,
): Bounds {
  const level = levelOf(subset.gridSet, zooms.stop);
  let bounds: Bounds | null = subset.extent;
  if (draft.coords) {
    const box = widened(boxIn(draft.coords), level.tileSpanX * HAIR, level.tileSpanY * HAIR);
    bounds = intersectBounds(box, bounds);
  }
  if (!bounds) throw invalid(`bounds lie outside the layer, which covers ${describe(subset.extent)}.`);
  if (!area) return bounds;
  // The widest buffer is that of the first zoom; at others the cover removes the excess.
  const widest = zoomGeometryOf(subset.gridSet, zooms.start, draft.buffer);
  const { buffer = 0, tileSpanX, tileSpanY } = widest;
  const within = intersectBounds(
    expandBounds(boundsOfPoints(area.flat(2)), buffer * tileSpanX, buffer * tileSpanY),
    bounds,
  );
  if (!within) throw invalid(`area lies outside ${describe(bounds)}.`);
  return within;
}

function boxIn(coords: readonly number[]): Bounds {
  const [minX, minY, maxX, maxY] = coords;
  const four = coords.length === 4 && coords.every((value) => Number.isFinite(value));
  if (!four || minX === undefined || minY === undefined || maxX === undefined || maxY === undefined) {
    throw invalid('bounds must be four numbers: minX, minY, maxX, maxY.');
  }
  if (minX <= maxX && minY <= maxY) return { minX, minY, maxX, maxY };
  throw invalid(`bounds must have minX <= maxX and minY <= maxY, not ${coords.join(', ')}.`);
}

function widened(bounds: Bounds, dx: number, dy: number): Bounds {
  const flatX = bounds.minX === bounds.maxX ? dx : 0;
  const flatY = bounds.minY === bounds.maxY ? dy : 0;
  return {
    minX: bounds.minX - flatX,
    minY: bounds.minY - flatY,
    maxX: bounds.maxX + flatX,
    maxY: bounds.maxY + flatY,
  };
}

async function countLevels(levels: TaskPlan['levels'], cover: AreaCover | null, pace: Pace) {
  const counts: bigint[] = [];
  for (const { z, rect } of levels) counts.push(await countInTurns(cover, z, rect, pace));
  return counts;
}

function totalOf(counts: readonly bigint[], mayBeEmpty: boolean): bigint {
  const total = counts.reduce((sum, count) => sum + count, 0n);
  if (total === 0n && !mayBeEmpty) throw invalid('the request holds no tile of the layer.');
  if (total > MAX_TILES) throw invalid(`the request holds ${total} tiles, more than can be counted.`);
  return total;
}

function threadsOf({ threadCount }: TaskDraft, type: TaskType, max: number): number {
  if (type === 'truncate' || threadCount === undefined) return 1;
  if (Number.isNaN(threadCount)) throw invalid('threadCount must be a number.');
  return Math.max(1, Math.min(Math.floor(threadCount), max));
}

function failureRulesOf(draft: TaskDraft) {
  const limits = [draft.tileFailureRetryCount, draft.totalFailuresBeforeAborting];
  return {
    waitsForHosts: !limits.some((value) => value !== undefined && value >= 0),
    tileFailureRetryCount: limited(draft.tileFailureRetryCount, DEFAULT_RETRY_COUNT, MAX_RETRY_COUNT),
    tileFailureRetryWaitTime: limited(draft.tileFailureRetryWaitTime, DEFAULT_RETRY_WAIT, MAX_RETRY_WAIT),
    totalFailuresBeforeAborting: limited(
      draft.totalFailuresBeforeAborting,
      DEFAULT_FAILURE_LIMIT,
      Number.MAX_SAFE_INTEGER,
    ),
  };
}

/** GeoWebCache's clients send -1 for "as usual". */
function limited(value: number | undefined, usual: number, max: number): number {
  if (value === undefined || Number.isNaN(value) || value < 0) return usual;
  return Math.min(Math.floor(value), max);
}

function describe({ minX, minY, maxX, maxY }: Bounds): string {
  return [minX, minY, maxX, maxY].join(', ');
}

/** Failed steps that one new task repeats; the rest stays with the old task for another. */
const MAX_STEPS = 10_000;

/** A task over the failed steps of a finished one; null if it is not finished or nothing failed. */
export async function planRetry(
  store: TaskStore,
  id: number,
): Promise<Pick<NewTask, 'request' | 'plan' | 'tilesTotal'> | null> {
  const task = await store.get(id);
  const old = await store.plan(id);
  if (!task || !old || !isFinal(task.state)) return null;
  const failed = await store.givenUp(id, MAX_STEPS);
  if (failed.length === 0) return null;
  const plan: TaskPlan = {
    ...old,
    levels: failed.map(({ z, rect }) => ({
      z,
      rect,
      blockColumns: old.stepColumns,
      blockRows: old.stepRows,
    })),
  };
  const tilesTotal = failed.reduce((sum, { tiles }) => sum + tiles, 0n);
  return { request: task.request, plan, tilesTotal };
}
