import { z } from 'zod';
import { failureText, type UpstreamStatus } from '../../domain/upstream-status.ts';
import { isoTime } from '../../lib/clock.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { closedReason, count, texts, time } from '../wire/values.ts';

export const aboutAnswer = z.object({ version: z.string(), node: z.string(), startedAt: time });

export const nodeListAnswer = z.object({
  nodes: z.array(
    z.object({
      name: z.string(),
      roles: z.array(z.enum(['serve', 'worker'])),
      version: z.string(),
      startedAt: time,
      seenAt: time,
      leader: z.boolean().describe('Whether it runs the quota, schedules and clean-up for all nodes'),
      address: z.string().nullable().describe('Where it answers HTTP; null for a worker'),
    }),
  ),
});

export const upstreamsAnswer = z.object({
  upstreams: z.array(
    z.object({
      host: z.string(),
      limits: z.object({
        concurrency: z.number().int(),
        ratePerSecond: z.number().nullable(),
        dailyBudget: z.number().int().nullable(),
        quietHours: texts,
        timeZone: z.string(),
      }),
      inFlight: z.number().int(),
      waiting: z.object({ interactive: z.number().int(), task: z.number().int() }),
      concurrency: z.number().int().describe('Adaptive concurrency limit'),
      requestsPerSecond: z.number(),
      budget: z.object({ day: z.string(), used: z.number().int(), limit: z.number().int() }).nullable(),
      latency: z.object({ p50: z.number(), p95: z.number() }).nullable().describe('Milliseconds'),
      requests: count,
      refused: count,
      errors: z.record(z.string(), count),
      state: z
        .enum(['healthy', 'probing', 'paused', 'failing'])
        .describe('failing: the last request failed; paused: not asked now for another reason'),
      failuresInARow: count,
      failingSince: time.nullable().describe('Of the first failure in a row'),
      lastFailure: z
        .object({ at: time, reason: z.string(), text: z.string().describe('E.g. HTTP 503') })
        .nullable(),
      breaker: z.enum(['closed', 'open', 'half-open']),
      retryAfter: time.nullable().describe('What the host itself asked for'),
      waitingUntil: time.nullable().describe('When tasks may ask it again; null: now'),
      waitingReason: closedReason.nullable(),
    }),
  ),
});

/** What is running here, on which nodes, and the state of each host that sources speak to. */
export function statusRoutes({ about, nodes, traffic, metrics }: RouteDeps): readonly Route[] {
  const { version, startedAt } = about;
  const get = (path: string, show: () => object | Promise<object>): Route => ({
    method: 'GET',
    path: `/api/v1/${path}`,
    role: 'viewer',
    handler: async () => jsonAnswer(await show()),
  });
  return [
    get('about', () => ({ version, node: process.versions.node, startedAt: isoTime(startedAt) })),
    get('nodes', async () => ({
      nodes: (await nodes.list()).map((node) => ({
        ...node,
        startedAt: isoTime(node.startedAt),
        seenAt: isoTime(node.seenAt),
      })),
    })),
    get('upstreams', () => ({ upstreams: metrics.upstreams().map(upstreamDocument) })),
    get('series', () => {
      traffic.flush();
      return traffic.series.document();
    }),
  ];
}

function upstreamDocument(status: UpstreamStatus): object {
  const { answerSeconds: _, closed, retryAfter, latency, failingSince, lastFailure, ...shown } = status;
  return {
    ...shown,
    latency: latency && { p50: round(latency.p50), p95: round(latency.p95) },
    failingSince: isoTime(failingSince),
    lastFailure: lastFailure && {
      at: isoTime(lastFailure.at),
      reason: lastFailure.reason,
      text: failureText(lastFailure.reason),
    },
    retryAfter: isoTime(retryAfter),
    waitingUntil: isoTime(closed?.until ?? null),
    waitingReason: closed?.reason ?? null,
  };
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
