import { z } from 'zod';
import { DELIVERY_KINDS, DELIVERY_STATES } from '../../changes/deliveries/delivery-store.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { count, texts, time } from './values.ts';

const kind = z.enum(DELIVERY_KINDS);

export const deliveryListResponse = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      name: z.string().describe('The target, as the configuration file names it'),
      kind,
      event: z.string().nullable().describe('What a pending notification reports, e.g. task-failed'),
      state: z.enum(DELIVERY_STATES).describe('pending: not delivered yet; it is retried for 24 hours'),
      attempts: count,
      lastError: z.string().nullable(),
      at: time,
    }),
  ),
  targets: z
    .array(
      z.object({
        name: z.string(),
        kind,
        host: z.string().describe('Of its address'),
        events: texts.nullable().describe('That a notification target wants; null: a purge target'),
        state: z
          .enum(['ok', 'failing'])
          .describe('failing: a delivery waits for another attempt, or the last one was given up'),
        pending: count,
        lastDeliveredAt: time.nullable(),
        lastError: z.string().nullable().describe('While it is failing'),
      }),
    )
    .describe('As the configuration file declares them'),
});

export const testResponse = z.object({
  delivered: z.boolean(),
  error: z.string().nullable().describe('Why the target did not accept it; null: it did'),
  ms: count,
});

export async function listDeliveries(_: Call, { deliveries }: ApiDeps) {
  return { deliveries: await deliveries.list(), targets: await deliveries.targets() };
}

/** A notification with the event `test`, or a purge of a key that no tile has. */
export async function sendTest(
  { context, params, note }: Call<{ params: 'kind' | 'name' }>,
  { deliveries }: ApiDeps,
) {
  const { name } = params;
  const target = DELIVERY_KINDS.find((one) => one === params.kind);
  const result = target ? await deliveries.sendTest({ kind: target, name }, context.signal) : null;
  if (!target || !result) {
    throw new HttpProblem('path-unknown', 'There is no such target; GET /api/v1/deliveries lists them.');
  }
  const { error, ms } = result;
  const delivered = error === null;
  const summary = `sent a test ${target} to ${name}, which ${delivered ? 'accepted it' : 'failed'}`;
  note({ target: `delivery:${name}`, summary, after: { kind: target, delivered } });
  return { delivered, error, ms };
}
