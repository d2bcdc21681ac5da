import type { TileSetKey } from '../domain/tile-key.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { countCovered } from './area-cover.ts';
import type { PlannedTask } from './plan-task.ts';
import type { Task } from './task.ts';
import type { TaskPlan } from './task-plan.ts';
import type { TaskEstimate } from './task-service.ts';

/** Pages looked at for the size of a tile. */
const SAMPLED_PAGES = 256;

/** What a planned task would cost, from what is stored of its tile set and how fast earlier tasks went. */
export async function estimateTask(planned: PlannedTask, earlier: readonly Task[]): Promise<TaskEstimate> {
  const { request, tiles, tilesTotal, plan } = planned;
  if (request.type === 'truncate') {
    return {
      tiles: tilesTotal,
      metatiles: 0n,
      upstreamRequests: 0n,
      bytes: 0n,
      seconds: secondsFor(tilesTotal, earlier),
    };
  }
  const metatiles = countMetatiles(planned, plan);
  const tileBytes = await averageTileBytes(tiles.bound.store, tiles.set);
  return {
    tiles: tilesTotal,
    metatiles,
    upstreamRequests: metatiles,
    bytes: tileBytes === null ? null : BigInt(Math.round(Number(tilesTotal) * tileBytes)),
    seconds: secondsFor(tilesTotal, earlier),
  };
}

/** Exact for a rectangle; for an area in proportion to the tiles it covers. */
function countMetatiles({ cover }: PlannedTask, { levels, stepColumns, stepRows }: TaskPlan): bigint {
  let total = 0n;
  for (const { z, rect } of levels) {
    const columns = Math.floor(rect.maxX / stepColumns) - Math.floor(rect.minX / stepColumns) + 1;
    const rows = Math.floor(rect.maxY / stepRows) - Math.floor(rect.minY / stepRows) + 1;
    const whole = BigInt(columns) * BigInt(rows);
    const tiles = countCovered(null, z, rect);
    const covered = countCovered(cover, z, rect);
    total += covered === 0n ? 0n : (whole * covered + tiles - 1n) / tiles;
  }
  return total;
}

async function averageTileBytes(store: TileStore, set: TileSetKey): Promise<number | null> {
  let tiles = 0;
  let bytes = 0;
  let pages = 0;
  for await (const page of store.pages(set)) {
    tiles += page.tiles;
    bytes += page.bytes;
    if (++pages >= SAMPLED_PAGES) break;
  }
  return tiles === 0 ? null : bytes / tiles;
}

/** By tasks of the same kind that have ended. */
function secondsFor(tiles: bigint, earlier: readonly Task[]): number | null {
  let processed = 0;
  let milliseconds = 0;
  for (const task of earlier) {
    if (task.startedAt === null || task.endedAt === null) continue;
    processed += Number(task.tilesProcessed);
    milliseconds += Math.max(1, task.endedAt - task.startedAt);
  }
  return processed === 0 ? null : Math.ceil((Number(tiles) * milliseconds) / processed / 1000);
}
