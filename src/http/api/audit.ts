import { z } from 'zod';
import { jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readQuery } from '../wire/read-body.ts';
import { anyTime, time, wholeNumber } from '../wire/values.ts';

const OUTCOMES = ['done', 'refused', 'failed'] as const;

export const auditQuery = z
  .object({
    actor: z.string(),
    source: z.string(),
    text: z.string(),
    target: z.string(),
    outcome: z.enum([...OUTCOMES, 'unknown']),
    since: anyTime,
    until: anyTime,
  })
  .exactPartial()
  .extend({ limit: wholeNumber(1, 1000).default(100) });

export const auditAnswer = z.object({
  entries: z.array(
    z.object({
      time,
      id: z.string().nullable(),
      phase: z.enum(['begun', 'ended']),
      actor: z.string().nullable(),
      source: z.string().nullable(),
      action: z.string(),
      path: z.string().nullable(),
      target: z.string().nullable(),
      before: z.unknown(),
      after: z.unknown(),
      outcome: z.enum(OUTCOMES).nullable(),
      status: z.number().nullable(),
    }),
  ),
});

/** `/api/v1/audit`, newest first. */
export function auditRoutes({ accounts: { audit } }: RouteDeps): readonly Route[] {
  const handler = async (exchange: Exchange) =>
    jsonAnswer({ entries: await audit.read(readQuery(exchange, auditQuery)) });
  return [{ method: 'GET', path: '/api/v1/audit', role: 'admin', handler }];
}
