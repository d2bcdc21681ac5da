import { z } from 'zod';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import type { TaskEstimate } from '../../tasks/task-service.ts';
import type { RouteDeps } from '../route-deps.ts';
import { count } from './values.ts';

const fits = z.boolean().nullable().describe('Null while the size of the tiles is unknown');

export const estimateResponse = z.object({
  tiles: count.describe('Of the request; of a truncate those that are cached'),
  cachedTiles: count.describe('Cached tiles of the request'),
  cachedBytes: count,
  metatiles: count,
  upstreamRequests: count,
  bytes: count.nullable().describe('All tiles of the request, cached ones included; null: unknown'),
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

export async function estimateOf({ tasks, quota }: Estimating, draft: TaskDraft): Promise<object> {
  const { disk, ...estimate } = await tasks.estimate(draft);
  const added = addedBytes(estimate);
  const limit = await quota.roomFor(draft.layer);
  return {
    ...estimate,
    quota: limit && { ...limit, fits: added && limit.usedBytes + added.bytes <= limit.limitBytes },
    disk: disk && { freeBytes: disk.freeBytes, fits: added && added.bytes <= usableBytes(disk) },
  };
}

/** Null while the size of tiles is unknown. */
function addedBytes({
  tiles,
  cachedTiles,
  bytes,
}: Omit<TaskEstimate, 'disk'>): { readonly bytes: number } | null {
  if (bytes === null) return null;
  return { bytes: tiles === 0n ? 0 : Number(bytes) * (1 - Number(cachedTiles) / Number(tiles)) };
}

/** Nothing is stored in the last percents of a disk. */
function usableBytes({ freeBytes, freePercent, minFreePercent }: NonNullable<TaskEstimate['disk']>): number {
  return freePercent <= minFreePercent ? 0 : freeBytes * (1 - minFreePercent / freePercent);
}
