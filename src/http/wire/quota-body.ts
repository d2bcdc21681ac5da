import { z } from 'zod';
import {
  CLEAN_UP_UNITS,
  EXPIRATION_POLICIES,
  type QuotaChange,
  STORAGE_UNITS,
} from '../../quota/quota-configuration.ts';
import { name } from './body-values.ts';

const positive = z.int().min(1).max(999_999_999);
const policy = z.enum(EXPIRATION_POLICIES);
const ignored = z.number().exactOptional().describe('Follows from the rest, and is passed over');
const quota = z.strictObject({
  value: z.number().min(0),
  units: z.enum(Object.keys(STORAGE_UNITS) as (keyof typeof STORAGE_UNITS)[]),
  bytes: ignored,
});

/** `PUT /api/v1/quota`: only what is to change. What `GET` answers may be sent back as it is. */
export const quotaBody = z.strictObject({
  enabled: z.boolean().exactOptional(),
  diskBlockSize: positive.exactOptional(),
  cacheCleanUpFrequency: positive.exactOptional(),
  cacheCleanUpUnits: z.enum(Object.keys(CLEAN_UP_UNITS) as (keyof typeof CLEAN_UP_UNITS)[]).exactOptional(),
  cleanUpSeconds: ignored,
  maxConcurrentCleanUps: positive.exactOptional(),
  globalExpirationPolicyName: policy.exactOptional(),
  globalQuota: quota.exactOptional(),
  layerQuotas: z
    .array(z.strictObject({ layer: name, expirationPolicyName: policy, quota }))
    .exactOptional()
    .describe('Replaces the whole list; [] removes every layer quota'),
});

export function quotaChangeOf(body: z.output<typeof quotaBody>): QuotaChange {
  const { cleanUpSeconds: _, globalQuota, layerQuotas, ...plain } = body;
  return {
    ...plain,
    ...(globalQuota && { globalQuota: withoutBytes(globalQuota) }),
    ...(layerQuotas && {
      layerQuotas: layerQuotas.map((entry) => ({ ...entry, quota: withoutBytes(entry.quota) })),
    }),
  };
}

function withoutBytes({ value, units }: z.output<typeof quota>) {
  return { value, units };
}
