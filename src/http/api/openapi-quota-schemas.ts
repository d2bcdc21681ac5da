import { z } from 'zod';
import { CLEAN_UP_UNITS, EXPIRATION_POLICIES, STORAGE_UNITS } from '../../quota/quota-configuration.ts';
import { count, parameters, tileSetName, time } from './openapi-values.ts';

const storageUnit = z.enum(Object.keys(STORAGE_UNITS) as (keyof typeof STORAGE_UNITS)[]);
const quota = z.object({ value: z.number(), units: storageUnit });
const sizedQuota = quota.extend({ bytes: count });
const policy = z.enum(EXPIRATION_POLICIES);

const quotaPlain = {
  enabled: z.boolean(),
  diskBlockSize: z.number().int(),
  cacheCleanUpFrequency: z.number().int(),
  cacheCleanUpUnits: z.enum(Object.keys(CLEAN_UP_UNITS) as (keyof typeof CLEAN_UP_UNITS)[]),
  maxConcurrentCleanUps: z.number().int(),
  globalExpirationPolicyName: policy,
};

export const quotaAnswer = z.object({
  ...quotaPlain,
  cleanUpSeconds: z.number(),
  globalQuota: sizedQuota,
  layerQuotas: z.array(z.object({ layer: z.string(), expirationPolicyName: policy, quota: sizedQuota })),
});

const amount = { bytes: count, tiles: count };
const evicted = z
  .object({ pages: count, ...amount })
  .describe('Removed for quotas since the data folder was made');

export const usageAnswer = z.object({
  ...amount,
  sweeping: count,
  sweepingFiles: count,
  quota: quotaAnswer,
  share: z.number().nullable(),
  evicted,
  growthPerDay: z.number().nullable(),
  fullInDays: z.number().nullable().describe('Until the quota is used up or a disk nearly full'),
  disks: z.array(
    z.object({
      store: z.string(),
      freeBytes: count,
      freePercent: z.number().describe('Of the room or the inodes, whichever is less'),
      folder: z.string(),
      minFreePercent: z.number().describe('Below this nothing is stored'),
      storing: z.boolean().describe('False: tiles are served but not stored, for want of room'),
    }),
  ),
  layers: z.array(
    z.object({
      name: z.string(),
      ...amount,
      quota: count.nullable(),
      share: z.number().nullable(),
      evicted,
      tileSets: z.array(
        z.object({
          ...tileSetName,
          parameters: parameters.nullable().describe('Null: the defaults, or nobody knows'),
          ...amount,
          zooms: z.array(z.object({ z: z.number().int(), ...amount })),
        }),
      ),
    }),
  ),
});

const column = z.array(z.number());
const evictionColumns = { tiles: column, bytes: column };

export const evictionsQuery = z.object({ days: z.number().int().min(1).max(31).default(7) });

export const evictionsAnswer = z.object({
  from: time,
  stepSeconds: z.number(),
  ...evictionColumns,
  layers: z.array(z.object({ name: z.string(), ...evictionColumns })),
});
