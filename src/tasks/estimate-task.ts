import type { TileSetKey } from '../domain/tile-key.ts';
import { NO_CHANGE, type StoreChange, sumOfChanges, type TileStore } from '../storage/tile-store.ts';
import { countCovered } from './area-cover.ts';
import { rectsOf } from './mass-truncation-selection.ts';
import { setsToEmpty } from './perform-step.ts';
import type { PlannedTask } from './plan-task.ts';
import type { Task } from './task.ts';
import { spanCount, type TaskPlan } from './task-plan.ts';
import type { TaskEstimate } from './task-service.ts';

/** Pages read for the average size of a tile. */
const SAMPLED_PAGES = 256;

/** What a planned task would cost, from the tiles that are stored and how fast earlier tasks of its kind went. */
export async function estimateTask(planned: PlannedTask, earlier: readonly Task[]): Promise<TaskEstimate> {
  const { request, tiles, tilesTotal, plan } = planned;
  const truncates = request.type === 'truncate';
  const cached = await countCached(
    planned,
    truncates ? await setsToEmpty(tiles, request.format) : [tiles.set],
  );
  const disk = (await tiles.bound.store.room?.()) ?? null;
  const figures = { disk, cachedTiles: BigInt(cached.tiles), cachedBytes: BigInt(cached.bytes) };
  if (truncates) {
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
  const metatiles = countMetatiles(planned, plan);
  const tileBytes = await averageTileBytes(tiles.bound.store, tiles.set);
  const bytes = tileBytes === null ? null : BigInt(Math.round(Number(tilesTotal) * tileBytes));
  const seconds = secondsFor(tilesTotal, earlier, ({ tilesProcessed }) => Number(tilesProcessed));
  return { ...figures, tiles: tilesTotal, metatiles, upstreamRequests: metatiles, bytes, seconds };
}

/** By the store's indexes: it costs as much as is stored, however large the request is. */
async function countCached(
  { tiles, plan, cover }: PlannedTask,
  sets: readonly TileSetKey[],
): Promise<StoreChange> {
  const { store } = tiles.bound;
  let counted = NO_CHANGE;
  for (const set of sets) {
    for (const { z, rect } of plan.levels) {
      for await (const part of rectsOf(store, set, { z, rect, cover })) {
        counted = sumOfChanges([counted, await store.count(set, z, part)]);
      }
    }
  }
  return counted;
}

/** Exact for a rectangle; for an area in proportion to the tiles it covers. */
function countMetatiles({ cover }: PlannedTask, { levels, stepColumns, stepRows }: TaskPlan): bigint {
  let total = 0n;
  for (const { z, rect } of levels) {
    const columns = spanCount(rect.minX, rect.maxX, stepColumns);
    const whole = BigInt(columns) * BigInt(spanCount(rect.minY, rect.maxY, stepRows));
    const tiles = countCovered(null, z, rect);
    const covered = countCovered(cover, z, rect);
    total += covered === 0n ? 0n : (whole * covered + tiles - 1n) / tiles;
  }
  return total;
}

async function averageTileBytes(store: TileStore, set: TileSetKey): Promise<number | null> {
  const pages: StoreChange[] = [];
  for await (const page of store.pages(set)) if (pages.push(page) >= SAMPLED_PAGES) break;
  const { tiles, bytes } = sumOfChanges(pages);
  return tiles === 0 ? null : bytes / tiles;
}

/** By tasks of the same kind that have ended. */
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
