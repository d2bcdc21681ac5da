import { z } from 'zod';
import { DELIVERY_KINDS, DELIVERY_STATES } from '../../changes/deliveries/delivery-store.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { NO_QUERY, readQuery } from '../wire/read-body.ts';
import { count, time } from '../wire/values.ts';

export const deliveryListAnswer = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      name: z.string().describe('The target, as the configuration file names it'),
      kind: z.enum(DELIVERY_KINDS),
      state: z.enum(DELIVERY_STATES).describe('pending: not delivered yet; it is retried for 24 hours'),
      attempts: count,
      lastError: z.string().nullable(),
      at: time,
    }),
  ),
});

/** What goes out to caches and programs. */
export function deliveryRoutes({ deliveries }: Pick<RouteDeps, 'deliveries'>): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/deliveries',
      role: 'operator',
      async handler(exchange) {
        readQuery(exchange, NO_QUERY);
        return jsonAnswer({ deliveries: await deliveries.list() });
      },
    },
  ];
}
