import type { TileSetKey } from '../domain/tile-key.ts';
import { countTiles } from '../domain/tile-rect.ts';
import { NO_CHANGE, type StoreChange, sumOfChanges, type TileStore } from '../storage/tile-store.ts';
import { setsToEmpty } from './perform-step.ts';
import { makesTiles, type PlannedTask } from './plan-task.ts';
import type { Task } from './task.ts';
import { spanCount } from './task-plan.ts';
import type { TaskEstimate } from './task-service.ts';
import { rectsOf } from './tile-selection.ts';

const SAMPLED_PAGES = 256;

/** The cost of a planned task, from the stored tiles and the speed of earlier tasks of its kind. */
export async function estimateTask(planned: PlannedTask, earlier: readonly Task[]): Promise<TaskEstimate> {
  const { request, tiles, tilesTotal, coveredUse } = planned;
  const truncates = request.type === 'truncate';
  const cached = await countCached(
    planned,
    truncates ? await setsToEmpty(tiles.bound.store, tiles, request) : [tiles.set],
  );
  const disk = (await tiles.bound.store.room?.()) ?? null;
  const known = { cachedTiles: BigInt(cached.tiles), cachedBytes: BigInt(cached.bytes) };
  const figures = { disk, coveredUse, ...known };
  if (!makesTiles(request.type)) {
    const seconds = secondsFor(figures.cachedTiles, earlier, ({ counters }) => counters.removed);
    return {
      ...figures,
      tiles: figures.cachedTiles,
      metatiles: 0n,
      upstreamRequests: 0n,
      bytes: 0n,
      seconds,
    };
  }
  const metatiles = countMetatiles(planned);
  const tileBytes = await averageTileBytes(tiles.bound.store, tiles.set);
  const bytes = tileBytes === null ? null : BigInt(Math.round(Number(tilesTotal) * tileBytes));
  const seconds = secondsFor(tilesTotal, earlier, ({ tilesProcessed }) => Number(tilesProcessed));
  return { ...figures, tiles: tilesTotal, metatiles, upstreamRequests: metatiles, bytes, seconds };
}

/** By the store's indexes: it costs as much as is stored, however large the request is. */
async function countCached(
  { request, tiles, plan, levels, cover }: PlannedTask,
  sets: readonly TileSetKey[],
): Promise<StoreChange> {
  const { store } = tiles.bound;
  let counted = NO_CHANGE;
  for (const set of sets) {
    for (const { z, rect } of request.type === 'export' ? levels : plan.levels) {
      for await (const part of rectsOf(store, set, { z, rect, cover })) {
        counted = sumOfChanges([counted, await store.count(set, z, part)]);
      }
    }
  }
  return counted;
}

/** Exact for a rectangle; for an area in proportion to the tiles it covers. */
function countMetatiles({ plan, covered }: PlannedTask): bigint {
  const { levels, stepColumns, stepRows } = plan;
  let total = 0n;
  for (const [index, { rect }] of levels.entries()) {
    const columns = spanCount(rect.minX, rect.maxX, stepColumns);
    const whole = BigInt(columns) * BigInt(spanCount(rect.minY, rect.maxY, stepRows));
    const tiles = countTiles(rect);
    total += (whole * (covered[index] ?? 0n) + tiles - 1n) / tiles;
  }
  return total;
}

async function averageTileBytes(store: TileStore, set: TileSetKey): Promise<number | null> {
  const pages: StoreChange[] = [];
  for await (const page of store.pages(set)) if (pages.push(page) >= SAMPLED_PAGES) break;
  const { tiles, bytes } = sumOfChanges(pages);
  return tiles === 0 ? null : bytes / tiles;
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
