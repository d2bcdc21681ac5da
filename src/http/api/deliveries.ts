import { z } from 'zod';
import { DELIVERY_KINDS, DELIVERY_STATES } from '../../changes/deliveries/delivery-store.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { count, time } from './values.ts';

export const deliveryListResponse = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      name: z.string().describe('The target, as the configuration file names it'),
      kind: z.enum(DELIVERY_KINDS),
      event: z.string().nullable().describe('What a pending notification reports, e.g. task-failed'),
      state: z.enum(DELIVERY_STATES).describe('pending: not delivered yet; it is retried for 24 hours'),
      attempts: count,
      lastError: z.string().nullable(),
      at: time,
    }),
  ),
});

export async function listDeliveries(_: Call, { deliveries }: ApiDeps) {
  return { deliveries: await deliveries.list() };
}
