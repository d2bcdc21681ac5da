import { z } from 'zod';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import type { TaskEstimate } from '../../tasks/task-service.ts';
import type { RouteDeps } from './route-deps.ts';
import { count } from './values.ts';

const fits = z
  .boolean()
  .nullable()
  .describe('Null while the size of the tiles is unknown, or too uncertain to tell');

export const estimateResponse = z.object({
  tiles: count.describe('Of the request; of a truncate those that are cached'),
  cachedTiles: count.describe('Cached tiles of the request'),
  cachedBytes: count,
  staleTiles: count.describe('Cached tiles that a seed renews: expired or invalidated'),
  metatiles: count,
  upstreamRequests: count,
  bytes: count.nullable().describe('All tiles of the request, cached ones included; null: unknown'),
  addedBytes: z
    .object({ least: count, most: count })
    .nullable()
    .describe('What is stored beside the cached tiles; a range where few tiles of a zoom are cached'),
  zooms: z
    .array(
      z.object({
        z: z.number().int(),
        tiles: count,
        metatiles: count,
        cachedTiles: count,
        cachedBytes: count,
        staleTiles: count,
      }),
    )
    .describe('The same by zoom'),
  seconds: z.number().nullable(),
  coveredUse: z
    .number()
    .nullable()
    .describe(
      'With order use: the share of the use that the request covers, at most 3,000 pages; otherwise null',
    ),
  quota: z
    .object({ scope: z.enum(['global', 'layer']), limitBytes: count, usedBytes: count, fits })
    .nullable()
    .describe('The quota that leaves the least room; null: none is enforced'),
  disk: z
    .object({ freeBytes: count, fits })
    .nullable()
    .describe("Of the layer's store; null: it has no disk of its own"),
});

type Estimating = Pick<RouteDeps, 'tasks' | 'quota'>;

/** `combinations`: as in `TaskService`. */
export async function estimateOf(
  { tasks, quota }: Estimating,
  draft: TaskDraft,
  combinations = 1,
): Promise<object> {
  const { disk, ...estimate } = await tasks.estimate(draft, combinations);
  const { addedBytes: added } = estimate;
  const limit = await quota.roomFor(draft.layer);
  return {
    ...estimate,
    quota: limit && { ...limit, fits: fitsInto(limit.limitBytes - limit.usedBytes, added) },
    disk: disk && { freeBytes: disk.freeBytes, fits: fitsInto(usableBytes(disk), added) },
  };
}

function fitsInto(room: number, added: TaskEstimate['addedBytes']): boolean | null {
  if (!added) return null;
  if (Number(added.most) <= room) return true;
  return Number(added.least) > room ? false : null;
}

/** Nothing is stored in the last percents of a disk. */
function usableBytes({ freeBytes, freePercent, minFreePercent }: NonNullable<TaskEstimate['disk']>): number {
  return freePercent <= minFreePercent ? 0 : freeBytes * (1 - minFreePercent / freePercent);
}
