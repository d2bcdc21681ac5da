import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { countTiles, type TileRect } from '../domain/tile-rect.ts';
import { freshSince } from '../pipeline/freshness.ts';
import { rectsOf } from '../removal/tile-selection.ts';
import { countStored, presentTiles, tileSetsIn } from '../storage/read-tiles.ts';
import {
  type LevelUsage,
  NO_CHANGE,
  type Store,
  type StoreChange,
  type StoreRoom,
  sumOfChanges,
} from '../storage/store.ts';
import { setsToEmpty } from './perform-step.ts';
import { makesTiles, type PlannedTask } from './plan-task.ts';
import type { Task } from './task.ts';
import { spanCount } from './task-plan.ts';

/** Work on one zoom. */
export interface ZoomEstimate {
  readonly z: number;
  readonly tiles: bigint;
  readonly metatiles: bigint;
  readonly cachedTiles: bigint;
  readonly cachedBytes: bigint;
  /** Cached tiles that a seed renews: expired or invalidated. Estimated from a sample if there are many tiles. */
  readonly staleTiles: bigint;
}

/** The sums of all zooms; of a truncate, `tiles` are only the cached ones. */
export interface TaskEstimate extends Omit<ZoomEstimate, 'z'> {
  readonly upstreamRequests: bigint;
  /** Size of all tiles, cached ones included; null: no basis for an estimate yet. */
  readonly bytes: bigint | null;
  /** Size of tiles stored in addition to the cached ones: a range where few tiles of a zoom are known. */
  readonly addedBytes: { readonly least: bigint; readonly most: bigint } | null;
  /** In ascending order. */
  readonly zooms: readonly ZoomEstimate[];
  readonly seconds: number | null;
  /** For an order by use: the share of all uses that the pages have; otherwise null. */
  readonly coveredUse: number | null;
  /** Free space of the disk with the tiles; null: no disk. */
  readonly disk: StoreRoom | null;
}

/** Limit of tiles whose age is checked one by one; the rest is estimated from their share. */
const MAX_EXAMINED = 100_000;

/**
 * The cost of a planned task, from the stored tiles and the speed of earlier tasks of its kind; of tasks for several
 * `combinations` of format and parameters together.
 */
export async function estimateTask(
  planned: PlannedTask,
  earlier: readonly Task[],
  now: number,
  combinations = 1,
): Promise<TaskEstimate> {
  const { request, tiles, coveredUse } = planned;
  const { store } = tiles.bound;
  const sets = await setsOf(planned, combinations > 1);
  const makes = makesTiles(request.type);
  const zooms = await zoomsOf(planned, sets, makes ? now : null, BigInt(combinations));
  const disk = (await store.room?.()) ?? null;
  const sum = (of: (zoom: ZoomEstimate) => bigint) => zooms.reduce((total, zoom) => total + of(zoom), 0n);
  const figures = {
    disk,
    coveredUse,
    zooms,
    cachedTiles: sum((zoom) => zoom.cachedTiles),
    cachedBytes: sum((zoom) => zoom.cachedBytes),
    staleTiles: sum((zoom) => zoom.staleTiles),
  };
  if (!makes) {
    const seconds = secondsFor(figures.cachedTiles, earlier, ({ counters }) => counters.removed);
    const nothing = { metatiles: 0n, upstreamRequests: 0n, bytes: 0n, addedBytes: { least: 0n, most: 0n } };
    return { ...figures, ...nothing, tiles: figures.cachedTiles, seconds };
  }
  const metatiles = sum((zoom) => zoom.metatiles);
  const all = sum((zoom) => zoom.tiles);
  const seconds = secondsFor(all, earlier, ({ tilesProcessed }) => Number(tilesProcessed));
  const sizes = await expectedSizes(store, sets, zooms);
  return { ...figures, ...sizes, tiles: all, metatiles, upstreamRequests: metatiles, seconds };
}

/** Tile sets of the current declaration, without former ones. */
async function setsOf({ request, tiles }: PlannedTask, every: boolean): Promise<readonly TileSetKey[]> {
  const { bound, set } = tiles;
  if (request.type === 'truncate') return setsToEmpty(bound.store, tiles, request);
  if (!every) return [set];
  const formats = bound.layer.formats.map(({ mediaType }) => mediaType);
  const sets: TileSetKey[] = [];
  for (const one of await tileSetsIn(bound.store, set.layer)) {
    const isRead = !bound.incarnation || bound.incarnation(one) === (one.incarnation ?? '');
    if (one.gridSet === set.gridSet && formats.includes(one.format) && isRead) sets.push(one);
  }
  return sets;
}

/** Counts by zoom, in ascending order. `now` null: the freshness of tiles does not matter. */
async function zoomsOf(
  planned: PlannedTask,
  sets: readonly TileSetKey[],
  now: number | null,
  combinations: bigint,
): Promise<readonly ZoomEstimate[]> {
  const { request, tiles, plan, covered, cover } = planned;
  const { store, layer } = tiles.bound;
  const levels = request.type === 'export' ? planned.levels : plan.levels;
  const zooms = new Map<number, ZoomEstimate>();
  const examined = MAX_EXAMINED / Math.max(1, new Set(levels.map(({ z }) => z)).size * sets.length);
  for (const [index, { z, rect }] of levels.entries()) {
    const before = zooms.get(z);
    const expected = (covered[index] ?? 0n) * combinations;
    let cached = { ...NO_CHANGE, stale: 0 };
    for (const set of sets) {
      const fresh = now === null ? null : { since: freshSince(layer, z, now), now, examined };
      const here = await countCached(store, set, z, rectsOf(store, set, { z, rect, cover }), fresh);
      cached = { ...sumOfChanges([cached, here]), stale: cached.stale + here.stale };
    }
    zooms.set(z, {
      z,
      tiles: (before?.tiles ?? 0n) + expected,
      metatiles: (before?.metatiles ?? 0n) + countMetatiles(planned, rect, covered[index]) * combinations,
      cachedTiles: (before?.cachedTiles ?? 0n) + BigInt(cached.tiles),
      cachedBytes: (before?.cachedBytes ?? 0n) + BigInt(cached.bytes),
      staleTiles: (before?.staleTiles ?? 0n) + BigInt(cached.stale),
    });
  }
  return [...zooms.values()].sort((a, b) => a.z - b.z);
}

interface Freshness {
  readonly since: number;
  readonly now: number;
  /** Tiles to check; at least those of one block. */
  readonly examined: number;
}

/** Counts stored tiles, and estimates the stale ones. The cost grows with the stored tiles, not with the request. */
async function countCached(
  store: Store,
  set: TileSetKey,
  z: number,
  rects: AsyncIterable<TileRect>,
  freshness: Freshness | null,
): Promise<StoreChange & { readonly stale: number }> {
  let counted = NO_CHANGE;
  let [examined, stale] = [0, 0];
  for await (const rect of rects) {
    const here = await countStored(store, set, z, rect);
    counted = sumOfChanges([counted, here]);
    if (!freshness || here.tiles === 0 || examined >= freshness.examined) continue;
    const fresh = await presentTiles(store, set, z, rect, freshness.since, freshness.now);
    examined += here.tiles;
    stale += Math.max(0, here.tiles - fresh.length);
  }
  return { ...counted, stale: examined === 0 ? 0 : Math.round((stale * counted.tiles) / examined) };
}

/** Exact for a rectangle; for an area in proportion to the tiles it covers. */
function countMetatiles({ plan, request }: PlannedTask, rect: TileRect, covered = 0n): bigint {
  if (!makesTiles(request.type)) return 0n;
  const { stepColumns, stepRows } = plan;
  const columns = spanCount(rect.minX, rect.maxX, stepColumns);
  const whole = BigInt(columns) * BigInt(spanCount(rect.minY, rect.maxY, stepRows));
  const tiles = countTiles(rect);
  return (whole * covered + tiles - 1n) / tiles;
}

function secondsFor(tiles: bigint, earlier: readonly Task[], workOf: (task: Task) => number): number | null {
  let work = 0;
  let milliseconds = 0;
  for (const task of earlier) {
    if (task.startedAt === null || task.endedAt === null) continue;
    work += workOf(task);
    milliseconds += Math.max(1, task.endedAt - task.startedAt);
  }
  return work === 0 ? null : Math.ceil((Number(tiles) * milliseconds) / work / 1000);
}

/** So many tiles of a zoom give a reliable mean size. */
const ENOUGH_SAMPLES = 32;
/** A tile without a picture: at a zoom without samples, all tiles may be empty. */
const BLANK_TILE_BYTES = 300;

interface Mean {
  readonly z: number;
  readonly bytes: number;
  readonly isSure: boolean;
}

/** The size of all tiles, and a range for the part that is not stored yet. Null: no stored tiles to estimate from. */
export async function expectedSizes(
  store: Store,
  sets: readonly TileSetKey[],
  zooms: readonly ZoomEstimate[],
): Promise<Pick<TaskEstimate, 'bytes' | 'addedBytes'>> {
  const own = await meansOf(store, sets, zooms);
  const means = own.length > 0 ? own : await meansElsewhere(store, sets);
  const sum = (of: (zoom: ZoomEstimate) => number) =>
    BigInt(Math.round(zooms.reduce((total, zoom) => total + of(zoom), 0)));
  if (means.length === 0) return { bytes: null, addedBytes: null };
  const nearest = (z: number) => means.reduce((a, b) => (Math.abs(b.z - z) < Math.abs(a.z - z) ? b : a));
  const sure = (z: number) => means.find((mean) => mean.z === z && mean.isSure)?.bytes;
  const [least, most] = [
    Math.min(BLANK_TILE_BYTES, ...means.map(({ bytes }) => bytes)),
    Math.max(...means.map(({ bytes }) => bytes)),
  ];
  const missing = ({ tiles, cachedTiles }: ZoomEstimate) => Math.max(0, Number(tiles - cachedTiles));
  return {
    bytes: sum(({ z, tiles }) => Number(tiles) * nearest(z).bytes),
    addedBytes: {
      least: sum((zoom) => missing(zoom) * (sure(zoom.z) ?? least)),
      most: sum((zoom) => missing(zoom) * (sure(zoom.z) ?? most)),
    },
  };
}

/** Mean sizes by zoom, from the tiles of the request or else from others of the zoom. */
async function meansOf(
  store: Store,
  sets: readonly TileSetKey[],
  zooms: readonly ZoomEstimate[],
): Promise<readonly Mean[]> {
  const means: Mean[] = [];
  for (const { z, tiles, cachedTiles, cachedBytes } of zooms) {
    const here = { tiles: Number(cachedTiles), bytes: Number(cachedBytes) };
    const ofZoom = async () => (await levelsOf(store, sets)).filter((level) => level.z === z);
    const sample = here.tiles >= ENOUGH_SAMPLES ? here : sumOfChanges(await ofZoom());
    if (sample.tiles === 0) continue;
    const isSure = sample.tiles >= ENOUGH_SAMPLES || BigInt(sample.tiles) >= tiles;
    means.push({ z, bytes: sample.bytes / sample.tiles, isSure });
  }
  return means;
}

/** Mean sizes of zooms outside the request. */
async function meansElsewhere(store: Store, sets: readonly TileSetKey[]): Promise<readonly Mean[]> {
  const levels = await levelsOf(store, sets);
  return levels.map(({ z, tiles, bytes }) => ({ z, bytes: bytes / tiles, isSure: false }));
}

async function levelsOf(store: Store, sets: readonly TileSetKey[]): Promise<readonly LevelUsage[]> {
  const ids = new Set(sets.map(tileSetId));
  return (await store.usage(sets[0]?.layer)).levels.filter(({ set }) => ids.has(tileSetId(set)));
}
