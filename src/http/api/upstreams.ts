import { failureText, type UpstreamReport, type UpstreamStatus } from '../../domain/upstream-status.ts';
import { isoTime } from '../../lib/clock.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';

/** `/api/v1/upstreams`: how it goes with each host that sources speak to. */
export function upstreamRoutes(report: UpstreamReport): readonly Route[] {
  const handler = () => jsonAnswer({ upstreams: report().map(upstreamDocument) });
  return [{ method: 'GET', path: '/api/v1/upstreams', role: 'viewer', handler }];
}

/** Times are ISO 8601, in UTC; durations are milliseconds. */
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
